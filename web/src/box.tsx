// A box for a line or more of text, which stays in it until it was taken.

import { useEffect, useRef, useState } from "preact/hooks"
import { mayUse } from "./approvals.tsx"
import { state } from "./store.ts"
import { Icon } from "./ui.tsx"
import { t, visible } from "./words.ts"

interface BoxProps {
  label: string
  placeholder: string
  isOff?: boolean
  /** Takes the text, or gives the sentence of the refusal. */
  onSend: (text: string) => Promise<string | undefined>
}

export function Box({ label, placeholder, isOff, onSend }: BoxProps) {
  const [text, setText] = useState("")
  const [why, setWhy] = useState("")
  const [isBusy, setBusy] = useState(false)
  const box = useRef<HTMLTextAreaElement>(null)
  // On a phone the focus would open its keyboard.
  useEffect(() => { if (matchMedia("(pointer: fine)").matches) box.current?.focus() }, [])
  useEffect(() => {
    const element = box.current
    if (!element) return
    element.style.height = "auto"
    element.style.height = `${Math.min(element.scrollHeight, 240)}px`
  }, [text])
  const submit = async () => {
    if (text.trim() === "" || isBusy || isOff) return
    setBusy(true)
    const refused = await onSend(text)
    setBusy(false)
    setWhy(refused ?? "")
    // What was typed meanwhile stays, too.
    if (refused === undefined) setText((now) => (now === text ? "" : now))
  }
  const onKey = (event: KeyboardEvent) => {
    // Enter belongs to an input method while it composes a word; old ones say so by the code alone.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return
    event.preventDefault()
    void submit()
  }
  if (!mayUse()) return <p class="composer note">{t("composer_no_right", { scope: state.me?.scope ?? "" })}</p>
  return (
    <>
      {why !== "" && <p class="refused" role="alert">{visible(why)} <span class="note">{t("box_kept")}</span></p>}
      <form class="composer" onSubmit={(event) => (event.preventDefault(), void submit())}>
        <textarea id="composer" ref={box} rows={1} value={text} aria-label={label} placeholder={placeholder} disabled={isOff}
          onInput={(event) => setText(event.currentTarget.value)} onKeyDown={onKey} />
        <div class="composer-line">
          <span class="grow" />
          <button type="submit" class="primary send" disabled={text.trim() === "" || isBusy || isOff} aria-label={t("send")} title={t("send")}>
            <Icon name="send" /></button>
        </div>
      </form>
    </>
  )
}
