// A list whose newest row stays in sight unless a person reads further up.

import type { ComponentChildren } from "preact"
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import { IconButton } from "./ui.tsx"
import { t } from "./words.ts"

interface ScrollProps {
  label: string
  /** The first row: when it is another, what was in sight stays in sight. */
  first: string
  children: ComponentChildren
}

export function Scroll({ label, first, children }: ScrollProps) {
  const box = useRef<HTMLDivElement>(null)
  const sticks = useRef(true)
  const [isAway, setAway] = useState(false)
  const before = useRef({ first, height: 0 })
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    if (sticks.current) element.scrollTop = element.scrollHeight
    else if (before.current.first !== first) element.scrollTop += element.scrollHeight - before.current.height
    before.current = { first, height: element.scrollHeight }
  })
  useEffect(() => {
    const inner = box.current?.firstElementChild
    if (!inner) return
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
