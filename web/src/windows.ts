// The windows beside the conversation, by the page's address: they are gone when it is another.

/** What the address shows; none for a session. */
export type Shown = { kind: "chat" } | { kind: "movie"; room: string; isHost: boolean }

export const CHAT_HASH = "#/chat"
const HOST = "/host"
/** The room that a join without a name leads to. */
export const DEFAULT_ROOM = "default"

/** A link to a host's window shows the room: only where a person made this page its host does it join, and after a reload. */
export function windowOfAddress(hash = location.hash, kept: unknown = history.state): Shown | undefined {
  if (hash === CHAT_HASH) return { kind: "chat" }
  const match = /^#\/movie(?:\/([^/]*))?(\/host)?$/.exec(hash)
  if (!match) return undefined
  return { kind: "movie", room: nameOf(match[1] ?? ""), isHost: match[2] === HOST && isKept(kept) }
}

const KEPT = { isHost: true }
const isKept = (kept: unknown) => (kept as typeof KEPT | null)?.isHost === true

/** Lets this page be the host of a room; what the browser keeps of the address says so, which no link can. */
export function beHost(room: string) {
  chosen = room
  history.pushState(KEPT, "", movieHash(room, true))
}

let chosen: string | undefined

/** Whether a person has chosen that since the page was loaded; else it was its host before. */
export function isChosen(room: string): boolean {
  return chosen === room
}

/** Going back does not make it the host again. */
export function stopHost(room: string) {
  history.replaceState(null, "", movieHash(room))
}

export function movieHash(room: string, isHost = false): string {
  return `#/movie/${encodeURIComponent(room)}${isHost ? HOST : ""}`
}

/** A room of the address, which people may have changed. */
function nameOf(part: string): string {
  try {
    const name = decodeURIComponent(part).trim()
    // In the path of a request these would be another path.
    return [".", ".."].includes(name) ? DEFAULT_ROOM : name || DEFAULT_ROOM
  } catch {
    return part
  }
}

/** After so long in the background a window lets its connection go: a browser has six for a server. */
const LEAVING_MS = 30_000

/** Does something while the page is in view, and ends it for good when it is told. */
export function whileInView(begin: () => () => void): () => void {
  let end: (() => void) | undefined = begin()
  let leaving: number | undefined
  const onVisibility = () => {
    clearTimeout(leaving)
    if (!document.hidden) end ??= begin()
    else leaving = window.setTimeout(() => {
      end?.()
      end = undefined
    }, LEAVING_MS)
  }
  document.addEventListener("visibilitychange", onVisibility)
  return () => {
    document.removeEventListener("visibilitychange", onVisibility)
    clearTimeout(leaving)
    end?.()
  }
}

/** So long something stays open that is closed: a part of the page that is mounted twice opens it once. */
const LINGER_MS = 1_000

/** Opens something for as long as a part of the page is there; one thing at a time. */
export function keeper<Key>(open: (key: Key) => () => void): (key: Key, name: string) => () => void {
  let kept: { name: string; close: () => void } | undefined
  let leaving: number | undefined
  return (key, name) => {
    clearTimeout(leaving)
    if (kept?.name !== name) {
      kept?.close()
      kept = { name, close: open(key) }
    }
    return () => {
      clearTimeout(leaving)
      leaving = window.setTimeout(() => {
        kept?.close()
        kept = undefined
      }, LINGER_MS)
    }
  }
}
