// What the page follows: the feed of all sessions, and that of the session that is open.

import { api, passes, Refusal } from "./api.ts"
import type { ApprovalInfo, OpenCallInfo, SessionInfo, TurnInfo } from "./api.ts"
import { Feed, firstOfTurn } from "./feed.ts"
import type { Frame } from "./feed.ts"
import { addStored, addTurns, emptyView, fold } from "./model.ts"
import { moveDraft, NEW } from "./drafts.ts"
import { announce, attempt, changed, leave, onFrame, onFull, onOut, out, sentence, set, state, toast } from "./store.ts"
import { t } from "./words.ts"

/** How many stored messages are read at once. */
const STORED_PAGE = 200

onFrame(takeEvents)
onFull(() => void watchDisk(true))
onOut(() => (globalFeed?.close(), sessionFeed?.close()))

// The way in

export async function start(code = codeOfAddress()) {
  globalFeed?.close()
  sessionFeed?.close()
  let why: string | undefined
  try {
    if (code !== "") why = await loginRefusal(code)
    state.me = await api.me()
  } catch (error) {
    if (!(error instanceof Refusal) || passes(error)) return retryStart(code, error)
    return out(why ?? t("login_none"))
  }
  // The link is of no use, and the browser is logged in all the same.
  if (why !== undefined) toast(why)
  state.phase = "ready"
  state.lostWhy = ""
  state.isLost = false
  state.current = sessionOfAddress()
  followAll()
  void loadServer()
  if (state.current) void open(state.current)
  changed()
}

/** Logs in; the sentence of the refusal if the code is not good. */
async function loginRefusal(code: string): Promise<string | undefined> {
  try {
    await api.login(code)
    return undefined
  } catch (error) {
    if (!(error instanceof Refusal) || passes(error)) throw error
    return error.message
  }
}

function retryStart(code: string, error: unknown) {
  set({ isLost: true, lostWhy: whyLost(error) })
  const wait = error instanceof Refusal ? Number(error.details["retryAfterMs"] ?? 0) : 0
  setTimeout(() => void start(code), Math.min(60_000, Math.max(2_000, wait)))
}

/** What the server itself says about why it does not serve. */
function whyLost(error: unknown): string {
  return error instanceof Refusal && error.code !== "" && error.status !== 0 ? error.message : ""
}

/** The code of a login link. It leaves the address before anything else happens. */
function codeOfAddress(): string {
  const code = /^#login=(.+)$/.exec(location.hash)?.[1] ?? ""
  if (code !== "") history.replaceState(null, "", location.pathname)
  return decoded(code)
}

export function sessionOfAddress(): string | undefined {
  const match = /^#\/s\/(.+)$/.exec(location.hash)
  return match?.[1] === undefined ? undefined : decoded(match[1])
}

/** A part of the address, which people may have changed. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

async function loadServer() {
  await attempt(async () => {
    const [server, models] = await Promise.all([api.server(), api.models()])
    set({ server, models })
    await watchDisk(server.store?.isFull === true)
  })
}

/** While the disk is full the page asks now and then whether it still is. */
const DISK_EVERY_MS = 5_000

async function watchDisk(isFull: boolean) {
  set({ isDiskFull: isFull })
  if (!isFull) return
  later("disk", DISK_EVERY_MS, async () => {
    const server = await api.server().catch(() => undefined)
    if (server) set({ server })
    await watchDisk(server?.store?.isFull ?? true)
  })
}

/** The turns that wait for a person since the server started. */
async function loadInterrupted() {
  const { waiting } = await api.recovery()
  set({ interrupted: new Map(waiting.map(({ sessionId, turnId }) => [sessionId, turnId])) })
}

// The feed of all sessions

let globalFeed: Feed | undefined

function followAll() {
  globalFeed = new Feed("/api/events", undefined, {
    take: takeGlobal,
    connected: (isThere, why) => {
      if (isThere && state.isLost) announce(t("lost_back"))
      set({ isLost: !isThere, lostWhy: whyLost(why) })
      if (isThere) later("interrupted", 100, loadInterrupted)
    },
    refused: (refusal) => void leave(refusal).then((isOut) => {
      if (isOut) return
      // The login is another one by now: what this page follows begins again with it.
      if (refusal.status === 401) void start("")
      else toast(sentence(refusal), { isError: true })
    }),
  })
}

function takeGlobal(event: Frame) {
  if (event.type === "reset") takeSnapshot(event["snapshot"] as Snapshot)
  else takeOfSession(event)
  changed()
}

interface Snapshot {
  sessions: { items: SessionInfo[]; totalCount: number }
  turns: TurnInfo[]
  approvals: { items: ApprovalInfo[] }
  calls: { items: OpenCallInfo[] }
}

function takeSnapshot({ sessions, turns, approvals, calls }: Snapshot) {
  state.sessions = new Map(sessions.items.map((one) => [one.id, one]))
  state.totalSessions = sessions.totalCount
  state.working = new Map(turns.filter(({ depth }) => depth === 0).map((one) => [one.sessionId, one.state]))
  state.approvals = approvals.items
  state.calls = calls.items
}

function takeOfSession(event: Frame) {
  const { sessionId, agent, call, type } = event as Frame & { sessionId: string; agent?: string; call?: string }
  const isRoot = !agent?.includes("/")
  if (type === "turn_started" && isRoot) state.working.set(sessionId, "running")
  if (type === "turn_finished" && isRoot) state.working.delete(sessionId)
  if (type === "turn_finished" || type === "turn_continued") state.interrupted.delete(sessionId)
  if (type === "session_closed") {
    state.sessions.delete(sessionId)
    state.found.delete(sessionId)
    state.totalSessions = Math.max(state.sessions.size, state.totalSessions - 1)
    state.approvals = state.approvals.filter((one) => one.sessionId !== sessionId)
  }
  if (type === "session_opened") state.totalSessions += 1
  if (RENEWS.includes(type)) renew(sessionId)
  if (type === "approval_asked") {
    announce(t("approvals_announced"))
    later("approvals", 30, async () => set({ approvals: (await api.approvals()).items }))
  }
  const closer = event["closer"]
  if (type === "call_started" && (closer === "person" || closer === "outside")) {
    later("calls", 30, async () => set({ calls: (await api.calls()).items }))
  }
  if (call && (type === "call_approved" || type === "call_closed")) {
    state.approvals = state.approvals.filter((one) => one.callId !== call)
    if (type === "call_closed") state.calls = state.calls.filter((one) => one.id !== call)
  }
  if (type === "turn_finished") {
    state.approvals = state.approvals.filter((one) => one.turnId !== event["turn"])
  }
}

const RENEWS = ["session_opened", "session_changed", "turn_started", "turn_finished", "turn_undone"]

/** Reads what the list shows of a session again, once for all that happens meanwhile. */
function renew(sessionId: string) {
  later(`session ${sessionId}`, 250, async () => {
    const session = await api.session(sessionId)
    state.sessions.set(sessionId, session)
    if (state.view?.session.id === sessionId) state.view.session = session
    changed()
  })
}

const due = new Map<string, number>()

function later(key: string, ms: number, work: () => Promise<unknown>) {
  if (due.has(key)) return
  due.set(key, window.setTimeout(() => {
    due.delete(key)
    work().catch(() => undefined)
  }, ms))
}

// The session that is open

let sessionFeed: Feed | undefined
let waiting: Frame[] = []
let opened = 0
/** A session is being opened: its events wait for what is stored. */
let isHolding = false

/** Opens a session: first its feed, so that nothing is missed, then what is stored. */
export async function open(id: string) {
  const mine = ++opened
  const isAnother = state.current !== id || state.view?.session.id !== id
  if (location.hash !== hashOf(id)) history.pushState(null, "", hashOf(id))
  set({ current: id, isLoading: isAnother, loadError: "", drawer: undefined })
  if (isAnother) set({ view: undefined, told: undefined, focus: undefined })
  try {
    const snapshot = await follow(id, undefined, mine)
    const isRunning = snapshot.turns.some(({ state }) => state !== "queued")
    const [stored, turns, first] = await Promise.all([
      storedBefore(id), api.turns(id), isRunning ? firstOfTurn(id) : undefined,
    ])
    if (mine !== opened) return
    const view = emptyView(snapshot.session)
    addStored(view, stored.messages)
    view.hasEarlier = stored.hasEarlier
    addTurns(view, turns)
    addTurns(view, snapshot.turns)
    if (first) {
      // The running turn is read from its start: what it is saying is stored nowhere else.
      fold(view, first.event)
      void follow(id, first.id, mine)
    }
    isHolding = false
    set({ view, isLoading: false })
    void loadTold(id)
  } catch (error) {
    if (mine !== opened || (await leave(error))) return
    set({ isLoading: false, loadError: sentence(error) })
  }
}

export function hashOf(id: string): string {
  return `#/s/${encodeURIComponent(id)}`
}

/** Stored messages from a user's message on, so that no answer begins in its middle. */
async function storedBefore(sessionId: string, end?: string) {
  const messages: Awaited<ReturnType<typeof api.messages>> = []
  for (let reads = 0; reads < 10; reads += 1) {
    const first = messages[0]?.id ?? end
    const page = await api.messages({ sessionId, limit: STORED_PAGE, ...(first ? { before: first } : {}) })
    messages.unshift(...page)
    if (page.length === 0) return { messages, hasEarlier: false }
    const start = messages[0]
    const agent = start?.metadata["agent"] as { depth?: number } | undefined
    if (start?.role === "user" && !agent?.depth) break
  }
  const before = messages[0]?.id
  const earlier = before === undefined ? [] : await api.messages({ sessionId, limit: 1, before })
  return { messages, hasEarlier: earlier.length > 0 }
}

export async function loadEarlier() {
  const view = state.view
  const first = view?.messages.get(view.thread[0] ?? "")
  if (!view || !first) return
  await attempt(async () => {
    const stored = await storedBefore(view.session.id, first.id)
    addStored(view, stored.messages)
    addTurns(view, [])
    view.hasEarlier = stored.hasEarlier
    changed()
  })
}

/** Follows a session's feed; without a cursor, returns what its `reset` says. */
function follow(id: string, after: string | undefined, mine: number): Promise<SessionSnapshot> {
  sessionFeed?.close()
  waiting = []
  isHolding = after === undefined
  return new Promise((begun, failed) => {
    let isBegun = after !== undefined
    const take = (event: Frame) => {
      if (mine !== opened) return
      if (event.type !== "reset") waiting.push(event)
      // The position is not known any more: what is stored is read again.
      else if (isBegun) void open(id)
      else begun(event["snapshot"] as SessionSnapshot)
      isBegun = true
      changed()
    }
    sessionFeed = new Feed(`/api/sessions/${encodeURIComponent(id)}/events`, after, {
      take,
      connected: (isThere, why) => set({ isLost: !isThere, lostWhy: whyLost(why) }),
      refused: (refusal) => {
        if (mine !== opened) return
        if (!isBegun) return failed(refusal)
        void leave(refusal).then((isOut) => {
          if (!isOut && mine === opened) set({ loadError: sentence(refusal) })
        })
      },
      ended: () => {
        if (state.view && mine === opened) state.view.isGone = true
        changed()
      },
    })
  })
}

interface SessionSnapshot {
  session: SessionInfo
  turns: TurnInfo[]
}

/** Takes the events that came since the last frame. */
function takeEvents() {
  const view = state.view
  if (!view || isHolding || waiting.length === 0) return
  const events = waiting
  waiting = []
  for (const event of events) {
    fold(view, event)
    if (event.type === "turn_finished" && !String(event["agent"]).includes("/")) {
      later("told", 200, () => loadTold(view.session.id))
      announce(t("status_finished"))
    }
  }
  if (view.isStale) later("stale", 50, () => open(view.session.id))
}

async function loadTold(id: string) {
  const told = await api.told(id).catch(() => undefined)
  if (state.current === id) set({ told })
}

/** Leaves the open session, for a new one. */
export function compose() {
  if (location.hash !== "") history.pushState(null, "", location.pathname)
  leaveSession()
}

/** Follows no session any more. */
export function leaveSession() {
  opened += 1
  sessionFeed?.close()
  set({ current: undefined, view: undefined, told: undefined, focus: undefined, loadError: "", drawer: undefined })
}

/** After so long in the background a page lets its connections go: a browser has six for a server. */
const LEAVING_MS = 30_000
let leaving: number | undefined
let comeBack: () => void = () => {}

/** A page in the background follows no session; one of them all still hears what waits for a person. */
export function onVisibility() {
  clearTimeout(leaving)
  if (document.hidden) {
    leaving = window.setTimeout(rest, LEAVING_MS)
    return
  }
  comeBack()
  globalFeed?.resume()
  sessionFeed?.resume()
  changed()
}

function rest() {
  sessionFeed?.pause()
  const away = new Promise<void>((back) => { comeBack = back })
  void navigator.locks?.request("samovar.background", { ifAvailable: true }, (lock) => {
    if (lock) return away
    globalFeed?.pause()
    return undefined
  })
}

/** Opens a session that was just made, and has nothing stored. */
export function openNew(session: SessionInfo) {
  const mine = ++opened
  state.sessions.set(session.id, session)
  moveDraft(NEW, session.id)
  set({ current: session.id, view: emptyView(session) })
  history.pushState(null, "", hashOf(session.id))
  return follow(session.id, undefined, mine).then(() => (isHolding = false))
}
