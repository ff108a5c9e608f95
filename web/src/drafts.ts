// What a person has begun to write, of each session its own.

export interface Picture {
  data: string
  url: string
}

export interface Words {
  text: string
  images: Picture[]
}

const EMPTY: Words = { text: "", images: [] }

/** The draft of a session that is not there yet. */
export const NEW = ""

const drafts = new Map<string, Words>()

export function draftOf(key: string): Words {
  return drafts.get(key) ?? EMPTY
}

export function keepDraft(key: string, words: Words) {
  if (words.text === "" && words.images.length === 0) drafts.delete(key)
  else drafts.set(key, words)
}

/** The draft of the session that has just been made is that of the one that was to come. */
export function moveDraft(from: string, to: string) {
  const words = drafts.get(from)
  if (!words) return
  drafts.delete(from)
  keepDraft(to, joined(words, draftOf(to)))
}

/** Puts what was refused back, above what was written meanwhile. */
export function putBack(key: string, refused: Words) {
  keepDraft(key, joined(refused, draftOf(key)))
}

function joined(first: Words, second: Words): Words {
  const texts = [first.text, second.text].filter((text) => text.trim() !== "")
  return { text: texts.join("\n\n"), images: [...first.images, ...second.images] }
}
