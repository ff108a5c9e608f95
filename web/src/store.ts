// What the page knows, and what it does: one state, drawn once a frame however many events come.

import { api, LOST, passes, Refusal } from "./api.ts"
import type { ApprovalInfo, Me, Models, OpenCallInfo, ServerInfo, SessionInfo, Told } from "./api.ts"
import type { View } from "./model.ts"
import { t } from "./words.ts"

export interface Toast {
  id: number
  text: string
  isError?: boolean
  action?: { label: string; run: () => void }
  until: number
}

export type Delivery = "queue" | "steer"

export const state = {
  phase: "starting" as "starting" | "out" | "ready",
  outWhy: "",
  me: undefined as Me | undefined,
  server: undefined as ServerInfo | undefined,
  models: undefined as Models | undefined,
  sessions: new Map<string, SessionInfo>(),
  totalSessions: 0,
  /** Sessions that were found and are not among those that are listed. */
  found: new Map<string, SessionInfo>(),
  hidden: new Set<string>(),
  working: new Map<string, string>(),
  approvals: [] as ApprovalInfo[],
  calls: [] as OpenCallInfo[],
  isLost: false,
  /** Why the server does not answer, if it says so. */
  lostWhy: "",
  /** The disk of the server is full: what waits for space continues by itself. */
  isDiskFull: false,
  /** The turns that a stop of the server interrupted and that wait for a person, by their sessions. */
  interrupted: new Map<string, string>(),
  current: undefined as string | undefined,
  view: undefined as View | undefined,
  isLoading: false,
  loadError: "",
  told: undefined as Told | undefined,
  focus: undefined as string | undefined,
  toasts: [] as Toast[],
  panel: undefined as "approvals" | "settings" | "told" | undefined,
  drawer: undefined as "rail" | "tree" | undefined,
  showTree: true,
  said: "",
  /** What the next new session is to have. */
  wish: {} as { model?: string; approval?: string },
}

// Drawing

let draw: () => void = () => {}
let beforeDrawing: () => void = () => {}
let isDue = false

/** `take` is called before each drawing, with what came since the last. */
export function onFrame(take: () => void) {
  beforeDrawing = take
}

export function onChange(listener: () => void) {
  draw = listener
}

/** Draws with the next frame; a page in the background has none, and draws four times a second. */
export function changed() {
  if (isDue) return
  isDue = true
  const run = () => {
    isDue = false
    beforeDrawing()
    draw()
  }
  if (document.hidden) setTimeout(run, 250)
  else requestAnimationFrame(run)
}

/** Sets some of the state. */
export function set(more: Partial<typeof state>) {
  Object.assign(state, more)
  changed()
}

/** Says something to those who hear the page. */
export function announce(text: string) {
  set({ said: text })
}

// Toasts

let toasts = 0

export function toast(text: string, more: Partial<Toast> = {}) {
  const one: Toast = { id: ++toasts, text, until: Date.now() + 8_000, ...more }
  set({ toasts: [...state.toasts, one] })
  setTimeout(() => dropToast(one.id), one.until - Date.now())
  return one.id
}

export function dropToast(id: number) {
  set({ toasts: state.toasts.filter((one) => one.id !== id) })
}

/** The sentence for what went wrong. */
export function sentence(error: unknown): string {
  if (error instanceof Refusal) {
    if (error.code === LOST) return t("error_lost")
    if (error.message !== "") return error.message
    return t("error_status", { status: String(error.status) })
  }
  return error instanceof Error ? error.message : String(error)
}

/** Does something, and shows the sentence if it is refused; whether it was done. */
export async function attempt(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (!(await leave(error))) toast(sentence(error), { isError: true })
    return false
  }
}

/** A login that has ended ends what the page shows; a request that was refused alone does not. */
export async function leave(error: unknown): Promise<boolean> {
  if (error instanceof Refusal && error.code === "store_full") full()
  if (!(error instanceof Refusal) || error.status !== 401) return false
  try {
    state.me = await api.me()
    return false
  } catch (again) {
    if (!(again instanceof Refusal) || passes(again)) return false
    out(t("login_ended"))
    return true
  }
}

let full: () => void = () => {}

/** The server says that its disk is full. */
export function onFull(listener: () => void) {
  full = listener
}

/** The sentence while the server gives no answer: its own, or that it is away. */
export function lostSentence(): string {
  return state.lostWhy === "" ? t("lost") : t("lost_why", { why: state.lostWhy })
}

let ending: () => void = () => {}

export function onOut(listener: () => void) {
  ending = listener
}

export function out(why: string) {
  ending()
  set({ phase: "out", outWhy: why, view: undefined })
}
