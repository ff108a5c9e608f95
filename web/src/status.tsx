// What runs, with which model, how full its window is, what it used, and what it may do.

import { setSession } from "./actions.ts"
import { mayUse } from "./approvals.tsx"
import type { Layer } from "./api.ts"
import { currentTurn } from "./model.ts"
import type { Turn, View } from "./model.ts"
import { set, state } from "./store.ts"
import { Icon, Panel } from "./ui.tsx"
import { compact, dollars, t, visible } from "./words.ts"

const LEVELS = ["auto", "supervised", "read-only"]

export function StatusLine({ view }: { view: View | undefined }) {
  const session = view?.session
  const turn = view && currentTurn(view)
  const level = session?.approval ?? state.wish.approval ?? state.server?.approval ?? ""
  const cost = view ? costOf(view) : undefined
  const share = state.told?.share
  return (
    <div class="status" role="group" aria-label={t("status_label")}>
      <span class="status-item" title={t("status_model")}>{visible(session?.model ?? state.wish.model ?? state.models?.chosen?.name ?? "")}</span>
      {view && state.told && <button type="button" class="status-item link" onClick={() => set({ panel: "told" })} title={t("status_window_note")}>
        {share !== undefined && <span class="meter" aria-hidden="true"><i ref={(bar) => { if (bar) bar.style.width = `${Math.min(100, share * 100)}%` }} /></span>}
        {share !== undefined ? t("status_window", { percent: Math.round(share * 100) })
          : t("status_window_tokens", { tokens: compact(state.told.tokens) })}
      </button>}
      {session && <span class="status-item">{t("tokens", { tokens: compact(tokensOf(view)) })}</span>}
      {cost !== undefined && <span class="status-item">{dollars(cost)}</span>}
      {turn?.iteration !== undefined && <span class="status-item">{t("status_iteration", { at: turn.iteration, most: turn.maxIterations ?? 0 })}</span>}
      <label class="status-item level"><Icon name="shield" /><span class="hidden">{t("status_level")}</span>
        <select value={level} title={levelNote(level)} disabled={!mayUse()}
          onChange={(event) => void setSession({ approval: event.currentTarget.value })}>
          {LEVELS.map((one) => <option value={one} selected={one === level}>{levelWord(one)}</option>)}
        </select>
      </label>
      {session?.tainted && <span class="status-item taint" title={t("taint_note")}><Icon name="alert" />{t("taint")}</span>}
    </div>
  )
}

export function levelWord(level: string): string {
  return { auto: t("level_auto"), supervised: t("level_supervised"), "read-only": t("level_read_only") }[level] ?? level
}

function levelNote(level: string): string {
  return { auto: t("level_auto_note"), supervised: t("level_supervised_note"), "read-only": t("level_read_only_note") }[level] ?? ""
}

/** The session's tokens: the server's sum, unless turns that run have used more since it was read. */
function tokensOf(view: View): number {
  const known = [...view.turns.values()].reduce((sum, { tokens }) => sum + tokens, 0)
  return Math.max(view.session.tokens.total, known)
}

function costOf(view: View): number | undefined {
  const costs = [...view.turns.values()].map((turn: Turn) => turn.costUsd).filter((one) => one !== undefined)
  return costs.length === 0 ? undefined : costs.reduce((sum, one) => sum + one, 0)
}

/** What the model was told, by layer. */
export function ToldPanel() {
  const { told } = state
  return (
    <Panel title={t("told_title")} onClose={() => set({ panel: undefined })}>
      {!told ? <p class="empty">{t("told_none")}</p> : (
        <>
          <p class="note">{t("told_note", { model: visible(told.model), tokens: told.tokens })}</p>
          {[...told.layers, told.tools].map((layer) => <LayerOf key={layer.name} layer={layer} all={told.tokens} />)}
          <div class="layer"><div class="layer-head"><span>{t("told_messages", { count: told.messages.count })}</span>
            <span>{t("tokens", { tokens: compact(told.messages.tokens) })}</span></div></div>
        </>
      )}
    </Panel>
  )
}

function LayerOf({ layer, all }: { layer: Layer; all: number }) {
  return (
    <details class="layer">
      <summary class="layer-head">
        <span>{layer.name === "tools" ? t("told_tools") : visible(layer.name)}</span>
        {layer.changed === true && <span class="mark is-waits">{t("told_changed")}</span>}
        <span>{t("told_share", { tokens: compact(layer.tokens), percent: Math.round((100 * layer.tokens) / Math.max(1, all)) })}</span>
      </summary>
      <pre class="plain" tabindex={0}>{visible(layer.text)}</pre>
    </details>
  )
}
