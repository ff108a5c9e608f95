// The page as a whole: the sessions, the conversation, its agents.

import { Component } from "preact"
import type { ComponentChildren } from "preact"
import { Tray, waitingCount, titleOf } from "./approvals.tsx"
import { ChatWindow } from "./chat.tsx"
import { Composer } from "./composer.tsx"
import { start } from "./live.ts"
import { MovieWindow } from "./movie.tsx"
import { Rail } from "./rail.tsx"
import { Settings } from "./settings.tsx"
import { StatusLine, ToldPanel } from "./status.tsx"
import { dropToast, lostSentence, set, state } from "./store.ts"
import { Loading, LoadError, Start, Thread } from "./thread.tsx"
import { AgentTree } from "./tree.tsx"
import { IconButton, Panel } from "./ui.tsx"
import { windowOfAddress } from "./windows.ts"
import type { Shown } from "./windows.ts"
import { t, visible } from "./words.ts"

export function App() {
  if (state.phase === "out") return <Out />
  if (state.phase === "starting") return <Starting />
  const { panel, drawer } = state
  const shown = windowOfAddress()
  const hasTree = state.showTree && !shown
  return (
    <div class={`app ${hasTree ? "has-tree" : ""}`}>
      <a class="skip" href="#composer" onClick={(event) => {
        event.preventDefault()
        document.getElementById("composer")?.focus()
      }}>{t("skip")}</a>
      <aside class="rail" aria-label={t("sessions_label")}><Rail /></aside>
      <main>
        <Head shown={shown} />
        {state.isLost && <p class="banner" role="status">{visible(lostSentence())}</p>}
        {state.isDiskFull && <p class="banner" role="alert">{t("disk_full")}</p>}
        {shown ? <Window shown={shown} /> : <Conversation />}
      </main>
      {hasTree && <aside class="agents" aria-label={t("tree_title")}>
        <header><h2>{t("tree_title")}</h2></header>
        <Agents />
      </aside>}
      {drawer === "rail" && <Panel title={t("sessions_label")} side="left" onClose={() => set({ drawer: undefined })}><Rail /></Panel>}
      {drawer === "tree" && <Panel title={t("tree_title")} side="right" onClose={() => set({ drawer: undefined })}><Agents /></Panel>}
      {panel === "approvals" && <Tray />}
      {panel === "settings" && <Settings />}
      {panel === "told" && <ToldPanel />}
      <Toasts />
      <div class="hidden" role="status" aria-live="polite">{state.said}</div>
    </div>
  )
}

function Conversation() {
  const { view } = state
  return (
    <>
      {view?.isGone ? <Gone /> : state.loadError !== "" ? <LoadError why={state.loadError} />
        : state.isLoading && !view ? <Loading /> : view ? <Thread view={view} /> : <Start />}
      <div class="foot">
        <Composer view={view} />
        <StatusLine view={view} />
      </div>
    </>
  )
}

function Window({ shown }: { shown: Shown }) {
  return shown.kind === "chat" ? <ChatWindow /> : <MovieWindow room={shown.room} isHost={shown.isHost} />
}

function titleOfWindow(shown: Shown): string {
  return shown.kind === "chat" ? t("chat_title") : t("movie_title")
}

function Head({ shown }: { shown: Shown | undefined }) {
  const count = waitingCount()
  const id = state.current
  return (
    <header class="head">
      <IconButton icon="menu" class="narrow" label={t("sessions_label")} onClick={() => set({ drawer: "rail" })} />
      <h1>{shown ? titleOfWindow(shown) : id === undefined ? t("session_new") : titleOf(id)}</h1>
      <IconButton icon="bell" class={count > 0 ? "is-waiting" : ""} label={t("approvals_button", { count })}
        onClick={() => set({ panel: "approvals" })}>
        {count > 0 && <span class="count" aria-hidden="true">{count}</span>}
      </IconButton>
      {!shown && <IconButton icon="tree" class="wide" label={t("tree_toggle")} pressed={state.showTree}
        onClick={() => set({ showTree: !state.showTree })} />}
      {!shown && <IconButton icon="tree" class="narrow" label={t("tree_title")} onClick={() => set({ drawer: "tree" })} />}
      <IconButton icon="gear" label={t("settings")} onClick={() => set({ panel: "settings" })} />
    </header>
  )
}

function Agents() {
  const { view } = state
  if (!view) return <p class="empty">{t("tree_empty")}</p>
  return <AgentTree view={view} version={view.treeVersion} focus={state.focus} />
}

function Toasts() {
  return (
    <div class="toasts">
      {state.toasts.map((one) => (
        <div class={`toast ${one.isError ? "is-error" : ""}`} key={one.id} role={one.isError ? "alert" : "status"}>
          <span>{visible(one.text)}</span>
          {one.action && <button type="button" onClick={one.action.run}>{one.action.label}</button>}
          <IconButton icon="close" label={t("close")} onClick={() => dropToast(one.id)} />
        </div>
      ))}
    </div>
  )
}

function Gone() {
  return <div class="thread-box middle"><p>{t("session_gone")}</p></div>
}

function Starting() {
  return (
    <main class="middle whole">
      <img src="/ui/icon.svg" alt="" width={56} height={56} />
      <p role="status">{state.isLost ? visible(lostSentence()) : t("loading")}</p>
    </main>
  )
}

/** The browser is not logged in. */
function Out() {
  return (
    <main class="middle whole">
      <img src="/ui/icon.svg" alt="" width={56} height={56} />
      <h1>{t("login_title")}</h1>
      <p>{state.outWhy}</p>
      <pre class="command" tabindex={0}>samovar open</pre>
      <button type="button" class="primary" onClick={() => (set({ phase: "starting" }), void start())}>{t("try_again")}</button>
    </main>
  )
}

/** A fault of the page itself is a sentence and one action, never a blank page. */
/** What was shown may be what failed, so it leaves the address. */
function leaveAndReload() {
  history.replaceState(null, "", location.pathname)
  location.reload()
}

export class Boundary extends Component<{ children: ComponentChildren }, { why: string }> {
  override state = { why: "" }
  override componentDidCatch(error: unknown) {
    console.error(error)
    this.setState({ why: error instanceof Error ? error.message : String(error) })
  }
  override render() {
    if (this.state.why === "") return this.props.children
    return (
      <main class="middle whole">
        <h1>{t("fault_title")}</h1>
        <p role="alert">{t("fault_note")}</p>
        <p class="note">{visible(this.state.why)}</p>
        <button type="button" class="primary" onClick={leaveAndReload}>{t("reload")}</button>
      </main>
    )
  }
}
