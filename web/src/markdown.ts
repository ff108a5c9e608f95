// Markdown as HTML that can do nothing: no scripts, no styles, no pictures from elsewhere, and what is
// HTML in the text is shown as it stands. Loaded when there is something to read.

import DOMPurify from "dompurify"
import { Marked } from "marked"
import type { Token, TokensList } from "marked"
import { t } from "./words.ts"

/** A text as blocks; those before `stable` are not parsed again while the text grows. */
export interface Parsed {
  text: string
  blocks: string[]
  /** How much of the text the blocks but the last are made of. */
  stable: number
}

const TAGS = (
  "p h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong del a br hr table thead tbody tr th td " +
  "input div span button"
).split(" ")
const ATTRIBUTES = "href title start align type checked disabled class data-copy tabindex role aria-label".split(" ")

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" }
const escape = (text: string) => text.replace(/[&<>"']/g, (sign) => escapes[sign] ?? sign)

const SAFE = /^(https?:|mailto:)/i

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escape(text),
    image: ({ href, text }) => link(href, escape(text || href)),
    link({ href, tokens }) {
      return link(href, this.parser.parseInline(tokens))
    },
    code: ({ text, lang }) =>
      `<div class="code"><div class="code-head"><span>${escape((lang ?? "").split(/\s/)[0] ?? "")}</span>` +
      `<button type="button" data-copy="1">${escape(t("copy"))}</button></div>` +
      `<pre tabindex="0"><code>${escape(text)}</code></pre></div>\n`,
    table(token) {
      const cells = (row: typeof token.header, tag: string) =>
        row.map(({ tokens, align }) =>
          `<${tag}${align ? ` align="${align}"` : ""}>${this.parser.parseInline(tokens)}</${tag}>`).join("")
      const rows = token.rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("")
      const [head, label] = [cells(token.header, "th"), escape(t("table_label"))]
      return `<div class="table" tabindex="0" role="region" aria-label="${label}"><table>` +
        `<thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table></div>`
    },
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
  },
})

function link(href: string, inside: string): string {
  if (!SAFE.test(href)) return `<span class="dead-link">${inside}</span>`
  return `<a href="${escape(href)}" title="${escape(href)}">${inside}</a>`
}

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName !== "A") return
  node.setAttribute("target", "_blank")
  node.setAttribute("rel", "noopener noreferrer nofollow")
})

/** Parses a text, as far as it is not in `before`. */
export function parse(text: string, before?: Parsed): Parsed {
  const goesOn = before !== undefined && before.stable > 0 && text.startsWith(before.text.slice(0, before.stable))
  const from = goesOn ? before.stable : 0
  const blocks = goesOn ? before.blocks.slice(0, -1) : []
  const tokens = lexed(text.slice(from))
  if (!tokens) return { text, blocks: [...blocks, plain(text.slice(from))], stable: from }
  const last = tokens.findLastIndex(({ type }) => type !== "space")
  let stable = from
  for (const [at, token] of tokens.entries()) {
    if (at < last) stable += token.raw.length
    if (token.type === "space" || token.type === "def") continue
    blocks.push(html(token, tokens))
  }
  return { text, blocks, stable }
}

/** Lines and runs of spaces that are longer than people write: the parser takes quadratic time on them. */
const ODD = /[^\n]{20000}|[^\S\n]{1000}/

/** The tokens of a text; nothing if it is made to be slow, or nested deeper than there is stack. */
function lexed(text: string): TokensList | undefined {
  if (ODD.test(text)) return undefined
  try {
    return marked.lexer(text)
  } catch {
    return undefined
  }
}

function plain(text: string): string {
  return `<p class="plain">${escape(text)}</p>`
}

function html(token: Token, { links }: TokensList): string {
  const one = Object.assign([token], { links }) as TokensList
  try {
    return DOMPurify.sanitize(marked.parser(one), { ALLOWED_TAGS: TAGS, ALLOWED_ATTR: ATTRIBUTES })
  } catch {
    return plain(token.raw)
  }
}
