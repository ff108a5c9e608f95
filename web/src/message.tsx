// One message of a person or an agent, with its calls and what the agents that it called said.

import { useRef, useState } from "preact/hooks"
import { again, edit, forkAt, takeBack, textOf } from "./actions.ts"
import { mayUse } from "./approvals.tsx"
import { currentTurn, doesWait } from "./model.ts"
import type { Call, Message, Part, Turn, View } from "./model.ts"
import { sentenceOf } from "./outcome.ts"
import { announce, set, state } from "./store.ts"
import { Text } from "./text.tsx"
import { callState, stateWord, summaryOf, ToolCard } from "./tool.tsx"
import { copy, Icon, IconButton, memo, useNow } from "./ui.tsx"
import { compact, dollars, span, t, visible } from "./words.ts"

interface Props {
  view: View
  id: string
  /** How often what it shows has changed; nothing else makes it draw again. */
  stamp: number
  waits: unknown
}

export const MessageRow = memo(({ view, id, waits }: Props) => {
  const message = view.messages.get(id)
  if (!message) return null
  if (message.role === "user") return <Said view={view} message={message} />
  if (message.role === "system") return <SystemNote text={visible(textOf(message))} />
  const parts = message.parts.map((part, at) => (
    <PartOf key={at} view={view} message={message} part={part} at={at} waits={waits} />
  ))
  if (message.void !== undefined) {
    return (
      <details class="is-void">
        <summary>{t("attempt_void", { why: visible(message.void) })}</summary>
        <div class="answer">{parts}</div>
      </details>
    )
  }
  return (
    <div class="answer">
      {parts}
      {message.isLive && message.parts.length === 0 && <span class="thinking" role="img" aria-label={t("status_thinking")} />}
    </div>
  )
})

/** What the server told the model, such as what became of a background task: shown in a line. */
function SystemNote({ text }: { text: string }) {
  return (
    <details class="system-note">
      <summary>{text.split("\n")[0]}</summary>
      <p>{text}</p>
    </details>
  )
}

function PartOf({ view, message, part, at, waits }: {
  view: View; message: Message; part: Part; at: number; waits: unknown
}) {
  const isLast = message.isLive === true && at === message.parts.length - 1
  if (part.type === "text") return part.text.trim() === "" ? null : <Text text={part.text} isLive={isLast} />
  if (part.type === "reasoning") return part.text === "" ? null : <Reasoning text={part.text} isLive={isLast} />
  if (part.type !== "call") return <Picture part={part} />
  const call = view.calls.get(part.id)
  const isVoid = message.void !== undefined
  const children = view.branches.get(part.id)
  if (children || part.name === "subAgent" || part.name === "spawn") {
    const ids = children ?? []
    const turn = turnOf(view, part.id, ids)
    const stamp = ids.map((id) => view.stamps.get(id) ?? 0).join(" ")
    return <Branch view={view} part={part} call={call} turn={turn} isVoid={isVoid} waits={waits} stamp={stamp} />
  }
  const approval = state.approvals.find(({ callId }) => callId === part.id)
  const question = state.calls.find(({ id }) => id === part.id)
  return <ToolCard part={part} call={call} approval={approval} question={question} isVoid={isVoid} />
}

function Reasoning({ text, isLive }: { text: string; isLive: boolean }) {
  return (
    <details class="reasoning">
      <summary>{isLive ? t("reasoning_live") : t("reasoning")}</summary>
      <div class="reasoning-text" tabindex={0}>{visible(text)}</div>
    </details>
  )
}

function Picture({ part }: { part: Extract<Part, { type: "image" | "preview" }> }) {
  const src = part.type === "image" ? `/api/blobs/${encodeURIComponent(part.blob)}` : part.url
  const size = part.type === "image" ? { width: part.width, height: part.height } : {}
  return <a class="picture" href={src} target="_blank" rel="noopener"><img src={src} alt={t("image_alt")} loading="lazy" {...size} /></a>
}

/** What a person said. */
function Said({ view, message }: { view: View; message: Message }) {
  const [isEditing, setEditing] = useState(false)
  const text = textOf(message)
  const pictures = message.parts.filter((part) => part.type === "image" || part.type === "preview")
  const waits = doesWait(view, message)
  const isBusy = currentTurn(view) !== undefined
  // A server that has not taken it yet cannot give it back.
  const turnId = message.turnId
  return (
    <div class={`said ${message.isSending ? "is-sending" : ""} ${waits ? "is-waiting" : ""}`}>
      {pictures.map((part) => <Picture part={part as Extract<Part, { type: "image" }>} />)}
      {isEditing
        ? <Editing text={text} onClose={() => setEditing(false)} onSave={(next) => edit(message, next)} />
        : <div class="said-text">{visible(text)}</div>}
      {waits && (
        <p class="said-state">
          {message.entry === "steers" ? t("message_steers") : t("message_queued")}
          {mayUse() && turnId !== undefined && <button type="button" class="link" onClick={() => void takeBack(turnId)}>{t("message_take_back")}</button>}
        </p>
      )}
      {!isEditing && !waits && !message.isSending && message.agent.depth === 0 && (
        <div class="message-actions">
          <IconButton icon="copy" label={t("copy")} onClick={() => copy(text, () => announce(t("copied")))} />
          {mayUse() && <IconButton icon="edit" label={t("message_edit")} disabled={isBusy} onClick={() => setEditing(true)} />}
        </div>
      )}
    </div>
  )
}

function Editing({ text, onClose, onSave }: { text: string; onClose: () => void; onSave: (text: string) => Promise<boolean> }) {
  const [next, setNext] = useState(text)
  const save = async () => { if (await onSave(next)) onClose() }
  return (
    <form class="editing" onSubmit={(event) => (event.preventDefault(), void save())}>
      <textarea aria-label={t("message_edit")} rows={3} value={next} autofocus
        onInput={(event) => setNext(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && onClose()} />
      <p class="note">{t("message_edit_note")}</p>
      <div class="buttons">
        <button type="button" onClick={onClose}>{t("cancel")}</button>
        <button type="submit" class="primary" disabled={next.trim() === ""}>{t("message_resend")}</button>
      </div>
    </form>
  )
}

/** More agents than this are folded at first. */
const OPEN_AT_ONCE = 3

/** What a called agent said: it is told by `metadata.agent` alone whose it is, and below whom. */
const Branch = memo(({ view, part, call, turn, isVoid, waits }: {
  view: View; part: Extract<Part, { type: "call" }>; call: Call | undefined; turn: Turn | undefined
  isVoid: boolean; waits: unknown; stamp: string
}) => {
  const owner = view.messages.get(view.owners.get(part.id) ?? "")
  const siblings = owner?.parts.filter(({ type }) => type === "call").length ?? 0
  const [isOpen, setOpen] = useState(siblings <= OPEN_AT_ONCE)
  const head = useRef<HTMLButtonElement>(null)
  const ids = view.branches.get(part.id) ?? []
  const messages = ids.map((id) => view.messages.get(id)).filter((one) => one !== undefined)
  const agent = messages[0]?.agent
  const args = (part.args ?? {}) as { name?: string; agent?: string; task?: string; label?: string }
  const name = agent?.displayName || turn?.displayName || args.name || args.agent || t("agent")
  const shown = turn && turn.state !== "finished" ? turn.state : callState(call, isVoid)
  const own = messages.filter(({ role }) => role !== "user")
  return (
    <div role="group" class={`branch is-${shown} depth-${Math.min(agent?.depth ?? 1, 6)}`} id={`branch-${part.id}`}
      data-path={agent?.path.join("/")} aria-label={t("branch_label", { name: visible(name) })}>
      <button type="button" class="branch-head" ref={head} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span class="state-dot" />
        <span class="badge">{visible(name)}</span>
        <span class="tool-about">{visible(args.task ?? summaryOf(part))}</span>
        <Used turn={turn} state={shown} />
        <Icon name={isOpen ? "down" : "right"} />
      </button>
      {isOpen && (
        <div class="branch-body">
          {own.map(({ id }) => <MessageRow key={id} view={view} id={id} stamp={view.stamps.get(id) ?? 0} waits={waits} />)}
          {own.length === 0 && call?.outcome && <p class="note">{visible(sentenceOf(call.outcome.text))}</p>}
        </div>
      )}
      {!isOpen && own.length > 0 && <p class="branch-last">{visible(lastWords(own))}</p>}
    </div>
  )
})

function lastWords(messages: Message[]): string {
  for (const message of [...messages].reverse()) {
    const text = textOf(message).trim()
    if (text !== "") return text.slice(-160).split("\n").at(-1) ?? ""
  }
  return ""
}

function turnOf(view: View, call: string, ids: string[]): Turn | undefined {
  const id = view.messages.get(ids[0] ?? "")?.turnId
  if (id !== undefined) return view.turns.get(id)
  return [...view.turns.values()].find(({ parentCall }) => parentCall === call)
}

export function Used({ turn, state: shown }: { turn: Turn | undefined; state: string }) {
  const isRunning = turn?.state === "running" || turn?.state === "waiting"
  const now = useNow(isRunning)
  const took = turn?.startedAt === undefined ? undefined : (turn.endedAt ?? now) - turn.startedAt
  return (
    <span class="tool-state">
      {[
        TURN_WORDS(shown), turn && turn.tokens > 0 && t("tokens", { tokens: compact(turn.tokens) }),
        turn?.costUsd !== undefined && dollars(turn.costUsd), took !== undefined && span(took),
      ].filter(Boolean).join(" · ")}
    </span>
  )
}

export function TURN_WORDS(word: string): string {
  const words: Record<string, string> = {
    queued: t("turn_queued"), running: t("turn_running"), waiting: t("turn_waiting"), finished: t("call_done"),
  }
  return words[word] ?? stateWord(word)
}

/** What ends an answer: how it ended, what it used, and what can be done with it. */
export const AnswerEnd = memo(({ view, turn, ids, isLast }: {
  view: View; turn: Turn | undefined; ids: string; isLast: boolean; stamp: number
}) => {
  const messages = ids.split(" ").map((id) => view.messages.get(id)).filter((one) => one !== undefined)
  const text = messages.map(textOf).filter((one) => one.trim() !== "").join("\n\n")
  const last = messages.at(-1)
  const asked = turn && [...view.messages.values()].findLast(({ role, turnId, agent }) =>
    role === "user" && turnId === turn.id && agent.depth === 0)
  const canRetry = isLast && asked !== undefined && mayUse()
  if (turn && turn.state !== "finished") return null
  const took = turn?.startedAt !== undefined && turn.endedAt !== undefined ? span(turn.endedAt - turn.startedAt) : ""
  const facts = [
    turn && turn.tokens > 0 && t("tokens", { tokens: compact(turn.tokens) }),
    turn?.costUsd !== undefined && dollars(turn.costUsd), took,
  ].filter(Boolean).join(" · ")
  return (
    <footer class="answer-end">
      <EndReason turn={turn} retry={canRetry ? () => void again(asked) : undefined} />
      <div class="message-actions">
        {text !== "" && <IconButton icon="copy" label={t("copy")} onClick={() => copy(text, () => announce(t("copied")))} />}
        {canRetry && <IconButton icon="again" label={t("message_again")} onClick={() => void again(asked)} />}
        {last && mayUse() && <IconButton icon="fork" label={t("message_fork")}
          onClick={() => void forkAt(view.session.id, last.id)} />}
        <span class="facts">{facts}</span>
      </div>
    </footer>
  )
})

/** A sentence where a turn ended otherwise than with an answer, and one thing to do. */
function EndReason({ turn, retry }: { turn: Turn | undefined; retry: (() => void) | undefined }) {
  const reason = turn?.reason ?? ""
  const why: Record<string, string> = {
    error: turn?.fault?.message ?? t("end_error"), cancelled: t("end_cancelled"), budget: t("end_budget"),
    max_iterations: t("end_max_iterations"), failed_call: t("end_failed_call"), repeated_call: t("end_repeated_call"),
    length: t("end_length"), content_filter: t("end_content_filter"),
  }
  const said = why[reason]
  if (said === undefined) return null
  const isFault = reason === "error"
  return (
    <p class={isFault ? "end-reason is-error" : "end-reason"} role={isFault ? "alert" : undefined}>
      <Icon name="alert" /><span>{visible(said)}</span>
      {isFault && retry && <button type="button" onClick={retry}>{t("message_again")}</button>}
      {!isFault && reason !== "cancelled" && mayUse() && <button type="button"
        onClick={() => { set({}); document.querySelector<HTMLTextAreaElement>("#composer")?.focus() }}>{t("end_go_on")}</button>}
    </p>
  )
}
