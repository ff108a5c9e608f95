// A text that is written while it is read: Markdown, whose finished blocks are made once.

import { useEffect, useRef, useState } from "preact/hooks"
import type { Parsed, parse as Parse } from "./markdown.ts"
import { memo } from "./ui.tsx"

let parse: typeof Parse | undefined
let loading: Promise<void> | undefined

/** The renderer is loaded once, with the first text. */
function load(): Promise<void> {
  loading ??= import("./markdown.ts").then((loaded) => { parse = loaded.parse })
  return loading
}

/** How long a text may grow before it is parsed again, by how much there is to parse. */
const slowed = (length: number) => (length > 100_000 ? 1_000 : length > 20_000 ? 250 : 0)

export const Text = memo(({ text, isLive }: { text: string; isLive: boolean }) => {
  const [isLoaded, setLoaded] = useState(parse !== undefined)
  const parsed = useRef<Parsed | undefined>(undefined)
  const parsedAt = useRef(0)
  // It may have been loaded since this was drawn.
  useEffect(() => { if (!isLoaded) void load().then(() => setLoaded(true)) }, [])
  if (!parse) return <div class="text">{text}</div>
  const known = parsed.current
  if (known?.text !== text || (!isLive && known.stable > 0 && parsedAt.current > 0)) {
    const now = performance.now()
    const isDue = !isLive || !known || now - parsedAt.current >= slowed(text.length - known.stable)
    if (isDue) {
      parsed.current = parse(text, isLive ? known : undefined)
      parsedAt.current = isLive ? now : 0
    }
  }
  return (
    <div class={`text ${isLive ? "is-live" : ""}`}>
      {parsed.current?.blocks.map((html, at) => <Block key={at} html={html} />)}
    </div>
  )
})

const Block = memo(({ html }: { html: string }) => <div class="block" dangerouslySetInnerHTML={{ __html: html }} />)
