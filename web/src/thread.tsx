// The conversation, its newest words in sight unless a person reads further up.

import { goOn, send, stop } from "./actions.ts"
import { mayUse } from "./approvals.tsx"
import { loadEarlier, open } from "./live.ts"
import { AnswerEnd, MessageRow } from "./message.tsx"
import { currentTurn, threadOf } from "./model.ts"
import type { Message, View } from "./model.ts"
import { Earlier, Scroll } from "./scroll.tsx"
import { set, state } from "./store.ts"
import { Icon } from "./ui.tsx"
import { t, visible } from "./words.ts"

interface Group {
  key: string
  user?: string
  ids: string[]
  turnId?: string
}

/** The thread as what a person said, and the answer to it. */
function groupsOf(view: View): Group[] {
  const groups: Group[] = []
  for (const id of threadOf(view)) {
    const message = view.messages.get(id)
    if (!message) continue
    if (message.role === "user") {
      groups.push({ key: id, user: id, ids: [], ...turnOf(message) })
      continue
    }
    const last = groups.at(-1)
    if (last && !last.user && last.turnId === message.turnId) last.ids.push(id)
    else groups.push({ key: id, ids: [id], ...turnOf(message) })
  }
  return groups
}

function turnOf({ turnId }: Message): { turnId?: string } {
  return turnId === undefined ? {} : { turnId }
}

export function Thread({ view }: { view: View }) {
  return (
    <Scroll label={t("thread_label")} first={view.thread[0] ?? ""} place={`${view.session.id} ${state.focus}`}>
      {state.focus === undefined ? <Whole view={view} /> : <Focused view={view} turnId={state.focus} />}
    </Scroll>
  )
}

function Whole({ view }: { view: View }) {
  const groups = groupsOf(view)
  const lastAnswer = groups.findLastIndex(({ user }) => user === undefined)
  const current = currentTurn(view)
  const waits = waitsKey()
  const interrupted = current !== undefined && state.interrupted.get(view.session.id) === current.id
  return (
    <>
      {view.hasEarlier && <Earlier load={loadEarlier} />}
      {groups.map((group, at) => {
        const stamp = (id: string) => view.stamps.get(id) ?? 0
        if (group.user) {
          const id = group.user
          const turn = view.turns.get(group.turnId ?? "")
          const lacksAnswer = turn?.state === "finished" && groups[at + 1]?.turnId !== turn.id && turn.reason !== "steered"
          const own = `${waits} ${turn?.state ?? ""} ${current === undefined}`
          return (
            <div class="row" id={`m-${id}`} key={group.key}>
              <MessageRow view={view} id={id} stamp={stamp(id)} waits={own} />
              {lacksAnswer && <AnswerEnd view={view} turn={turn} ids="" isLast={at === groups.length - 1} stamp={0} />}
            </div>
          )
        }
        const turn = view.turns.get(group.turnId ?? "")
        return (
          <div class="row" id={`m-${group.key}`} key={group.key}>
            {group.ids.map((id) => <MessageRow key={id} view={view} id={id} stamp={stamp(id)} waits={waits} />)}
            <AnswerEnd view={view} turn={turn} ids={group.ids.join(" ")} isLast={at === lastAnswer && !current}
              stamp={stamp(group.ids.at(-1) ?? "")} />
          </div>
        )
      })}
      {interrupted ? <Interrupted view={view} /> : current?.state === "running" && <Working view={view} />}
    </>
  )
}

/** The server stopped in the middle of the answer, and was told to ask before it continues. */
function Interrupted({ view }: { view: View }) {
  return (
    <div class="end-reason is-interrupted" role="alert">
      <Icon name="alert" /><span>{t("interrupted")}</span>
      {mayUse() && <>
        <button type="button" onClick={() => void goOn(view.session.id)}>{t("interrupted_go_on")}</button>
        <button type="button" onClick={() => void stop()}>{t("interrupted_end")}</button>
      </>}
    </div>
  )
}

/** What waits for a person is shown within messages, so they are drawn again when it changes. */
function waitsKey(): string {
  return [...state.approvals.map(({ id }) => id), ...state.calls.map(({ id }) => id)].join(" ")
}

/** The model was asked and says nothing yet. */
function Working({ view }: { view: View }) {
  const turn = currentTurn(view)
  const last = view.messages.get(view.thread.at(-1) ?? "")
  if (last?.isLive || !turn) return null
  const calls = last?.role === "assistant" && last.parts.some((part) =>
    part.type === "call" && view.calls.get(part.id)?.state !== "over")
  if (calls) return null
  const { reading } = turn
  return (
    <p class="working"><span class="thinking" />
      {reading ? t("status_reading", { percent: Math.round((100 * reading.read) / Math.max(1, reading.total)) }) : t("status_thinking")}</p>
  )
}

/** One agent's branch alone. */
function Focused({ view, turnId }: { view: View; turnId: string }) {
  const turn = view.turns.get(turnId)
  const ids = view.branches.get(turn?.parentCall ?? "") ?? []
  const agent = view.messages.get(ids[0] ?? "")?.agent
  const waits = waitsKey()
  return (
    <>
      <div class="crumbs">
        <button type="button" onClick={() => set({ focus: undefined })}>{t("focus_back")}</button>
        <span>{visible((agent?.path ?? turn?.path ?? []).join(" › "))}</span>
      </div>
      {ids.map((id) => (
        <div class="row" key={id}>
          <MessageRow view={view} id={id} stamp={view.stamps.get(id) ?? 0} waits={waits} />
        </div>
      ))}
      <AnswerEnd view={view} turn={turn} ids={ids.join(" ")} isLast={false} stamp={view.version} />
    </>
  )
}

export function Loading() {
  return (
    <div class="thread-box" role="status" aria-label={t("thread_loading")}>
      <div class="thread"><div class="thread-inner skeleton"><span /><span /><span /></div></div>
    </div>
  )
}

export function LoadError({ why }: { why: string }) {
  const id = state.current
  return (
    <div class="thread-box middle" role="alert">
      <p>{visible(why)}</p>
      <button type="button" class="primary" onClick={() => id !== undefined && void open(id)}>{t("try_again")}</button>
    </div>
  )
}

/** The beginning of a session. */
export function Start() {
  const tries = [t("try_list"), t("try_agents"), t("try_ask"), t("try_write")]
  const isFirst = state.sessions.size === 0
  return (
    <div class="thread-box middle start">
      <img src="/ui/icon.svg" alt="" width={56} height={56} />
      <h2>{isFirst ? t("start_first") : t("start_new")}</h2>
      <p class="note">{t("start_where", { folder: visible(state.server?.workspace ?? "") })}</p>
      {mayUse() && <div class="tries">
        {tries.map((text) => (
          <button type="button" onClick={() => void send({ text, images: [], delivery: "queue" })}>{text}</button>
        ))}
      </div>}
      {state.models?.chosen?.kind === "demo" && <p class="note demo">{t("start_demo")}</p>}
    </div>
  )
}
