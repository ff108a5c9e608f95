// A call: what was asked, how far it is, what came of it.

import { useState } from "preact/hooks"
import type { ApprovalInfo, OpenCallInfo } from "./api.ts"
import { ApprovalCard, QuestionCard } from "./approvals.tsx"
import type { Call, Part } from "./model.ts"
import { isChange } from "./outcome.ts"
import { Diff, Icon, memo, Plain } from "./ui.tsx"
import { span, t, visible } from "./words.ts"

type CallPart = Extract<Part, { type: "call" }>

/** The arguments that say most, in one line. */
export function summaryOf({ args, written }: CallPart): string {
  if (args === null || args === undefined) return (written ?? "").slice(0, 120)
  if (typeof args !== "object") return String(args).slice(0, 200)
  const given = args as Record<string, unknown>
  for (const key of ["command", "query", "pattern", "path", "url", "question", "task", "text", "name"]) {
    const value = given[key]
    if (typeof value === "string" && value !== "") return value.split("\n")[0]!.slice(0, 200)
  }
  return Object.keys(given).length === 0 ? "" : JSON.stringify(given).slice(0, 120)
}

export function toolTitle(name: string): string {
  const known: Record<string, string> = {
    list_dir: t("tool_list_dir"), read_file: t("tool_read_file"), write_file: t("tool_write_file"),
    edit_file: t("tool_edit_file"), search_files: t("tool_search_files"), exec: t("tool_exec"),
    web_search: t("tool_web_search"), web_fetch: t("tool_web_fetch"), ask_user: t("tool_ask_user"),
    subAgent: t("tool_sub_agent"), spawn: t("tool_spawn"), post_message: t("tool_post_message"),
    read_skill: t("tool_read_skill"),
  }
  return known[name] ?? name
}

export function callState(call: Call | undefined, isVoid: boolean): string {
  if (isVoid) return "void"
  if (!call) return "asked"
  if (call.state === "over") return call.outcome?.status ?? "done"
  return call.state
}

export function stateWord(state: string): string {
  const words: Record<string, string> = {
    void: t("call_void"), asked: t("call_asked"), running: t("call_running"), open: t("call_open"),
    done: t("call_done"), failed: t("call_failed"), denied: t("call_denied"), cancelled: t("call_cancelled"),
    unknown: t("call_unknown"),
  }
  return words[state] ?? state
}

interface Props {
  part: CallPart
  call: Call | undefined
  approval: ApprovalInfo | undefined
  question: OpenCallInfo | undefined
  isVoid: boolean
}

export const ToolCard = memo(({ part, call, approval, question, isVoid }: Props) => {
  const [isOpen, setOpen] = useState(false)
  const state = approval ? "waits" : callState(call, isVoid)
  const took = call?.endedAt !== undefined && call.askedAt !== undefined ? call.endedAt - call.askedAt : undefined
  const progress = call?.state === "running" ? call.progress : undefined
  return (
    <div class={`tool is-${state}`}>
      <button type="button" class="tool-head" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span class="state-dot" />
        <span class="tool-name">{visible(toolTitle(part.name))}</span>
        <span class="tool-about">{visible(summaryOf(part))}</span>
        <span class="tool-state">
          {approval ? t("call_waits") : stateWord(state)}
          {took !== undefined && ` · ${span(took)}`}
          {progress && ` · ${span(progress.elapsed_ms)}`}
        </span>
        <Icon name={isOpen ? "down" : "right"} />
      </button>
      {progress && <ProgressLine progress={progress} />}
      {call?.answer && <AnswerLine answer={call.answer} />}
      {isOpen && <Details part={part} call={call} />}
      {approval && <ApprovalCard approval={approval} isInline />}
      {question && <QuestionCard call={question} />}
    </div>
  )
})

function ProgressLine({ progress }: { progress: NonNullable<Call["progress"]> }) {
  const lines = progress.last.trimEnd().split("\n").slice(-4).join("\n")
  return (
    <div class="progress">
      {progress.note && <p class="note">{visible(progress.note)}</p>}
      {lines !== "" && <Plain text={lines} class="tail" />}
    </div>
  )
}

function AnswerLine({ answer }: { answer: NonNullable<Call["answer"]> }) {
  const { decision, by, words } = answer
  const said = decision === "deny" ? t("answer_denied", { by }) : t("answer_allowed", { by })
  return <p class="answer-line">{visible(words ? `${said}: “${words}”` : said)}</p>
}

function Details({ part, call }: { part: CallPart; call: Call | undefined }) {
  const outcome = call?.outcome
  const data = outcome?.data as { diff?: unknown } | undefined
  const shown = typeof data?.diff === "string" ? data.diff : outcome?.text ?? ""
  return (
    <div class="tool-body">
      <p class="label">{t("tool_arguments")}</p>
      <Args part={part} />
      {outcome && <p class="label">{t("tool_result")}</p>}
      {outcome && (isChange(part.name, shown) ? <Diff text={shown} /> : outcome.text !== "" && <Long text={outcome.text} />)}
      {outcome?.text === "" && <p class="note">{t("tool_no_result")}</p>}
    </div>
  )
}

function Args({ part: { args, written } }: { part: CallPart }) {
  if (args === null || args === undefined) return <Plain text={written ?? ""} />
  if (typeof args !== "object") return <Plain text={String(args)} />
  return (
    <dl class="args">
      {Object.entries(args as object).map(([key, value]) => (
        <div>
          <dt>{visible(key)}</dt>
          <dd><Long text={typeof value === "string" ? value : JSON.stringify(value, null, 1)} /></dd>
        </div>
      ))}
    </dl>
  )
}

/** How much of a long text is shown at once. */
const SHOWN = 20_000

function Long({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false)
  if (text.length <= SHOWN || isWhole) return <Plain text={text} />
  return (
    <>
      <Plain text={text.slice(0, SHOWN)} />
      <button type="button" class="link" onClick={() => setWhole(true)}>{t("text_whole", { count: text.length })}</button>
    </>
  )
}
