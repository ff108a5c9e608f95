// Sessions, decisions, settings, logins, and who uses no mouse, in a real browser.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { after, before, test } from "node:test"
import { answered, Browser, say, Server, until, wait } from "./lib.mjs"

let browser, demo

before(async () => {
  browser = await Browser.start()
  demo = await Server.start()
})
after(async () => {
  await browser?.stop()
  await demo?.stop()
})

async function windowOf(work, more) {
  const page = await browser.open(demo, more)
  await work(page)
  assert.deepEqual(page.faults, [])
  await page.context().close()
}

// proves TL-11, SA-13
test("what one window decides is gone in another, and the file is there", () =>
  windowOf(async (one) => {
    const two = await browser.open(demo)
    await say(one, 'write "hello" to one.txt')
    await one.locator(".tool .approval").waitFor()
    await two.getByRole("button", { name: /1 decision or question waits/ }).click()
    await two.locator(".panel .approval .diff .added", { hasText: "+hello" }).waitFor()
    assert.equal(demo.file("one.txt"), undefined)
    await two.locator(".panel").getByRole("button", { name: "Allow once" }).click()
    await one.locator(".tool .approval").waitFor({ state: "detached" })
    await two.getByText("Nothing waits for you.").waitFor()
    await answered(one)
    assert.equal(demo.file("one.txt"), "hello")
    await one.getByText("allowed by").waitFor()
    await two.context().close()
  }))

// proves TL-11
test("a denial takes words to the agent, and a decision at the terminal counts everywhere", () =>
  windowOf(async (page) => {
    await say(page, 'write "hello" to two.txt')
    await page.getByRole("button", { name: "Deny …" }).click()
    await page.locator(".deny-words textarea").fill("not this file")
    await page.getByRole("button", { name: "Deny", exact: true }).click()
    await answered(page)
    await page.getByText("not this file").first().waitFor()
    assert.equal(demo.file("two.txt"), undefined)
    await say(page, 'write "hello" to three.txt')
    await page.locator(".tool .approval").waitFor()
    const { items } = await demo.call("/api/approvals")
    const { code, said } = await demo.command("approvals", "allow", items[0].id)
    assert.equal(code, 0, said)
    await page.locator(".tool .approval").waitFor({ state: "detached" })
    await answered(page, 2)
    assert.equal(demo.file("three.txt"), "hello")
  }))

// proves TL-11
test("what is hidden in a call is spelled out before anybody allows it", () =>
  windowOf(async (page) => {
    await say(page, 'write "pay \u202elive\u200b" to seven.txt')
    await page.locator(".tool .approval").waitFor()
    const text = await page.locator(".tool").innerText()
    assert.match(text, /\\u\{?202e/i)
    assert.doesNotMatch(text, /[\u202e\u200b]/)
    await page.getByRole("button", { name: "Deny …" }).click()
    await page.getByRole("button", { name: "Deny", exact: true }).click()
    await answered(page)
  }))

// proves TL-5
test("always makes a rule that the settings list and revoke", () =>
  windowOf(async (page) => {
    await say(page, 'write "hello" to four.txt')
    await page.getByRole("button", { name: "Always" }).click()
    await answered(page)
    await say(page, 'write "hello" to five.txt')
    await answered(page, 2)
    assert.equal(demo.file("five.txt"), "hello")
    await page.getByRole("button", { name: "Settings" }).click()
    await page.locator(".listed li", { hasText: "Write file" }).getByRole("button", { name: "Revoke" }).click()
    await page.getByText("No rules.").waitFor()
    assert.deepEqual(await demo.call("/api/rules"), [])
  }))

// proves SA-13
test("a question is answered where it is asked", () =>
  windowOf(async (page) => {
    await say(page, "ask me: tea or coffee?")
    await page.getByLabel("Your answer").fill("tea")
    await page.getByLabel("Your answer").press("Enter")
    await answered(page)
    assert.match(await page.locator(".answer").last().innerText(), /tea/)
  }))

// proves FC-7
test("a session is found, renamed, saved, deleted and brought back", () =>
  windowOf(async (page) => {
    const rail = page.locator(".rail")
    await say(page, "what is 41 + 1?")
    await answered(page)
    const row = () => rail.locator("li", { hasText: /41|Sums/ }).first()
    const menu = async (name) => {
      await row().hover()
      await row().getByRole("button", { name: /More about/ }).click()
      await page.getByRole("menuitem", { name }).click()
    }
    await menu("Rename")
    await rail.getByLabel("Rename").fill("Sums")
    await rail.getByLabel("Rename").press("Enter")
    await page.locator("h1", { hasText: "Sums" }).waitFor()
    const [saved] = await Promise.all([page.waitForEvent("download"), menu("Export")])
    assert.equal(saved.suggestedFilename(), "Sums.jsonl")
    assert.match(readFileSync(await saved.path(), "utf8"), /samovar\.export/)
    await rail.getByRole("searchbox").fill("41")
    await rail.getByText("In messages").waitFor()
    await rail.getByRole("searchbox").fill("")
    await menu("Delete")
    await page.getByText("Session deleted.").waitFor()
    assert.equal(await row().count(), 0)
    await page.getByRole("button", { name: "Undo" }).click()
    await row().waitFor()
    await menu("Delete")
    const gone = async () => !(await demo.agent("listSessions", {})).items.some(({ title }) => title === "Sums")
    await wait(5_000)
    assert.ok(!(await gone()), "it is there for ten seconds")
    await until("it is deleted", gone)
  }))

// proves FC-8
test("everything goes by keyboard alone", () =>
  windowOf(async (page) => {
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent)
    const tabTo = async (what) => {
      for (let steps = 0; steps < 80; steps += 1) {
        if (what.test((await focused()) ?? "")) return
        await page.keyboard.press("Tab")
      }
      throw new Error(`no ${what} by Tab`)
    }
    await page.keyboard.type('write "hello" to keys.txt')
    await page.keyboard.press("Enter")
    await page.locator(".tool .approval").waitFor()
    await page.evaluate(() => document.activeElement?.blur())
    await tabTo(/^Allow once$/)
    assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "none")
    await page.keyboard.press("Enter")
    await answered(page)
    assert.equal(demo.file("keys.txt"), "hello")
    await tabTo(/^Settings$/)
    await page.keyboard.press("Enter")
    await page.locator("dialog[open]").waitFor()
    await page.keyboard.press("Escape")
    await page.locator("dialog[open]").waitFor({ state: "detached" })
    assert.match(await focused(), /Settings/)
    await tabTo(/More about/)
    await page.keyboard.press("Enter")
    await page.keyboard.press("ArrowDown")
    assert.match(await focused(), /Fork/)
    await page.keyboard.press("Escape")
    assert.match(await focused(), /More about/)
    await tabTo(/^Master/)
    await page.keyboard.press("Enter")
  }))

// proves FC-8
test("at 390 pixels one column holds everything, in drawers", () =>
  windowOf(async (page) => {
    await page.getByRole("button", { name: "Sessions" }).click()
    await page.locator("dialog[open] .session").first().click()
    await answered(page)
    await page.getByRole("button", { name: "Agents", exact: true }).click()
    await page.locator("dialog[open] .node").first().click()
    await page.locator("dialog[open]").waitFor({ state: "detached" })
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390)
    await say(page, "what is 3 + 4?")
    await until("an answer", async () => /7/.test(await page.locator(".answer").last().innerText()))
  }, { width: 390, height: 800 }))

// proves TL-11
test("a browser that may only look sees what waits and cannot decide", async () => {
  const { url } = await demo.call("/api/login-links", { scope: "read", name: "reader" })
  const context = await browser.chromium.newContext()
  const session = await demo.agent("createSession", {})
  const sent = demo.agent("sendMessage", { sessionId: session.id, content: 'write "x" to six.txt', waitSeconds: 0 })
  await sent
  const page = await browser.stranger(context)
  await page.goto(url)
  await page.getByRole("button", { name: /1 decision or question waits/ }).click()
  await page.getByText("This browser may look but not decide").first().waitFor()
  assert.equal(await page.getByRole("button", { name: "Allow once" }).count(), 0)
  await demo.agent("deleteSession", { sessionId: session.id })
  await context.close()
})

// proves TL-11, FC-6
test("a link that was used, and a login that is revoked in the middle, are a sentence and one action", async () => {
  const link = await demo.link()
  const context = await browser.chromium.newContext()
  const page = await browser.window(context, link)
  const other = await browser.chromium.newContext()
  const late = await browser.stranger(other)
  await late.goto(link)
  await late.getByText("this login link was used").waitFor()
  await late.getByText("samovar open", { exact: true }).waitFor()
  assert.ok(!late.url().includes("login="), late.url())
  const me = await page.evaluate(() => fetch("/api/me").then((answer) => answer.json()))
  await demo.call(`/api/tokens/${encodeURIComponent(me.name)}`, undefined, "DELETE")
  await page.getByText("This login has ended.").waitFor()
  await page.getByRole("button", { name: "Try again" }).waitFor()
  // The new link in the same window.
  const again = await demo.link()
  await page.evaluate((hash) => { location.hash = hash }, new URL(again).hash)
  await page.waitForSelector("#composer")
  assert.ok(!page.url().includes("login="), page.url())
  await context.close()
  await other.close()
})

// proves FC-8
test("an open page on an idle server asks for nothing", () =>
  windowOf(async (page) => {
    await wait(2_000)
    let asked = 0
    page.on("request", () => { asked += 1 })
    await wait(10_000)
    assert.equal(asked, 0)
  }))
