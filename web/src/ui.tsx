// Small things that every part of the page uses.

import { Component } from "preact"
import type { ComponentChildren, FunctionComponent } from "preact"
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import { t, visible } from "./words.ts"

/** A component that is drawn again only when one of its properties is another. */
export function memo<P extends object>(Inner: FunctionComponent<P>) {
  return class extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>) {
      const keys = Object.keys({ ...this.props, ...next }) as (keyof P)[]
      return keys.some((key) => this.props[key] !== next[key])
    }
    override render() {
      return <Inner {...(this.props as P)} />
    }
  }
}

const PATHS: Record<string, string> = {
  add: "M12 5v14M5 12h14",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13ZM20 20l-4.9-4.9",
  menu: "M4 7h16M4 12h16M4 17h16",
  tree: "M6 4v13a2 2 0 0 0 2 2h4M6 9h6M15 6.5h5v5h-5zM15 16.5h5v5h-5z",
  bell: "M6 16V11a6 6 0 1 1 12 0v5l1.5 2h-15L6 16ZM10 20.5h4",
  gear: "M4 7h9M17 7h3M4 12h3M11 12h9M4 17h9M17 17h3M15 5v4M9 10v4M15 15v4",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  image: "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15.5 9.5h.01",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  close: "M6 6l12 12M18 6 6 18",
  down: "M7 10l5 5 5-5",
  right: "M10 7l5 5-5 5",
  check: "M5 12.5l4.5 4.5L19 7.5",
  copy: "M9 9h10v11H9zM15 9V4H5v11h4",
  fork: "M7 4v8a4 4 0 0 0 4 4h6M7 12v8M14 13l3 3-3 3",
  edit: "M5 19l1-4L16 5l3 3L9 18l-4 1Z",
  again: "M19 12a7 7 0 1 1-2.2-5.1M19 4v4h-4",
  shield: "M12 4l7 2.5V12c0 4-3 6.8-7 8-4-1.2-7-4-7-8V6.5L12 4Z",
  alert: "M12 4 3 19h18L12 4ZM12 10v4M12 16.5h.01",
  trash: "M5 7h14M10 7V4.5h4V7M7 7l1 13h8l1-13",
  save: "M12 4v11M7 11l5 5 5-5M5 20h14",
  chat: "M4 5h16v11h-9l-4 4v-4H4zM8 9h8M8 12h5",
  film: "M4 5h16v14H4zM8 5v14M16 5v14M4 9.5h4M4 14.5h4M16 9.5h4M16 14.5h4",
  back: "M19 12H5M11 6l-6 6 6 6",
}

export function Icon({ name }: { name: string }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name] ?? ""} />
    </svg>
  )
}

interface IconButtonProps {
  icon: string
  label: string
  onClick: () => void
  pressed?: boolean
  expanded?: boolean
  class?: string
  disabled?: boolean
  children?: ComponentChildren
}

export function IconButton(props: IconButtonProps) {
  const { icon, label, onClick, pressed, expanded, disabled, children } = props
  return (
    <button type="button" class={`icon-button ${props.class ?? ""}`} aria-label={label} title={label} onClick={onClick}
      aria-pressed={pressed} aria-expanded={expanded} disabled={disabled}>
      <Icon name={icon} />{children}
    </button>
  )
}

/** The time, for what counts seconds while it runs. */
export function useNow(isRunning: boolean): number {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    if (!isRunning) return
    setNow(Date.now())
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [isRunning])
  return now
}

/** A text in which nothing is hidden. */
export function Plain({ text, class: name }: { text: string; class?: string }) {
  return <pre class={`plain ${name ?? ""}`} tabindex={0}>{visible(text)}</pre>
}

/** A unified diff, or any other text. */
export function Diff({ text }: { text: string }) {
  const lines = visible(text).split("\n")
  return (
    <pre class="diff" tabindex={0} aria-label={t("diff_label")}>
      {lines.map((line) => <span class={kindOf(line)}>{`${line}\n`}</span>)}
    </pre>
  )
}

function kindOf(line: string): string {
  if (line.startsWith("+++") || line.startsWith("---")) return "file"
  if (line.startsWith("@@")) return "place"
  if (line.startsWith("+")) return "added"
  return line.startsWith("-") ? "removed" : ""
}

interface MenuItem {
  icon: string
  label: string
  run: () => void
  isDanger?: boolean
}

/** A button with a menu; arrows move in it, Escape leaves it. */
export function Menu({ label, items }: { label: string; items: MenuItem[] }) {
  const [isOpen, setOpen] = useState(false)
  const box = useRef<HTMLDivElement>(null)
  const buttons = () => [...(box.current?.querySelectorAll<HTMLButtonElement>("[role=menuitem]") ?? [])]
  useLayoutEffect(() => {
    if (!isOpen) return
    // In a list that scrolls it may be cut off.
    box.current?.querySelector("[role=menu]")?.scrollIntoView({ block: "nearest" })
    buttons()[0]?.focus()
    const leave = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) setOpen(false)
    }
    document.addEventListener("pointerdown", leave)
    return () => document.removeEventListener("pointerdown", leave)
  }, [isOpen])
  const onKey = (event: KeyboardEvent) => {
    if (!isOpen) return
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === "Escape" || event.key === "Tab") {
      setOpen(false)
      if (event.key === "Escape") {
        // A dialog around it stays.
        event.preventDefault()
        box.current?.querySelector("button")?.focus()
      }
      event.stopPropagation()
    } else if (step !== undefined) {
      const all = buttons()
      const at = all.indexOf(document.activeElement as HTMLButtonElement)
      all[(at + step + all.length) % all.length]?.focus()
      event.preventDefault()
    }
  }
  return (
    <div class="menu-box" ref={box} onKeyDown={onKey}>
      <button type="button" class="icon-button" aria-haspopup="menu" aria-expanded={isOpen} aria-label={label} title={label}
        onClick={() => setOpen(!isOpen)}><Icon name="more" /></button>
      {isOpen && (
        <div class="menu" role="menu" aria-label={label}>
          {items.map((item) => (
            <button type="button" role="menuitem" class={item.isDanger ? "danger" : ""}
              onClick={() => (setOpen(false), item.run())}>
              <Icon name={item.icon} />{item.label}
            </button>
          ))}
        </div>
      )}
    </div>
  )
}

/** A dialog beside or over the page: the focus stays in it, Escape leaves it. */
export function Panel({ title, onClose, children, side }: {
  title: string; onClose: () => void; children: ComponentChildren; side?: "left" | "right"
}) {
  const box = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null
    const dialog = box.current
    dialog?.showModal()
    return () => {
      // While it is open, nothing else takes the focus.
      dialog?.close()
      before?.focus?.()
    }
  }, [])
  return (
    <dialog class={side ? `panel side ${side}` : "panel"} ref={box} aria-labelledby="panel-title"
      onCancel={(event) => (event.preventDefault(), onClose())}
      onClick={(event) => event.target === box.current && onClose()}>
      <div class="panel-inner">
        <header>
          <h2 id="panel-title">{title}</h2>
          <IconButton icon="close" label={t("close")} onClick={onClose} />
        </header>
        <div class="panel-body">{children}</div>
      </div>
    </dialog>
  )
}

/** Copies a text. */
export function copy(text: string, done: () => void) {
  void navigator.clipboard?.writeText(text).then(done, () => undefined)
}
