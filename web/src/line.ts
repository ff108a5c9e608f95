// A place in a room of the relay: one WebSocket, which comes back when it was lost. A host never takes a
// place by itself that another has, its own earlier connection neither.

import { api, Refusal } from "./api.ts"
import type { RoomInfo } from "./api.ts"
import { leave, sentence } from "./store.ts"

export interface Envelope {
  type: string
  id?: string
  replyTo?: string
  payload: Record<string, unknown>
}

export type Role = "host" | "agent"

/** `taken`: another is the host, and a person decides; `returning`: the server still has our earlier connection. */
export type LineState = "joining" | "joined" | "taken" | "returning" | "replaced" | "closed"

export interface Follower {
  /** The page was in this place before it was loaded. */
  wasThere?: boolean
  /** What must be before it joins. */
  prepare?(): Promise<unknown>
  joined?(): void
  heard(said: Envelope): void
  changed(): void
}

/** What the relay or a host answered instead of doing it. */
export class Refused extends Error {
  readonly code: string
  constructor({ code, message }: { code?: unknown; message?: unknown }) {
    super(typeof message === "string" ? message : String(code))
    this.code = String(code)
  }
}

const VERSION = "mvp-0.2"
const JOIN = "join"
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS, ANSWER_MS] = [200, 4_000, 35_000]
/** So long a page waits for its earlier connection to end: after a click, when it was loaded again, and when it lost it. */
const [CLICKED_MS, RELOADED_MS, LOST_MS, LOOK_MS] = [3_000, 20_000, 90_000, 200]
/** A timer that is so late was asleep, and a server drops who sleeps for a minute. */
const [TICK_MS, ASLEEP_MS, ALIVE_MS] = [10_000, 90_000, 3_000]

export class Line {
  readonly role: Role
  readonly room: string
  state: LineState = "joining"
  /** Why it cannot join, if that is not for the server being away. */
  why = ""
  #follower: Follower
  #socket: WebSocket | undefined
  #asked = new Map<string, { done: (said: Envelope) => void; failed: (why: Error) => void }>()
  #numbers = 0
  #wasJoined = false
  #isForced = false
  #rest: (() => void) | undefined
  #ticking: number
  #tickedAt = Date.now()

  constructor(role: Role, room: string, follower: Follower) {
    this.role = role
    this.room = room
    this.#follower = follower
    this.#ticking = window.setInterval(() => this.#tick(), TICK_MS)
    addEventListener("online", this.#check)
    void this.#live()
  }

  close() {
    clearInterval(this.#ticking)
    removeEventListener("online", this.#check)
    this.#be("closed")
    this.#socket?.close()
    this.#rest?.()
  }

  /** Joins although another is the host, which is then replaced. */
  takePlace() {
    this.#isForced = true
    const isOver = this.state === "replaced"
    this.#be("joining")
    if (isOver) void this.#live()
    else this.#rest?.()
  }

  say(said: Envelope): boolean {
    if (this.state !== "joined" || this.#socket?.readyState !== WebSocket.OPEN) return false
    this.#send(said)
    return true
  }

  /** Sends a request and waits for what answers it. */
  ask(type: string, payload: Record<string, unknown>): Promise<Envelope> {
    const id = `page-${++this.#numbers}`
    return new Promise((done, failed) => {
      const timer = setTimeout(() => failed(new Refusal(0, "lost", "")), ANSWER_MS)
      const end = () => (clearTimeout(timer), this.#asked.delete(id))
      this.#asked.set(id, { done: (said) => (end(), done(said)), failed: (why) => (end(), failed(why)) })
      if (!this.say({ type, id, payload })) this.#asked.get(id)?.failed(new Refusal(0, "lost", ""))
    })
  }

  #send(said: Envelope) {
    this.#socket?.send(JSON.stringify({ v: VERSION, ...said }))
  }

  get #isOver() {
    return this.state === "closed" || this.state === "replaced"
  }

  #be(state: LineState) {
    if (this.state === state || this.state === "closed") return
    this.state = state
    this.#follower.changed()
  }

  async #live() {
    let pause = FIRST_PAUSE_MS
    while (!this.#isOver) {
      try {
        await this.#follower.prepare?.()
        if (this.role === "host") await this.#place()
        if (this.#isOver) return
        if (await this.#connect()) pause = FIRST_PAUSE_MS
      } catch (error) {
        if (await leave(error)) return this.close()
        this.why = error instanceof Refusal && error.status === 0 ? "" : sentence(error)
        this.#follower.changed()
      } finally {
        this.#giveWay()
      }
      for (const { failed } of [...this.#asked.values()]) failed(new Refusal(0, "lost", ""))
      if (this.#isOver) return
      this.#be("joining")
      await this.#pause(pause)
      pause = Math.min(2 * pause, LONGEST_PAUSE_MS)
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((over) => {
      const timer = setTimeout(over, ms)
      this.#rest = () => (clearTimeout(timer), over())
    })
  }

  /** Waits until the place of the host is free, or a person says that it is to be taken. */
  async #place() {
    const begun = Date.now()
    const patience = this.#wasJoined ? LOST_MS : this.#follower.wasThere ? RELOADED_MS : CLICKED_MS
    while (!this.#isOver) {
      this.#giveWay = await aloneIn(this.room)
      const host = await hostOf(this.room)
      if (this.#isForced || host === undefined && this.state !== "taken") break
      this.#giveWay()
      const mayBeOurs = host === "socket" && Date.now() - begun < patience
      if (!mayBeOurs) this.#be("taken")
      else if (Date.now() - begun > CLICKED_MS || this.#wasJoined) this.#be("returning")
      await this.#pause(this.state === "taken" ? LONGEST_PAUSE_MS : LOOK_MS)
    }
    this.#isForced = false
  }

  /** Lets other pages look who the host is; from a look to the join that follows it they wait. */
  #giveWay = () => {}

  /** One connection, until it ends; whether it joined. */
  #connect(): Promise<boolean> {
    return new Promise((over) => {
      const socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/agent/ws`)
      this.#socket = socket
      let isIn = false
      socket.onopen = () => this.#join()
      socket.onmessage = ({ data }) => {
        if (socket !== this.#socket) return
        const said = read(data)
        if (said) isIn = this.#hear(said) || isIn
      }
      socket.onclose = ({ code }) => {
        // The relay closes so when another host has come, and in no other case.
        if (isIn && code === 1000 && this.role === "host" && socket === this.#socket) this.#be("replaced")
        over(isIn)
      }
    })
  }

  #join() {
    this.#send({ type: "relay.join", id: JOIN, payload: { role: this.role, sessionId: this.room } })
  }

  /** Takes a message; whether it says that it has joined. */
  #hear(said: Envelope): boolean {
    if (said.type === "relay.joined") {
      this.#alive?.()
      this.#giveWay()
      if (this.state !== "joined") {
        this.#wasJoined = true
        this.why = ""
        this.#be("joined")
        this.#follower.joined?.()
      }
      return true
    }
    if (said.replyTo === JOIN && said.type === "error") {
      // The room may be full: this ends the connection, and another tries in a moment.
      this.why = new Refused(said.payload).message
      this.#follower.changed()
      this.#socket?.close()
      return false
    }
    const asked = said.replyTo === undefined ? undefined : this.#asked.get(said.replyTo)
    if (asked && said.type === "error") asked.failed(new Refused(said.payload))
    else if (asked) asked.done(said)
    else this.#follower.heard(said)
    return false
  }

  #alive: (() => void) | undefined

  #tick() {
    const slept = Date.now() - this.#tickedAt
    this.#tickedAt = Date.now()
    if (slept > ASLEEP_MS) this.#check()
  }

  /** After a sleep a connection may be dead without a word: one that does not answer is let go. */
  #check = () => {
    const socket = this.#socket
    if (this.state !== "joined" || !socket) return
    const timer = setTimeout(() => {
      // A dead connection may take minutes to close, and is not waited for.
      this.#socket = undefined
      socket.onclose?.(new CloseEvent("close", { code: 1006 }))
      socket.onclose = null
      socket.close()
    }, ALIVE_MS)
    this.#alive = () => clearTimeout(timer)
    // Who has joined already and joins again only hears that it has.
    this.#join()
  }
}

/** Keeps the other pages of this browser from joining a room until what it returns is called: two that are restored at once look one after the other. */
function aloneIn(room: string): Promise<() => void> {
  return new Promise((begun) => {
    // Without TLS, a browser has no locks for another machine's pages.
    if (!navigator.locks) return begun(() => {})
    void navigator.locks.request(`samovar.host.${room}`, () => new Promise<void>((over) => begun(over)))
  })
}

/** The kind of a room's host. */
async function hostOf(room: string): Promise<RoomInfo["host"]> {
  return (await api.rooms()).find((one) => one.room === room)?.host
}

/** A message of the protocol; what is none is left out. */
function read(data: unknown): Envelope | undefined {
  try {
    const said = JSON.parse(String(data)) as Partial<Envelope> | null
    if (typeof said?.type !== "string") return undefined
    return { ...said, type: said.type, payload: said.payload ?? {} }
  } catch {
    return undefined
  }
}
