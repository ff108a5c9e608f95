// What agents remember and propose, for its owner: seen, corrected, answered and deleted.

import type { ComponentChildren } from "preact"
import { useEffect, useState } from "preact/hooks"
import { asked } from "./actions.ts"
import { api } from "./api.ts"
import type { FoundMemory, Memories, Proposal } from "./api.ts"
import { attempt } from "./store.ts"
import { t, visible } from "./words.ts"

/** So many memories are listed; a search finds the others. */
const LISTED = 100

export function Memory() {
  const [known, setKnown] = useState<{ list: Memories; waiting: Proposal[] } | string>()
  const read = () => void asked(async () => ({ list: await api.memories(), waiting: await api.proposals() })).then(setKnown)
  useEffect(read, [])
  if (known === undefined) return <p class="note">{t("loading")}</p>
  if (typeof known === "string") return <p class="note" role="alert">{visible(known)}</p>
  const { list: { items, problems = [] }, waiting } = known
  const answer = (id: string, decision: "accept" | "refuse", text?: string) =>
    attempt(() => api.answerProposal(id, decision, text)).then(read)
  return (
    <>
      {problems.map((why) => <p class="note" role="alert">{visible(why)}</p>)}
      {waiting.length > 0 && <>
        <h4>{t("memory_proposals")}</h4>
        <ul class="listed">{waiting.map((one) => (
          <Line key={one.id} text={one.text} note={noteOf(one)} save={(text) => answer(one.id, "accept", text)} saving={t("memory_accept")}>
            <button type="button" onClick={() => void answer(one.id, "accept")}>{t("memory_accept")}</button>
            <button type="button" class="danger" onClick={() => void answer(one.id, "refuse")}>{t("memory_refuse")}</button>
          </Line>
        ))}</ul>
      </>}
      <Recalled />
      {items.length === 0 && <p class="note">{t("memory_none")}</p>}
      <ul class="listed">{items.slice(0, LISTED).map((one) => (
        <Line key={one.id} text={one.text} note={[one.source, ...marked(one)]} saving={t("save")}
          save={(text) => attempt(() => api.editMemory(one.id, text)).then(read)}>
          <button type="button" class="danger" onClick={() => void attempt(() => api.forgetMemory(one.id)).then(read)}>{t("memory_forget")}</button>
        </Line>
      ))}</ul>
      {items.length > LISTED && <p class="note">{t("memory_more", { count: items.length - LISTED })}</p>}
    </>
  )
}

function marked({ tainted }: { tainted?: boolean }): string[] {
  return tainted ? [t("memory_outside")] : []
}

function noteOf(one: Proposal): string[] {
  const places = { person: t("memory_about_person"), folder: t("memory_about_folder"), day: t("memory_about_day") }
  return [places[one.about], ...(one.by === undefined ? [] : [one.by]), ...marked(one)]
}

interface LineProps {
  text: string
  note: string[]
  saving: string
  save: (text: string) => Promise<unknown>
  children: ComponentChildren
}

/** A line with what it says, which can be written again. */
function Line({ text, note, saving, save, children }: LineProps) {
  const [draft, setDraft] = useState<string>()
  if (draft !== undefined) return (
    <li>
      <form onSubmit={(event) => { event.preventDefault(); void save(draft).then(() => setDraft(undefined)) }}>
        <input aria-label={t("memory_text")} value={draft} maxLength={2048} onInput={(event) => setDraft(event.currentTarget.value)} />
        <button type="submit">{saving}</button>
        <button type="button" onClick={() => setDraft(undefined)}>{t("cancel")}</button>
      </form>
    </li>
  )
  return (
    <li>
      <span>{visible(text)} <span class="note">{visible(note.join(", "))}</span></span>
      <span class="buttons"><button type="button" onClick={() => setDraft(text)}>{t("memory_edit")}</button>{children}</span>
    </li>
  )
}

/** What an agent would recall for some words, and why: by their words, the best first. */
function Recalled() {
  const [query, setQuery] = useState("")
  const [found, setFound] = useState<FoundMemory[] | string>()
  return (
    <>
      <form onSubmit={(event) => { event.preventDefault(); void asked(() => api.recalled(query)).then(setFound) }}>
        <input aria-label={t("memory_query")} placeholder={t("memory_query")} value={query}
          onInput={(event) => setQuery(event.currentTarget.value)} />
        <button type="submit" disabled={query.trim() === ""}>{t("memory_recall")}</button>
      </form>
      {typeof found === "string" && <p class="note" role="alert">{visible(found)}</p>}
      {typeof found === "object" && (found.length === 0
        ? <p class="note" role="status">{t("memory_none_found")}</p>
        : <ol class="listed" aria-label={t("memory_found")}>{found.map((one) => (
          <li key={one.id}><span>{visible(one.text)} <span class="note">{visible(one.source)}, {one.score.toFixed(2)}</span></span></li>))}</ol>)}
    </>
  )
}
