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
    const text = await page.locator(".tool").textContent()
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
    assert.match(await page.locator(".answer").last().textContent(), /tea/)
  }))

// proves SA-13, FC-6
test("what is typed while a question waits answers it, and each session keeps its own draft", () =>
  windowOf(async (page) => {
    await say(page, "ask me: tea or coffee?")
    await page.getByPlaceholder("Answer the question above").waitFor()
    await page.fill("#composer", "green tea")
    const asking = page.url()
    await page.getByRole("button", { name: "New session", exact: true }).click()
    assert.equal(await page.inputValue("#composer"), "")
    await page.fill("#composer", "something else")
    await page.goBack()
    await until("the draft of the first session", async () => (await page.inputValue("#composer")) === "green tea")
    assert.equal(page.url(), asking)
    await page.getByPlaceholder("Answer the question above").waitFor()
    await page.press("#composer", "Enter")
    await answered(page)
    assert.equal(await page.locator(".said").count(), 1)
    assert.match(await page.locator(".answer").last().textContent(), /green tea/)
    await page.getByRole("button", { name: "New session", exact: true }).click()
    await until("the draft of the new one", async () => (await page.inputValue("#composer")) === "something else")
  }))

// proves FC-6, AS-30
test("a refusal that comes late puts its words above those typed meanwhile, a full disk says so, and images need words", () =>
  windowOf(async (page) => {
    let isFull = true
    await page.route("**/sendMessage/stream", async (route) => {
      if (!isFull) return route.continue()
      await wait(3000)
      await route.fulfill({ status: 507, contentType: "application/json", body: JSON.stringify({ code: "store_full", error: "the disk is full" }) })
    })
    await page.route("**/api/server", async (route) => {
      const answer = await route.fetch()
      const server = await answer.json()
      await route.fulfill({ response: answer, json: { ...server, store: { ...server.store, isFull } } })
    })
    await say(page, "the first words")
    await page.locator(".said").waitFor()
    await page.fill("#composer", "the second words")
    await page.locator(".banner", { hasText: "The disk is full." }).waitFor()
    await until("both are there", async () => (await page.inputValue("#composer")) === "the first words\n\nthe second words")
    assert.equal(await page.locator(".said").count(), 0)
    isFull = false
    await page.locator(".banner").waitFor({ state: "detached" })
    await page.fill("#composer", "")
    const png = await page.screenshot({ clip: { x: 0, y: 0, width: 40, height: 30 } })
    await page.setInputFiles("input[type=file]", { name: "small.png", mimeType: "image/png", buffer: png })
    await page.getByText("a message needs words").waitFor()
    assert.ok(await page.getByRole("button", { name: "Send", exact: true }).isDisabled())
    await page.fill("#composer", "look")
    await page.getByText("a message needs words").waitFor({ state: "detached" })
  }))

// proves FC-7
test("a session that is being deleted is not opened by going back, and is deleted when the page is left", () =>
  windowOf(async (page) => {
    await say(page, "what is 52 + 1?")
    await answered(page)
    const id = decodeURIComponent(page.url().split("#/s/")[1])
    const row = page.locator(".rail li", { hasText: "52" }).first()
    await row.hover()
    await row.getByRole("button", { name: /More about/ }).click()
    await page.getByRole("menuitem", { name: "Delete" }).click()
    await page.getByText("Session deleted.").waitFor()
    const [toast, composer] = await Promise.all([page.locator(".toast").boundingBox(), page.locator(".composer").boundingBox()])
    assert.ok(toast.y + toast.height < composer.y, "the toast leaves the composer free")
    await page.goBack()
    await wait(300)
    assert.ok(!page.url().includes(id), page.url())
    assert.equal(await page.locator(".said").count(), 0)
    const there = async () => (await demo.agent("listSessions", { limit: 200 })).items.some((one) => one.id === id)
    assert.ok(await there())
    await page.reload()
    await until("it is deleted at once", async () => !(await there()))
  }))

// proves FC-7
test("a model is tested and the server looked at from the settings, with what each shows", async () => {
  const scripted = await Server.start({ model: "scripted" })
  try {
    const page = await browser.open(scripted)
    await page.getByRole("button", { name: "Settings" }).click()
    const dialog = page.locator("dialog[open]")
    await dialog.getByRole("button", { name: "Test openai/scripted" }).click()
    await dialog.getByText("Its provider may charge").waitFor()
    assert.equal(await dialog.locator(".findings li").count(), 0)
    await dialog.getByRole("button", { name: "Make them" }).click()
    await dialog.getByText("Turns do not work with this model.").waitFor()
    assert.equal(await dialog.locator(".findings li").count(), 8)
    assert.match(await dialog.locator(".findings li").first().innerText(), /text/)
    await dialog.getByRole("button", { name: "Look at the server" }).click()
    await dialog.locator("details", { hasText: "that were looked at" }).locator("summary").last().click()
    await dialog.locator(".findings strong", { hasText: "workspace" }).first().waitFor()
    assert.deepEqual(page.faults, [])
    await page.context().close()
  } finally {
    await scripted.stop()
  }
})

// proves FC-7, MD-13, MD-14
test("the settings show what agents remember and propose, and the owner answers, corrects and deletes", () =>
  windowOf(async (page) => {
    const { token } = await demo.call("/api/tokens", { name: "guest", scope: "use" })
    const asks = async (method, params) => {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
      const answer = await fetch(`${demo.base}/services/agent/${method}`, { method: "POST", headers, body: JSON.stringify(params) })
      return answer.json()
    }
    for (const content of ["remember that I like tea", "remember that I like milk"]) {
      const { id } = await asks("createSession", {})
      await asks("sendMessage", { sessionId: id, content })
    }
    await page.getByRole("button", { name: "Settings" }).click()
    const dialog = page.locator("dialog[open]")
    const line = (text) => dialog.locator(".listed li", { hasText: text })
    await line("milk").getByText("for this folder, guest").waitFor()
    await line("milk").getByRole("button", { name: "Refuse" }).click()
    await line("milk").waitFor({ state: "detached" })
    await line("tea").getByRole("button", { name: "Edit" }).click()
    await dialog.getByLabel("The text of the memory").fill("Likes green tea.")
    await dialog.getByRole("button", { name: "Remember" }).click()
    await line("Likes green tea. facts").waitFor()
    assert.deepEqual(await demo.call("/api/memory/proposals"), { items: [] })

    await line("green").getByRole("button", { name: "Edit" }).click()
    await dialog.getByLabel("The text of the memory").fill("Likes black tea.")
    await dialog.getByRole("button", { name: "Save" }).click()
    await line("black").waitFor()
    const recall = async (words) => {
      await dialog.getByLabel("What would be recalled for …").fill(words)
      await dialog.getByRole("button", { name: "Recall" }).click()
    }
    await recall("which tea")
    await dialog.getByRole("list", { name: "What would be recalled" }).getByText("Likes black tea.").waitFor()
    await line("black").getByRole("button", { name: "Forget" }).click()
    await dialog.getByText("Nothing is remembered yet.").waitFor()
    await recall("zebra")
    await dialog.getByText("No memory has these words.").waitFor()
    // Of the exchanges that have these words, none is what was forgotten.
    await recall("black tea")
    await dialog.getByText("No memory has these words.").waitFor({ state: "detached" })
    assert.equal(await dialog.getByText("Likes black tea.").count(), 0)
    assert.deepEqual((await demo.call("/api/memory")).items, [])
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
    const { id } = await demo.agent("createSession", {})
    await demo.agent("sendMessage", { sessionId: id, content: "list the files here" })
    await page.getByRole("button", { name: "Sessions" }).click()
    await page.locator("dialog[open] .session").first().click()
    await answered(page)
    await page.getByRole("button", { name: "Agents", exact: true }).click()
    await page.locator("dialog[open] .node").first().click()
    await page.locator("dialog[open]").waitFor({ state: "detached" })
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390)
    for (let at = 0; at < 20; at += 1) await demo.agent("createSession", {})
    await page.getByRole("button", { name: "Sessions" }).click()
    await until("all sessions", async () => (await page.locator("dialog[open] .session").count()) > 20)
    const link = await page.locator("dialog[open]").getByRole("link", { name: "Movie booking" }).boundingBox()
    assert.ok(link.y + link.height <= 800, `${link.y}`)
    await page.locator("dialog[open] [aria-haspopup=menu]").last().click()
    const last = await page.getByRole("menuitem", { name: "Delete" }).boundingBox()
    assert.ok(last.y + last.height <= link.y, `${last.y}`)
    await page.getByRole("menuitem", { name: "Rename" }).click()
    await page.locator("dialog[open] .naming input").press("Escape")
    await page.locator("dialog[open] [aria-haspopup=menu]").last().click()
    await page.keyboard.press("Escape")
    await page.locator("dialog[open] .new").click()
    await page.route("**/api/calls", async (route) => {
      const answer = await route.fetch()
      const { items, totalCount } = await answer.json()
      const withOptions = items.map((one) => ({ ...one, args: { ...one.args, options: ["an_option_without_a_space/".repeat(9)] } }))
      await route.fulfill({ response: answer, json: { items: withOptions, totalCount } })
    })
    await say(page, `ask me: ${"averyverylongword".repeat(30)}, a_path/without/any/space/${"deeper/".repeat(30)}?`)
    await page.getByRole("button", { name: /an_option/ }).waitFor()
    const edges = await page.locator(".question, .question *").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().right))
    assert.ok(edges.every((edge) => edge <= 390 - 14), edges.join(" "))
    await page.getByLabel("Your answer").fill("none")
    await page.getByLabel("Your answer").press("Enter")
    await answered(page)
    await say(page, "what is 3 + 4?")
    await until("an answer", async () => /7/.test(await page.locator(".answer").last().innerText()))
  }, { width: 390, height: 800 }))

// proves TL-11
test("a browser that may only look sees what waits and cannot decide", async () => {
  const { url } = await demo.call("/api/login-links", { scope: "read", name: "reader" })
  const context = await browser.chromium.newContext()
  const session = await demo.agent("createSession", {})
  await demo.agent("sendMessage", { sessionId: session.id, content: "list the files here" })
  await demo.agent("sendMessage", { sessionId: session.id, content: 'write "x" to six.txt', waitSeconds: 0 })
  const page = await browser.stranger(context)
  await page.goto(url)
  await page.getByRole("button", { name: /1 decision or question waits/ }).click()
  await page.getByText("This browser may look but not decide").first().waitFor()
  assert.equal(await page.getByRole("button", { name: "Allow once" }).count(), 0)
  await page.keyboard.press("Escape")
  assert.equal(await page.locator(".tries button").count(), 0)
  await page.locator(`.session[href$="${session.id}"]`).click()
  await answered(page)
  await page.locator(".node").first().waitFor()
  for (const name of [/^Edit$/, /^Fork from here$/, /^Answer again$/, /^New session$/, /^More about/, /^Stop/, /^Send$/]) {
    assert.equal(await page.getByRole("button", { name }).count(), 0, `${name}`)
  }
  await page.getByRole("button", { name: "Settings" }).click()
  for (const name of [/^Use$/, /^Test/, /^Revoke$/, /^Look at/]) assert.equal(await page.getByRole("button", { name }).count(), 0, `${name}`)
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
  // A browser that is logged in needs no link, and a refusal that passes by is no logout.
  const second = await browser.stranger(context)
  let refusals = 2
  await second.route("**/api/me", (route) => {
    if (refusals-- <= 0) return route.continue()
    return route.fulfill({ status: 429, contentType: "application/json", body: JSON.stringify({ code: "rate_limited", error: "too many requests" }) })
  })
  await second.goto(link)
  await second.getByText("too many requests").waitFor()
  assert.equal(await second.getByText("Log in to Samovar").count(), 0)
  await second.waitForSelector("#composer")
  await second.getByText("this login link was used").waitFor()
  await second.close()
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
