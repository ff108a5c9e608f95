// Follows an event stream for as long as the page lives: a connection that breaks goes on behind the
// last frame that was read.

import { passes, Refusal, request } from "./api.ts"

export type Frame = { type: string } & Record<string, unknown>

/** What a feed tells the one who follows it. */
export interface Follower {
  /** Takes an event. */
  take(event: Frame): void
  /** The connection is there, or it is not, and why, if the server says so. */
  connected(isThere: boolean, why?: Refusal): void
  /** The server refuses; nothing more comes. */
  refused(refusal: Refusal): void
  /** The feed is over: its session was deleted. */
  ended?(): void
}

/** After so long without a byte a connection counts as dead: a server pings more often. */
const SILENCE_MS = 60_000
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [200, 4_000]

export class Feed {
  #path: string
  #after: string | undefined
  #follower: Follower
  #closing = new AbortController()
  #awake: (() => void) | undefined
  #isPaused = false
  #trying: AbortController | undefined

  constructor(path: string, after: string | undefined, follower: Follower) {
    this.#path = path
    this.#after = after
    this.#follower = follower
    void this.#follow()
  }

  close() {
    this.#closing.abort()
    this.#awake?.()
  }

  /** Holds no connection until `resume`. */
  pause() {
    this.#isPaused = true
    this.#trying?.abort()
  }

  /** Goes on after a pause, and tries at once where it would wait for its next try. */
  resume() {
    this.#isPaused = false
    this.#awake?.()
  }

  async #follow() {
    let pause = FIRST_PAUSE_MS
    while (!this.#closing.signal.aborted) {
      let why: Refusal | undefined
      try {
        const isOver = await this.#read(() => (pause = FIRST_PAUSE_MS))
        if (isOver) return this.#follower.ended?.()
      } catch (error) {
        if (this.#closing.signal.aborted) return
        if (error instanceof Refusal) why = error
        if (why && !passes(why)) return this.#follower.refused(why)
      }
      if (this.#closing.signal.aborted) return
      if (this.#isPaused) {
        await new Promise<void>((goOn) => { this.#awake = goOn })
        continue
      }
      this.#follower.connected(false, why)
      await this.#rest(pause)
      pause = Math.min(2 * pause, LONGEST_PAUSE_MS)
    }
  }

  #rest(ms: number): Promise<void> {
    return new Promise((goOn) => {
      const timer = setTimeout(goOn, ms)
      this.#awake = () => (clearTimeout(timer), goOn())
    })
  }

  /** Reads one connection; whether the feed said that it is over. */
  async #read(alive: () => void): Promise<boolean> {
    const trying = new AbortController()
    this.#trying = trying
    const abort = () => trying.abort()
    this.#closing.signal.addEventListener("abort", abort)
    let silence = setTimeout(abort, SILENCE_MS)
    try {
      const join = this.#path.includes("?") ? "&" : "?"
      const after = this.#after === undefined ? "" : `${join}after=${encodeURIComponent(this.#after)}`
      const response = await request("GET", this.#path + after, undefined, trying.signal)
      this.#follower.connected(true)
      if (!response.body) return false
      for await (const { id, data } of frames(response.body, () => {
        clearTimeout(silence)
        silence = setTimeout(abort, SILENCE_MS)
      })) {
        if (this.#closing.signal.aborted) return false
        if (data === "[DONE]") return true
        const event = JSON.parse(data) as Frame
        alive()
        if (event.type === "server-restart" || event.type === "error") return false
        this.#after = id ?? this.#after
        this.#follower.take(event)
      }
      return false
    } finally {
      clearTimeout(silence)
      this.#closing.signal.removeEventListener("abort", abort)
      abort()
    }
  }
}

/** The id of the first frame of the turn that runs in a session, or of its last one. */
export async function firstOfTurn(sessionId: string): Promise<{ id: string; event: Frame } | undefined> {
  const leaving = new AbortController()
  try {
    const path = `/services/agent/sendMessage/stream?profile=full&sessionId=${encodeURIComponent(sessionId)}`
    const response = await request("GET", path, undefined, leaving.signal)
    if (!response.body || response.status === 204) return undefined
    for await (const { id, data } of frames(response.body)) {
      if (id !== undefined && data !== "[DONE]") return { id, event: JSON.parse(data) as Frame }
    }
    return undefined
  } catch {
    return undefined
  } finally {
    leaving.abort()
  }
}

/** The frames of a body, in whatever pieces its bytes come; one that was cut is dropped. */
export async function* frames(
  body: ReadableStream<Uint8Array>, alive = () => {},
): AsyncGenerator<{ id: string | undefined; data: string }> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let [rest, id, data] = ["", undefined as string | undefined, undefined as string | undefined]
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      alive()
      const lines = (rest + decoder.decode(read.value, { stream: true })).split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) {
        if (line.startsWith("data: ")) data = data === undefined ? line.slice(6) : `${data}\n${line.slice(6)}`
        else if (line.startsWith("id: ")) id = line.slice(4)
        else if (line === "" && data !== undefined) {
          yield { id, data }
          data = undefined
        }
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
