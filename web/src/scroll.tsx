// A list whose newest row stays in sight unless a person reads further up.

import type { ComponentChildren } from "preact"
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import { IconButton } from "./ui.tsx"
import { t } from "./words.ts"

/** So long the heights of rows that came are guesses. */
const HOLD_MS = 500

interface ScrollProps {
  label: string
  /** The first row: when it is another, what was in sight stays in sight. */
  first: string
  /** What the list is of: another one begins at its end. */
  place?: string
  children: ComponentChildren
}

export function Scroll({ label, first, place = "", children }: ScrollProps) {
  const box = useRef<HTMLDivElement>(null)
  const sticks = useRef(true)
  const [isAway, setAway] = useState(false)
  const before = useRef({ first, place })
  const middle = useRef<Seen | undefined>(undefined)
  const heldUntil = useRef(0)
  const isHeld = () => performance.now() < heldUntil.current
  // Here the rows are still as they were.
  if (box.current && before.current.first !== first) middle.current = middleOf(box.current)
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    if (before.current.place !== place) sticks.current = true
    if (sticks.current) element.scrollTop = element.scrollHeight
    else if (before.current.first !== first) heldUntil.current = performance.now() + HOLD_MS
    before.current = { first, place }
    if (!sticks.current && isHeld()) hold(element, middle.current)
  })
  useEffect(() => {
    const inner = box.current?.firstElementChild
    if (!inner) return
    // Texts, pictures and what comes into sight change their height after they were drawn.
    const watching = new ResizeObserver(() => {
      if (!box.current) return
      if (sticks.current) box.current.scrollTop = box.current.scrollHeight
      else if (isHeld()) hold(box.current, middle.current)
    })
    watching.observe(inner)
    return () => watching.disconnect()
  }, [])
  // What a person does now is not undone: a row that moves under a press takes no click.
  const letGo = () => { heldUntil.current = 0 }
  const onScroll = () => {
    const element = box.current
    if (!element) return
    sticks.current = element.scrollHeight - element.scrollTop - element.clientHeight < 60
    if (isAway === sticks.current) setAway(!sticks.current)
  }
  const toEnd = () => {
    sticks.current = true
    box.current?.scrollTo({ top: box.current.scrollHeight })
  }
  return (
    <div class="thread-box">
      <div class="thread" ref={box} onScroll={onScroll} onWheel={letGo} onPointerDown={letGo} onKeyDown={letGo} tabindex={0} role="region" aria-label={label}>
        <div class="thread-inner">{children}</div>
      </div>
      {isAway && <IconButton icon="down" class="to-end" label={t("thread_to_end")} onClick={toEnd} />}
    </div>
  )
}

/** Loads what came before the first row. */
export function Earlier({ load }: { load: () => Promise<unknown> }) {
  const [isBusy, setBusy] = useState(false)
  const run = async () => {
    setBusy(true)
    await load()
    setBusy(false)
  }
  return <button type="button" class="earlier" disabled={isBusy} onClick={() => void run()}>{t("thread_earlier")}</button>
}

interface Seen {
  row: Element
  top: number
}

function topOf(box: Element, row: Element): number {
  return row.getBoundingClientRect().top - box.getBoundingClientRect().top
}

/** Puts a row back to where it was. */
function hold(box: Element, seen: Seen | undefined) {
  if (seen?.row.isConnected) box.scrollTop += topOf(box, seen.row) - seen.top
}

/** The row in the middle of what is in sight: one that stays when rows come or go above it. */
function middleOf(box: Element): Seen | undefined {
  const rows = box.firstElementChild?.children ?? []
  let [from, to] = [0, rows.length - 1]
  while (from < to) {
    const at = (from + to) >> 1
    if (topOf(box, rows[at]!) + rows[at]!.clientHeight > box.clientHeight / 2) to = at
    else from = at + 1
  }
  const row = rows[from]
  return row && { row, top: topOf(box, row) }
}
