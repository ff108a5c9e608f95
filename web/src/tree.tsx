// The agents at work, as a tree: live, and the same after a reload, because it is read from the log.

import { stopTurn } from "./actions.ts"
import { mayUse } from "./approvals.tsx"
import { Used } from "./message.tsx"
import { treeOf } from "./model.ts"
import type { Turn, View } from "./model.ts"
import { announce, set, state } from "./store.ts"
import { IconButton, memo } from "./ui.tsx"
import { t, visible } from "./words.ts"

/** How many of the last turns are shown at first. */
const TURNS = 12

export const AgentTree = memo(({ view, focus }: { view: View; version: number; focus: string | undefined }) => {
  const tree = treeOf(view)
  const known = (tree.get("") ?? []).filter((turn) => turn.reason !== "steered" && turn.reason !== undefined || turn.state !== "finished")
  const roots = known.sort((a, b) => (b.startedAt ?? Infinity) - (a.startedAt ?? Infinity)).slice(0, TURNS)
  if (roots.length === 0) return <p class="empty">{t("tree_empty")}</p>
  return (
    <ul class="tree" aria-label={t("tree_title")} onKeyDown={moveInTree}>
      {roots.map((turn) => <Node key={turn.id} view={view} tree={tree} turn={turn} focus={focus} />)}
    </ul>
  )
})

function Node({ view, tree, turn, focus }: {
  view: View; tree: Map<string, Turn[]>; turn: Turn; focus: string | undefined
}) {
  const children = tree.get(turn.id) ?? []
  const name = visible(turn.displayName ?? nameOf(view, turn))
  const isOver = turn.state === "finished"
  const shown = isOver ? endOf(turn) : turn.state
  return (
    <li>
      <button type="button" class={`node is-${shown} ${focus === turn.id ? "is-focused" : ""}`} aria-pressed={focus === turn.id}
        onClick={() => show(turn)} onKeyDown={(event) => {
          if (event.key === "Delete" && !isOver && mayUse()) void stopTurn(turn.id)
        }}>
        <span class="state-dot" />
        <span class="node-name">{name}</span>
        <span class="node-about">{wordOf(view, turn)}</span>
        <Used turn={turn} state={shown} />
        {isBackground(view, turn) && <span class="node-tag">{t("tree_background")}</span>}
      </button>
      {!isOver && mayUse() && <IconButton icon="stop" class="node-stop" label={t("tree_stop", { name })}
        onClick={() => void stopTurn(turn.id).then(() => announce(t("tree_stopped", { name })))} />}
      {children.length > 0 && <ul>
        {children.map((one) => <Node key={one.id} view={view} tree={tree} turn={one} focus={focus} />)}
      </ul>}
    </li>
  )
}

function endOf(turn: Turn): string {
  const ends: Record<string, string> = { error: "failed", cancelled: "cancelled", failed_call: "failed", repeated_call: "failed", budget: "failed" }
  return ends[turn.reason ?? ""] ?? "done"
}

function nameOf(view: View, turn: Turn): string {
  if (!turn.parentCall) return t("tree_master")
  const first = view.messages.get(view.branches.get(turn.parentCall)?.[0] ?? "")
  return first?.agent.displayName || turn.name
}

/** Whether its caller does not wait for it: it was called by that tool. */
function isBackground(view: View, { parentCall }: Turn): boolean {
  const owner = view.messages.get(view.owners.get(parentCall ?? "") ?? "")
  return owner?.parts.some((part) => part.type === "call" && part.id === parentCall && part.name === "spawn") ?? false
}

/** What a turn was asked, or what woke it. */
function wordOf(view: View, turn: Turn): string {
  const ids = turn.parentCall ? view.branches.get(turn.parentCall) ?? [] : view.thread
  for (const id of ids) {
    const message = view.messages.get(id)
    if (!message || message.role === "assistant" || message.turnId !== turn.id) continue
    const part = message.parts.find(({ type }) => type === "text")
    if (part?.type === "text") return visible(part.text.split("\n")[0] ?? "").slice(0, 90)
  }
  return ""
}

/** Shows what an agent says: its branch alone, or for the session's own agent the whole thread. */
function show(turn: Turn) {
  if (!turn.parentCall) {
    set({ focus: undefined, drawer: undefined })
    const first = state.view?.thread.find((id) => state.view?.messages.get(id)?.turnId === turn.id)
    requestAnimationFrame(() => document.getElementById(`m-${first}`)?.scrollIntoView({ block: "start" }))
    return
  }
  set({ focus: state.focus === turn.id ? undefined : turn.id, drawer: undefined })
}

function moveInTree(event: KeyboardEvent) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (step === undefined) return
  const all = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>(".node")]
  const at = all.indexOf(document.activeElement as HTMLElement)
  all[Math.max(0, Math.min(all.length - 1, at + step))]?.focus()
  event.preventDefault()
}
