// Where a person writes.

import { useEffect, useState } from "preact/hooks"
import { answer, send, stop } from "./actions.ts"
import type { OpenCallInfo } from "./api.ts"
import { mayUse } from "./approvals.tsx"
import { NoBox, SendButton, TextBox } from "./box.tsx"
import { draftOf, keepDraft, NEW, putBack } from "./drafts.ts"
import type { Picture } from "./drafts.ts"
import { currentTurn } from "./model.ts"
import type { View } from "./model.ts"
import { changed, state, toast } from "./store.ts"
import type { Delivery } from "./store.ts"
import { Icon, IconButton } from "./ui.tsx"
import { t } from "./words.ts"

/** What Enter does while an answer is written: a question that waits is answered first. */
type Way = Delivery | "answer"

const TYPES = ["image/png", "image/jpeg", "image/webp"]
const [MOST_PICTURES, MOST_BYTES] = [8, 5 * 1024 * 1024]

export function Composer({ view }: { view: View | undefined }) {
  const key = state.current ?? NEW
  const { text, images: pictures } = draftOf(key)
  const setText = (text: string) => (keepDraft(key, { ...draftOf(key), text }), changed())
  const setPictures = (images: Picture[]) => (keepDraft(key, { ...draftOf(key), images }), changed())
  const [chosen, choose] = useState<Way>("answer")
  const questions = questionsOf(view)
  const question = questions.length === 1 ? questions[0] : undefined
  const ways: Way[] = question ? ["answer", "queue", "steer"] : ["queue", "steer"]
  // A picture is no answer, so a message with one waits.
  const way = ways.includes(chosen) && !(chosen === "answer" && pictures.length > 0) ? chosen : "queue"
  const isBusy = view !== undefined && currentTurn(view) !== undefined
  const isGone = view?.isGone === true
  const isLoading = state.current !== undefined && view === undefined
  useEffect(() => choose("answer"), [question?.id])
  const submit = async () => {
    // Keys may come faster than the page is drawn, and a session may still be on its way.
    const draft = draftOf(key)
    if (draft.text.trim() === "" || isGone || isLoading) return
    keepDraft(key, { text: "", images: [] })
    changed()
    if (!question || way !== "answer") return void send({ ...draft, delivery: way === "answer" ? "queue" : way })
    if (!(await answer(question, draft.text))) putBack(key, draft)
    changed()
  }
  const add = async (files: Iterable<File>) => {
    const read = await Promise.all([...files].map(pictureOf))
    const good = read.filter((one) => one !== undefined)
    setPictures([...draftOf(key).images, ...good].slice(0, MOST_PICTURES))
  }
  if (!mayUse()) return <NoBox />
  return (
    <form class="composer" onSubmit={(event) => (event.preventDefault(), void submit())}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => (event.preventDefault(), void add(event.dataTransfer?.files ?? []))}>
      {pictures.length > 0 && <ul class="composer-pictures">
        {pictures.map((one, at) => (
          <li key={one.url}><img src={one.url} alt={t("image_alt")} />
            <IconButton icon="close" label={t("image_remove")} onClick={() => setPictures(pictures.filter((_, other) => other !== at))} />
          </li>
        ))}
      </ul>}
      <TextBox text={text} label={t("composer_label")} isOff={isGone} about={state.current}
        placeholder={question && way === "answer" ? t("composer_answer") : isBusy ? t("composer_busy") : t("composer_placeholder")}
        onText={setText} onEnter={() => void submit()} onFiles={(files) => void add(files)} />
      {pictures.length > 0 && text.trim() === "" && <p class="note composer-note">{t("image_needs_text")}</p>}
      {questions.length > 1 && <p class="note composer-note">{t("composer_questions")}</p>}
      <div class="composer-line">
        <label class="icon-button" title={t("image_add")}>
          <Icon name="image" /><span class="hidden">{t("image_add")}</span>
          <input class="hidden" type="file" multiple accept={TYPES.join(",")}
            onChange={(event) => {
              const input = event.currentTarget
              void add([...(input.files ?? [])]).then(() => { input.value = "" })
            }} />
        </label>
        {isBusy && <WayChoice ways={ways} value={way} onChange={choose} />}
        <span class="grow" />
        {isBusy && <button type="button" class="stop" onClick={() => void stop()}><Icon name="stop" /><span>{t("stop")}</span></button>}
        <SendButton isOff={text.trim() === "" || isGone || isLoading} />
      </div>
    </form>
  )
}

/** The questions of this session that wait. */
function questionsOf(view: View | undefined): OpenCallInfo[] {
  return state.calls.filter(({ sessionId, tool }) => sessionId === view?.session.id && tool === "ask_user")
}

/** What a message does while an answer is being written. */
function WayChoice({ ways, value, onChange }: { ways: Way[]; value: Way; onChange: (next: Way) => void }) {
  const all: [Way, string, string][] = [
    ["answer", t("delivery_answer"), t("delivery_answer_note")],
    ["queue", t("delivery_queue"), t("delivery_queue_note")], ["steer", t("delivery_steer"), t("delivery_steer_note")],
  ]
  const choices = all.filter(([way]) => ways.includes(way))
  return (
    <fieldset class="choice">
      <legend class="hidden">{t("delivery_label")}</legend>
      {choices.map(([name, label, note]) => (
        <label class={value === name ? "is-on" : ""} title={note}>
          <input type="radio" name="delivery" checked={value === name} onChange={() => onChange(name)} />{label}
        </label>
      ))}
    </fieldset>
  )
}

async function pictureOf(file: File): Promise<Picture | undefined> {
  if (!TYPES.includes(file.type) || file.size > MOST_BYTES) {
    toast(t("image_refused", { name: file.name }), { isError: true })
    return undefined
  }
  const bytes = new Uint8Array(await file.arrayBuffer())
  let raw = ""
  for (let at = 0; at < bytes.length; at += 32_768) raw += String.fromCharCode(...bytes.subarray(at, at + 32_768))
  return { data: btoa(raw), url: URL.createObjectURL(file) }
}
