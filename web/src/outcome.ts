// How the result of a call and the preview of one are to be read.

/** The tools whose previews and results are changes of a file. */
const CHANGES_FILES = ["write_file", "edit_file"]

/** Whether a text of a tool is drawn as changes: another tool's may only look like them. */
export function isChange(tool: string, text: string): boolean {
  return CHANGES_FILES.includes(tool) && /^(--- |@@ |\+\+\+ )/m.test(text)
}

/** What a called agent's result says for people: programs get JSON, whose sentence is `error`. */
export function sentenceOf(text: string): string {
  if (!text.trimStart().startsWith("{")) return text
  try {
    const said = JSON.parse(text) as { error?: unknown }
    return typeof said.error === "string" ? said.error : text
  } catch {
    return text
  }
}
