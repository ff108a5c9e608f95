// A list whose newest row stays in sight unless a person reads further up.

import type { ComponentChildren } from "preact"
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import { IconButton } from "./ui.tsx"
import { t } from "./words.ts"

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
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    if (before.current.place !== place) sticks.current = true
    if (sticks.current) element.scrollTop = element.scrollHeight
    else if (before.current.first !== first && middle.current) element.scrollTop += topOf(element, middle.current.row) - middle.current.top
    before.current = { first, place }
    middle.current = middleOf(element)
  })
  useEffect(() => {
    const inner = box.current?.firstElementChild
    if (!inner) return
    // Texts, pictures and what comes into sight change their height after they were drawn.
    const watching = new ResizeObserver(() => {
      if (sticks.current && box.current) box.current.scrollTop = box.current.scrollHeight
    })
    watching.observe(inner)
    return () => watching.disconnect()
  }, [])
  const onScroll = () => {
    const element = box.current
    if (!element) return
    sticks.current = element.scrollHeight - element.scrollTop - element.clientHeight < 60
    if (!sticks.current) middle.current = middleOf(element)
    if (isAway === sticks.current) setAway(!sticks.current)
  }
  const toEnd = () => {
    sticks.current = true
    box.current?.scrollTo({ top: box.current.scrollHeight })
  }
  return (
    <div class="thread-box">
      <div class="thread" ref={box} onScroll={onScroll} tabindex={0} role="region" aria-label={label}>
        <div class="thread-inner">{children}</div>
      </div>
      {isAway && <IconButton icon="down" class="to-end" label={t("thread_to_end")} onClick={toEnd} />}
    </div>
  )
}

interface Seen {
  row: Element
  top: number
}

function topOf(box: Element, row: Element): number {
  return row.getBoundingClientRect().top - box.getBoundingClientRect().top
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
