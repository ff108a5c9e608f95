// What a person does with sessions, messages and turns.

import { api, Refusal } from "./api.ts"
import type { ApprovalInfo, Decision, OpenCallInfo, SessionInfo } from "./api.ts"
import { NEW, putBack } from "./drafts.ts"
import type { Words } from "./drafts.ts"
import { compose, open, openNew } from "./live.ts"
import { addSending, currentTurn, dropMessage } from "./model.ts"
import type { Message } from "./model.ts"
import { attempt, changed, dropToast, leave, sentence, set, state, toast } from "./store.ts"
import type { Delivery } from "./store.ts"
import { t } from "./words.ts"

/** How long a deleted session can be brought back. */
const UNDO_MS = 10_000

export interface Draft extends Words {
  delivery: Delivery
}

/** Sends a message; a refused one is in the composer of its session again. */
export async function send(draft: Draft): Promise<boolean> {
  let key = state.current ?? NEW
  const isSent = await attempt(async () => {
    const messageId = crypto.randomUUID()
    if (!state.view) await openNew(await api.create({ sessionId: crypto.randomUUID(), ...state.wish }))
    const view = state.view
    if (!view) return
    key = view.session.id
    const isBusy = currentTurn(view) !== undefined
    const urls = draft.images.map(({ url }) => url)
    const steers = isBusy && draft.delivery === "steer"
    addSending(view, messageId, draft.text, urls, Date.now(), steers ? "steers" : undefined)
    changed()
    try {
      await api.send({
        sessionId: view.session.id, content: draft.text, messageId,
        ...(isBusy ? { delivery: draft.delivery } : {}),
        ...(draft.images.length > 0 ? { attachments: draft.images.map(({ data }) => ({ data })) } : {}),
      })
    } catch (error) {
      dropMessage(view, messageId)
      changed()
      throw error
    }
  })
  if (!isSent) putBack(key, draft)
  changed()
  return isSent
}

/** Lets an interrupted turn continue. */
export function goOn(sessionId: string): Promise<boolean> {
  return attempt(async () => {
    await api.goOn(sessionId)
    state.interrupted.delete(sessionId)
    changed()
  })
}

/** The text of a message. */
export function textOf(message: Message): string {
  return message.parts.map((part) => (part.type === "text" ? part.text : "")).join("")
}

/** Replaces a message and all that followed; the conversation as it was is kept as a fork. */
export function edit(message: Message, text: string): Promise<boolean> {
  return attempt(() => api.edit(state.current ?? "", message.id, text))
}

export function again(message: Message): Promise<boolean> {
  return attempt(() => api.again(state.current ?? "", message.id, textOf(message)))
}

export function stop(): Promise<boolean> {
  return attempt(() => api.stop(state.current ?? ""))
}

export function stopTurn(turnId: string): Promise<boolean> {
  return attempt(() => api.stopTurn(turnId))
}

/** Takes back a message that waits; its text comes back. */
export function takeBack(turnId: string): Promise<boolean> {
  return attempt(() => api.takeBack(state.current ?? "", turnId))
}

export async function forkAt(sessionId: string, messageId?: string) {
  await attempt(async () => {
    const fork = await api.fork({ sessionId, ...(messageId === undefined ? {} : { messageId }) })
    state.sessions.set(fork.id, fork)
    await open(fork.id)
    toast(t("session_forked"))
  })
}

export function rename(session: SessionInfo, title: string): Promise<boolean> {
  return attempt(async () => {
    const named = await api.update({ sessionId: session.id, title })
    state.sessions.set(named.id, named)
    if (state.view?.session.id === named.id) state.view.session = named
    changed()
  })
}

export async function setSession(more: { model?: string; approval?: string }) {
  const view = state.view
  if (!view) return set({ wish: { ...state.wish, ...more } })
  await attempt(async () => {
    const session = await api.update({ sessionId: view.session.id, ...more })
    view.session = session
    state.sessions.set(session.id, session)
    changed()
  })
}

/** Saves a session as a file. */
export async function download(session: SessionInfo) {
  await attempt(async () => {
    const response = await api.exported(session.id)
    const link = document.createElement("a")
    link.href = URL.createObjectURL(await response.blob())
    link.download = `${(session.title ?? session.id).replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60)}.jsonl`
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
  })
}

/** Deletes a session after ten seconds, in which it can be brought back; at once when the page is left. */
export function remove(session: SessionInfo) {
  state.hidden.add(session.id)
  const isOpen = state.current === session.id
  if (isOpen) compose()
  const timer = setTimeout(() => void reallyRemove(session.id), UNDO_MS)
  removing.set(session.id, timer)
  const id = toast(t("session_deleted"), {
    until: Date.now() + UNDO_MS,
    action: {
      label: t("session_undo"),
      run: () => {
        clearTimeout(timer)
        removing.delete(session.id)
        state.hidden.delete(session.id)
        dropToast(id)
        if (isOpen) void open(session.id)
      },
    },
  })
}

/** The deletions that can still be taken back. */
const removing = new Map<string, number>()

/** The page is left, and no undo is possible any more. */
export function removeNow() {
  for (const [id, timer] of removing) {
    clearTimeout(timer)
    api.removeLeaving(id)
  }
  removing.clear()
}

async function reallyRemove(id: string) {
  removing.delete(id)
  const isDone = await attempt(() => api.remove(id))
  if (isDone) state.sessions.delete(id)
  state.hidden.delete(id)
  changed()
}

/** The refusals of a decision that another client made, or that no client can make any more. */
const OVER = ["approval_decided", "unknown_approval"]

/** Decides about a call; where another client was faster, says so. */
export async function decide(approval: ApprovalInfo, decision: Decision, words?: string) {
  try {
    await api.decide(approval.id, decision, words)
    if (decision === "always") toast(t("approvals_rule_made"))
  } catch (error) {
    if (!(await leave(error))) toast(sentence(error), { isError: true })
    if (!(error instanceof Refusal) || !OVER.includes(error.code)) return
  }
  set({ approvals: state.approvals.filter((one) => one.id !== approval.id) })
}

export function answer(call: OpenCallInfo, result: string): Promise<boolean> {
  return attempt(async () => {
    await api.answer(call.id, result)
    set({ calls: state.calls.filter((one) => one.id !== call.id) })
  })
}

/** Reads the next page of the list. What was listed may have moved meanwhile, so pages overlap. */
export async function loadMoreSessions() {
  await attempt(async () => {
    let isNew = false
    for (let offset = Math.max(0, state.sessions.size - OVERLAP); !isNew; offset += PAGE) {
      const { items, totalCount } = await api.sessions({ offset, limit: PAGE })
      for (const one of items) {
        isNew ||= !state.sessions.has(one.id)
        if (!state.sessions.has(one.id)) state.sessions.set(one.id, one)
      }
      // With nothing more to read, what is listed is all.
      const isEnd = offset + items.length >= totalCount || items.length === 0
      set({ totalSessions: isEnd ? state.sessions.size : Math.max(totalCount, state.sessions.size) })
      if (isEnd) return
    }
  })
}

const [PAGE, OVERLAP] = [50, 10]

export async function logout() {
  await attempt(() => api.logout())
  location.reload()
}

/** What the work gives, or the sentence of its refusal; `lacking` where the server is too old for it. */
export async function asked<T>(work: () => Promise<T>, lacking?: string): Promise<T | string> {
  return work().catch((error: unknown) => {
    const isLacking = error instanceof Refusal && error.code === "unknown_method"
    return isLacking && lacking !== undefined ? lacking : sentence(error)
  })
}
