// The page as the host of a room: agents that join the room find a booking that the server keeps in a
// room of the page's own (ADR 47). What they ask is passed there, and what it answers comes back.

import { api, Refusal } from "./api.ts"
import { Line } from "./line.ts"
import type { Envelope } from "./line.ts"
import { placeNow, watchRoom } from "./movie.ts"
import { changed } from "./store.ts"
import { isChosen } from "./windows.ts"
import { t } from "./words.ts"

/** The room in which the server keeps the booking that a page shows in another. */
export function bookingRoom(room: string): string {
  return `${room}~page`
}

/** Requests that are passed on and not answered, at most; the relay answers those that are older. */
const MOST_PASSED = 1_000
/** What goes to all agents of a room. */
const TO_ALL = ["state.updated", "user.message"]

let host: Line | undefined
let numbers = 0
/** The ids of what is passed on, with those that the agents' room has for them. */
const passed = new Map<string, string>()

/** The place of this page in the room whose host it is. */
export function hostNow(): Line | undefined {
  return host
}

/** Is the host of a room until it is told to stop. */
export function hostRoom(room: string): () => void {
  const booking = bookingRoom(room)
  const stop = watchRoom(booking, { prepare: () => openBooking(booking), heard: passBack })
  passed.clear()
  host = new Line("host", room, {
    wasThere: !isChosen(room),
    prepare: isReady,
    joined: () => void showAll(),
    heard: passOn,
    changed,
  })
  return () => {
    host?.close()
    host = undefined
    stop()
  }
}

/** A booking that is there stays, so a page that is loaded again continues it. */
async function openBooking(room: string) {
  const rooms = await api.rooms()
  if (!rooms.some((one) => one.room === room && one.host !== undefined)) await api.showMovie(room)
}

/** A host that cannot answer is none. */
async function isReady() {
  if (placeNow()?.state !== "joined") throw new Refusal(0, "lost", "")
}

/** Agents that were there before learn what is on the screen. */
async function showAll() {
  const said = await placeNow()?.ask("snapshot.get", {}).catch(() => undefined)
  const { uiSpec = null, messageHistory = [], toolSchema = [] } = said?.payload ?? {}
  if (said) host?.say({ type: "state.updated", payload: { source: "host", uiSpec, messageHistory, toolSchema } })
}

function passOn({ type, id, payload }: Envelope) {
  if (type === "error") return
  const own = `pass-${++numbers}`
  if (id !== undefined) passed.set(own, id)
  const oldest = passed.keys().next().value
  if (passed.size > MOST_PASSED && oldest !== undefined) passed.delete(oldest)
  if (placeNow()?.say({ type, id: own, payload })) return
  passed.delete(own)
  const message = t("host_without_booking")
  host?.say({ type: "error", ...(id === undefined ? {} : { replyTo: id }), payload: { code: "TOOL_EXECUTION_FAILED", message } })
}

function passBack({ type, replyTo, payload }: Envelope) {
  const asked = replyTo === undefined ? undefined : passed.get(replyTo)
  if (replyTo !== undefined) passed.delete(replyTo)
  if (asked !== undefined) host?.say({ type, replyTo: asked, payload })
  else if (TO_ALL.includes(type)) host?.say({ type, payload })
}
