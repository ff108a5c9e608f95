// The conversation in a real browser: from the first visit to the last answer.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { answered, Browser, say, Server, settled, shown, treeShown, until, wait } from "./lib.mjs"

let browser, demo, scripted

before(async () => {
  browser = await Browser.start()
  demo = await Server.start()
  scripted = await Server.start({ model: "scripted", level: "auto" })
})
after(async () => {
  await browser?.stop()
  await Promise.all([demo?.stop(), scripted?.stop()])
})

/** A window of its own, closed after the test, that ran into no fault. */
async function windowOf(server, work, more) {
  const page = await browser.open(server, more)
  await work(page)
  assert.deepEqual(page.faults, [])
  await page.context().close()
}

// proves FC-7, FC-6
test("a first visit leads to a first answer, and the link is gone from the address", () =>
  windowOf(demo, async (page) => {
    assert.ok(!page.url().includes("login"), page.url())
    assert.equal(await page.evaluate(() => Object.keys(localStorage).length + document.cookie.length), 0)
    await page.getByText("No sessions yet. Ask something, or try one of these.").first().waitFor()
    await page.getByRole("button", { name: "list the files here" }).first().click()
    await answered(page)
    assert.match(await shown(page), /notes\.txt/)
    await page.getByRole("navigation", { name: "Sessions" }).getByText("list the files here").waitFor()
    // The agents of the second suggestion are there on every server.
    await page.getByRole("button", { name: "New session", exact: true }).click()
    await page.getByRole("button", { name: "ask the browser agent" }).click()
    await answered(page)
    const branches = page.locator(".branch")
    assert.deepEqual(await branches.evaluateAll((all) => all.map((one) => one.dataset.path)), ["master/browser", "master/browser"])
    assert.doesNotMatch(await shown(page), /"ok"|failed/)
    await say(page, "ask the nosuch agent to list files")
    await answered(page, 2)
    const said = await shown(page)
    assert.match(said, /there is no agent "nosuch"/)
    assert.doesNotMatch(said, /\{"/)
  }))

// proves FC-9, SA-8
test("two agents at once and one inside another look the same live and after a reload", () =>
  windowOf(demo, async (page) => {
    await say(page, "ask the browser agent to list files and the helper agent to ask the browser agent to read notes.txt")
    await answered(page)
    await until("three branches", async () => (await page.locator(".branch").count()) === 3)
    const paths = await page.locator(".branch").evaluateAll((all) => all.map((one) => one.dataset.path))
    assert.deepEqual(paths, ["master/browser", "master/helper", "master/helper/browser"])
    const [thread, tree] = [await settled(() => shown(page)), await settled(() => treeShown(page))]
    await page.reload()
    await answered(page)
    await until("the same conversation", async () => (await shown(page)) === thread)
    await until("the same tree", async () => (await treeShown(page)) === tree)
  }))

// proves FC-9
test("a text that is there just before its renderer is Markdown, too", async () => {
  const context = await browser.chromium.newContext()
  // What is to happen after a drawing happens late, as on a machine that has much to do.
  await context.addInitScript(() => {
    const later = window.setTimeout
    window.setTimeout = (work, ms, ...more) => later(work, ms ?? 2_000, ...more)
  })
  const page = await browser.window(context, await demo.link())
  await say(page, "list the files here")
  await answered(page)
  await page.locator(".answer .text ol li", { hasText: "notes.txt" }).waitFor()
  assert.deepEqual(page.faults, [])
  await context.close()
})

// proves UI-15
test("a reload in the middle of an answer goes on where it was", () =>
  windowOf(scripted, async (page) => {
    await say(page, "held 30 100")
    await until("some words", async () => /word20/.test(await shown(page)))
    await page.reload()
    await until("what was said before the reload", async () => /word0 word1 word2/.test(await shown(page)))
    assert.doesNotMatch(await shown(page), /word99/)
    await scripted.models.release()
    await answered(page)
    const words = (await page.locator(".answer .text").last().textContent()).match(/word\d+/g)
    assert.deepEqual(words, Array.from({ length: 100 }, (_, at) => `word${at}`))
  }))

// proves FC-9
test("earlier messages come above what is in sight, which stays where it is", async () => {
  const { id } = await demo.agent("createSession", {})
  for (let at = 0; at < 450; at += 1) await demo.agent("appendMessage", { sessionId: id, message: { role: at % 2 ? "assistant" : "user", content: `message ${at}.` } })
  await windowOf(demo, async (page) => {
    await page.evaluate((hash) => { location.hash = hash }, `#/s/${id}`)
    await page.getByText("message 449.").waitFor()
    const thread = page.locator(".thread")
    await thread.evaluate((box) => box.scrollTo(0, 0))
    const first = page.locator(".thread-inner > .row").first()
    const row = page.locator(`[id="${await first.getAttribute("id")}"]`)
    await wait(300)
    const before = (await row.boundingBox()).y
    const rows = await page.locator(".thread-inner > .row").count()
    await page.locator(".earlier").click()
    await until("more rows", async () => (await page.locator(".thread-inner > .row").count()) > rows)
    await wait(300)
    const after = (await row.boundingBox()).y
    assert.ok(Math.abs(after - before) < 60, `${before}, then ${after}`)
  })
})

// proves DU-7
test("a server that is killed in mid-tool and started again goes on with the page open", () =>
  windowOf(scripted, async (page) => {
    await say(page, "exec: for i in 1 2; do echo line $i; done; sleep 600")
    await page.getByText("line 2").waitFor()
    await scripted.kill()
    await page.getByText("The server does not answer.").first().waitFor()
    await scripted.up()
    await answered(page)
    await until("the banner is gone", async () => (await page.locator(".banner").count()) === 0)
    assert.equal(await page.locator(".tool").count(), 1)
    assert.match(await page.locator(".tool").textContent(), /outcome unknown/)
    const thread = await settled(() => shown(page))
    await page.reload()
    await answered(page)
    await until("the same after a reload", async () => (await shown(page)) === thread)
  }))

// proves DU-6
test("an answer that a stopped server left waits for a person, who lets it continue", async () => {
  const asking = await Server.start({ model: "scripted", level: "auto", settings: { SAMOVAR__RECOVERY__RESUME: "ask" } })
  try {
    const page = await browser.open(asking)
    await say(page, "exec: for i in 1 2; do echo line $i; done; sleep 600")
    await page.getByText("line 2").waitFor()
    await asking.kill()
    await asking.up()
    await page.getByText("The server stopped during this answer").waitFor()
    assert.equal(await page.locator(".answer-end").count(), 0)
    await page.reload()
    await page.getByRole("button", { name: "Continue" }).click()
    await answered(page)
    assert.equal(await page.getByText("The server stopped during this answer").count(), 0)
    assert.deepEqual(page.faults, [])
    await page.context().close()
  } finally {
    await asking.stop()
  }
})

// proves UI-10, FC-6
test("an answer whose attempts broke off looks the same live and after a reload", () =>
  windowOf(scripted, async (page) => {
    await say(page, "breaks")
    await page.locator(".end-reason.is-error").waitFor()
    const thread = await settled(() => shown(page))
    await page.reload()
    await page.locator(".end-reason.is-error").waitFor()
    await until("the same after a reload", async () => (await shown(page)) === thread)
  }))

// proves AS-11
test("messages queue and steer while an answer is written, and keep their order", () =>
  windowOf(scripted, async (page) => {
    await say(page, "held 10 60")
    await page.locator(".text.is-live").waitFor()
    await say(page, "and then this")
    await page.getByText("Waits for its turn").waitFor()
    await page.getByText("Steer", { exact: true }).click()
    await say(page, "but mind that")
    await page.getByText("Joins the running answer").waitFor()
    // The server has taken both.
    await until("both can be taken back", async () => (await page.getByRole("button", { name: "Take back" }).count()) === 2)
    await page.getByRole("button", { name: "Take back" }).last().click()
    await until("the steering message was taken back", async () => (await page.locator(".is-waiting").count()) === 1)
    await scripted.models.release()
    await answered(page, 2)
    const said = await page.locator(".said-text, .answer .text").allTextContents()
    assert.match(said[0], /held/)
    assert.match(said[1], /word59/)
    assert.ok(said.indexOf("and then this") > 1, said.join("|"))
  }))

// proves SA-11
test("an agent in the background is in the tree, and what it said is the same after a reload", () =>
  windowOf(scripted, async (page) => {
    await say(page, "work in the background")
    await page.locator(".node-tag", { hasText: "in the background" }).waitFor()
    await scripted.models.release()
    await page.locator(".system-note").waitFor()
    await answered(page, 2)
    await until("all is over", async () => (await page.locator(".node-stop").count()) === 0)
    const [thread, tree] = [await settled(() => shown(page)), await settled(() => treeShown(page))]
    assert.match(thread, /word0 word1/)
    await page.reload()
    await answered(page, 2)
    await until("the same conversation", async () => (await shown(page)) === thread)
    await until("the same tree", async () => (await treeShown(page)) === tree)
  }))

// proves SA-7
test("one branch is stopped, and the other goes on", () =>
  windowOf(scripted, async (page) => {
    await say(page, "pair")
    await until("two children run", async () => (await page.locator(".tree .tree li, .tree ul .node.is-running").count()) === 2)
    await page.getByRole("button", { name: "Stop Helper" }).first().click()
    await until("one is stopped", async () => /stopped/.test(await page.locator(".branch").first().innerText()))
    assert.match(await page.locator(".branch").nth(1).textContent(), /working/)
    await page.getByRole("button", { name: "Stop", exact: true }).click()
    await page.getByText("Stopped. What was said until then is kept.").waitFor()
  }))

// proves UI-14
test("an edited message is answered anew, and the conversation as it was is a fork", () =>
  windowOf(demo, async (page) => {
    await say(page, "what is 2 * 3?")
    await answered(page)
    await page.getByRole("button", { name: "Edit" }).click()
    await page.locator(".editing textarea").fill("what is 2 * 4?")
    await page.getByRole("button", { name: "Send again" }).click()
    await until("the new answer", async () => /8/.test(await page.locator(".answer").innerText().catch(() => "")))
    assert.equal(await page.locator(".said").count(), 1)
    const { items } = await demo.agent("listSessions", { editForks: true })
    assert.ok(items.some(({ forkedFrom, preview }) => forkedFrom && /2 \* 3/.test(preview)))
    await page.getByRole("button", { name: "Answer again" }).click()
    const forks = async () => (await demo.agent("listSessions", { editForks: true })).items.filter(({ forkedFrom }) => forkedFrom)
    await until("a second fork", async () => (await forks()).length === 2)
    const turns = () => demo.call("/api/turns?limit=200")
    await until("the turn is over", async () => (await turns()).every(({ state }) => state === "finished"))
    await wait(1_000)
    await answered(page)
    await page.getByRole("button", { name: "Fork from here" }).click()
    await page.getByText("You are in the fork now.").waitFor()
    assert.match(await shown(page), /8/)
  }))

// proves FC-8
test("Enter that belongs to an input method sends nothing, Shift and Enter makes a line", () =>
  windowOf(demo, async (page) => {
    await page.fill("#composer", "にほん")
    const composing = (init) => page.evaluate((init) => {
      const event = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true, ...init })
      document.getElementById("composer").dispatchEvent(event)
    }, init)
    await composing({ isComposing: true })
    await composing({ keyCode: 229 })
    await wait(300)
    assert.equal(await page.inputValue("#composer"), "にほん")
    assert.equal(await page.locator(".said").count(), 0)
    await page.press("#composer", "Shift+Enter")
    assert.equal(await page.inputValue("#composer"), "にほん\n")
    await page.fill("#composer", "what is 1 + 1?")
    await page.press("#composer", "Enter")
    await answered(page)
  }))

// proves FC-6, FC-7
test("hostile Markdown and HTML do nothing", () =>
  windowOf(scripted, async (page) => {
    const asked = []
    page.on("request", (request) => asked.push(request.url()))
    await say(page, "hostile <img src=x onerror=window.hacked=1>")
    await answered(page)
    await page.getByText("bold", { exact: true }).waitFor()
    assert.equal(await page.evaluate(() => window.hacked), undefined)
    assert.equal(await page.locator(".thread img, .thread script, .thread iframe, .thread [onclick]").count(), 0)
    assert.equal(await page.locator('.thread a[href^="javascript"]').count(), 0)
    assert.ok(asked.every((url) => url.startsWith(scripted.base)), asked.join("\n"))
    await scripted.agent("updateSession", {
      sessionId: decodeURIComponent(page.url().split("#/s/")[1]), title: "<b onclick=x>bold</b>\u202egnp.exe",
    })
    await page.locator("h1", { hasText: "\\u{202e}" }).waitFor()
  }))

// proves FC-8
test("a text of 100 kB, a table of a thousand rows and code without an end stay usable", () =>
  windowOf(scripted, async (page) => {
    for (const [at, what] of ["long", "table", "endless"].entries()) {
      await say(page, what)
      await answered(page, at + 1)
    }
    const first = page.locator(".answer .text").first()
    await until("the whole text", async () => ((await first.textContent()) ?? "").trim().length > 100_000)
    assert.equal(await page.locator(".answer tbody tr").count(), 1_000)
    await until("all lines of the code", async () => ((await page.locator(".answer pre code").textContent()) ?? "").split("\n").length >= 9_000)
    await page.locator(".thread").evaluate((thread) => thread.scrollTo(0, 0))
    await page.fill("#composer", "still here")
  }))

// proves FC-6, FC-8
test("a text that Markdown takes too long or too deep for is shown as it is", () =>
  windowOf(scripted, async (page) => {
    for (const [at, [what, end]] of [["nested", "deep down"], ["spaces", "far away"]].entries()) {
      await say(page, what)
      await answered(page, at + 1)
      await page.locator(".answer", { hasText: end }).waitFor()
    }
    await page.reload()
    await page.locator(".answer", { hasText: "deep down" }).waitFor()
  }))

// proves FC-6
test("a model that breaks off is a sentence and one action", () =>
  windowOf(scripted, async (page) => {
    await say(page, "refuses")
    await page.locator(".end-reason.is-error").waitFor()
    await page.locator(".end-reason").getByRole("button", { name: "Answer again" }).waitFor()
    assert.ok((await page.locator(".end-reason.is-error").innerText()).length > 20)
  }))

// proves AS-30
test("an image goes with a message and is there after a reload", () =>
  windowOf(scripted, async (page) => {
    const png = await page.screenshot({ clip: { x: 0, y: 0, width: 40, height: 30 } })
    await page.setInputFiles("input[type=file]", { name: "small.png", mimeType: "image/png", buffer: png })
    await page.locator(".composer-pictures img").waitFor()
    await say(page, "what is this?")
    await answered(page)
    await page.reload()
    await answered(page)
    const isShown = () => page.locator(".said .picture img").evaluate((image) => image.complete && image.naturalWidth === 40)
    await until("the stored image", isShown)
  }))
