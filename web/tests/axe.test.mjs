// Every state of the page in both themes at both widths: no violation that axe-core knows, and with
// PAGE_SHOTS a picture of each.

import assert from "node:assert/strict"
import { mkdirSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { Member } from "./agents.mjs"
import { answered, Browser, say, Server, until, wait } from "./lib.mjs"

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")
const shots = process.env.PAGE_SHOTS
if (shots) mkdirSync(shots, { recursive: true })

let browser
before(async () => { browser = await Browser.start() })
after(() => browser?.stop())

/** Looks at a state. */
async function look(page, name, faults) {
  await wait(350)
  if (shots) await page.screenshot({ path: join(shots, `${name}.png`) })
  // The page lets no foreign script in; the debugger may.
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }))
  for (const { id, nodes } of violations) faults.push(`${name}: ${id}: ${nodes.slice(0, 3).map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary}`).join(" | ")}`)
}

const panel = async (page, open, name, faults) => {
  await open()
  await page.locator("dialog[open]").waitFor()
  await wait(400)
  await look(page, name, faults)
  await page.keyboard.press("Escape")
  await page.locator("dialog[open]").waitFor({ state: "detached" })
}

async function states(width, height, dark) {
  const faults = []
  const tag = (name) => `${name}-${dark ? "dark" : "light"}-${width}`
  const demo = await Server.start()
  const scripted = await Server.start({ model: "scripted", level: "auto" })
  const page = await browser.open(demo, { width, height, dark })
  const button = (name) => page.getByRole("button", { name }).first()
  await look(page, tag("01-empty"), faults)
  await say(page, "ask the browser agent to list files and the helper agent to ask the browser agent to read notes.txt")
  await answered(page)
  await look(page, tag("02-agents"), faults)
  await say(page, 'write "hello" to a.txt')
  await page.locator(".tool .approval").waitFor()
  await look(page, tag("03-approval"), faults)
  await panel(page, () => button(/decision or question waits/).click(), tag("04-tray"), faults)
  await button("Allow once").click()
  await answered(page, 2)
  await page.locator(".tool-head").last().click()
  await look(page, tag("05-diff"), faults)
  await say(page, "ask me: tea or coffee?")
  await page.getByLabel("Your answer").waitFor()
  await look(page, tag("06-question"), faults)
  const [line, send] = await Promise.all([".composer-line", ".send"].map((one) => page.locator(one).boundingBox()))
  if (send.y > line.y + 12 || send.x + send.width > width) faults.push(`${tag("06-question")}: the line of the composer is broken`)
  await button("Stop").click()
  await panel(page, () => button("Settings").click(), tag("07-settings"), faults)
  await panel(page, async () => {
    await button("Settings").click()
    await page.getByRole("button", { name: "Look at the server" }).click()
    await page.locator(".findings strong").first().waitFor()
    await page.locator(".findings strong").first().scrollIntoViewIfNeeded()
  }, tag("07-health"), faults)
  await panel(page, () => page.locator(".status .link").click(), tag("08-told"), faults)
  if (width < 1000) {
    await panel(page, () => page.getByRole("button", { name: "Sessions" }).click(), tag("09-sessions"), faults)
    await panel(page, () => page.getByRole("button", { name: "Agents", exact: true }).click(), tag("09-tree"), faults)
  } else {
    await page.getByRole("searchbox").fill("hello")
    await page.getByText("In messages").waitFor()
    await look(page, tag("09-search"), faults)
  }
  await page.context().close()
  const other = await browser.open(scripted, { width, height, dark })
  await say(other, "pair")
  await until("children run", async () => (await other.locator(".branch.is-running").count()) === 2)
  await wait(600)
  await look(other, tag("10-live"), faults)
  await say(other, "and then this")
  await other.locator(".is-waiting").waitFor()
  await look(other, tag("11-queue"), faults)
  await other.getByRole("button", { name: "Stop", exact: true }).click()
  await answered(other, 2)
  await say(other, "refuses")
  await other.locator(".end-reason.is-error").waitFor()
  await look(other, tag("12-error"), faults)
  if (width < 1000) await other.getByRole("button", { name: "Sessions" }).click()
  await other.getByRole("button", { name: "New session", exact: true }).last().click()
  await say(other, "show me markdown")
  await answered(other)
  await look(other, tag("13-markdown"), faults)
  await scripted.kill()
  await other.locator(".banner").waitFor()
  await look(other, tag("14-lost"), faults)
  await other.context().close()
  await scripted.stop()
  const scheme = dark ? "dark" : "light"
  const stranger = await browser.stranger(await browser.chromium.newContext({ viewport: { width, height }, colorScheme: scheme }))
  await stranger.goto(demo.base)
  await stranger.getByText("Log in to Samovar").waitFor()
  await look(stranger, tag("15-out"), faults)
  await stranger.context().close()
  await demo.stop()
  assert.deepEqual(faults, [])
}

/** The windows into the chat and into a room. */
async function windows(width, height, dark) {
  const faults = []
  const tag = (name) => `${name}-${dark ? "dark" : "light"}-${width}`
  const server = await Server.start({ settings: { SAMOVAR__CHAT__GREETING: "Good morning. *Ask* me anything." } })
  const page = await browser.open(server, { width, height, dark })
  const to = (hash) => page.evaluate((to) => { location.hash = to }, hash)
  const button = (name) => page.getByRole("button", { name }).first()
  await to("#/chat")
  await page.getByText("Good morning.").waitFor()
  await look(page, tag("20-chat"), faults)
  for (const content of ["tell the chat that the build is done", "ask me: tea or coffee?", "ask me: milk or sugar?"]) {
    const { id } = await server.agent("createSession", {})
    await server.agent("sendMessage", { sessionId: id, content, waitSeconds: 0 })
    await wait(400)
  }
  await page.locator(".pinned").getByText("tea or coffee?").waitFor()
  await server.call("/chat/user_message", { text: "Green tea, please." })
  await page.locator(".pinned").getByText("milk or sugar?").waitFor()
  await page.fill("#composer", "\u2800")
  await page.press("#composer", "Enter")
  await page.locator(".refused").waitFor()
  await look(page, tag("21-question"), faults)
  await to("#/movie/cinema")
  await page.getByText("Nothing is shown in the room").waitFor()
  await look(page, tag("22-room"), faults)
  await button("Open a movie booking here").click()
  await page.getByText("The Salt Road").waitFor()
  const agent = await Member.join(server, "agent", "cinema")
  await agent.call("sort", { field: "rating", order: "desc" }, "The best ones first.")
  await agent.call("highlight", { itemIds: ["m5", "m2"], style: "glow" }, "These two are comedies, as you wished.")
  agent.say("agent.message", { text: "Two comedies are running: which one do you like better?" })
  await page.fill("#composer", "The one with the goat.")
  await page.press("#composer", "Enter")
  await page.getByRole("button", { name: /Other Goat/ }).click()
  await page.locator(".items .is-on").waitFor()
  await agent.call("setQuantity", { typeId: "adult", quantity: 2 }, "There are two of you.")
  await page.locator(".talk-refused").waitFor()
  await look(page, tag("23-movie"), faults)
  for (const at of ["theater", "date", "time", "seat"]) {
    await agent.call("next", {}, "On we go.")
    await until(at, async () => (await agent.ask("snapshot.get")).payload.uiSpec.stage === at)
    if (at === "date") {
      await page.locator(".is-days").waitFor()
      await look(page, tag("24-date"), faults)
    }
    if (at !== "seat") await page.locator(".items button:enabled").first().click()
    if (at !== "seat") await page.locator(".items .is-on").waitFor()
  }
  for (const seat of [0, 1]) {
    await page.locator(".seat-row button:enabled").nth(30 + seat).click()
    await until("a seat", async () => (await page.locator(".seat-row .is-on").count()) === seat + 1)
  }
  await look(page, tag("25-seats"), faults)
  await button("Next").click()
  await page.locator(".quantities").waitFor()
  for (const more of ["1", "2"]) {
    await page.locator(".quantities li").first().getByRole("button", { name: /more$/ }).click()
    await page.locator(".quantities output").first().getByText(more).waitFor()
  }
  await look(page, tag("26-tickets"), faults)
  await button("Next").click()
  await page.locator(".screen-summary").waitFor()
  await look(page, tag("27-summary"), faults)
  await page.locator(".room-panels summary", { hasText: "Study" }).click()
  await page.getByRole("button", { name: "Begin a study" }).waitFor()
  await page.getByText("Tools in force").click()
  await page.locator(".room-tool").first().click()
  await page.getByText("Messages and notes").click()
  await page.locator(".room-log summary").first().click()
  await page.getByText("Connect an agent of your own").click()
  await button("Make a token for this room").click()
  await page.locator(".code").first().waitFor()
  await page.locator(".room-panels").scrollIntoViewIfNeeded()
  await look(page, tag("28-panels"), faults)
  await button("Book").click()
  await page.getByText("Nothing is on the screen now.").waitFor()
  await look(page, tag("29-booked"), faults)
  await button("Let this page be the host").click()
  await page.getByText("This room has a host already").waitFor()
  await look(page, tag("30-taken"), faults)
  await button("Take its place").click()
  await page.getByText("This page is the host of").waitFor()
  await look(page, tag("31-host"), faults)
  assert.deepEqual(page.faults, [])
  agent.close()
  await page.context().close()
  await server.stop()
  assert.deepEqual(faults, [])
}

// proves FC-8
test("axe finds nothing in the windows at 1440 pixels, light", () => windows(1440, 900, false))
// proves FC-8
test("axe finds nothing in the windows at 1440 pixels, dark", () => windows(1440, 900, true))
// proves FC-8
test("axe finds nothing in the windows at 390 pixels, light", () => windows(390, 800, false))
// proves FC-8
test("axe finds nothing in the windows at 390 pixels, dark", () => windows(390, 800, true))

// proves FC-8
test("axe finds nothing at 1440 pixels, light", () => states(1440, 900, false))
// proves FC-8
test("axe finds nothing at 1440 pixels, dark", () => states(1440, 900, true))
// proves FC-8
test("axe finds nothing at 390 pixels, light", () => states(390, 800, false))
// proves FC-8
test("axe finds nothing at 390 pixels, dark", () => states(390, 800, true))
