// A room of the relay as a person sees it: its screen, its thread, its log, and what a person does there.

import { api, Refusal } from "./api.ts"
import type { RoomInfo, StudyInfo } from "./api.ts"
import { Line } from "./line.ts"
import type { Envelope } from "./line.ts"
import { changed, leave, sentence, toast } from "./store.ts"
import { elementsOf } from "./logs.ts"
import { historyOf, specOf, toolsOf } from "./uispec.ts"
import type { Entry, Spec, Tool } from "./uispec.ts"
import { t } from "./words.ts"

/** A row of the log, without what is long. */
export interface Row {
  key: string
  at: number
  direction: "in" | "out" | "internal"
  type: string
  role?: string
  id?: string
  replyTo?: string
  text: string
  /** A call's tool, parameters and reason; an error's sentence. */
  call?: { tool: string; params: string; reason: string }
  error?: string
}

export const movie = nothing("")

function nothing(room: string) {
  return {
    room,
    /** The rooms were read; `info` is that of this one, unless it is empty. */
    isRead: false,
    rooms: [] as RoomInfo[],
    info: undefined as RoomInfo | undefined,
    /** The screen was read; `spec` is missing if the host shows nothing. */
    isShown: false,
    spec: undefined as Spec | undefined,
    history: [] as Entry[],
    tools: [] as Tool[],
    rows: [] as Row[],
    why: "",
  }
}

let line: Line | undefined
let opened = 0
const LOOK_MS = 3_000
/** Rows that are kept here, at most; the server has all. */
const [KEPT_ROWS, LONGEST_ROW] = [600, 20_000]

/** Watches a room until it is told to stop. What the room says is passed on, if anybody wants it. */
export function watchRoom(room: string, more: Passing = {}): () => void {
  const mine = ++opened
  Object.assign(movie, nothing(room))
  reading = undefined
  passing = more
  if (more.prepare) follow()
  void look(mine)
  const timer = setInterval(() => {
    if (!document.hidden) void look(mine)
  }, LOOK_MS)
  return () => {
    clearInterval(timer)
    opened += 1
    line?.close()
    line = undefined
  }
}

/** What the page does beside watching, when it is a host. */
interface Passing {
  prepare?(): Promise<unknown>
  heard?(said: Envelope): void
}

let passing: Passing = {}

/** The place in the room that is watched. */
export function placeNow(): Line | undefined {
  return line
}

/** Looks who is in the room, and joins it when there is something to see. */
async function look(mine = opened) {
  try {
    const rooms = await api.rooms()
    if (mine !== opened) return
    const hadHost = movie.info?.host
    movie.rooms = rooms
    movie.info = rooms.find(({ room }) => room === movie.room)
    movie.isRead = true
    movie.why = ""
    if (movie.info?.host && !line) follow()
    else if ((movie.info?.host !== hadHost || (!movie.isShown && asking === 0)) && line?.state === "joined") void readScreen()
    await readRows(mine)
  } catch (error) {
    // The banner says that the server is away.
    if (mine !== opened || (await leave(error)) || (error instanceof Refusal && error.status === 0)) return
    movie.why = sentence(error)
  }
  changed()
}

function follow() {
  line = new Line("agent", movie.room, {
    ...(passing.prepare ? { prepare: passing.prepare } : {}),
    joined: () => void readScreen(),
    heard: (said) => {
      if (said.type === "state.updated") show(said)
      passing.heard?.(said)
    },
    changed,
  })
}

/** The requests for the screen that have no answer yet. */
let asking = 0

async function readScreen() {
  const mine = line
  asking += 1
  try {
    const said = await mine?.ask("snapshot.get", {})
    if (said && mine === line) show(said)
  } catch {
    // There is no host any more, which the next look tells.
    if (mine !== line) return
    Object.assign(movie, { isShown: false, spec: undefined, tools: [] })
    changed()
  } finally {
    asking -= 1
  }
}

function show({ payload }: Envelope) {
  Object.assign(movie, {
    isShown: true,
    spec: specOf(payload["uiSpec"]),
    history: historyOf(payload["messageHistory"]),
    tools: toolsOf(payload["toolSchema"]),
  })
  changed()
  soon()
}

let due: number | undefined

/** Looks again, once for all that happens meanwhile. */
function soon() {
  due ??= window.setTimeout(() => {
    due = undefined
    void look()
  }, 150)
}

// The log

/** Where the log is being read, and up to which row. */
let reading: { source: string; after: number | undefined } | undefined
let isReading = false

async function readRows(mine: number) {
  if (isReading || !movie.info) return
  isReading = true
  try {
    const { study } = movie.info
    const source = study === undefined ? { room: movie.room } : { study }
    // A study begins with an empty booking, so its thread is its own.
    if (reading?.source !== (study ?? "")) {
      reading = { source: study ?? "", after: undefined }
      if (study !== undefined) movie.rows = []
    }
    for (let reads = 0; reads < 50; reads += 1) {
      const texts = elementsOf(await api.rows(source, reading.after))
      if (mine !== opened || texts.length === 0) break
      const rows = texts.map((text) => rowOf(text))
      reading.after = rows.at(-1)?.index ?? reading.after
      movie.rows = [...movie.rows, ...rows.map(({ row }) => row)].slice(-KEPT_ROWS)
    }
  } finally {
    isReading = false
  }
}

interface Stored {
  sessionId: string
  eventIndex: number
  timestamp: string
  direction: Row["direction"]
  type: string
  role?: string
  id?: string
  replyTo?: string
  payload: Record<string, unknown>
}

function rowOf(text: string): { index: number; row: Row } {
  const stored = JSON.parse(text) as Stored
  const { sessionId, eventIndex, timestamp, direction, type, role, id, replyTo, payload } = stored
  const shown = JSON.stringify(payload, undefined, 2)
  const words = (name: string) => (typeof payload[name] === "string" ? payload[name] : "")
  return {
    index: eventIndex,
    row: {
      key: `${sessionId} ${eventIndex}`, at: Date.parse(timestamp), direction, type,
      ...(role === undefined ? {} : { role }), ...(id === undefined ? {} : { id }), ...(replyTo === undefined ? {} : { replyTo }),
      text: shown.length > LONGEST_ROW ? `${shown.slice(0, LONGEST_ROW)}…` : shown,
      ...(type === "tool.call" ? { call: { tool: words("toolName"), params: callOf(payload["params"]), reason: words("reason") } } : {}),
      ...(type === "error" ? { error: words("message") } : {}),
    },
  }
}

function callOf(params: unknown): string {
  const said = params === undefined || JSON.stringify(params) === "{}" ? "" : JSON.stringify(params)
  return said.slice(0, 400)
}

// What a person does

/** Does what an agent would do by a call. */
export async function act(tool: string, params: object = {}) {
  try {
    await api.doInRoom(movie.room, tool, params)
  } catch (error) {
    if (!(await leave(error))) toast(sentence(error), { isError: true })
    void look()
  }
}

/** Says something; the sentence of the refusal, if it is refused. */
export async function sayInRoom(text: string): Promise<string | undefined> {
  try {
    await api.sayInRoom(movie.room, text)
    return undefined
  } catch (error) {
    void leave(error)
    void look()
    return sentence(error)
  }
}

/** Lets the server show a booking here. */
export async function openMovie() {
  await api.showMovie(movie.room)
  await look()
}

export async function beginStudy(about: { studyId?: string; participantId?: string }) {
  await line?.ask("session.start", about)
  await look()
}

export async function endStudy() {
  const said = await line?.ask("session.end", { reason: "ended by the person at the page" })
  toast(t("study_ended", { file: String(said?.payload["logFile"] ?? "") }))
  await look()
}

/** The studies of the room, newest first. */
export async function studiesOf(room: string): Promise<StudyInfo[]> {
  const all: StudyInfo[] = []
  for (let page = await api.studies(); page.length > 0; page = await api.studies(page.at(-1)?.id)) all.push(...page)
  return all.filter((study) => study.room === room).reverse()
}
