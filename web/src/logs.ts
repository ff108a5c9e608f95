// Study logs as files: JSON lines as they are on the server's disk, and CSV for a spreadsheet.

import { api } from "./api.ts"

/** The elements of a JSON array, each as it is written: a number such as 2.0 stays what it is. */
export function elementsOf(json: string): string[] {
  const found: string[] = []
  let [depth, begin, isText] = [0, 0, false]
  for (let at = 0; at < json.length; at += 1) {
    const sign = json[at]
    if (isText) {
      if (sign === "\\") at += 1
      else if (sign === '"') isText = false
    } else if (sign === '"') {
      isText = true
    } else if (sign === "[" || sign === "{") {
      if (++depth === 1) begin = at + 1
    } else if (depth === 1 && (sign === "," || sign === "]")) {
      const element = json.slice(begin, at).trim()
      if (element !== "") found.push(element)
      begin = at + 1
      if (sign === "]") depth -= 1
    } else if (sign === "]" || sign === "}") {
      depth -= 1
    }
  }
  return found
}

/** All rows of a study, a line each. */
export async function linesOf(study: string): Promise<string[]> {
  const lines: string[] = []
  for (;;) {
    const last = lines.at(-1)
    const after = last === undefined ? undefined : (JSON.parse(last) as { eventIndex: number }).eventIndex
    const more = elementsOf(await api.rows({ study }, after))
    if (more.length === 0) return lines
    lines.push(...more)
  }
}

/** The columns: the fields of a row, and of its payload what is counted most. */
const COLUMNS = ["sessionId", "eventIndex", "timestamp", "direction", "type", "relaySessionId", "role", "member", "id", "replyTo"]
const PAYLOAD_COLUMNS = ["toolName", "reason", "text", "code"]
/** How a cell begins that a spreadsheet would not show but run. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/
const SEPARATORS = /[,;\t|"\r\n]/

/** The rows of what agents said and were told, which are the protocol's own log. */
export function csvOf(lines: string[]): string {
  const rows = lines.map((text) => JSON.parse(text) as Record<string, unknown>).filter(({ role }) => role === "agent")
  const head = lineOf([...COLUMNS, ...PAYLOAD_COLUMNS, "payload"])
  return head + rows.map((row) => {
    const payload = (row["payload"] ?? {}) as Record<string, unknown>
    return lineOf([...COLUMNS.map((name) => row[name]), ...PAYLOAD_COLUMNS.map((name) => payload[name]), payload])
  }).join("")
}

function lineOf(values: unknown[]): string {
  return `${values.map((value) => cellOf(typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value))).join(",")}\r\n`
}

export function cellOf(text: string): string {
  const guard = FORMULA.test(text) ? "'" : ""
  return SEPARATORS.test(text) ? `"${guard}${text.replaceAll('"', '""')}"` : guard + text
}

/** Gives a text to the person as a file. */
export function saveAs(name: string, text: string, type: string) {
  const link = document.createElement("a")
  link.href = URL.createObjectURL(new Blob([text], { type }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
