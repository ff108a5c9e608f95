// The window into a room of the relay, in a real browser.

import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"
import { after, before, test } from "node:test"
import { Member, rowsOf, run } from "./agents.mjs"
import { Browser, SAMOVAR, Server, settled, until, wait } from "./lib.mjs"

let browser, demo

before(async () => {
  browser = await Browser.start()
  demo = await Server.start()
})
after(async () => {
  await browser?.stop()
  await demo?.stop()
})

/** The window of a room, closed after the test, that ran into no fault. */
async function roomOf(room, work) {
  const page = await browser.open(demo)
  await page.evaluate((hash) => { location.hash = hash }, `#/movie/${room}`)
  await page.locator(".screen").waitFor()
  await work(page)
  assert.deepEqual(page.faults, [])
  await page.context().close()
}

const show = (room) => demo.call(`/api/relay/rooms/${room}/host`, { kind: "movie" })
const act = (room, toolName, params = {}) => demo.call(`/api/relay/rooms/${room}/do`, { toolName, params })
const title = (page, text) => page.locator(".screen h2", { hasText: text }).waitFor()
const next = (page) => page.locator(".screen").getByRole("button", { name: "Next" }).click()
const item = (page, at = 0) => page.locator(".items button:enabled, .seat-row button:enabled").nth(at)

/** Books by hand, from the first movie to the number of the booking. */
async function bookByHand(page) {
  for (const [question, list] of [["Which movie", "is-buttons"], ["In which theater", "is-buttons"], ["On which", "is-days"], ["At which time", "is-buttons"]]) {
    await title(page, question)
    await page.locator(`.items.${list}`).waitFor()
    await item(page).click()
    await page.locator(".items .is-on").waitFor()
    await next(page)
  }
  await page.locator(".seats").waitFor()
  for (const at of [0, 1]) {
    await item(page, at).click()
    await until("the seat is chosen", async () => (await page.locator(".seat-row .is-on").count()) === at + 1)
  }
  await next(page)
  await page.locator(".quantities").waitFor()
  for (const count of ["1", "2"]) {
    await page.locator(".quantities li").first().getByRole("button", { name: /more$/ }).click()
    await page.locator(".quantities output").first().getByText(count).waitFor()
  }
  await next(page)
  await page.locator(".screen-summary").waitFor()
  await page.locator(".screen").getByRole("button", { name: "Book" }).click()
  await page.locator(".screen h2", { hasText: /B-[0-9A-F]{8}/ }).waitFor()
}

// proves RL-29, RL-18, RL-20
test("an empty room is given a booking, and it is made by hand from what is shown alone", () =>
  roomOf("by-hand", async (page) => {
    await page.getByText("Nothing is shown in the room “by-hand”.").waitFor()
    await page.getByRole("button", { name: "Open a movie booking here" }).click()
    await title(page, "Which movie")
    const button = (name) => page.locator(".screen").getByRole("button", { name, exact: true })
    assert.ok(await button("Next").isDisabled(), "next is not in force before a movie is chosen")
    assert.equal(await button("Back").count(), 0)
    await bookByHand(page)
    await page.getByText("Nothing is on the screen now.").waitFor()
    const watcher = await Member.join(demo, "agent", "by-hand")
    const { payload } = await watcher.ask("snapshot.get")
    assert.equal(payload.uiSpec, null)
    const number = payload.messageHistory.at(-1).spec.meta.bookingNumber
    await page.locator(".movie-talk").getByText(number).first().waitFor()
    watcher.close()
  }))

// proves RL-29, RL-19, RL-26
test("a person and an agent act at once, and the thread has words, calls, reasons and refusals", async () => {
  await show("both")
  await roomOf("both", async (page) => {
    const agent = await Member.join(demo, "agent", "both")
    await title(page, "Which movie")
    const talk = page.locator(".movie-talk")
    await agent.call("filter", { field: "genre", operator: "eq", value: "Comedy" }, "You like to laugh.")
    await talk.getByText("You like to laugh.").waitFor()
    await until("what the filter leaves", async () => (await page.locator(".items button").count()) === 2)
    await page.getByText("6 are hidden").waitFor()
    agent.say("agent.message", { text: "Shall I take the **first** one?" })
    await talk.getByText("Shall I take the first one?").waitFor()
    await page.fill("#composer", "The second, please.")
    await page.press("#composer", "Enter")
    const said = await until("the person's message", () => agent.heard.find(({ type }) => type === "user.message"))
    assert.deepEqual(said.payload, { text: "The second, please.", stage: "movie" })
    await talk.getByText("The second, please.").waitFor()
    await item(page, 1).click()
    await page.locator(".items .is-on", { hasText: "Goat" }).waitFor()
    await talk.getByText("chose The Mayor's Other Goat").waitFor()
    await agent.call("select", { itemId: "m2" }, "The other is longer.")
    await page.locator(".items .is-on", { hasText: "Umbrellas" }).waitFor()
    const refused = await agent.call("setQuantity", { typeId: "adult", quantity: 1 }, "Too early.")
    assert.equal(refused.payload.code, "UNKNOWN_TOOL")
    await talk.locator(".is-call", { hasText: "Too early." }).locator(".talk-refused").waitFor()
    assert.equal(await talk.locator(".is-call", { hasText: "The other is longer." }).count(), 1)
    await page.getByRole("button", { name: "Show all as it was" }).click()
    await until("all movies again", async () => (await page.locator(".items button").count()) === 8)
    agent.close()
  })
})

// proves RL-29, RL-19
test("the tools in force and each message can be seen", async () => {
  await show("seen")
  await roomOf("seen", async (page) => {
    const agent = await Member.join(demo, "agent", "seen")
    await agent.call("sort", { field: "rating", order: "desc" })
    await page.getByText("Tools in force").click()
    const tools = page.locator(".room-tool summary code")
    assert.deepEqual(await tools.allInnerTexts(), ["filter", "sort", "highlight", "augment", "clearModification", "select", "postMessage"])
    await act("seen", "select", { itemId: "m1" })
    await until("next is in force", async () => (await tools.allInnerTexts()).includes("next"))
    await page.getByText("Messages and notes").click()
    // A new row comes first and moves the others, also away from a click.
    await settled(() => page.locator(".room-log").innerText())
    await page.locator(".room-log summary", { hasText: "tool.call" }).click()
    await page.locator(".room-log details[open] .plain", { hasText: '"rating"' }).waitFor()
    await page.locator(".room-log summary", { hasText: "relay.entered" }).first().waitFor()
    agent.close()
  })
})

// proves RL-29, RL-5
test("an agent of one's own joins by the command and the token that the page makes, and talks with the person", async () => {
  await show("own")
  await roomOf("own", async (page) => {
    await page.getByText("Connect an agent of your own").click()
    await page.getByRole("button", { name: "Make a token for this room" }).click()
    const command = await page.locator(".code code").first().innerText()
    const [, token] = /printf %s '([^']+)'/.exec(command)
    await assert.rejects(Member.join(demo, "agent", "another", token))
    await assert.rejects(Member.join(demo, "host", "own", token))
    const script = join(demo.root, "agent.sh")
    writeFileSync(script, `${command} --model demo\n`)
    const env = { PATH: `${dirname(SAMOVAR)}${delimiter}${process.env.PATH}`, HOME: join(demo.root, "home") }
    const agent = spawn("sh", ["-e", script], { cwd: join(demo.root, "work"), env, stdio: "ignore", detached: true })
    try {
      await page.getByText("1 agent is there").waitFor()
      await page.fill("#composer", "book me the first comedy after six, two seats side by side")
      await page.press("#composer", "Enter")
      await page.locator(".screen h2", { hasText: /B-[0-9A-F]{8}/ }).waitFor()
      await until("the reasons are shown", async () => (await page.locator(".talk-why").count()) >= 5)
    } finally {
      process.kill(-agent.pid)
    }
  })
})

// proves RL-29, RL-13, RL-15, RL-17
test("a study is begun and ended by hand, its log is saved as it is, and it replays", async () => {
  await show("study")
  await roomOf("study", async (page) => {
    await act("study", "select", { itemId: "m1" })
    await page.locator(".items .is-on").waitFor()
    await page.locator("summary", { hasText: "Study" }).click()
    await page.getByLabel("Name of the study").fill("pilot")
    await page.getByLabel("Participant").fill("P07")
    await page.getByRole("button", { name: "Begin a study" }).click()
    await page.getByRole("button", { name: "End the study" }).waitFor()
    await until("an empty booking", async () => (await page.locator(".items .is-on").count()) === 0)
    const agent = await Member.join(demo, "agent", "study")
    await agent.call("select", { itemId: "m2" }, "=1+1")
    await agent.call("next", {}, "on we go")
    await title(page, "In which theater")
    await page.getByRole("button", { name: "End the study" }).click()
    await page.getByText("The study is over, and its log is logs/study/").waitFor()
    await title(page, "Which movie")
    const saved = async (name) => {
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name }).click()])
      return { name: download.suggestedFilename(), path: await download.path(), text: readFileSync(await download.path(), "utf8") }
    }
    const lines = await saved(/as JSON lines$/)
    const id = lines.name.replace(".jsonl", "")
    const file = `logs/study/${id}.jsonl`
    assert.equal(lines.text, readFileSync(join(demo.root, "data", file), "utf8"))
    assert.deepEqual(rowsOf(demo, file).find(({ type }) => type === "session.start").payload, { studyId: "pilot", participantId: "P07" })
    const replayed = await run(SAMOVAR, ["relay", "replay", lines.path], { env: demo.env() })
    assert.equal(replayed.code, 0, replayed.said)
    const csv = await saved(/as CSV$/)
    const { said } = await demo.command("relay", "logs", id, "--csv")
    assert.equal(csv.text, said)
    assert.match(csv.text, /'=1\+1/)
    agent.close()
  })
})

/** A screen of a host of anybody's making. */
const screenOf = (uiSpec) => ({ source: "host", uiSpec, messageHistory: [{ id: "1", type: "user", action: "\u202egnp", label: "\u202egnp", timestamp: 1 }], toolSchema: [{ name: "select", description: "", parameters: {} }] })

/** A host that answers each request with its screen. */
async function hostWith(room, uiSpec) {
  const host = await Member.join(demo, "host", room)
  const shown = { now: uiSpec }
  host.onHeard = ({ type, id }) => {
    if (type === "snapshot.get") host.say("snapshot.state", { ...screenOf(shown.now), sessionId: room }, { id: undefined, replyTo: id })
  }
  host.show = (spec) => {
    shown.now = spec
    host.say("state.updated", screenOf(spec), { id: undefined })
  }
  host.show(uiSpec)
  return host
}

// proves RL-29, FC-6
test("whatever a host shows is shown: an unknown component, markup, a megabyte, 10,000 items, and what is no screen", async () => {
  const markup = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>\u202e"
  const items = Array.from({ length: 10_000 }, (_, at) => ({ id: `i${at}`, value: `item ${at}` }))
  const host = await hostWith("strange", { stage: "s", title: markup, description: markup, visibleItems: [{ id: markup, value: markup }],
    items: [{ id: markup, genre: markup }], state: { booking: { movie: { title: markup } } }, modification: { filter: [{ field: markup, operator: markup, value: markup }] },
    display: { component: markup } })
  await roomOf("strange", async (page) => {
    await page.getByText("Another page or program is the host of this room").waitFor()
    await page.locator(".screen").getByText("This page does not know").waitFor()
    assert.equal(await page.locator(".screen img, .screen script").count(), 0)
    assert.equal(await page.evaluate(() => window.hacked), undefined)
    assert.match(await page.locator(".screen h2").innerText(), /\\u\{202e\}/)
    assert.equal(await page.locator(".talk-did").innerText(), "\\u{202e}gnp \\u{202e}gnp")
    assert.ok(await page.locator("#composer").isDisabled())
    assert.equal(await page.getAttribute("#composer", "placeholder"), "No host here takes messages now")
    assert.equal(await page.locator(".items button:enabled").count(), 0)
    host.show({ stage: "s", title: "Carousel", visibleItems: [{ id: "a", value: "one" }], display: { component: "carousel" } })
    await page.getByText("This page does not know “carousel”, so it is shown as a list.").waitFor()
    host.show({ title: "Many", visibleItems: items, display: { component: "seatMap" } })
    await title(page, "Many")
    await page.getByRole("button", { name: "Show 9,700 more" }).click()
    await page.getByRole("button", { name: "Show 8,700 more" }).waitFor()
    host.show({ title: "Long", visibleItems: [{ id: "a", value: "x".repeat(900_000) }], display: { component: "buttonGroup" } })
    await title(page, "Long")
    assert.ok((await page.locator(".screen").innerText()).length < 10_000)
    for (const [at, none] of [7, "text", [], [[]], { visibleItems: "no", items: { a: 1 }, state: [], display: 3, modification: "x" },
      { visibleItems: [null, 3, "three", [4], {}], state: { selected: {}, selectedList: 3, quantities: [1], highlighted: "a", booking: [1] } },
      { display: { component: "constructor" }, visibleItems: [{ id: "a" }], title: { a: 1 } }, { display: { component: "quantityPicker" }, visibleItems: [{}] },
    ].entries()) {
      host.show(none)
      host.show({ title: `after ${at}`, visibleItems: [] })
      await title(page, `after ${at}`)
    }
    host.show(null)
    await page.getByText("Nothing is on the screen now.").waitFor()
  })
  host.close()
})

// proves RL-29, RL-4, FC-6
test("a host that is replaced while a person clicks is a sentence and one action", async () => {
  await show("moved")
  await roomOf("moved", async (page) => {
    await title(page, "Which movie")
    await page.route("**/api/relay/rooms/moved/do", async (route) => {
      const other = await hostWith("moved", { title: "Another screen", visibleItems: [] })
      page.other = other
      await route.continue()
    })
    await item(page).click()
    await page.locator(".toast.is-error").waitFor()
    await page.getByText("Another page or program is the host of this room").waitFor()
    await title(page, "Another screen")
    page.other.close()
    await page.getByText("Nothing is shown in the room “moved”.").waitFor()
    await page.getByRole("button", { name: "Open a movie booking here" }).click()
    await title(page, "Which movie")
  })
})

// proves RL-29, FC-8
test("a booking goes by keys alone: they continue where the next question is", async () => {
  await show("keys")
  await roomOf("keys", async (page) => {
    await title(page, "Which movie")
    for (const question of ["In which theater", "On which day"]) {
      await item(page).focus()
      await page.keyboard.press("Enter")
      await page.locator(".items .is-on").waitFor()
      await page.locator(".screen").getByRole("button", { name: "Next" }).focus()
      await page.keyboard.press("Enter")
      await title(page, question)
      assert.match(await page.evaluate(() => document.activeElement.textContent), new RegExp(question))
      await page.keyboard.press("Tab")
      await item(page).and(page.locator(":focus")).waitFor()
    }
    // What an agent does takes no focus from a person who writes.
    await page.locator("#composer").focus()
    await act("keys", "prev")
    await title(page, "In which theater")
    assert.equal(await page.evaluate(() => document.activeElement.id), "composer")
  })
})

// proves RL-29, FC-6
test("a login that may only use the server books where a booking is, and has no button to open one", async () => {
  const { said } = await demo.command("open", "--print", "--scope", "use")
  const page = await browser.window(undefined, /http:\/\/\S+#login=\S+/.exec(said)[0])
  const none = async () => assert.equal(await page.getByRole("button", { name: /^(Open a movie|Let this page|Make a token)/ }).count(), 0)
  await page.evaluate(() => { location.hash = "#/movie/used" })
  await page.getByText("a booking is opened by a login that may do everything").waitFor()
  await none()
  await show("used")
  await title(page, "Which movie")
  await item(page).click()
  await page.locator(".items .is-on").waitFor()
  await none()
  assert.deepEqual(page.faults, [])
  await page.context().close()
})

// proves RL-29, FC-6
test("a room that has no place left says so, and is shown as soon as it has", async () => {
  await show("full")
  const members = []
  await assert.rejects(async () => {
    for (;;) members.push(await Member.join(demo, "agent", "full"))
  }, /members/)
  const page = await browser.open(demo)
  await page.evaluate(() => { location.hash = "#/movie/full" })
  await page.locator(".movie-screen > .refused").getByText("members").waitFor()
  members.pop().close()
  await title(page, "Which movie")
  assert.equal(await page.locator(".movie-screen > .refused").count(), 0)
  assert.deepEqual(page.faults, [])
  await page.context().close()
  for (const member of members) member.close()
})

// proves RL-29, FC-6
test("a screen that a host did not give at once is asked for again", async () => {
  const own = await Server.start({ settings: { SAMOVAR__RELAY__REPLY_TIMEOUT_SECONDS: "1" } })
  const host = await Member.join(own, "host", "slow")
  let asked = 0
  host.onHeard = ({ type, id }) => {
    if (type !== "snapshot.get") return
    asked += 1
    if (asked > 1) host.say("snapshot.state", { ...screenOf({ title: "At last", visibleItems: [] }), sessionId: "slow" }, { id: undefined, replyTo: id })
  }
  const page = await browser.open(own)
  await page.evaluate(() => { location.hash = "#/movie/slow" })
  await title(page, "At last")
  await page.context().close()
  host.close()
  await own.stop()
})

// proves RL-29, FC-6
test("each window keeps what was begun there", async () => {
  await show("one")
  await roomOf("one", async (page) => {
    const to = async (hash, text) => {
      await page.evaluate((to) => { location.hash = to }, hash)
      await until(`the box of ${hash}`, async () => (await page.inputValue("#composer").catch(() => "")) === text)
    }
    await page.fill("#composer", "for the agents of one")
    await to("#/chat", "")
    await page.fill("#composer", "for all agents")
    await to("#/movie/one", "for the agents of one")
    await to("#/chat", "for all agents")
    await page.press("#composer", "Enter")
    await page.locator(".chat-row.is-user").getByText("for all agents").waitFor()
    await to("#/movie/one", "for the agents of one")
  })
})

// proves RL-29, FC-6
test("a refused text stays in the box, and a server of another run is said, and work continues", async () => {
  const own = await Server.start()
  const kept = demo
  demo = own
  try {
    await show("again")
    await roomOf("again", async (page) => {
      await title(page, "Which movie")
      const text = "x".repeat(20_000)
      await page.fill("#composer", text)
      await page.press("#composer", "Enter")
      await page.locator(".refused").getByText("Your text is still in the box.").waitFor()
      assert.equal(await page.inputValue("#composer"), text)
      await own.kill()
      await page.getByText("The server does not answer.").first().waitFor()
      await own.up()
      await page.getByText("Nothing is shown in the room “again”.").waitFor()
      await page.getByRole("button", { name: "Open a movie booking here" }).click()
      await title(page, "Which movie")
      await wait(300)
      await item(page).click()
      await page.locator(".items .is-on").waitFor()
    })
  } finally {
    demo = kept
    await own.stop()
  }
})
