// Measures the page: SAMOVAR_BIN=target/release/samovar node web/tests/figures.mjs [talk|host]

import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { afterReloads, afterSleeps, afterTwoMounts, hostsOf } from "./hosts.mjs"
import { answered, Browser, say, Server, until, wait } from "./lib.mjs"

const MESSAGES = Number(process.env.MESSAGES ?? 10_000)
const dist = join(dirname(fileURLToPath(import.meta.url)), "../dist/ui")
const size = (...names) => names.reduce((sum, name) => sum + gzipSync(readFileSync(join(dist, name)), { level: 9 }).length, 0)
console.log(`first load, gzip -9: JavaScript ${size("page.js", "chunk.js")} B, with Markdown ${size("page.js", "chunk.js", "markdown.js")} B, CSS ${size("style.css")} B`)

const browser = await Browser.start()
const server = await Server.start({ model: "scripted", level: "auto" })

/** The conversation. */
async function talk() {
  const page = await browser.open(server)
  await page.evaluate(() => {
    window.long = []
    new PerformanceObserver((list) => window.long.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask", buffered: true })
  })

  /** The tasks of more than 50 ms since the last look. */
  async function tell(what) {
    const long = await page.evaluate(() => window.long.splice(0))
    const sum = long.reduce((sum, one) => sum + one, 0)
    console.log(`${what}: ${long.length} long tasks, ${Math.round(sum)} ms together, the longest ${Math.round(Math.max(0, ...long))} ms`)
  }

  await tell("an empty page")
  await say(page, "burst")
  await answered(page)
  await tell("6,000 deltas at 2,000 a second")

  await page.getByRole("button", { name: "New session", exact: true }).click()
  await say(page, "crowd 50")
  await page.locator(".branch").first().waitFor()
  await page.mouse.move(700, 400)
  while ((await page.locator(".answer-end").count()) === 0) {
    await page.mouse.wheel(0, Math.random() < 0.5 ? -400 : 400)
    await wait(100)
  }
  await tell(`${await page.locator(".branch").count()} children, eight at once, while one scrolls`)

  const { id } = await server.agent("createSession", {})
  for (let at = 0; at < MESSAGES; at += 1) {
    const message = { role: at % 2 ? "assistant" : "user", content: `message ${at} with **bold** words and \`code\`` }
    await server.agent("appendMessage", { sessionId: id, message })
  }
  const begun = Date.now()
  await page.goto(`${server.base}/#/s/${id}`)
  await page.reload()
  await page.getByText(`message ${MESSAGES - 1} with`).waitFor()
  console.log(`a session of ${MESSAGES} messages, page load included: ${Date.now() - begun} ms`)

  let asked = 0
  await wait(2_000)
  page.on("request", () => { asked += 1 })
  await wait(60_000)
  console.log(`an open page on an idle server: ${asked} requests in a minute`)
}

/** The page as the host of a room. */
async function host() {
  const TIMES = Number(process.env.TIMES ?? 1_000)
  for (const again of [afterTwoMounts, afterReloads, afterSleeps]) {
    const [room, from] = [again.name.toLowerCase(), Date.now()]
    await again(browser, server, room, TIMES)
    const { joined, replaced } = hostsOf(server, room)
    console.log(`a page as the host, ${TIMES} times ${again.name}: ${joined} joins, ${replaced} replacements, ${Math.round((Date.now() - from) / 1_000)} s`)
  }
}

const [only] = process.argv.slice(2)
if (only !== "host") await talk()
if (only !== "talk") await host()
await until("everything is stopped", async () => { await browser.stop(); await server.stop(); return true })
