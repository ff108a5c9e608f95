// Sentences for people, all from the one catalogue, and numbers as people write them.

import sentences from "catalogue"

type Values = Record<string, string | number>

const language = "en"
const plurals = new Intl.PluralRules(language)
const numbers = new Intl.NumberFormat(language)
const times = new Intl.DateTimeFormat(language, { timeStyle: "short" })
const days = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" })
const short = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 })

/** A sentence of the catalogue; `count` chooses its plural form. */
export function t(key: string, values: Values = {}): string {
  const said = sentences[key]
  if (said === undefined) return key
  const form = typeof said === "string" ? said : formOf(said, Number(values["count"]))
  return form.replace(/\{(\w+)\}/g, (_, name: string) => shown(values[name]))
}

function formOf(forms: Record<string, string>, count: number): string {
  return forms[plurals.select(count)] ?? forms["other"] ?? ""
}

function shown(value: string | number | undefined): string {
  return typeof value === "number" ? numbers.format(value) : (value ?? "")
}

/** 1,234 as `1.2K`. */
export function compact(number: number): string {
  return short.format(number)
}

/** A span of time: `0.4 s`, `12 s`, `3 min 5 s`. */
export function span(ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 10) return t("time_seconds", { seconds: seconds.toFixed(1) })
  if (seconds < 60) return t("time_seconds", { seconds: Math.round(seconds) })
  const [minutes, rest] = [Math.floor(seconds / 60), Math.floor(seconds % 60)]
  if (minutes < 60) return t("time_minutes", { minutes, seconds: rest })
  return t("time_hours", { hours: Math.floor(minutes / 60), minutes: minutes % 60 })
}

/** How long ago a time was, in a word. */
export function ago(at: number, now = Date.now()): string {
  const minutes = Math.floor((now - at) / 60_000)
  if (minutes < 1) return t("ago_now")
  if (minutes < 60) return t("ago_minutes", { minutes })
  if (minutes < 60 * 24) return t("ago_hours", { hours: Math.floor(minutes / 60) })
  return t("ago_days", { days: Math.floor(minutes / 60 / 24) })
}

/** The time of day of a moment, and its day unless that is today. */
export function clock(at: string | number): string {
  const date = new Date(at)
  const isToday = date.toDateString() === new Date().toDateString()
  return Number.isNaN(date.getTime()) ? "" : (isToday ? times : days).format(date)
}

export function dollars(usd: number): string {
  return `$${usd < 0.01 ? usd.toFixed(4) : usd.toFixed(2)}`
}

// Controls but for tabs and line ends, what changes the direction of text, and what shows nothing.
// eslint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u2800\u3164]|\p{Default_Ignorable_Code_Point}|\p{Bidi_Control}/gu

/** The text with every hidden character spelled out, so that it reads as it is. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`)
}
