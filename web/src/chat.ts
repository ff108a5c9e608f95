// The global chat: what this window has read of it, and how it is followed. It has no session; closing
// the window changes nothing.

import { Refusal, request } from "./api.ts"
import { frames } from "./feed.ts"
import { announce, changed, leave, sentence } from "./store.ts"
import { t } from "./words.ts"

export interface ChatMessage {
  id: number
  ts: string
  role: "agent" | "user" | "system"
  author: string
  text: string
  meta?: { reply_to?: number; tags?: string[] }
}

interface ChatState {
  pending_input: { requested_by: string; question_msg_id: number } | null
  waiting: number
  boot_id: string
}

function nothing() {
  return {
    /** What was read, in the order of the ids. */
    messages: [] as ChatMessage[],
    /** The run of the server to which the ids belong. */
    boot: "",
    /** The oldest message that the server still has, as far as it is known. */
    oldest: 1,
    kept: KEPT,
    isRead: false,
    isRestarted: false,
    /** There is no stream, so the server is asked. */
    isPolled: false,
    why: "",
    question: undefined as { id: number; asker: string; text: string; waiting: number } | undefined,
  }
}

/** So many messages stay in the window, and those that were asked for; the server has the others. */
const KEPT = 1_000
const PAGE = 500
export const chat = nothing()

const [POLL_MS, STREAM_AGAIN_MS, HEADERS_MS, SILENCE_MS] = [2_000, 30_000, 10_000, 60_000]
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [200, 4_000]
/** A stream that ends sooner was none: something between the page and the server cuts it. */
const SHORTEST_STREAM_MS = 1_000
const PASSES_BY = [0, 429, 502, 503, 504]

/** Follows the chat until it is told to stop: by its stream, else by asking for what is new. */
export function followChat(): () => void {
  const closing = new AbortController()
  void follow(closing.signal)
  return () => (closing.abort(), endWait(chat.isRead))
}

async function follow(closing: AbortSignal) {
  let [streamAt, pause] = [0, FIRST_PAUSE_MS]
  while (!closing.aborted) {
    try {
      await poll(closing)
      pause = FIRST_PAUSE_MS
      if (Date.now() >= streamAt) {
        if (await stream(closing)) continue
        streamAt = Date.now() + STREAM_AGAIN_MS
      }
      chat.isPolled = true
      changed()
      await rest(POLL_MS, closing)
    } catch (error) {
      if (closing.aborted || (await leave(error))) return
      if (isRestart(error)) {
        begin(true)
      } else if (!(error instanceof Refusal) || PASSES_BY.includes(error.status)) {
        // What is no refusal is an answer that was cut on its way.
        await rest(pause, closing)
        pause = Math.min(2 * pause, LONGEST_PAUSE_MS)
      } else {
        chat.why = sentence(error)
        return changed()
      }
    }
  }
}

let endWait = (_isRead: boolean) => {}
let firstRead: Promise<boolean> | undefined

/** Waits until something was read, because a post names the run of the server; false if the window is left first. */
export function wasRead(): Promise<boolean> {
  return firstRead ?? Promise.resolve(true)
}

/** Forgets what was read: the window was opened, or the chat has begun again. */
export function begin(isRestarted = false) {
  firstRead ??= new Promise((told) => { endWait = (isRead) => (firstRead = undefined, told(isRead)) })
  Object.assign(chat, nothing(), { isRestarted })
  changed()
}

const isRestart = (error: unknown) => error instanceof Refusal && error.code === "chat_restarted"

const last = () => chat.messages.at(-1)?.id

/** Reads what is new; at first the last messages. */
async function poll(closing: AbortSignal) {
  const state = await read<ChatState>("/chat/state", closing)
  if (chat.boot !== "" && chat.boot !== state.boot_id) begin(true)
  chat.boot = state.boot_id
  const after = last()
  const said = await request("GET", `/chat/history?${after === undefined ? "" : `after=${after}&`}limit=${PAGE}&boot=${chat.boot}`, undefined, closing)
  take(await said.json() as ChatMessage[], said.headers)
  chat.isRead = true
  await showQuestion(state, closing)
  endWait(true)
  changed()
}

async function read<T>(path: string, signal?: AbortSignal): Promise<T> {
  return await (await request("GET", path, undefined, signal)).json() as T
}

/** Follows the stream while there is one; whether there was. */
async function stream(closing: AbortSignal): Promise<boolean> {
  const trying = new AbortController()
  const abort = () => trying.abort()
  closing.addEventListener("abort", abort)
  let silence = setTimeout(abort, HEADERS_MS)
  const begun = Date.now()
  try {
    const response = await request("GET", `/chat/stream?after=${last() ?? 0}&boot=${chat.boot}`, undefined, trying.signal)
    if (!response.body) return false
    chat.isPolled = false
    changed()
    const alive = () => {
      clearTimeout(silence)
      silence = setTimeout(abort, SILENCE_MS)
    }
    for await (const { data } of frames(response.body, alive)) {
      if (closing.aborted) return true
      const said = JSON.parse(data) as Partial<ChatMessage>
      if (said.id === undefined) continue
      take([said as ChatMessage])
      changed()
      void refresh(closing)
    }
  } catch (error) {
    if (isRestart(error) || (error instanceof Refusal && error.status === 401)) throw error
  } finally {
    clearTimeout(silence)
    closing.removeEventListener("abort", abort)
    abort()
  }
  return Date.now() - begun >= SHORTEST_STREAM_MS
}

function take(messages: ChatMessage[], headers?: Headers) {
  const newest = last() ?? 0
  const more = messages.filter(({ id }) => id > newest)
  chat.messages.push(...more)
  if (chat.messages.length > chat.kept) chat.messages.splice(0, chat.messages.length - chat.kept)
  noteOldest(headers)
  const spoken = more.at(-1)
  if (chat.isRead && spoken && spoken.role !== "user") announce(t("chat_announced", { author: spoken.author }))
}

function noteOldest(headers?: Headers) {
  const oldest = Number(headers?.get("x-chat-truncated") ?? 0)
  if (oldest > 0) chat.oldest = oldest
}

/** Whether the server has messages from before those in the window. */
export function hasEarlier(): boolean {
  return (chat.messages[0]?.id ?? 1) > chat.oldest
}

export async function loadEarlier() {
  const first = chat.messages[0]?.id ?? 1
  const after = Math.max(0, first - 1 - PAGE)
  const said = await request("GET", `/chat/history?after=${after}&limit=${first - 1 - after}&boot=${chat.boot}`)
  noteOldest(said.headers)
  const earlier = await said.json() as ChatMessage[]
  chat.messages.unshift(...earlier.filter(({ id }) => id < first))
  chat.kept = Math.max(chat.kept, chat.messages.length + PAGE)
  if (earlier.length === 0) chat.oldest = first
  changed()
}

let isRefreshing = false

/** Reads which question waits, once for all that was said meanwhile. */
async function refresh(closing: AbortSignal) {
  if (isRefreshing) return
  isRefreshing = true
  await rest(50, closing)
  isRefreshing = false
  await read<ChatState>("/chat/state", closing).then((state) => showQuestion(state, closing)).catch(() => undefined)
  changed()
}

async function showQuestion({ pending_input, waiting, boot_id }: ChatState, closing: AbortSignal) {
  if (boot_id !== chat.boot) return
  if (!pending_input) {
    chat.question = undefined
    return
  }
  const { question_msg_id: id, requested_by: asker } = pending_input
  const known = chat.messages.find((message) => message.id === id)
  const asked = known ?? (await read<ChatMessage[]>(`/chat/history?after=${id - 1}&limit=1&boot=${boot_id}`, closing))[0]
  chat.question = { id, asker, text: asked?.id === id ? asked.text : "", waiting }
}

/** Says something as the person; the sentence of the refusal, if it is refused. */
export async function post(text: string): Promise<string | undefined> {
  const { question, boot } = chat
  try {
    await request("POST", "/chat/user_message", { text, boot, ...(question ? { reply_to: question.id } : {}) })
    return undefined
  } catch (error) {
    void leave(error)
    return sentence(error)
  }
}

function rest(ms: number, closing: AbortSignal): Promise<void> {
  return new Promise((over) => {
    const timer = setTimeout(over, ms)
    closing.addEventListener("abort", () => (clearTimeout(timer), over()), { once: true })
  })
}
