// The sessions: found, renamed, forked, saved and deleted.

import { useEffect, useState } from "preact/hooks"
import { download, forkAt, loadMoreSessions, remove, rename } from "./actions.ts"
import { api } from "./api.ts"
import type { Hit, SessionInfo } from "./api.ts"
import { mayUse, titleOf } from "./approvals.tsx"
import { compose, open } from "./live.ts"
import { sentence, set, state } from "./store.ts"
import { Icon, Menu } from "./ui.tsx"
import { CHAT_HASH, DEFAULT_ROOM, movieHash, windowOfAddress } from "./windows.ts"
import { ago, t, visible } from "./words.ts"

export function Rail() {
  const [query, setQuery] = useState("")
  const found = useSearch(query)
  return (
    <>
      <div class="rail-top">
        <button type="button" class="new" onClick={() => compose()}><Icon name="add" />{t("session_new")}</button>
        <label class="search"><Icon name="search" />
          <input type="search" placeholder={t("search_placeholder")} aria-label={t("search_placeholder")} value={query}
            onInput={(event) => setQuery(event.currentTarget.value)} />
        </label>
      </div>
      <nav class="rail-list" aria-label={t("sessions_label")}>
        {query.trim() === "" ? <All /> : <Found {...found} />}
      </nav>
      <nav class="rail-windows" aria-label={t("windows_label")}>
        <WindowLink icon="chat" hash={CHAT_HASH} label={t("chat_title")} isOpen={windowOfAddress()?.kind === "chat"} />
        <WindowLink icon="film" hash={movieHash(DEFAULT_ROOM)} label={t("movie_title")} isOpen={windowOfAddress()?.kind === "movie"} />
      </nav>
    </>
  )
}

function WindowLink({ icon, hash, label, isOpen }: { icon: string; hash: string; label: string; isOpen: boolean }) {
  return (
    <a href={hash} aria-current={isOpen ? "page" : undefined} onClick={() => set({ drawer: undefined })}>
      <Icon name={icon} />{label}
    </a>
  )
}

function All() {
  const shown = [...state.sessions.values()].filter(({ id }) => !state.hidden.has(id))
  shown.sort((a, b) => b.updatedAt - a.updatedAt)
  if (shown.length === 0) return <p class="empty">{t("sessions_none")}</p>
  return (
    <>
      <ul>{shown.map((one) => <Row key={one.id} session={one} />)}</ul>
      {state.totalSessions > state.sessions.size && (
        <button type="button" class="earlier" onClick={() => void loadMoreSessions()}>{t("sessions_more")}</button>
      )}
    </>
  )
}

function Row({ session }: { session: SessionInfo }) {
  const [isNaming, setNaming] = useState(false)
  const { id } = session
  const isOpen = state.current === id
  const waits = state.approvals.some(({ sessionId }) => sessionId === id) || state.calls.some(({ sessionId }) => sessionId === id)
  const works = state.working.has(id)
  if (isNaming) return <li><Naming session={session} onClose={() => setNaming(false)} /></li>
  const canUse = mayUse()
  const items = [
    ...(canUse ? [
      { icon: "edit", label: t("session_rename"), run: () => setNaming(true) },
      { icon: "fork", label: t("session_fork"), run: () => void forkAt(id) },
    ] : []),
    { icon: "save", label: t("session_export"), run: () => void download(session) },
    ...(canUse ? [{ icon: "trash", label: t("session_delete"), run: () => remove(session), isDanger: true }] : []),
  ]
  return (
    <li class={isOpen ? "is-open" : ""}>
      <a class="session" href={`#/s/${encodeURIComponent(id)}`} aria-current={isOpen ? "page" : undefined}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey) return
          event.preventDefault()
          void open(id)
        }}>
        <span class="session-title">{titleOf(id)}</span>
        <span class="session-about">
          {waits && <span class="mark is-waits">{t("session_waits")}</span>}
          {works && !waits && <span class="mark is-works">{t("session_works")}</span>}
          <span>{ago(session.updatedAt)}</span>
          {session.forkedFrom && <span title={t("session_is_fork")}><Icon name="fork" /></span>}
          {session.tainted && <span title={t("taint_note")}><Icon name="shield" /></span>}
        </span>
      </a>
      <Menu label={t("session_menu", { title: titleOf(id) })} items={items} />
    </li>
  )
}

function Naming({ session, onClose }: { session: SessionInfo; onClose: () => void }) {
  const [title, setTitle] = useState(session.title ?? session.preview ?? "")
  const save = async () => { if (await rename(session, title.trim())) onClose() }
  return (
    <form class="naming" onSubmit={(event) => (event.preventDefault(), void save())}>
      <input aria-label={t("session_rename")} value={title} maxLength={200} autofocus
        ref={(element) => element?.focus()}
        onInput={(event) => setTitle(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && onClose()} />
      <button type="submit" class="primary">{t("save")}</button>
    </form>
  )
}

/** Opens the session of a hit, at its message if that is among the newest. */
async function show(hit: Hit) {
  await open(hit.sessionId)
  setTimeout(() => document.getElementById(`m-${hit.messageId}`)?.scrollIntoView({ block: "center" }), 300)
}

interface Found {
  sessions: SessionInfo[]
  hits: Hit[]
  why: string
  isBusy: boolean
}

/** Searches titles and messages, a moment after the last key. */
function useSearch(query: string): Found {
  const [found, setFound] = useState<Found>({ sessions: [], hits: [], why: "", isBusy: false })
  useEffect(() => {
    const words = query.trim()
    if (words === "") return
    const leaving = new AbortController()
    setFound((known) => ({ ...known, isBusy: true }))
    const timer = setTimeout(() => {
      Promise.all([api.sessions({ query: words, limit: 20 }), api.search(words, leaving.signal)])
        .then(([{ items }, { items: hits }]) => setFound({ sessions: items, hits, why: "", isBusy: false }))
        .catch((error: unknown) => {
          if (!leaving.signal.aborted) setFound({ sessions: [], hits: [], why: sentence(error), isBusy: false })
        })
    }, 200)
    return () => (clearTimeout(timer), leaving.abort())
  }, [query])
  return found
}

function Found({ sessions, hits, why, isBusy }: Found) {
  if (why !== "") return <p class="empty" role="alert">{visible(why)}</p>
  for (const one of sessions) if (!state.sessions.has(one.id)) state.sessions.set(one.id, one)
  if (sessions.length + hits.length === 0) return <p class="empty" role="status">{isBusy ? t("search_busy") : t("search_none")}</p>
  return (
    <>
      {sessions.length > 0 && <ul>{sessions.map((one) => <Row key={one.id} session={one} />)}</ul>}
      {hits.length > 0 && <h3>{t("search_messages")}</h3>}
      <ul>
        {hits.map((hit) => (
          <li key={hit.messageId}>
            <button type="button" class="session hit" onClick={() => void show(hit)}>
              <span class="session-title">{titleOf(hit.sessionId)}</span>
              <span class="hit-text">{visible(hit.text)}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  )
}
