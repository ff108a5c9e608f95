// The window into the global chat, in a real browser.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Browser, Server, until, wait } from "./lib.mjs"

let browser, demo, quiet

before(async () => {
  browser = await Browser.start()
  demo = await Server.start({ settings: { SAMOVAR__CHAT__GREETING: "Good morning.", SAMOVAR__CHAT__AGENT: "nobody" } })
  quiet = await Server.start({ settings: { SAMOVAR__CHAT__AGENT: "nobody" } })
})
after(async () => {
  await browser?.stop()
  await Promise.all([demo?.stop(), quiet?.stop()])
})

/** The chat's window, closed after the test, that ran into no fault. */
async function chatOf(server, work, { prepare } = {}) {
  const page = await browser.open(server)
  await prepare?.(page)
  await page.getByRole("link", { name: "Global chat" }).first().click()
  await page.getByText("This chat is in the server's memory only").waitFor()
  await work(page)
  assert.deepEqual(page.faults, [])
  await page.context().close()
}

const say = (server, text) => server.call("/chat/user_message", { text })
// What is not drawn yet has no inner text.
const texts = (page) => page.locator(".chat-text, .chat-row .text").allTextContents().then((all) => all.map((text) => text.trim()))
const send = async (page, text) => {
  await page.fill("#composer", text)
  await page.press("#composer", "Enter")
}

/** Lets an agent of a session of its own do something, and does not wait for the end of its turn. */
async function turn(server, content) {
  const { id } = await server.agent("createSession", {})
  await server.agent("sendMessage", { sessionId: id, content, waitSeconds: 0 })
  return id
}

// proves CH-14, CH-3, CH-12
test("what agents said before the page was open is there, in the order of the ids, and looking changes nothing", async () => {
  await turn(demo, "tell the chat that the build is done")
  const before = await until("the agent's message", async () => {
    const said = await demo.call("/chat/history")
    return said.length >= 2 && said
  })
  const sessions = (await demo.agent("listSessions", {})).totalCount
  const asked = []
  await chatOf(demo, async (page) => {
    await page.locator(".chat-row").getByText("the build is done").waitFor()
    assert.deepEqual(await texts(page), before.map(({ text }) => text))
    assert.equal(await page.locator(".chat-row").first().locator("b").innerText(), "ChatAgent")
  }, { prepare: (page) => page.on("request", (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`)) })
  assert.deepEqual(asked.filter((one) => one.startsWith("POST")), [])
  assert.equal((await demo.agent("listSessions", {})).totalCount, sessions)
  assert.deepEqual(await demo.call("/chat/history"), before)
})

// proves CH-14, CH-4
test("the open question is above the box with who asks and how many wait, and its agent continues with the answer", () =>
  chatOf(demo, async (page) => {
    const first = await turn(demo, "ask me: tea or coffee?")
    await page.locator(".pinned").getByText("tea or coffee?").waitFor()
    await turn(demo, "ask me: milk or sugar?")
    await page.getByText("1 more question waits").waitFor()
    assert.match(await page.locator(".pinned h2").innerText(), /master asks you/)
    const calls = async () => (await demo.agent("getMessages", { sessionId: first })).length
    const waiting = await calls()
    await wait(500)
    assert.equal(await calls(), waiting, "nothing runs while the question is open")
    await send(page, "green tea, please")
    await page.locator(".pinned").getByText("milk or sugar?").waitFor()
    assert.equal(await page.inputValue("#composer"), "")
    await until("the agent continues with the answer", async () =>
      JSON.stringify(await demo.agent("getMessages", { sessionId: first })).includes("green tea, please"))
    await send(page, "neither")
    await page.locator(".pinned").waitFor({ state: "detached" })
    const said = await demo.call("/chat/history")
    const [question, answer] = [said.find(({ text }) => text.startsWith("tea or coffee?")), said.find(({ text }) => text === "green tea, please")]
    assert.deepEqual(answer.meta, { reply_to: question.id })
  }))

// proves CH-14, CH-4
test("what is sent before the chat was read is sent then, or stays in the box of a window that was left", () =>
  chatOf(demo, async (page) => {
    const [asked, go] = [[], []]
    let isHeld = true
    await page.route("**/chat/state", async (route) => {
      if (isHeld) await new Promise((release) => go.push(release))
      await route.continue()
    })
    page.on("request", (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`))
    const to = async (hash) => {
      await page.evaluate((to) => { location.hash = to }, hash)
      await page.getByText("This chat is in the server's memory only").waitFor({ state: hash === "#/chat" ? "visible" : "detached" })
    }
    for (const text of ["left alone", "soon"]) {
      await to("#/")
      await to("#/chat")
      await until("a read", () => go.length > 0)
      assert.equal(await page.inputValue("#composer"), text === "soon" ? "left alone" : "")
      await send(page, text)
      await wait(200)
      if (text === "left alone") {
        await to("#/")
        go.splice(0).forEach((release) => release())
        await wait(200)
      }
    }
    assert.ok(!asked.includes("POST /chat/user_message"), asked.join())
    isHeld = false
    go.forEach((release) => release())
    await page.locator(".chat-row.is-user").getByText("soon").waitFor()
    assert.equal(await page.inputValue("#composer"), "")
    assert.equal(asked.filter((one) => one === "POST /chat/user_message").length, 1)
  }))

// proves CH-14, CH-4
test("an answer to a question that was answered elsewhere meanwhile answers no other, and stays in the box", () =>
  chatOf(demo, async (page) => {
    await turn(demo, "ask me: red or blue?")
    await turn(demo, "ask me: shall I delete all?")
    await page.locator(".pinned").getByText("red or blue?").waitFor()
    await page.getByText("1 more question waits").waitFor()
    await page.route("**/chat/user_message", async (route) => {
      await say(demo, "blue")
      await route.continue()
    }, { times: 1 })
    await send(page, "yes, red")
    await page.locator(".refused").waitFor()
    assert.equal(await page.inputValue("#composer"), "yes, red")
    await page.locator(".pinned").getByText("shall I delete all?").waitFor()
    assert.ok(!JSON.stringify(await demo.call("/chat/history")).includes("yes, red"))
    await send(page, "no")
    await page.locator(".pinned").waitFor({ state: "detached" })
  }))

// proves CH-14, CH-4
test("a text that was begun under another question, or none, is posted only when it is sent again", () =>
  chatOf(demo, async (page) => {
    await page.fill("#composer", "hello all")
    await turn(demo, "ask me: shall I stop?")
    await page.locator(".pinned").getByText("shall I stop?").waitFor()
    await page.press("#composer", "Enter")
    await page.locator(".refused").getByText("is not the one that was there when you began to write").waitFor()
    assert.equal(await page.inputValue("#composer"), "hello all")
    assert.ok(!JSON.stringify(await demo.call("/chat/history")).includes("hello all"))
    await page.press("#composer", "Enter")
    await page.locator(".pinned").waitFor({ state: "detached" })
    assert.equal(await page.locator(".refused").count(), 0)
    await send(page, "and without a question")
    await page.locator(".chat-row.is-user").getByText("and without a question").waitFor()
  }))

// proves CH-14, FC-6
test("an answer that is cut on its way is asked for again", async () => {
  let asked = 0
  await chatOf(quiet, async (page) => {
    await say(quiet, "after the cut")
    await page.getByText("after the cut").waitFor()
    assert.ok(asked > 2)
  }, { prepare: (page) => page.route("**/chat/history*", (route) => {
    asked += 1
    return asked > 2 ? route.continue() : route.fulfill({ contentType: "application/json", body: '[{"id":' })
  }) })
})

// proves CH-14, FC-6
test("an answer leads to its question only where that is in the window", () =>
  chatOf(quiet, async (page) => {
    const answers = page.locator(".chat-head", { hasText: "answers #" })
    await answers.nth(1).waitFor()
    assert.deepEqual(await answers.locator("a").allInnerTexts(), ["answers #500"])
    await answers.locator("a").click()
  }, { prepare: (page) => page.route("**/chat/history*", (route) => route.fulfill({
    json: [[500], [501, 3], [502, 500]].map(([id, reply_to]) => ({ id, ts: "2026-01-01T00:00:00.000Z", role: "user", author: "user", text: `message ${id}`, ...(reply_to ? { meta: { reply_to } } : {}) })),
  })) }))

// proves CH-14, CH-6
test("a text that is refused stays in the box, with the reason, and is not in the chat", () =>
  chatOf(quiet, async (page) => {
    const count = (await quiet.call("/chat/history")).length
    for (const text of ["x".repeat(70_000), "\u2800\u2800"]) {
      await send(page, text)
      await page.locator(".refused").getByText("Your text is still in the box.").waitFor()
      assert.ok((await page.locator(".refused").innerText()).length > 40)
      assert.equal(await page.inputValue("#composer"), text)
    }
    assert.equal((await quiet.call("/chat/history")).length, count)
    await send(page, "a short one")
    await page.locator(".chat-row.is-user").getByText("a short one").waitFor()
    assert.equal(await page.locator(".refused").count(), 0)
    assert.equal(await page.inputValue("#composer"), "")
  }))

// proves CH-14
test("without a stream the page asks for what is new, and says so", () =>
  chatOf(quiet, async (page) => {
    await page.getByText("so the page asks every two seconds").waitFor()
    await say(quiet, "said while nothing streams")
    await page.getByText("said while nothing streams").waitFor()
    await send(page, "and an answer")
    await page.getByText("and an answer").waitFor()
    assert.equal(await page.locator(".chat-row", { hasText: "said while nothing streams" }).count(), 1)
  }, { prepare: (page) => page.route("**/chat/stream*", (route) => route.abort()) }))

// proves CH-14, CH-7
test("a page in which nothing is asked shows what the stream brings", () => {
  let streams
  return chatOf(quiet, async (page) => {
    await streams
    let asked = 0
    page.on("request", (request) => { asked += Number(request.url().includes("/chat/history")) })
    await say(quiet, "brought by the stream")
    await page.getByText("brought by the stream").waitFor()
    assert.equal(asked, 0)
  }, { prepare: (page) => { streams = page.waitForResponse(/\/chat\/stream/) } })
})

// proves CH-14, CH-5
test("another run of the server is said, and what is being written stays", () =>
  chatOf(quiet, async (page) => {
    await say(quiet, "from the run before")
    await page.getByText("from the run before").waitFor()
    await page.fill("#composer", "half a thought")
    await quiet.kill()
    await page.getByText("The server does not answer.").first().waitFor()
    await quiet.up()
    await page.getByText("The server was restarted, and the chat began again.").waitFor()
    assert.equal(await page.getByText("from the run before").count(), 0)
    assert.equal(await page.inputValue("#composer"), "half a thought")
    await send(page, "half a thought, and the rest")
    await page.locator(".chat-row.is-user").getByText("half a thought, and the rest").waitFor()
    assert.equal((await quiet.call("/chat/history")).length, 1)
  }))

// proves CH-14, CH-8, FC-8
test("a chat of 10,000 messages stays usable, and says what is no longer kept", async () => {
  for (let at = 0; at < 10_010; at += 65) {
    await Promise.all(Array.from({ length: Math.min(65, 10_010 - at) }, (_, more) => say(quiet, `message ${at + more} in the chat`)))
  }
  await chatOf(quiet, async (page) => {
    await page.getByText("message 10009 in the chat", { exact: true }).waitFor()
    assert.ok((await page.locator(".chat-row").count()) <= 1_000)
    // A person who reads further up stays there while the oldest messages go and new ones come.
    const row = page.locator(`#${await page.locator(".chat-row").nth(400).getAttribute("id")}`)
    await row.scrollIntoViewIfNeeded()
    await wait(300)
    const top = async () => Math.round((await row.boundingBox()).y)
    const [before, oldest] = [await top(), await page.locator(".chat-row").first().getAttribute("id")]
    for (let at = 0; at < 585; at += 65) await Promise.all(Array.from({ length: 65 }, (_, more) => say(quiet, `and ${at + more}`)))
    await page.getByText("and 584", { exact: true }).waitFor()
    assert.equal(await page.locator(`#${oldest}`).count(), 0)
    assert.ok(Math.abs(await top() - before) < 40, `${before}, then ${await top()}`)
    for (let at = 0; at < 40 && (await page.locator(".earlier").count()) > 0; at += 1) {
      const first = await page.locator(".chat-row").first().getAttribute("id")
      await page.locator(".earlier").click()
      await until("earlier messages, or the word that there are none", async () =>
        (await page.locator(".earlier").count()) === 0 || (await page.locator(".chat-row").first().getAttribute("id")) !== first)
    }
    await page.getByText(/Messages before #\d+ are no longer kept\./).waitFor()
    assert.equal(await page.locator(".chat-row").count(), 10_000)
    await send(page, "still here")
    await page.locator(".chat-row.is-user").getByText("still here", { exact: true }).waitFor()
  })
})
