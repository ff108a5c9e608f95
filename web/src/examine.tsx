// What the owner has looked at from here: a model, by real calls, and the server.

import { useEffect, useRef, useState } from "preact/hooks"
import { asked } from "./actions.ts"
import { api } from "./api.ts"
import type { Finding, TestLine } from "./api.ts"
import { span, t, visible } from "./words.ts"
import { useNow } from "./ui.tsx"

/** Work that ends with the part of the page that shows it. */
function useWork() {
  const leaving = useRef<AbortController | undefined>(undefined)
  const [since, setSince] = useState<number>()
  useEffect(() => () => leaving.current?.abort(), [])
  const run = async <T,>(work: (signal: AbortSignal) => Promise<T>): Promise<T | string | undefined> => {
    const mine = leaving.current = new AbortController()
    setSince(Date.now())
    const done = await asked(() => work(mine.signal))
    setSince(undefined)
    return mine.signal.aborted ? undefined : done
  }
  return { since, run, stop: () => leaving.current?.abort() }
}

function Elapsed({ since }: { since: number }) {
  return <span class="note" role="status">{t("examine_runs", { time: span(useNow(true) - since) })}</span>
}

/** Tests a model; calls may cost something, so a person says yes to them first. */
export function ModelTest({ name }: { name: string }) {
  const { since, run, stop } = useWork()
  const [isAsking, setAsking] = useState(false)
  const [lines, setLines] = useState<TestLine[]>([])
  const test = async () => {
    setAsking(false)
    setLines([])
    const why = await run(async (signal) => {
      for await (const line of await api.testModel(name, signal)) setLines((known) => [...known, line])
    })
    if (typeof why === "string") setLines((known) => [...known, { type: "failed", error: why }])
  }
  const label = t("model_test_label", { model: visible(name) })
  return (
    <>
      {since === undefined
        ? <button type="button" aria-label={label} onClick={() => setAsking(!isAsking)}>{t("model_test")}</button>
        : <button type="button" onClick={stop}>{t("stop")}</button>}
      {(isAsking || since !== undefined || lines.length > 0) && <div class="examined">
        {isAsking && <p class="note">{t("model_test_asks")} <button type="button" class="link" onClick={() => void test()}>
          {t("model_test_yes")}</button></p>}
        <ul class="findings">{lines.map((line, at) => <LineOf key={at} line={line} />)}</ul>
        {since !== undefined && <Elapsed since={since} />}
      </div>}
    </>
  )
}

function LineOf({ line }: { line: TestLine }) {
  if (line.type === "failed") return <li class="is-bad" role="alert">{visible(line.error)}</li>
  if (line.type === "end") return <li class={line.ok ? "is-ok" : "is-bad"} role="status">
    <strong>{line.ok ? t("model_test_good") : t("model_test_bad")}</strong></li>
  const marks = { ok: "is-ok", failed: "is-bad", unseen: "is-absent", skipped: "is-absent" }
  return <li class={marks[line.state]}><strong>{visible(line.label)}</strong> {visible(line.fact)}</li>
}

/** What `samovar doctor` says. */
export function Doctor() {
  const { since, run } = useWork()
  const [found, setFound] = useState<{ ok: boolean; findings: Finding[] } | string>()
  const look = async () => {
    const said = await run((signal) => api.doctor(signal))
    if (said !== undefined) setFound(said)
  }
  return (
    <>
      <button type="button" disabled={since !== undefined} onClick={() => void look()}>{t("doctor_look")}</button>
      {since !== undefined && <Elapsed since={since} />}
      {typeof found === "string" && <p class="note" role="alert">{visible(found)}</p>}
      {typeof found === "object" && <Findings {...found} />}
    </>
  )
}

function Findings({ ok, findings }: { ok: boolean; findings: Finding[] }) {
  const notable = findings.filter(({ state, command }) => state === "bad" || command !== undefined)
  const rest = findings.filter((one) => !notable.includes(one))
  return (
    <>
      <p role="status">{ok ? t("doctor_good") : t("doctor_bad")}</p>
      <ul class="findings">{notable.map((one, at) => <FindingOf key={at} finding={one} />)}</ul>
      {rest.length > 0 && <details><summary>{t("doctor_rest", { count: rest.length })}</summary>
        <ul class="findings">{rest.map((one, at) => <FindingOf key={at} finding={one} />)}</ul></details>}
    </>
  )
}

function FindingOf({ finding: { label, state, fact, reason, command } }: { finding: Finding }) {
  return (
    <li class={`is-${state}`}>
      <strong>{visible(label)}</strong> {visible(fact)}
      <span class="note">{visible(reason)}</span>
      {command !== undefined && <code>{visible(command)}</code>}
    </li>
  )
}
