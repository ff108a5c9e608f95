// What waits for a person: decisions about calls and questions, of all sessions.

import { useState } from "preact/hooks"
import { answer, decide } from "./actions.ts"
import type { ApprovalInfo, Decision, OpenCallInfo } from "./api.ts"
import { open } from "./live.ts"
import { isChange } from "./outcome.ts"
import { covers } from "./rights.ts"
import { set, state } from "./store.ts"
import { toolTitle } from "./tool.tsx"
import { Diff, memo, Panel, Plain, useNow } from "./ui.tsx"
import { span, t, visible } from "./words.ts"

/** Whether this login may decide. */
export function mayDecide(): boolean {
  return covers(state.me?.scope, "decide")
}

export function mayUse(): boolean {
  return covers(state.me?.scope, "use")
}

export function mayOwn(): boolean {
  return covers(state.me?.scope, "own")
}

export const ApprovalCard = memo(({ approval, isInline }: { approval: ApprovalInfo; isInline?: boolean }) => {
  const [words, setWords] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const take = async (decision: Decision) => {
    setBusy(true)
    await decide(approval, decision, decision === "deny" ? words?.trim() : undefined)
    setBusy(false)
  }
  const { tool, path, preview, shown, reason, grant } = approval
  const body = preview ?? shown
  // Below the heading of the tray, or that of the conversation.
  const Heading = isInline ? "h2" : "h3"
  return (
    <article class="approval">
      <Heading>{t("approval_title", { tool: visible(toolTitle(tool)) })}</Heading>
      <p class="approval-why">{visible(reason)}</p>
      {preview !== undefined && isChange(tool, preview) ? <Diff text={preview} /> : <Plain text={body} />}
      {!isInline && <dl class="facts-list">
        <div><dt>{t("approval_session")}</dt><dd>
          <button type="button" class="link" onClick={() => (set({ panel: undefined }), void open(approval.sessionId))}>
            {titleOf(approval.sessionId)}</button></dd></div>
        <div><dt>{t("approval_agent")}</dt><dd>{visible(path.join(" › "))}</dd></div>
      </dl>}
      {isInline && path.length > 1 && <p class="note">{visible(path.join(" › "))}</p>}
      {mayDecide() ? (
        <>
          {words !== undefined && <label class="deny-words">{t("approval_words")}
            <textarea rows={2} maxLength={1000} value={words} autofocus
              onInput={(event) => setWords(event.currentTarget.value)} /></label>}
          <div class="buttons">
            <button type="button" class="primary" disabled={isBusy} onClick={() => void take("once")}>{t("approval_once")}</button>
            {grant && <button type="button" disabled={isBusy} onClick={() => void take("turn")}>{t("approval_turn")}</button>}
            {grant && <button type="button" disabled={isBusy} title={grantText(grant)}
              onClick={() => void take("always")}>{t("approval_always")}</button>}
            <button type="button" class="danger" disabled={isBusy}
              onClick={() => (words === undefined ? setWords("") : void take("deny"))}>
              {words === undefined ? t("approval_deny_dots") : t("approval_deny")}</button>
          </div>
          {grant && <p class="note">{grantText(grant)}</p>}
        </>
      ) : <p class="note">{t("approval_no_right", { scope: state.me?.scope ?? "" })}</p>}
      <Until at={approval.expiresAt} />
    </article>
  )
})

function grantText(grant: NonNullable<ApprovalInfo["grant"]>): string {
  const programs = grant.programs?.join(", ")
  if (programs) return t("approval_grant_programs", { programs: visible(programs) })
  const folder = grant.folder === "." ? t("workspace_folder") : visible(grant.folder ?? "")
  if (grant.folder !== undefined) return t("approval_grant_folder", { tool: visible(toolTitle(grant.tool)), folder })
  return t("approval_grant_tool", { tool: visible(toolTitle(grant.tool)) })
}

function Until({ at }: { at: number }) {
  const now = useNow(true)
  return <p class="note until">{t("approval_until", { left: span(at - now) })}</p>
}

export function titleOf(sessionId: string): string {
  const session = state.sessions.get(sessionId) ?? state.found.get(sessionId) ?? (state.view?.session.id === sessionId ? state.view.session : undefined)
  return visible(session?.title ?? session?.preview ?? t("session_untitled")).slice(0, 120)
}

/** A question of an agent. */
export const QuestionCard = memo(({ call }: { call: OpenCallInfo }) => {
  const [text, setText] = useState("")
  const { question, options } = (call.args ?? {}) as { question?: string; options?: string[] }
  const send = (said: string) => void answer(call, said)
  return (
    <form class="question" aria-label={t("question_label")}
      onSubmit={(event) => (event.preventDefault(), text.trim() !== "" && send(text))}>
      <p>{visible(question ?? t("question_other", { tool: call.tool }))}</p>
      {mayUse() ? (
        <>
          {Array.isArray(options) && options.length > 0 && <div class="buttons">
            {options.map((option) => <button type="button" onClick={() => send(String(option))}>{visible(String(option))}</button>)}
          </div>}
          <div class="question-line">
            <input aria-label={t("question_answer")} placeholder={t("question_answer")} value={text}
              onInput={(event) => setText(event.currentTarget.value)} />
            <button type="submit" class="primary" disabled={text.trim() === ""}>{t("question_send")}</button>
          </div>
        </>
      ) : <p class="note">{t("question_no_right", { scope: state.me?.scope ?? "" })}</p>}
    </form>
  )
})

export function waitingCount(): number {
  return state.approvals.length + state.calls.length
}

export function Tray() {
  const { approvals, calls } = state
  return (
    <Panel title={t("approvals_title")} side="right" onClose={() => set({ panel: undefined })}>
      {waitingCount() === 0 && <p class="empty">{t("approvals_none")}</p>}
      {approvals.map((one) => <ApprovalCard key={one.id} approval={one} />)}
      {calls.map((one) => (
        <article class="approval" key={one.id}>
          <h3>{t("question_title", { agent: visible(one.path.join(" › ")) })}</h3>
          <QuestionCard call={one} />
          <button type="button" class="link" onClick={() => (set({ panel: undefined }), void open(one.sessionId))}>
            {titleOf(one.sessionId)}</button>
        </article>
      ))}
    </Panel>
  )
}
