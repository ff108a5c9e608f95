// What belongs to a room beside its screen: the tools in force, the log, the way in for an agent, and studies.

import { useState } from "preact/hooks"
import { asked } from "./actions.ts"
import { mayOwn } from "./approvals.tsx"
import { api } from "./api.ts"
import type { StudyInfo } from "./api.ts"
import { csvOf, linesOf, saveAs } from "./logs.ts"
import { beginStudy, endStudy, movie, studiesOf } from "./movie.ts"
import type { Row } from "./movie.ts"
import { attempt } from "./store.ts"
import { Plain } from "./ui.tsx"
import { clock, span, t, visible } from "./words.ts"

export function RoomPanels({ room, place }: { room: string; place: string }) {
  return (
    <div class="room-panels">
      {movie.info?.host && <Study place={place} />}
      {movie.tools.length > 0 && <Tools />}
      <Log />
      <Connect room={room} />
    </div>
  )
}

function Tools() {
  return (
    <details class="layer">
      <summary class="layer-head"><span>{t("room_tools")}</span><span>{movie.tools.length}</span></summary>
      {movie.tools.slice(0, 100).map(({ name, description, parameters }) => (
        <details class="room-tool" key={name}>
          <summary><code>{visible(name)}</code> {visible(description)}</summary>
          <Plain text={JSON.stringify(parameters, undefined, 2).slice(0, 20_000)} />
        </details>
      ))}
    </details>
  )
}

/** So many rows are drawn: the newest. */
const DRAWN = 200

function Log() {
  const [isOpen, setOpen] = useState(false)
  // Each message once, as the host had it.
  const rows = movie.rows.filter(({ role }) => role !== "agent")
  return (
    <details class="layer" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="layer-head"><span>{t("room_log")}</span><span>{rows.length}</span></summary>
      <p class="note">{t("room_log_note")}</p>
      {isOpen && <ol class="room-log">{rows.slice(-DRAWN).reverse().map((row) => <LogRow key={row.key} row={row} />)}</ol>}
    </details>
  )
}

function LogRow({ row }: { row: Row }) {
  const { direction, type, at, text } = row
  const way = direction === "internal" ? t("log_note") : direction === "out" ? t("log_to_host") : t("log_from_host")
  return (
    <li>
      <details>
        <summary><time>{clock(at)}</time> <span class={`log-way is-${direction}`}>{way}</span> <code>{visible(type)}</code></summary>
        <Plain text={text} />
      </details>
    </li>
  )
}

/** A name that no token has yet. */
const nameOf = (room: string) =>
  `agent-${room.toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 30)}-${Date.now().toString(36)}`
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

/** A way in for an agent of one's own. */
function Connect({ room }: { room: string }) {
  const [token, setToken] = useState("")
  const isOwner = mayOwn()
  const make = () => attempt(async () => {
    setToken((await api.makeToken(nameOf(room), `relay:${room}:agent`)).token)
  })
  const url = `${location.origin.replace(/^http/, "ws")}/agent/ws`
  const command = `printf %s ${quoted(token)} > relay-token
samovar relay agent --room ${quoted(room)} --url ${quoted(url)} --token-file relay-token`
  const program = `// npm install ws
import { WebSocket } from "ws"
const headers = { authorization: ${JSON.stringify(`Bearer ${token}`)} }
const socket = new WebSocket(${JSON.stringify(url)}, { headers })
const say = (type, payload = {}) =>
  socket.send(JSON.stringify({ v: "mvp-0.2", type, id: crypto.randomUUID(), payload }))
socket.on("message", (data) => console.log(String(data)))
socket.on("open", () => {
  say("relay.join", { role: "agent", sessionId: ${JSON.stringify(room)} })
  say("snapshot.get")
  say("agent.message", { text: "I am here." })
})`
  return (
    <details class="layer">
      <summary class="layer-head"><span>{t("connect")}</span></summary>
      <p class="note">{t("connect_note", { room: visible(room) })}</p>
      {!isOwner && <p class="note">{t("connect_no_right")} <code>{`samovar token create NAME --scope ${quoted(`relay:${room}:agent`)}`}</code></p>}
      {isOwner && token === "" && <div class="buttons"><button type="button" class="primary" onClick={() => void make()}>{t("connect_make")}</button></div>}
      {token !== "" && <>
        <Code title={t("connect_command")} text={command} />
        <Code title={t("connect_program")} text={program} />
        <p class="note">{t("connect_once")}</p>
      </>}
    </details>
  )
}

function Code({ title, text }: { title: string; text: string }) {
  return (
    <div class="code">
      <div class="code-head"><span>{title}</span><button type="button" data-copy="">{t("copy")}</button></div>
      <pre tabindex={0}><code>{text}</code></pre>
    </div>
  )
}

/** The study that runs, and those that are over. */
function Study({ place }: { place: string }) {
  const [studies, setStudies] = useState<StudyInfo[] | string>()
  const [about, setAbout] = useState({ studyId: "", participantId: "" })
  const [isBusy, setBusy] = useState(false)
  const { study } = movie.info ?? {}
  const list = () => void asked(() => studiesOf(place)).then(setStudies)
  const run = async (work: () => Promise<unknown>) => {
    setBusy(true)
    await attempt(work)
    setBusy(false)
    if (studies !== undefined) list()
  }
  const begin = () => {
    const given = Object.entries(about).filter(([, words]) => words.trim() !== "").map(([name, words]) => [name, words.trim()])
    return run(() => beginStudy(Object.fromEntries(given) as { studyId?: string; participantId?: string }))
  }
  return (
    <details class="layer" onToggle={(event) => event.currentTarget.open && list()}>
      <summary class="layer-head"><span>{t("study")}</span><span>{visible(study ?? t("study_none"))}</span></summary>
      {study !== undefined ? (
        <div class="buttons"><button type="button" disabled={isBusy} onClick={() => void run(endStudy)}>{t("study_end")}</button></div>
      ) : (
        <form class="study-form" onSubmit={(event) => (event.preventDefault(), void begin())}>
          <label>{t("study_name")} <input value={about.studyId} maxLength={200} onInput={(event) => setAbout({ ...about, studyId: event.currentTarget.value })} /></label>
          <label>{t("study_participant")} <input value={about.participantId} maxLength={200} onInput={(event) => setAbout({ ...about, participantId: event.currentTarget.value })} /></label>
          <button type="submit" class="primary" disabled={isBusy}>{t("study_begin")}</button>
        </form>
      )}
      <p class="note">{t("study_note")}</p>
      {typeof studies === "string" && <p class="note" role="alert">{visible(studies)}</p>}
      {Array.isArray(studies) && studies.length === 0 && <p class="note">{t("studies_none")}</p>}
      {Array.isArray(studies) && <ul class="listed">{studies.slice(0, 50).map((one) => <StudyRow key={one.id} study={one} />)}</ul>}
    </details>
  )
}

function StudyRow({ study }: { study: StudyInfo }) {
  const { id, lengthMs, rows, isEnded, studyId, participantId } = study
  const name = [id, studyId, participantId].filter((one) => one !== undefined).join(" · ")
  const save = (end: string, type: string, make: (lines: string[]) => string) => void attempt(async () => {
    saveAs(`${id}.${end}`, make(await linesOf(id)), type)
  })
  return (
    <li>
      <span>{visible(name)} <span class="note">{span(lengthMs)}, {t("study_rows", { count: rows })}{!isEnded && `, ${t("study_open")}`}</span></span>
      <span class="buttons">
        <button type="button" aria-label={t("study_jsonl", { id })} onClick={() => save("jsonl", "application/x-ndjson", (lines) => lines.map((line) => `${line}\n`).join(""))}>JSONL</button>
        <button type="button" aria-label={t("study_csv", { id })} onClick={() => save("csv", "text/csv", csvOf)}>CSV</button>
      </span>
    </li>
  )
}
