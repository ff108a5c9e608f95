// The window into a room of the relay: its screen by hand, and beside it what is said and done there.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import { attempt, changed, state } from "./store.ts"
import { Box } from "./box.tsx"
import { mayOwn, mayUse } from "./approvals.tsx"
import { bookingRoom, hostNow, hostRoom } from "./hosting.ts"
import { act, movie, openMovie, placeNow, sayInRoom, watchRoom } from "./movie.ts"
import type { Row } from "./movie.ts"
import { RoomPanels } from "./room.tsx"
import { Screen } from "./screen.tsx"
import { Scroll } from "./scroll.tsx"
import { Text } from "./text.tsx"
import { memo } from "./ui.tsx"
import type { Entry } from "./uispec.ts"
import { beHost, keeper, movieHash, stopHost } from "./windows.ts"
import { clock, t, visible } from "./words.ts"

const keep = keeper<{ room: string; isHost: boolean }>(({ room, isHost }) => (isHost ? hostRoom(room) : watchRoom(room)))

export function MovieWindow({ room, isHost }: { room: string; isHost: boolean }) {
  useEffect(() => (mayUse() ? keep({ room, isHost }, movieHash(room, isHost)) : undefined), [room, isHost])
  if (!mayUse()) return <p class="thread-box middle">{t("movie_no_right", { scope: state.me?.scope ?? "" })}</p>
  const shownRoom = isHost ? bookingRoom(room) : room
  if (!movie.isRead || movie.room !== shownRoom) {
    return <div class="thread-box middle" role={movie.why === "" ? "status" : "alert"}><p>{visible(movie.why || t("loading"))}</p></div>
  }
  const why = movie.why || (isHost ? "" : (placeNow()?.why ?? ""))
  const isActive = isHost ? hostNow()?.state === "joined" : movie.info?.host === "built_in"
  return (
    <div class="movie">
      <section class="movie-screen" tabindex={0} aria-label={t("movie_title")}>
        <RoomBar room={room} isHost={isHost} />
        {why !== "" && <p class="refused" role="alert">{visible(why)}</p>}
        <Shown isHost={isHost} room={room} isActive={isActive} />
        <RoomPanels room={room} place={shownRoom} />
      </section>
      <div class="movie-talk">
        <Talk />
        <div class="foot">
          <Box place={movieHash(room)} label={isHost || isActive ? t("movie_box") : t("movie_box_off")} isOff={!isHost && !isActive}
            onSend={async (text) => (isActive ? sayInRoom(text) : t("host_not_now"))} />
        </div>
      </div>
    </div>
  )
}

/** Which room, and who is its host. */
function RoomBar({ room, isHost }: { room: string; isHost: boolean }) {
  const [name, setName] = useState(room)
  useEffect(() => setName(room), [room])
  const go = () => { if (name.trim() !== "") location.hash = movieHash(name.trim()) }
  return (
    <header class="room-bar">
      <form onSubmit={(event) => (event.preventDefault(), go())}>
        <label>{t("room")} <input value={name} maxLength={180} list="rooms" onInput={(event) => setName(event.currentTarget.value)} /></label>
        <datalist id="rooms">{movie.rooms.map((one) => <option key={one.room} value={one.room} />)}</datalist>
        {name.trim() !== room && <button type="submit" class="primary">{t("room_go")}</button>}
      </form>
      <HostState room={room} isHost={isHost} />
    </header>
  )
}

function HostState({ room, isHost }: { room: string; isHost: boolean }) {
  const others = Math.max(0, (movie.info?.agents ?? 0) - Number(placeNow()?.state === "joined"))
  if (!isHost) {
    const { host } = movie.info ?? {}
    if (host === "built_in") return (
      <p class="room-state"><span>{t("host_server", { count: others })}</span>
        <BeHost room={room} /></p>
    )
    if (host === "socket") return (
      <p class="room-state is-waiting" role="status"><span>{t("host_other")}</span>
        <BeHost room={room} /></p>
    )
    return null
  }
  const agents = movie.rooms.find((one) => one.room === room)?.agents ?? 0
  const line = hostNow()
  const take = <button type="button" onClick={() => line?.takePlace()}>{t("host_take")}</button>
  const why = line?.why || placeNow()?.why || ""
  return (
    <p class={`room-state ${line?.state === "joined" ? "" : "is-waiting"}`} role="status">
      {why !== "" && line?.state !== "joined" ? <span>{visible(why)}</span>
        : line?.state === "joined" ? <span>{t("host_page", { room: visible(room), count: agents })}</span>
          : line?.state === "taken" ? <><span>{t("host_taken")}</span>{take}</>
            : line?.state === "replaced" ? <><span>{t("host_replaced")}</span>{take}</>
              : line?.state === "returning" ? <><span>{t("host_returning")}</span>{take}</>
                : <span>{t("host_joining")}</span>}
      <a href={movieHash(room)} onClick={(event) => (event.preventDefault(), stopHost(room), changed())}>{line?.state === "taken" || line?.state === "replaced" ? t("host_watch") : t("host_stop")}</a>
    </p>
  )
}

/** A click makes this page the host; a link that leads here does not. */
function BeHost({ room, isWide }: { room: string; isWide?: boolean }) {
  if (!mayOwn()) return null
  return <button type="button" class={isWide ? "" : "link"} onClick={() => (beHost(room), changed())}>{t("host_be")}</button>
}

/** What was chosen goes with its stage: keys continue at the top of what has come. */
function useFocus(stage: string | undefined) {
  const box = useRef<HTMLDivElement>(null)
  const before = useRef(stage)
  const wasIn = box.current?.contains(document.activeElement) === true
  useLayoutEffect(() => {
    if (wasIn && before.current !== stage) box.current?.querySelector("h2")?.focus()
    before.current = stage
  })
  return box
}

function Shown(props: { room: string; isHost: boolean; isActive: boolean }) {
  const box = useFocus(movie.isShown ? (movie.spec?.stage ?? "") : undefined)
  return <div ref={box}><ShownNow {...props} /></div>
}

function ShownNow({ room, isHost, isActive }: { room: string; isHost: boolean; isActive: boolean }) {
  const { info, spec, isShown, tools, history } = movie
  if (!isHost && !info?.host) return <Nothing room={room} />
  if (!isShown) return <p class="empty" role="status">{t("loading")}</p>
  if (spec) {
    const names = new Set(tools.map(({ name }) => name))
    return <Screen key={spec.stage} spec={spec} tools={names} isActive={isActive} onDo={(tool, params) => void act(tool, params)} />
  }
  const last = history.findLast(({ by }) => by === "system")
  return (
    <section class="screen" aria-label={t("screen_label")}>
      {last?.text && <h2 tabindex={-1}>{visible(last.text)}</h2>}
      <p class="note">{t("screen_none")}</p>
    </section>
  )
}

function Nothing({ room }: { room: string }) {
  const [isBusy, setBusy] = useState(false)
  const open = async () => {
    setBusy(true)
    await attempt(openMovie)
    setBusy(false)
  }
  return (
    <section class="screen" aria-label={t("screen_label")}>
      <h2>{t("room_empty", { room: visible(room) })}</h2>
      <p class="note">{mayOwn() ? t("room_empty_note") : t("room_no_right", { scope: state.me?.scope ?? "" })}</p>
      {mayOwn() && <div class="buttons">
        <button type="button" class="primary" disabled={isBusy} onClick={() => void open()}>{t("room_open")}</button>
        <BeHost room={room} isWide />
      </div>}
    </section>
  )
}

// The thread

type Said = { key: string; at: number; entry: Entry } | { key: string; at: number; row: Row; refused: string }

/** What was shown, said and done, and each call of an agent with its reason, in the order of time. */
function saidOf(history: Entry[], rows: Row[]): Said[] {
  const begun = history[0]?.at ?? 0
  const refusals = new Map(rows.filter(({ role, error }) => role === "host" && error !== undefined).map((row) => [row.replyTo, row.error ?? ""]))
  const calls = rows.filter((row) => row.role === "host" && row.call !== undefined && row.at >= begun)
  const called = new Set(calls.map(({ at }) => at))
  // A call tells what its entry tells, and why.
  const entries = history.filter(({ by, action, at }) => !(by === "agent" && action !== undefined && called.has(at)))
  const said: Said[] = [
    ...entries.map((entry) => ({ key: entry.id, at: entry.at, entry })),
    ...calls.map((row) => ({ key: row.key, at: row.at, row, refused: refusals.get(row.id) ?? "" })),
  ]
  return said.sort((one, other) => one.at - other.at || Number("entry" in one) - Number("entry" in other))
}

/** So many are drawn; the log has all. */
const DRAWN = 400

function Talk() {
  const said = saidOf(movie.history, movie.rows).slice(-DRAWN)
  return (
    <Scroll label={t("movie_talk")} first={said[0]?.key ?? ""}>
      {said.length === 0 && <p class="empty">{t("movie_talk_empty")}</p>}
      {said.map((one) => ("entry" in one ? <EntryRow key={one.key} id={one.key} entry={one.entry} />
        : <CallRow key={one.key} row={one.row} refused={one.refused} />))}
    </Scroll>
  )
}

const EntryRow = memo(({ entry }: { entry: Entry; id: string }) => {
  const { by, text, action, label, at } = entry
  if (by === "system") return <p class="talk-shown note">{visible(text ?? "")}</p>
  return (
    <article class={`chat-row is-${by}`}>
      <p class="chat-head"><b>{by === "user" ? t("chat_you") : t("movie_agent")}</b><time class="facts">{clock(at)}</time></p>
      {action !== undefined ? <p class="talk-did">{didOf(action, visible(label ?? ""))}</p>
        : by === "agent" ? <Text text={text ?? ""} isLive={false} /> : <p class="chat-text">{visible(text ?? "")}</p>}
    </article>
  )
})

function didOf(action: string, label: string): string {
  if (action === "select") return t("did_select", { label })
  if (action === "back") return t("did_back", { label })
  return action === "input" ? t("did_input", { label }) : `${visible(action)} ${label}`
}

const CallRow = memo(({ row, refused }: { row: Row; refused: string }) => {
  const { tool = "", params = "", reason = "" } = row.call ?? {}
  return (
    <article class="chat-row is-agent is-call">
      <p class="chat-head"><b>{t("movie_agent")}</b><time class="facts">{clock(row.at)}</time></p>
      <p class="talk-did"><code>{visible(`${tool} ${params}`)}</code></p>
      <p class="talk-why">{reason === "" ? t("call_without_reason") : visible(reason)}</p>
      {refused !== "" && <p class="talk-refused">{visible(refused)}</p>}
    </article>
  )
})
