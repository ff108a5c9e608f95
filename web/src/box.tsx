// Where a person writes: a text that stays in its box until it was taken.

import { useEffect, useRef, useState } from "preact/hooks"
import { mayUse } from "./approvals.tsx"
import { draftOf, keepDraft } from "./drafts.ts"
import { changed, state } from "./store.ts"
import { Icon } from "./ui.tsx"
import { t, visible } from "./words.ts"

interface TextBoxProps {
  text: string
  label: string
  placeholder: string
  isOff: boolean
  /** What is written about: with another one the box has the focus again. */
  about: string | undefined
  onText: (text: string) => void
  onEnter: () => void
  onFiles?: (files: File[]) => void
}

/** A text that makes its box grow. */
export function TextBox({ text, label, placeholder, isOff, about, onText, onEnter, onFiles }: TextBoxProps) {
  const box = useRef<HTMLTextAreaElement>(null)
  // On a phone the focus would open its keyboard.
  useEffect(() => { if (matchMedia("(pointer: fine)").matches) box.current?.focus() }, [about])
  useEffect(() => {
    const element = box.current
    if (!element) return
    element.style.height = "auto"
    element.style.height = `${Math.min(element.scrollHeight, 240)}px`
  }, [text])
  const onKey = (event: KeyboardEvent) => {
    // Enter belongs to an input method while it composes a word; old ones say so by the code alone.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return
    event.preventDefault()
    onEnter()
  }
  return (
    <textarea id="composer" ref={box} rows={1} value={text} aria-label={label} placeholder={placeholder} disabled={isOff}
      onInput={(event) => onText(event.currentTarget.value)} onKeyDown={onKey}
      onPaste={(event) => {
        const files = [...(event.clipboardData?.files ?? [])]
        if (onFiles && files.length > 0) (event.preventDefault(), onFiles(files))
      }} />
  )
}

export function SendButton({ isOff }: { isOff: boolean }) {
  return (
    <button type="submit" class="primary send" disabled={isOff} aria-label={t("send")} title={t("send")}><Icon name="send" /></button>
  )
}

/** Instead of a box, for a login that may not write. */
export function NoBox() {
  return <p class="composer note">{t("composer_no_right", { scope: state.me?.scope ?? "" })}</p>
}

interface BoxProps {
  /** The address of the window: each keeps what was begun there. */
  place: string
  label: string
  isOff?: boolean
  /** Takes the text, or gives the sentence of the refusal. */
  onSend: (text: string) => Promise<string | undefined>
}

/** The box of a window beside the conversation. */
export function Box({ place, label, isOff = false, onSend }: BoxProps) {
  const { text } = draftOf(place)
  const [why, setWhy] = useState("")
  const [isBusy, setBusy] = useState(false)
  const setText = (text: string) => (keepDraft(place, { text, images: [] }), changed())
  const submit = async () => {
    const sent = draftOf(place).text
    if (sent.trim() === "" || isBusy || isOff) return
    setBusy(true)
    const refused = await onSend(sent)
    setBusy(false)
    setWhy(refused ?? "")
    // What was typed meanwhile stays, too.
    if (refused === undefined && draftOf(place).text === sent) setText("")
  }
  if (!mayUse()) return <NoBox />
  return (
    <>
      {why !== "" && <p class="refused" role="alert">{visible(why)} <span class="note">{t("box_kept")}</span></p>}
      <form class="composer" onSubmit={(event) => (event.preventDefault(), void submit())}>
        <TextBox text={text} label={label} placeholder={label} isOff={isOff} about={place} onText={setText} onEnter={() => void submit()} />
        <div class="composer-line">
          <span class="grow" />
          <SendButton isOff={text.trim() === "" || isBusy || isOff} />
        </div>
      </form>
    </>
  )
}
