// A session as the page shows it: the stored messages and the events of its feed become the same
// messages, calls and turns, so what is seen live is what is seen after a reload.
//
// `fold` takes one event. It does no I/O, knows no clock, and may be given an event twice.

import type { AgentMessage, SessionInfo, TurnInfo } from "./api.ts"
import type { Frame } from "./feed.ts"

/** Whose message it is (SA-8). */
export interface AgentMeta {
  kind: "master" | "sub"
  name: string
  displayName: string
  depth: number
  path: string[]
  toolCallId?: string
  parentMessageId?: string
}

export type Part =
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string }
  | { type: "call"; id: string; name: string; args: unknown; written?: string }
  | { type: "image"; blob: string; width: number; height: number }
  | { type: "preview"; url: string }

export interface Message {
  id: string
  role: "system" | "user" | "assistant" | "tool"
  agent: AgentMeta
  parts: Part[]
  at: number
  turnId?: string
  /** It is still being written. */
  isLive?: boolean
  /** Why it does not count: the model was asked again. */
  void?: string
  /** It was sent and the server has not shown it yet. */
  isSending?: boolean
  /** It waits to join the turn that runs. */
  entry?: string
}

export interface Outcome {
  status: "done" | "failed" | "denied" | "cancelled" | "unknown"
  text: string
  data?: unknown
}

export interface Progress {
  elapsed_ms: number
  output_bytes: number
  last: string
  note?: string
}

/** What became of a call. */
export interface Call {
  id: string
  /** When its message was finished. */
  askedAt?: number
  endedAt?: number
  state: "asked" | "running" | "open" | "over"
  progress?: Progress
  outcome?: Outcome
  /** Who allowed or denied it, and with what words. */
  answer?: { decision: string; by: string; words?: string }
}

export interface Turn {
  id: string
  name: string
  displayName?: string
  path: string[]
  state: "queued" | "running" | "waiting" | "finished"
  parentCall?: string
  parent?: string
  startedAt?: number
  endedAt?: number
  tokens: number
  costUsd?: number
  reason?: string
  limit?: string
  fault?: { code: string; message: string }
  iteration?: number
  maxIterations?: number
  model?: string
  approval?: string
  /** The model's server reads the prompt: so many tokens of so many. */
  reading?: { read: number; total: number }
  /** The messages whose tokens are in `tokens`. */
  counted: Set<string>
}

export interface View {
  session: SessionInfo
  messages: Map<string, Message>
  calls: Map<string, Call>
  turns: Map<string, Turn>
  /** The messages of called agents, by the call that called them. */
  branches: Map<string, string[]>
  /** The message that asked for a call. */
  owners: Map<string, string>
  /** The ids of the messages of the session's own agent, in order. */
  thread: string[]
  /** The ids of all messages that have their place. */
  placed: Set<string>
  /** How often what a message shows has changed: its words, its calls, the agents that it called. */
  stamps: Map<string, number>
  /** Whether older messages are stored. */
  hasEarlier: boolean
  /** Turns were taken back: the messages have to be read again. */
  isStale: boolean
  isGone: boolean
  version: number
  /** Counts what the tree of agents shows; fragments of text are not in it. */
  treeVersion: number
}

export function emptyView(session: SessionInfo): View {
  return {
    session, messages: new Map(), calls: new Map(), turns: new Map(), branches: new Map(), owners: new Map(), thread: [],
    placed: new Set(), stamps: new Map(), hasEarlier: false, isStale: false, isGone: false, version: 0, treeVersion: 0,
  }
}

const MASTER: AgentMeta = { kind: "master", name: "master", displayName: "", depth: 0, path: ["master"] }

/** Adds stored messages that are older than all that the view has. */
export function addStored(view: View, stored: AgentMessage[]) {
  const known = [...view.thread, ...[...view.branches.values()].flat()]
  view.thread = []
  view.branches = new Map()
  view.placed = new Set()
  for (const one of stored) addOneStored(view, one)
  for (const id of known) place(view, view.messages.get(id))
  view.version += 1
}

function addOneStored(view: View, one: AgentMessage) {
  if (one.role === "tool") {
    const outcome = (one.parts as unknown[]).find((part) => isOutcome(part)) as Outcome | undefined
    if (!one.toolCallId) return
    const said = outcome ?? { status: one.isError ? "failed" : "done", text: one.content }
    close(view, one.toolCallId, { status: said.status, text: said.text, data: said.data }, one.createdAt)
    return
  }
  const agent = (one.metadata["agent"] as AgentMeta | undefined) ?? MASTER
  const turnId = one.metadata["turnId"] as string | undefined
  const message: Message = {
    id: one.id, role: one.role, agent, parts: partsOf(one.parts as RawPart[]), at: one.createdAt,
    ...(turnId ? { turnId } : {}),
  }
  put(view, message)
}

function isOutcome(part: unknown): boolean {
  return (part as { type?: unknown }).type === "outcome"
}

/** The turns that the server lists; what their events said counts more. */
export function addTurns(view: View, turns: TurnInfo[]) {
  for (const one of turns) {
    const known = view.turns.get(one.turnId)
    if (known?.counted.size) continue
    const { turnId: id, toolCallId: parentCall, parentTurnId: parent, finishReason: reason } = one
    const { costUsd, startedAt, limit, fault } = one
    const turn: Turn = {
      ...(known ?? { counted: new Set<string>() }),
      id, name: one.name, path: one.path, state: one.state, tokens: one.tokens,
      ...defined({ parentCall, parent, reason, costUsd, startedAt, limit, fault }),
    }
    if (one.state === "finished" && startedAt !== undefined) turn.endedAt = startedAt + one.elapsedMs
    view.turns.set(id, turn)
  }
  view.treeVersion += 1
  view.version += 1
}

type RawPart = { type: string } & Record<string, unknown>

function partsOf(parts: RawPart[]): Part[] {
  const shown = ["text", "reasoning", "call", "image"]
  return parts.filter(({ type }) => shown.includes(type)) as unknown as Part[]
}

function defined<T extends object>(some: T): { [Key in keyof T]?: NonNullable<T[Key]> } {
  return Object.fromEntries(Object.entries(some).filter(([, value]) => value !== undefined)) as never
}

/** What a message shows has changed, and so has the message that called its agent. */
function touch(view: View, id: string | undefined) {
  for (let at = id; at !== undefined; ) {
    view.stamps.set(at, (view.stamps.get(at) ?? 0) + 1)
    const call = view.messages.get(at)?.agent.toolCallId
    at = call === undefined ? undefined : view.owners.get(call)
  }
}

function save(view: View, message: Message) {
  view.messages.set(message.id, message)
  touch(view, message.id)
}

/** Puts a message at its place, or in the place of the one with its id. */
function put(view: View, message: Message) {
  save(view, message)
  place(view, message)
  for (const part of message.parts) {
    if (part.type !== "call") continue
    view.owners.set(part.id, message.id)
    change(view, part.id, { askedAt: message.isLive ? undefined : message.at })
  }
}

function place(view: View, message: Message | undefined) {
  if (!message || view.placed.has(message.id)) return
  view.placed.add(message.id)
  const call = message.agent.toolCallId
  if (!call) return void view.thread.push(message.id)
  view.branches.set(call, [...(view.branches.get(call) ?? []), message.id])
}

function change(view: View, id: string, more: { [Key in keyof Call]?: Call[Key] | undefined }) {
  const known = view.calls.get(id) ?? { id, state: "asked" as const }
  view.calls.set(id, { ...known, ...defined(more) } as Call)
  touch(view, view.owners.get(id))
}

function close(view: View, id: string, outcome: Outcome, at: number) {
  change(view, id, { state: "over", outcome: defined(outcome) as Outcome, endedAt: at })
}

/** A message that is on its way: the server's own takes its place. */
export function addSending(view: View, id: string, text: string, previews: string[], at: number, entry?: string) {
  const parts: Part[] = [{ type: "text", text }, ...previews.map((url) => ({ type: "preview" as const, url }))]
  const more = entry === undefined ? {} : { entry }
  put(view, { id, role: "user", agent: MASTER, parts, at, isSending: true, ...more })
  view.version += 1
}

export function dropMessage(view: View, id: string) {
  const message = view.messages.get(id)
  for (const part of message?.parts ?? []) {
    if (part.type !== "call" || view.owners.get(part.id) !== id) continue
    view.owners.delete(part.id)
    view.calls.delete(part.id)
  }
  const call = message?.agent.toolCallId
  if (call) {
    const left = (view.branches.get(call) ?? []).filter((one) => one !== id)
    if (left.length > 0) view.branches.set(call, left)
    else view.branches.delete(call)
    touch(view, view.owners.get(call))
  }
  view.messages.delete(id)
  view.placed.delete(id)
  view.thread = view.thread.filter((one) => one !== id)
  view.version += 1
}

interface Raw extends Frame {
  turn?: string
  agent: string
  at: number
}

const FRAGMENTS = ["delta", "part_added", "call_progress", "prompt_progress"]

/** Takes an event of the session's feed. */
export function fold(view: View, frame: Frame) {
  const event = frame as Raw
  view.version += 1
  if (!FRAGMENTS.includes(event.type)) view.treeVersion += 1
  const take = TAKES[event.type]
  take?.(view, event, event)
}

type Take = (view: View, event: Raw, fields: Record<string, any>) => void

const TAKES: Record<string, Take> = {
  reset: (view, _, { snapshot }) => {
    view.session = snapshot.session
    addTurns(view, snapshot.turns)
    for (const { id } of snapshot.approvals) change(view, id, {})
  },
  session_changed: (view, _, fields) => {
    const { title, model, approval, tainted } = fields
    view.session = { ...view.session, ...defined({ title, model, approval }), ...(tainted ? { tainted } : {}) }
  },
  session_closed: (view) => { view.isGone = true },
  turn_started: (view, event, fields) => startTurn(view, event, fields),
  step_started: (view, event, { iteration, model }) => {
    changeTurn(view, event, { state: "running", iteration, ...defined({ model }) })
  },
  step_reset: (view, event, { reason }) => voidStep(view, event.turn, reason),
  turn_continued: (view, event) => changeTurn(view, event, { state: "running" }),
  message_started: (view, event, { message, role }) => startMessage(view, event, message, role),
  delta: (view, event, { message, part, fragment }) => addFragment(view, event, message, part, fragment),
  part_added: (view, event, { message, index, part }) => {
    const live = liveMessage(view, event, message)
    if (live && partsOf([part]).length > 0) setPart(view, live, index, part)
  },
  prompt_progress: (view, event, { read, total }) => changeTurn(view, event, { reading: { read, total } }),
  message_finished: (view, event, fields) => finishMessage(view, event, fields),
  approval_asked: (view, event, { call }) => {
    change(view, call, { state: "asked" })
    changeTurn(view, event, { state: "waiting" })
  },
  call_approved: (view, event, { call, decision, by, words }) => {
    change(view, call, { answer: defined({ decision, by, words }) as never })
    changeTurn(view, event, { state: "running" })
  },
  call_started: (view, event, { call, closer }) => {
    if (view.calls.get(call)?.state === "over") return
    const waits = closer === "outside" || closer === "person"
    change(view, call, { state: waits ? "open" : "running" })
    changeTurn(view, event, { state: waits ? "waiting" : "running" })
  },
  call_progress: (view, _, { call, progress }) => {
    if (view.calls.get(call)?.state !== "over") change(view, call, { state: "running", progress })
  },
  call_closed: (view, event, { call, outcome }) => {
    close(view, call, { status: outcome.status, text: outcome.text ?? "", data: outcome.data }, event.at)
    changeTurn(view, event, { state: "running" })
  },
  turn_finished: (view, event, fields) => finishTurn(view, event, fields),
  turn_undone: (view) => { view.isStale = true },
  events_lost: (view) => { view.isStale = true },
}

function changeTurn(view: View, { turn: id, agent }: Raw, more: Partial<Turn>) {
  if (!id) return
  const path = agent.split("/")
  const known = view.turns.get(id) ??
    { id, name: path.at(-1) ?? "", path, state: "queued", tokens: 0, counted: new Set<string>() }
  if (known.state === "finished" && more.state !== undefined) return
  const turn = { ...known, ...more }
  view.turns.set(id, turn)
  if (turn.parentCall) touch(view, view.owners.get(turn.parentCall))
}

function startTurn(view: View, event: Raw, fields: Record<string, any>) {
  const { model, approval, limits, parent_call: parentCall, definition } = fields
  const known = view.turns.get(event.turn ?? "")
  if (known?.counted.size) return
  // What waited in the queue comes after the answers before it, as it is stored.
  if (known?.startedAt === undefined) moveToEnd(view, (one) => one.turnId === event.turn)
  if (event.turn && known?.state === "finished") view.turns.set(event.turn, { ...known, state: "queued" })
  changeTurn(view, event, {
    state: "running", startedAt: event.at, tokens: 0, counted: new Set(), model, approval,
    ...defined({
      parentCall, displayName: definition?.display_name, name: definition?.name,
      maxIterations: limits?.max_iterations,
    }),
  })
}

function moveToEnd(view: View, isMoved: (message: Message) => boolean) {
  const moved = view.thread.filter((id) => isMoved(view.messages.get(id)!))
  if (moved.length > 0) view.thread = [...view.thread.filter((id) => !moved.includes(id)), ...moved]
}

/** Whether a message waits: for its turn, or to join the one that runs. */
export function doesWait(view: View, { turnId, entry, isSending }: Message): boolean {
  if (isSending && entry === undefined) return false
  return entry === "steers" || (turnId !== undefined && view.turns.get(turnId)?.state === "queued")
}

/** The ids of the thread with what waits at its end. */
export function threadOf(view: View): string[] {
  const waiting = view.thread.filter((id) => doesWait(view, view.messages.get(id)!))
  return waiting.length === 0 ? view.thread : [...view.thread.filter((id) => !waiting.includes(id)), ...waiting]
}

/** What the model said in an attempt that failed does not count. */
function voidStep(view: View, turnId: string | undefined, reason: string) {
  const own = [...view.messages.values()].filter((one) => one.turnId === turnId && one.isLive)
  for (const one of own) save(view, { ...one, isLive: false, void: reason })
}

function agentOf(view: View, { agent, turn }: Raw): AgentMeta {
  const path = agent.split("/")
  const known = turn === undefined ? undefined : view.turns.get(turn)
  const name = path.at(-1) ?? ""
  const meta: AgentMeta = {
    kind: path.length > 1 ? "sub" : "master", name, displayName: known?.displayName ?? name,
    depth: path.length - 1, path,
  }
  return known?.parentCall ? { ...meta, toolCallId: known.parentCall } : meta
}

function startMessage(view: View, event: Raw, id: string, role: Message["role"]) {
  if (view.messages.has(id)) return
  const turn = event.turn === undefined ? {} : { turnId: event.turn }
  put(view, { id, role, agent: agentOf(view, event), parts: [], at: event.at, isLive: true, ...turn })
}

/** The message if it is still being written: fragments of a finished one say nothing new. */
function liveMessage(view: View, event: Raw, id: string): Message | undefined {
  if (!view.messages.has(id)) startMessage(view, event, id, "assistant")
  const message = view.messages.get(id)
  return message?.isLive ? message : undefined
}

function setPart(view: View, message: Message, index: number, part: Part) {
  const parts = [...message.parts]
  while (parts.length < index) parts.push({ type: "text", text: "" })
  parts[index] = part
  save(view, { ...message, parts })
  if (part.type !== "call" || view.owners.has(part.id)) return
  view.owners.set(part.id, message.id)
  change(view, part.id, {})
}

function addFragment(view: View, event: Raw, id: string, index: number, fragment: Record<string, any>) {
  const message = liveMessage(view, event, id)
  if (!message) return
  const known = message.parts[index]
  const { text, reasoning, call, args } = fragment
  if (text !== undefined) {
    const before = known?.type === "text" ? known.text : ""
    setPart(view, message, index, { type: "text", text: before + text })
  } else if (reasoning !== undefined) {
    const before = known?.type === "reasoning" ? known.text : ""
    setPart(view, message, index, { type: "reasoning", text: before + reasoning })
  } else if (call) {
    setPart(view, message, index, { type: "call", id: call.id, name: call.name, args: null, written: "" })
  } else if (args !== undefined && known?.type === "call") {
    setPart(view, message, index, { ...known, written: (known.written ?? "") + args })
  }
}

function finishMessage(view: View, event: Raw, { message, entry }: Record<string, any>) {
  if (message.role === "tool") {
    const part = message.parts[0]
    const outcome = part?.outcome ?? part
    if (part) close(view, part.call, { status: outcome.status, text: outcome.text ?? "", data: outcome.data }, event.at)
    return
  }
  const agent = (message.metadata?.agent as AgentMeta | undefined) ?? agentOf(view, event)
  const known = view.messages.get(message.id)
  if (known?.void) return
  const turn = event.turn === undefined ? {} : { turnId: event.turn }
  const waits = entry === "steers" ? { entry } : {}
  put(view, {
    id: message.id, role: message.role, agent, parts: partsOf(message.parts), at: message.created_at, ...turn, ...waits,
  })
  if (entry === "joined" && known?.entry) moveToEnd(view, ({ id }) => id === message.id)
  if (!event.turn) return
  if (message.role === "user" && !view.turns.has(event.turn)) changeTurn(view, event, { state: "queued" })
  const turnNow = view.turns.get(event.turn)
  if (message.usage && turnNow && !turnNow.counted.has(message.id)) {
    const tokens = turnNow.tokens + message.usage.input + message.usage.output
    const { reading: _, ...rest } = turnNow
    view.turns.set(event.turn, { ...rest, tokens, counted: new Set([...turnNow.counted, message.id]) })
  }
}

function finishTurn(view: View, event: Raw, { reason, iterations, usage, fault, bill }: Record<string, any>) {
  const said = typeof reason === "string" ? reason : reason?.model
  const turn = view.turns.get(event.turn ?? "")
  if (turn) delete turn.reading
  changeTurn(view, event, {
    state: "finished", endedAt: event.at, reason: said, iteration: iterations,
    tokens: usage ? usage.input + usage.output : 0,
    ...defined({ fault, costUsd: costOf(bill), limit: bill?.limit }),
  })
  for (const message of view.messages.values()) {
    if (message.turnId !== event.turn) continue
    // Attempts that do not count are not stored, so they are over with their turn.
    if (message.void !== undefined) {
      dropMessage(view, message.id)
      continue
    }
    // What a stopped turn had begun to say is all that comes.
    if (message.isLive) save(view, { ...message, isLive: false })
    if (message.entry) {
      const { entry: _entry, ...joined } = message
      save(view, joined)
    }
  }
}

function costOf(bill: { nano_usd?: number } | undefined): number | undefined {
  return bill?.nano_usd === undefined ? undefined : bill.nano_usd / 1e9
}

/** The turn of the session's own agent that runs or waits. */
export function currentTurn(view: View): Turn | undefined {
  for (const turn of [...view.turns.values()].reverse()) {
    if (!turn.parentCall && (turn.state === "running" || turn.state === "waiting")) return turn
  }
  return undefined
}

/** The turns below each turn, in the order in which they began; those of the session's own agent are
 * under "". */
export function treeOf(view: View): Map<string, Turn[]> {
  const tree = new Map<string, Turn[]>()
  for (const turn of view.turns.values()) {
    const owner = turn.parentCall && view.owners.get(turn.parentCall)
    const parent = (owner && view.messages.get(owner)?.turnId) ?? turn.parent ?? ""
    const below = tree.get(parent)
    if (below) below.push(turn)
    else tree.set(parent, [turn])
  }
  return tree
}
