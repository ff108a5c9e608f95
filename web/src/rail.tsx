// The sessions: found, renamed, forked, saved and deleted.

import { useEffect, useState } from "preact/hooks"
import { download, forkAt, loadMoreSessions, remove, rename } from "./actions.ts"
import { api } from "./api.ts"
import type { Hit, SessionInfo } from "./api.ts"
import { mayOwn, mayUse, titleOf } from "./approvals.tsx"
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
        {mayUse() && <button type="button" class="new" onClick={() => compose()}><Icon name="add" />{t("session_new")}</button>}
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
    ...(mayOwn() ? [{ icon: "save", label: t("session_export"), run: () => void download(session) }] : []),
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
      {items.length > 0 && <Menu label={t("session_menu", { title: titleOf(id) })} items={items} />}
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
        onKeyDown={(event) => event.key === "Escape" && (event.preventDefault(), onClose())} />
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
  /** Reads the next page, if there is one. */
  more?: () => void
}

/** Reads what a session is called that is not among those that are listed. */
async function know(id: string) {
  if (state.sessions.has(id) || state.found.has(id)) return
  const session = await api.session(id).catch(() => undefined)
  if (session) state.found.set(id, session)
}

/** How many sessions and messages one page of a search has. */
const PAGE = { sessions: 20, hits: 12 }

/** Searches titles and messages, a moment after the last key. */
function useSearch(query: string): Found {
  const [found, setFound] = useState<Found>({ sessions: [], hits: [], why: "", isBusy: false })
  useEffect(() => {
    const words = query.trim()
    if (words === "") return
    const leaving = new AbortController()
    setFound((known) => ({ ...known, isBusy: true }))
    const timer = setTimeout(() => {
      void read([], [])
    }, 200)
    /** Reads what comes after these. */
    const read = async (sessions: SessionInfo[], hits: Hit[]) => {
      try {
        const before = hits.at(-1)?.messageId
        const [titles, texts] = await Promise.all([
          api.sessions({ query: words, limit: PAGE.sessions, offset: sessions.length }),
          // After the first page, only what has more is read on.
          before === undefined && sessions.length > 0 ? { items: [] } : api.search(words, PAGE.hits, before, leaving.signal),
        ])
        if (leaving.signal.aborted) return
        for (const one of titles.items) state.found.set(one.id, one)
        await Promise.all(texts.items.map(({ sessionId }) => know(sessionId)))
        const [allSessions, allHits] = [[...sessions, ...titles.items], [...hits, ...texts.items]]
        const hasMore = allSessions.length < titles.totalCount || texts.items.length === PAGE.hits
        setFound({
          sessions: allSessions, hits: allHits, why: "", isBusy: false,
          ...(hasMore && titles.items.length + texts.items.length > 0 ? { more: () => void read(allSessions, allHits) } : {}),
        })
      } catch (error) {
        if (!leaving.signal.aborted) setFound({ sessions, hits, why: sentence(error), isBusy: false })
      }
    }
    return () => (clearTimeout(timer), leaving.abort())
  }, [query])
  return found
}

function Found({ sessions: all, hits, why, isBusy, more }: Found) {
  if (why !== "") return <p class="empty" role="alert">{visible(why)}</p>
  // A session that was renamed or deleted meanwhile is as it is now.
  const sessions = all.filter(({ id }) => !state.hidden.has(id) && (state.sessions.has(id) || state.found.has(id)))
    .map((one) => state.sessions.get(one.id) ?? one)
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
      {more && <button type="button" class="earlier" onClick={more}>{t("sessions_more")}</button>}
    </>
  )
}
