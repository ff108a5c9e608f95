// Where a person writes.

import { useEffect, useRef, useState } from "preact/hooks"
import { send, stop } from "./actions.ts"
import { mayUse } from "./approvals.tsx"
import { currentTurn } from "./model.ts"
import type { View } from "./model.ts"
import { state, toast } from "./store.ts"
import type { Delivery } from "./store.ts"
import { Icon, IconButton } from "./ui.tsx"
import { t } from "./words.ts"

interface Picture {
  data: string
  url: string
}

const TYPES = ["image/png", "image/jpeg", "image/webp"]
const [MOST_PICTURES, MOST_BYTES] = [8, 5 * 1024 * 1024]

export function Composer({ view }: { view: View | undefined }) {
  const [text, setText] = useState("")
  const [pictures, setPictures] = useState<Picture[]>([])
  const [delivery, setDelivery] = useState<Delivery>("queue")
  const box = useRef<HTMLTextAreaElement>(null)
  const isBusy = view !== undefined && currentTurn(view) !== undefined
  const isGone = view?.isGone === true
  // On a phone the focus would open its keyboard.
  useEffect(() => { if (matchMedia("(pointer: fine)").matches) box.current?.focus() }, [state.current])
  useEffect(() => {
    const element = box.current
    if (!element) return
    element.style.height = "auto"
    element.style.height = `${Math.min(element.scrollHeight, 240)}px`
  }, [text])
  const submit = async () => {
    if (text.trim() === "") return
    const draft = { text, images: pictures, delivery }
    setText("")
    setPictures([])
    if (await send(draft)) return
    setText(draft.text)
    setPictures(draft.images)
  }
  const add = async (files: Iterable<File>) => {
    const read = await Promise.all([...files].map(pictureOf))
    const good = read.filter((one) => one !== undefined)
    setPictures((known) => [...known, ...good].slice(0, MOST_PICTURES))
  }
  const onKey = (event: KeyboardEvent) => {
    // Enter belongs to an input method while it composes a word; old ones say so by the code alone.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return
    event.preventDefault()
    void submit()
  }
  if (!mayUse()) return <p class="composer note">{t("composer_no_right", { scope: state.me?.scope ?? "" })}</p>
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
      <textarea id="composer" ref={box} rows={1} value={text} disabled={isGone} aria-label={t("composer_label")}
        placeholder={isBusy ? t("composer_busy") : t("composer_placeholder")}
        onInput={(event) => setText(event.currentTarget.value)} onKeyDown={onKey}
        onPaste={(event) => {
          const files = [...(event.clipboardData?.files ?? [])]
          if (files.length > 0) (event.preventDefault(), void add(files))
        }} />
      <div class="composer-line">
        <label class="icon-button" title={t("image_add")}>
          <Icon name="image" /><span class="hidden">{t("image_add")}</span>
          <input class="hidden" type="file" multiple accept={TYPES.join(",")}
            onChange={(event) => {
              const input = event.currentTarget
              void add([...(input.files ?? [])]).then(() => { input.value = "" })
            }} />
        </label>
        {isBusy && <DeliveryChoice value={delivery} onChange={setDelivery} />}
        <span class="grow" />
        {isBusy && <button type="button" class="stop" onClick={() => void stop()}><Icon name="stop" />{t("stop")}</button>}
        <button type="submit" class="primary send" disabled={text.trim() === "" || isGone} aria-label={t("send")} title={t("send")}>
          <Icon name="send" /></button>
      </div>
    </form>
  )
}

/** What a message does while an answer is being written. */
function DeliveryChoice({ value, onChange }: { value: Delivery; onChange: (next: Delivery) => void }) {
  const choices: [Delivery, string, string][] = [
    ["queue", t("delivery_queue"), t("delivery_queue_note")], ["steer", t("delivery_steer"), t("delivery_steer_note")],
  ]
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
