// What a host shows, read from its `uiSpec` alone. Anyone may write a host: whatever is not
// as the protocol has it becomes as much as can be shown of it.

export interface Item {
  id: string
  value: string
  isDisabled: boolean
  /** Its other fields as words, such as a movie's genre. */
  about: string[]
  fields: Record<string, unknown>
}

export interface Spec {
  stage: string
  title: string
  description: string
  component: string
  items: Item[]
  /** Of all items, so many are not shown. */
  hidden: number
  selected: Set<string>
  highlighted: Set<string>
  quantities: Map<string, number>
  /** What an agent has done to the list, in words. */
  changes: string[]
  /** What is chosen so far, and what it comes to. */
  facts: [string, string][]
}

export interface Tool {
  name: string
  description: string
  parameters: unknown
}

/** A text is shown up to here. */
const LONGEST = 2_000
const MOST_FACTS = 30

type Fields = Record<string, unknown>

const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {}
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
const textOf = (value: unknown): string => wordsOf(value).slice(0, LONGEST)

/** A value in words: of an object the first of its texts that is no id, or all of it. */
export function wordsOf(value: unknown): string {
  if (value === null || value === undefined) return ""
  if (typeof value === "string") return value
  if (Array.isArray(value)) return value.slice(0, MOST_FACTS).map(wordsOf).filter((one) => one !== "").join(", ")
  if (typeof value !== "object") return String(value)
  const fields = Object.entries(value).filter(([name, one]) => !/^id$|Id$/.test(name) && typeof one === "string")
  const count = (value as Fields)["quantity"]
  const words = fields[0] ? String(fields[0][1]) : JSON.stringify(value)
  return typeof count === "number" ? `${count} × ${words}` : words
}

/** What is on the screen, if anything is. */
export function specOf(raw: unknown): Spec | undefined {
  if (raw === null || raw === undefined) return undefined
  const spec = fieldsOf(raw)
  const [state, display] = [fieldsOf(spec["state"]), fieldsOf(spec["display"])]
  const all = new Map(listOf(spec["items"]).map((item) => [String(fieldsOf(item)["id"]), fieldsOf(item)]))
  const shown = spec["visibleItems"] === undefined ? [...all.values()] : listOf(spec["visibleItems"])
  const valueField = textOf(display["valueField"])
  const items = shown.map((item, at) => itemOf(item, at, all, valueField))
  const highlighted = listOf(state["highlighted"]).map(String)
  return {
    stage: textOf(spec["stage"]),
    title: textOf(spec["title"]),
    description: textOf(spec["description"]),
    component: textOf(display["component"]),
    items,
    hidden: Math.max(0, all.size - items.length),
    selected: new Set([...listOf(state["selectedList"]).map(String), ...(state["selected"] === undefined ? [] : [String(state["selected"])])]),
    highlighted: new Set(highlighted),
    quantities: new Map(Object.entries(fieldsOf(state["quantities"])).map(([id, count]) => [id, Number(count) || 0])),
    changes: changesOf(fieldsOf(spec["modification"])),
    facts: factsOf(fieldsOf(state["booking"]), fieldsOf(spec["meta"])),
  }
}

function itemOf(raw: unknown, at: number, all: Map<string, Fields>, valueField: string): Item {
  const given = fieldsOf(raw)
  const id = given["id"] === undefined ? String(at) : String(given["id"])
  const fields = all.get(id) ?? given
  const value = given["value"] ?? fields[valueField] ?? (typeof raw === "object" ? wordsOf(raw) : raw)
  const said = textOf(value)
  const about = Object.entries(fields).filter(([name, one]) =>
    !["id", "value", valueField, "isDisabled"].includes(name) && (typeof one === "string" || typeof one === "number"))
  return {
    id, fields, value: said === "" ? id : said,
    isDisabled: given["isDisabled"] === true,
    about: about.slice(0, 6).map(([, one]) => textOf(one)).filter((one) => one !== said),
  }
}

function changesOf(modification: Fields): string[] {
  const filters = listOf(modification["filter"]).slice(0, MOST_FACTS).map(fieldsOf)
  const sort = fieldsOf(modification["sort"])
  return [
    ...filters.map((one) => [one["field"], one["operator"], wordsOf(one["value"])].map(textOf).join(" ")),
    ...(sort["field"] === undefined ? [] : [`${textOf(sort["field"])} ${textOf(sort["order"])}`]),
  ]
}

function factsOf(booking: Fields, meta: Fields): [string, string][] {
  const facts = [...Object.entries(booking), ...Object.entries(meta)].map(([name, value]) => [spaced(name), textOf(value)] as [string, string])
  return facts.filter(([, words]) => words !== "").slice(0, MOST_FACTS)
}

/** A text as a sentence, so that another can follow it. */
function ended(text: string): string {
  return /[\p{L}\p{N}]$/u.test(text) ? `${text}.` : text
}

/** `seatCount` as `seat count`. */
function spaced(name: string): string {
  return name.slice(0, 100).replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase()
}

/** The tools in force. */
export function toolsOf(raw: unknown): Tool[] {
  return listOf(raw).map(fieldsOf).map((tool) => ({
    name: textOf(tool["name"]), description: textOf(tool["description"]), parameters: tool["parameters"] ?? {},
  }))
}

/** An entry of the history: what was shown, done or said. */
export interface Entry {
  id: string
  by: "system" | "user" | "agent"
  at: number
  text?: string
  action?: string
  label?: string
}

export function historyOf(raw: unknown): Entry[] {
  return listOf(raw).map(fieldsOf).map((entry, at) => {
    const by = entry["type"] === "user" || entry["type"] === "agent" ? entry["type"] : "system"
    const spec = fieldsOf(entry["spec"])
    const shown = [textOf(spec["title"]), textOf(spec["description"])].filter((one) => one !== "").map(ended).join(" ")
    return {
      id: textOf(entry["id"]) || String(at), by, at: Number(entry["timestamp"]) || 0,
      ...(entry["text"] !== undefined ? { text: wordsOf(entry["text"]) } : by === "system" ? { text: shown } : {}),
      ...(entry["action"] !== undefined ? { action: textOf(entry["action"]), label: textOf(entry["label"]) } : {}),
    }
  })
}
