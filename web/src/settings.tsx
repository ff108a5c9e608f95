// Settings: models, approvals, how the page looks, and who is logged in.

import type { ComponentChildren } from "preact"
import { useEffect, useState } from "preact/hooks"
import { asked, logout, setSession } from "./actions.ts"
import { api } from "./api.ts"
import type { Provider, RuleInfo, TokenInfo } from "./api.ts"
import { mayOwn, mayUse } from "./approvals.tsx"
import { Doctor, ModelTest } from "./examine.tsx"
import { Memory } from "./memory.tsx"
import { levelWord } from "./status.tsx"
import { attempt, set, state } from "./store.ts"
import { themeNow, setTheme } from "./theme.ts"
import type { Theme } from "./theme.ts"
import { toolTitle } from "./tool.tsx"
import { Panel } from "./ui.tsx"
import { ago, t, visible } from "./words.ts"

export function Settings() {
  const isOwner = mayOwn()
  return (
    <Panel title={t("settings")} onClose={() => set({ panel: undefined })}>
      <Look />
      <Models />
      <Approvals />
      <Rules canRevoke={isOwner} />
      {isOwner && <Section title={t("settings_memory")}><Memory /></Section>}
      {isOwner && <Tokens />}
      {isOwner && <Section title={t("settings_doctor")}><Doctor /></Section>}
      <Section title={t("settings_login")}>
        <p>{t("settings_me", { name: visible(state.me?.name ?? ""), scope: state.me?.scope ?? "" })}</p>
        <p class="note">{t("settings_server", { version: state.server?.version ?? "", folder: visible(state.server?.workspace ?? "") })}</p>
        <p class="note"><a href="/ui/licences.txt" target="_blank" rel="noopener">{t("settings_licences")}</a></p>
        <button type="button" class="danger" onClick={() => void logout()}>{t("logout")}</button>
      </Section>
    </Panel>
  )
}

function Section({ title, children }: { title: string; children: ComponentChildren }) {
  return <section class="settings-part"><h3>{title}</h3>{children}</section>
}

function Look() {
  const [theme, choose] = useState<Theme>(themeNow())
  const words: [Theme, string][] = [["system", t("theme_system")], ["light", t("theme_light")], ["dark", t("theme_dark")]]
  return (
    <Section title={t("settings_look")}>
      <fieldset class="choice"><legend class="hidden">{t("settings_look")}</legend>
        {words.map(([name, label]) => (
          <label class={theme === name ? "is-on" : ""}>
            <input type="radio" name="theme" checked={theme === name} onChange={() => (setTheme(name), choose(name))} />{label}
          </label>
        ))}
      </fieldset>
    </Section>
  )
}

function Models() {
  const models = state.models
  const all = models?.providers.filter(({ access }) => access !== "missing") ?? []
  const usable = all.filter(({ models, defaultModel }) => models.length > 0 || defaultModel)
  const away = all.filter((one) => !usable.includes(one))
  const missing = models?.providers.filter(({ access }) => access === "missing") ?? []
  const now = state.view?.session.model ?? state.wish.model ?? models?.chosen?.name
  return (
    <Section title={t("settings_models")}>
      <p>{t("settings_model_now", { model: visible(now ?? "") })}</p>
      {models?.chosen?.kind === "demo" && <p class="note">{t("start_demo")}</p>}
      {models?.refusal && <p class="note">{visible(models.refusal)}</p>}
      {usable.map((provider) => <ProviderOf key={provider.name} provider={provider} now={now} />)}
      {away.length > 0 && <details><summary>{t("settings_away", { count: away.length })}</summary>
        <ul class="plain-list">{away.map(({ name, displayName, seen }) => <li key={name}>{visible(seen ?? displayName)}</li>)}</ul>
      </details>}
      {missing.length > 0 && <details><summary>{t("settings_missing", { count: missing.length })}</summary>
        <dl class="args">{missing.map(({ displayName, set: names }) => (
          <div><dt>{displayName}</dt><dd><code>{names[0]}</code></dd></div>))}</dl>
      </details>}
    </Section>
  )
}

/** So many models of a provider are listed; a catalogue of hundreds is for typing. */
const LISTED = 40

function ProviderOf({ provider, now }: { provider: Provider; now: string | undefined }) {
  const names = provider.models.map(({ name }) => name)
  if (provider.defaultModel && !names.includes(provider.defaultModel)) names.unshift(provider.defaultModel)
  return (
    <div class="provider">
      <h4>{provider.displayName}</h4>
      {provider.seen && <p class="note">{visible(provider.seen)}</p>}
      <ul>{names.slice(0, LISTED).map((name) => <ModelOf key={name} name={fullName(provider, name)} now={now} />)}</ul>
    </div>
  )
}

function fullName(provider: Provider, name: string): string {
  return provider.name === name || name.startsWith(`${provider.name}/`) ? name : `${provider.name}/${name}`
}

function ModelOf({ name, now }: { name: string; now: string | undefined }) {
  const isNow = now === name || now === name.split("/").slice(1).join("/")
  return (
    <li>
      <code>{visible(name)}</code>
      <span class="buttons">
        {mayUse() && <button type="button" disabled={isNow} onClick={() => void setSession({ model: name })}>
          {isNow ? t("model_chosen") : t("model_choose")}</button>}
      </span>
      {mayOwn() && name !== "demo" && <ModelTest name={name} />}
    </li>
  )
}

function Approvals() {
  const level = state.view?.session.approval ?? state.wish.approval ?? state.server?.approval ?? ""
  return (
    <Section title={t("settings_level")}>
      <p>{t("settings_level_now", { level: levelWord(level) })}</p>
      <dl class="args">
        <div><dt>{t("level_auto")}</dt><dd>{t("level_auto_note")}</dd></div>
        <div><dt>{t("level_supervised")}</dt><dd>{t("level_supervised_note")}</dd></div>
        <div><dt>{t("level_read_only")}</dt><dd>{t("level_read_only_note")}</dd></div>
      </dl>
    </Section>
  )
}

function Rules({ canRevoke }: { canRevoke: boolean }) {
  const [rules, setRules] = useState<RuleInfo[] | string>()
  const read = () => void asked(() => api.rules()).then(setRules)
  useEffect(read, [])
  return (
    <Section title={t("settings_rules")}>
      <Listed items={rules} none={t("settings_rules_none")}>
        {(rule) => (
          <li key={rule.id}>
            <span>{visible(toolTitle(rule.tool))} <code>{visible(rule.programs?.join(", ") ?? rule.folder ?? "")}</code>
              <span class="note"> {t("settings_rule_by", { by: visible(rule.by), ago: ago(rule.createdAt) })}</span></span>
            {canRevoke && <button type="button" onClick={() => void attempt(() => api.revokeRule(rule.id)).then(read)}>{t("revoke")}</button>}
          </li>
        )}
      </Listed>
    </Section>
  )
}

function Listed<T>({ items, none, children }: { items: T[] | string | undefined; none: string; children: (item: T) => ComponentChildren }) {
  if (items === undefined) return <p class="note">{t("loading")}</p>
  if (typeof items === "string") return <p class="note" role="alert">{visible(items)}</p>
  return items.length === 0 ? <p class="note">{none}</p> : <ul class="listed">{items.map(children)}</ul>
}

function Tokens() {
  const [tokens, setTokens] = useState<TokenInfo[] | string>()
  const read = () => void asked(() => api.tokens()).then(setTokens)
  useEffect(read, [])
  return (
    <Section title={t("settings_tokens")}>
      <Listed items={tokens} none={t("settings_tokens_none")}>
        {(one) => (
          <li key={one.name}>
            <span>{visible(one.name)} <code>{one.scope}</code><span class="note"> {ago(one.createdAt)}</span></span>
            <button type="button" class="danger" onClick={() => void attempt(() => api.revokeToken(one.name)).then(read)}>{t("revoke")}</button>
          </li>
        )}
      </Listed>
    </Section>
  )
}
