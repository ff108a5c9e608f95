// What a host shows, drawn from its `uiSpec` alone: each component as the protocol means it, an unknown
// one as a list.

import { useState } from "preact/hooks"
import type { Item, Spec } from "./uispec.ts"
import { t, visible } from "./words.ts"

interface ScreenProps {
  spec: Spec
  /** The tools in force: what is not among them cannot be done by hand either. */
  tools: Set<string>
  isActive: boolean
  onDo: (tool: string, params?: object) => void
}

interface PartProps {
  spec: Spec
  items: Item[]
  /** Chooses an item; missing when nothing can be chosen now. */
  choose: ((id: string) => void) | undefined
  count: ((id: string, quantity: number) => void) | undefined
}

/** So many items are drawn at once. */
const DRAWN = 300

const PARTS: Record<string, (props: PartProps) => preact.JSX.Element> = {
  buttonGroup: ButtonGroup, calendar: Calendar, seatMap: SeatMap, quantityPicker: QuantityPicker, summary: Summary,
}

export function Screen({ spec, tools, isActive, onDo }: ScreenProps) {
  const [drawn, setDrawn] = useState(DRAWN)
  const can = (tool: string) => isActive && tools.has(tool)
  const Part = Object.hasOwn(PARTS, spec.component) ? PARTS[spec.component]! : List
  const items = spec.items.slice(0, drawn)
  return (
    <section class="screen" aria-label={t("screen_label")}>
      {spec.facts.length > 0 && <dl class="screen-facts">
        {spec.facts.map(([name, words]) => <div key={name}><dt>{visible(name)}</dt><dd>{visible(words)}</dd></div>)}
      </dl>}
      <h2 tabindex={-1}>{visible(spec.title)}</h2>
      {spec.description !== "" && <p class="note">{visible(spec.description)}</p>}
      {(spec.changes.length > 0 || spec.hidden > 0) && <p class="screen-changes">
        {spec.changes.map((words) => <code key={words}>{visible(words)}</code>)}
        {spec.hidden > 0 && <span>{t("screen_hidden", { count: spec.hidden })}</span>}
        {can("clearModification") && <button type="button" class="link" onClick={() => onDo("clearModification")}>{t("screen_clear")}</button>}
      </p>}
      {items.length === 0 && <p class="empty">{t("screen_no_items")}</p>}
      <Part spec={spec} items={items}
        choose={can("select") ? (itemId) => onDo("select", { itemId }) : undefined}
        count={can("setQuantity") ? (typeId, quantity) => onDo("setQuantity", { typeId, quantity }) : undefined} />
      {spec.items.length > drawn && <button type="button" class="earlier" onClick={() => setDrawn(drawn + 1_000)}>
        {t("screen_more", { count: spec.items.length - drawn })}</button>}
      <div class="buttons">
        {tools.has("prev") && <button type="button" disabled={!can("prev")} onClick={() => onDo("prev")}>{t("screen_back")}</button>}
        <button type="button" class="primary" disabled={!can("next")} onClick={() => onDo("next")}>
          {spec.component === "summary" ? t("screen_book") : t("screen_next")}</button>
      </div>
    </section>
  )
}

function classOf(spec: Spec, id: string): string {
  return `${spec.selected.has(id) ? "is-on" : ""} ${spec.highlighted.has(id) ? "is-lit" : ""}`
}

function ItemButton({ spec, item, choose, label }: { spec: Spec; item: Item; choose: PartProps["choose"]; label?: string }) {
  return (
    <button type="button" class={classOf(spec, item.id)} disabled={item.isDisabled || !choose}
      aria-pressed={spec.selected.has(item.id)} title={label === undefined ? undefined : visible(item.value)} onClick={() => choose?.(item.id)}>
      <span class="item-value">{visible(label ?? item.value)}</span>
      {label === undefined && item.about.length > 0 && <span class="item-about">{visible(item.about.join(" · "))}</span>}
      {spec.highlighted.has(item.id) && <span class={label === undefined ? "mark is-works" : "hidden"}>{t("screen_lit")}</span>}
    </button>
  )
}

function ButtonGroup({ spec, items, choose }: PartProps) {
  return <div class="items is-buttons">{items.map((item) => <ItemButton key={item.id} spec={spec} item={item} choose={choose} />)}</div>
}

function Calendar({ spec, items, choose }: PartProps) {
  return <div class="items is-days">{items.map((item) => <ItemButton key={item.id} spec={spec} item={item} choose={choose} />)}</div>
}

/** Seats in their rows; seats without a row are all in one. */
function SeatMap({ spec, items, choose }: PartProps) {
  const rows = new Map<string, Item[]>()
  for (const item of items) {
    const row = String(item.fields["row"] ?? "")
    const seats = rows.get(row) ?? []
    rows.set(row, seats)
    seats.push(item)
  }
  return (
    <div class="seats">
      <p class="seats-front" aria-hidden="true">{t("screen_front")}</p>
      {[...rows].map(([row, seats]) => (
        <div class="seat-row" key={row} role="group" aria-label={visible(row)}>
          <span aria-hidden="true">{visible(row)}</span>
          {seats.map((item) => <ItemButton key={item.id} spec={spec} item={item} choose={choose}
            label={String(item.fields["number"] ?? item.value)} />)}
        </div>
      ))}
    </div>
  )
}

function QuantityPicker({ spec, items, count }: PartProps) {
  return (
    <ul class="quantities">
      {items.map((item) => {
        const now = spec.quantities.get(item.id) ?? 0
        const name = visible(item.value)
        return (
          <li key={item.id} class={classOf(spec, item.id)}>
            <span><span class="item-value">{name}</span> <span class="item-about">{visible(item.about.join(" · "))}</span></span>
            <button type="button" aria-label={t("screen_less", { name })} disabled={!count || now <= 0} onClick={() => count?.(item.id, now - 1)}>−</button>
            <output>{now}</output>
            <button type="button" aria-label={t("screen_one_more", { name })} disabled={!count} onClick={() => count?.(item.id, now + 1)}>+</button>
          </li>
        )
      })}
    </ul>
  )
}

function Summary({ spec, items }: PartProps) {
  return (
    <dl class="screen-summary">
      {items.map((item) => (
        <div key={item.id} class={classOf(spec, item.id)}>
          <dt>{visible(String(item.fields["line"] ?? item.id))}</dt><dd>{visible(item.value)}</dd>
        </div>
      ))}
    </dl>
  )
}

/** A component that this page does not know. */
function List({ spec, items, choose }: PartProps) {
  return (
    <>
      {spec.component !== "" && <p class="note">{t("screen_unknown", { name: visible(spec.component) })}</p>}
      <ul class="items is-list">{items.map((item) => <li key={item.id}><ItemButton spec={spec} item={item} choose={choose} /></li>)}</ul>
    </>
  )
}
