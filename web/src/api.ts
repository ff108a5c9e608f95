// Requests to the server that serves this page, and what it says when it refuses.

import type {
  AgentMessage, ApprovalInfo, Decision, FoundMemory, OpenCallInfo, PaginatedResult, RuleInfo, SessionInfo, SkillSummary,
} from "../../clients/typescript/agent.ts"

export type { AgentMessage, ApprovalInfo, Decision, FoundMemory, OpenCallInfo, RuleInfo, SessionInfo, SkillSummary }

/** Who is here, as `GET /api/me` says. */
export interface Me {
  name: string
  scope: string
  serverId?: string
  version?: string
}

/** A turn as `GET /api/turns` lists it. */
export interface TurnInfo {
  turnId: string
  sessionId: string
  name: string
  path: string[]
  depth: number
  parentTurnId?: string
  toolCallId?: string
  state: "queued" | "running" | "waiting" | "finished"
  finishReason?: string
  startedAt?: number
  fault?: { code: string; message: string }
  elapsedMs: number
  tokens: number
  costUsd?: number
  limit?: string
}

/** What the server says of itself. */
export interface ServerInfo {
  version: string
  workspace: string
  approval: string
  store?: { isFull: boolean }
}

export interface Provider {
  name: string
  displayName: string
  access: "key" | "open" | "missing"
  set: string[]
  defaultModel?: string
  seen?: string
  models: { name: string; tools?: boolean }[]
  isChosen: boolean
}

export interface Models {
  chosen?: { name: string; kind: "remote" | "local" | "demo" }
  refusal?: string
  providers: Provider[]
}

export interface Layer {
  name: string
  tokens: number
  changed: boolean | null
  text: string
}

/** What the model of the last call was told. */
export interface Told {
  model: string
  tokens: number
  window?: number
  share?: number
  layers: Layer[]
  tools: Layer
  messages: { count: number; tokens: number }
}

export interface Hit {
  sessionId: string
  messageId: string
  role: string
  text: string
  at: number
}

/** What was found out about one thing of the server. */
export interface Finding {
  what: string
  label: string
  state: "ok" | "absent" | "bad"
  fact: string
  reason: string
  command?: string
}

/** A line of a test of a model. */
export type TestLine =
  | { type: "check"; label: string; state: "ok" | "failed" | "unseen" | "skipped"; fact: string }
  | { type: "end"; ok: boolean }
  | { type: "failed"; error: string }

export interface TokenInfo {
  name: string
  scope: string
  createdAt: number
}

/** A room of the relay, as `GET /api/relay/rooms` lists it. */
export interface RoomInfo {
  room: string
  host?: "socket" | "built_in"
  agents: number
  study?: string
}

/** A study log in short. */
export interface StudyInfo {
  id: string
  room?: string
  studyId?: string
  participantId?: string
  begun?: string
  lengthMs: number
  rows: number
  isEnded: boolean
}

/** What agents remember. */
export interface Memories {
  items: { id: string; text: string; source: string; tainted?: boolean }[]
  problems?: string[]
}

/** What an agent proposes to remember. */
export interface Proposal {
  id: string
  text: string
  about: "person" | "folder" | "day"
  by?: string
  tainted?: boolean
}

/** A refusal, with the sentence that the server gives for it. */
export class Refusal extends Error {
  readonly status: number
  readonly code: string
  readonly details: Record<string, unknown>

  constructor(status: number, code: string, message: string, details: Record<string, unknown> = {}) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
  }
}

/** The refusal of a request that reached no server. */
export const LOST = "lost"

/** Whether a refusal says nothing about the login, and the same request may succeed in a moment. */
export function passes({ status }: Refusal): boolean {
  return status === 0 || status === 429 || status >= 500
}

/** Sends a request; throws a `Refusal` for every answer but 2xx. */
export async function request(verb: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const said: RequestInit = { method: verb, credentials: "same-origin", signal: signal ?? null }
  if (body !== undefined) {
    said.body = JSON.stringify(body)
    said.headers = { "content-type": "application/json" }
  }
  const response = await fetch(path, said).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new Refusal(0, LOST, "")
  })
  if (response.ok) return response
  throw refusalOf(response, await response.text().catch(() => ""))
}

function refusalOf(response: Response, text: string): Refusal {
  const code = response.headers.get("x-samovar-code")
  if (code !== null) return new Refusal(response.status, code, text)
  try {
    const said = JSON.parse(text) as { code?: string; error?: string; details?: Record<string, unknown> }
    return new Refusal(response.status, said.code ?? "", said.error ?? "", said.details)
  } catch {
    return new Refusal(response.status, PASSES_BY.includes(response.status) ? LOST : "", text.slice(0, 200))
  }
}

/** The answers of a proxy while the server behind it is away. */
const PASSES_BY = [502, 503, 504]

async function value<T>(verb: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const response = await request(verb, path, body, signal)
  const text = await response.text()
  return (text === "" ? undefined : JSON.parse(text)) as T
}

const agent = <T>(method: string, params: object, signal?: AbortSignal) =>
  value<T>("POST", `/services/agent/${method}`, params, signal)

const part = encodeURIComponent

/** A log of the relay: that of a study, or a room's own. */
export type RowSource = { study: string } | { room: string }

const pathOf = (source: RowSource) =>
  "study" in source ? `logs/${part(source.study)}` : `rooms/${part(source.room)}/log`

/** Posts what begins a turn, and leaves its stream: the feed of the session shows the turn. */
async function begin(path: string, body: object): Promise<void> {
  const leaving = new AbortController()
  const response = await request("POST", path, body, leaving.signal)
  leaving.abort()
  await response.body?.cancel().catch(() => undefined)
}

/** The lines of an answer, as they come. */
async function* lines<T>(response: Response): AsyncGenerator<T> {
  const decoder = new TextDecoder()
  let rest = ""
  const reader = response.body?.getReader()
  for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
    const parts = (rest + decoder.decode(read.value, { stream: true })).split("\n")
    rest = parts.pop() ?? ""
    for (const part of parts) yield JSON.parse(part) as T
  }
}

export const api = {
  login: (code: string) => value<Me>("POST", "/api/login", { code }),
  logout: () => value<void>("POST", "/api/logout", {}),
  me: () => value<Me>("GET", "/api/me"),
  server: () => value<ServerInfo>("GET", "/api/server"),
  models: () => value<Models>("GET", "/api/models?probe=true"),
  testModel: async (name: string, signal: AbortSignal) =>
    lines<TestLine>(await request("POST", "/api/models/test", { name }, signal)),
  doctor: (signal: AbortSignal) =>
    value<{ ok: boolean; findings: Finding[] }>("POST", "/api/doctor", {}, signal),
  recovery: () => value<{ waiting: { sessionId: string; turnId: string }[] }>("GET", "/api/recovery"),
  goOn: (sessionId: string) => value<null>("POST", "/api/recovery/continue", { sessionId }),
  sessions: (params: { query?: string; limit?: number; offset?: number }) =>
    agent<PaginatedResult<SessionInfo>>("listSessions", params),
  session: (sessionId: string) => agent<SessionInfo>("getSession", { sessionId }),
  create: (params: { sessionId: string; model?: string; approval?: string }) =>
    agent<SessionInfo>("createSession", params),
  update: (params: { sessionId: string; title?: string; model?: string; approval?: string }) =>
    agent<SessionInfo>("updateSession", params),
  fork: (params: { sessionId: string; messageId?: string; title?: string }) =>
    agent<SessionInfo>("forkSession", params),
  remove: (sessionId: string) => agent<null>("deleteSession", { sessionId }),
  /** Also when the page is on its way out. */
  removeLeaving: (sessionId: string) => void fetch("/services/agent/deleteSession", {
    method: "POST", credentials: "same-origin", keepalive: true,
    headers: { "content-type": "application/json" }, body: JSON.stringify({ sessionId }),
  }).catch(() => undefined),
  exported: (sessionId: string) => request("GET", `/api/sessions/${part(sessionId)}/export`),
  messages: (params: { sessionId: string; limit?: number; before?: string }) =>
    agent<AgentMessage[]>("getMessages", params),
  turns: (sessionId: string) =>
    value<TurnInfo[]>("GET", `/api/turns?limit=200&sessionId=${part(sessionId)}`),
  send: (params: {
    sessionId: string; content: string; messageId: string; delivery?: string; attachments?: { data: string }[]
  }) => begin("/services/agent/sendMessage/stream", params),
  edit: (id: string, messageId: string, text: string) =>
    begin("/api/chat", {
      id, trigger: "submit-message", messageId,
      messages: [{ id: messageId, role: "user", parts: [{ type: "text", text }] }],
    }),
  again: (id: string, messageId: string, text: string) =>
    begin("/api/chat", {
      id, trigger: "regenerate-message",
      messages: [{ id: messageId, role: "user", parts: [{ type: "text", text }] }],
    }),
  stop: (sessionId: string) => agent<{ cancelled: boolean }>("cancel", { sessionId }),
  takeBack: (sessionId: string, turnId: string) => agent<{ cancelled: boolean }>("cancel", { sessionId, turnId }),
  stopTurn: (turnId: string) => value<{ cancelled: boolean }>("POST", `/api/turns/${part(turnId)}/cancel`, {}),
  approvals: () => value<PaginatedResult<ApprovalInfo>>("GET", "/api/approvals"),
  decide: (id: string, decision: Decision, message?: string) =>
    value<{ rule?: RuleInfo }>("POST", `/api/approvals/${part(id)}`, { decision, ...(message ? { message } : {}) }),
  calls: () => value<PaginatedResult<OpenCallInfo>>("GET", "/api/calls"),
  answer: (id: string, result: unknown) => value<null>("POST", `/api/calls/${part(id)}`, { result }),
  rules: () => value<RuleInfo[]>("GET", "/api/rules"),
  revokeRule: (id: string) => value<null>("DELETE", `/api/rules/${part(id)}`),
  tokens: () => value<TokenInfo[]>("GET", "/api/tokens"),
  revokeToken: (name: string) => value<null>("DELETE", `/api/tokens/${part(name)}`),
  makeToken: (name: string, scope: string) => value<{ token: string }>("POST", "/api/tokens", { name, scope }),
  memories: () => value<Memories>("GET", "/api/memory"),
  editMemory: (id: string, text: string) => value<unknown>("PUT", `/api/memory/${part(id)}`, { text }),
  forgetMemory: (id: string) => value<null>("DELETE", `/api/memory/${part(id)}`),
  recalled: (query: string) => agent<FoundMemory[]>("searchMemory", { query }),
  proposals: () => value<{ items: Proposal[] }>("GET", "/api/memory/proposals").then(({ items }) => items),
  answerProposal: (id: string, decision: "accept" | "refuse", text?: string) =>
    value<unknown>("POST", `/api/memory/proposals/${part(id)}`, { decision, text }),
  rooms: () => value<RoomInfo[]>("GET", "/api/relay/rooms"),
  showMovie: (room: string) => value<null>("POST", `/api/relay/rooms/${part(room)}/host`, { kind: "movie" }),
  sayInRoom: (room: string, text: string) => value<null>("POST", `/api/relay/rooms/${part(room)}/say`, { text }),
  doInRoom: (room: string, toolName: string, params: object) =>
    value<null>("POST", `/api/relay/rooms/${part(room)}/do`, { toolName, params }),
  studies: (after?: string) =>
    value<StudyInfo[]>("GET", `/api/relay/logs?limit=200${after === undefined ? "" : `&after=${part(after)}`}`),
  /** The text of the rows, as they are in the file. */
  rows: (source: RowSource, after?: number) =>
    request("GET", `/api/relay/${pathOf(source)}?limit=1000${after === undefined ? "" : `&after=${after}`}`).then((said) => said.text()),
  told: (sessionId: string) => value<Told>("GET", `/api/sessions/${part(sessionId)}/context`),
  search: (query: string, limit: number, before?: string, signal?: AbortSignal) => {
    const after = before === undefined ? "" : `&before=${part(before)}`
    const path = `/api/search?limit=${limit}&query=${part(query)}${after}`
    return value<{ items: Hit[]; indexed: boolean }>("GET", path, undefined, signal)
  },
}
