// The page as the host of a room, in a real browser.

import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { book, example, Member, rowsOf, run } from "./agents.mjs"
import { afterReloads, afterSleeps, afterTwoMounts, hostsOf, openHost } from "./hosts.mjs"
import { Browser, SAMOVAR, Server, until, wait } from "./lib.mjs"
import { join } from "node:path"

let browser, demo, agent

before(async () => {
  browser = await Browser.start()
  demo = await Server.start()
  agent = await example()
})
after(async () => {
  await browser?.stop()
  await demo?.stop()
})

const isHost = (page) => page.getByText("This page is the host of").waitFor()
const title = (page, text) => page.locator(".screen h2", { hasText: text }).waitFor()

/** A page that is the host of a room, closed after the test, that ran into no fault. */
async function hostOf(room, work) {
  const page = await openHost(browser, demo, room)
  await work(page)
  assert.deepEqual(page.faults, [])
  await page.context().close()
}

// proves RL-29, RL-7, RL-10
test("what agents ask of a page is answered under their ids, and what happens there goes to all of them", () =>
  hostOf("alone", async (page) => {
    const [one, other] = [await Member.join(demo, "agent", "alone"), await Member.join(demo, "agent", "alone")]
    await page.getByText("2 agents are there").waitFor()
    const [snapshot, refused] = [await one.ask("snapshot.get"), await other.call("next")]
    assert.equal(snapshot.type, "snapshot.state")
    assert.equal(snapshot.payload.uiSpec.stage, "movie")
    assert.equal(refused.payload.code, "UNKNOWN_TOOL")
    const result = await one.call("select", { itemId: "m2" }, "It is short.")
    assert.deepEqual([result.type, result.payload.ok], ["tool.result", true])
    const updated = await until("the update", () => other.heard.findLast(({ type }) => type === "state.updated"))
    assert.equal(updated.payload.uiSpec.state.selected, "m2")
    assert.equal(updated.replyTo, undefined)
    await page.getByText("It is short.").waitFor()
    one.say("agent.message", { text: "I chose one." })
    await page.locator(".movie-talk").getByText("I chose one.").waitFor()
    await page.locator(".items button:enabled").first().click()
    await until("the person's choice", () => one.heard.findLast(({ type }) => type === "state.updated").payload.uiSpec.state.selected === "m1")
    await page.fill("#composer", "Mine is better.")
    await page.press("#composer", "Enter")
    const said = await until("the person's words", () => other.heard.find(({ type }) => type === "user.message"))
    assert.deepEqual(said.payload, { text: "Mine is better.", stage: "movie" })
    one.close()
    other.close()
  }))

// proves RL-29, RL-13, RL-15, RL-17
test("an agent that was written for any host books at a page, and the log of its booking replays", () =>
  hostOf("books", async (page) => {
    const booked = await book(agent, demo, "books")
    assert.equal(booked.code, 0, booked.said)
    assert.match(booked.said, /booked: .*B-[0-9A-F]{8}/)
    await title(page, "Which movie")
    const studies = await demo.call("/api/relay/logs")
    const of = (room) => studies.filter((study) => study.room === room)
    assert.deepEqual([of("books").length, of("books~page").length], [1, 1])
    const file = join(demo.root, "data/logs/study", `${of("books~page")[0].id}.jsonl`)
    const replayed = await run(SAMOVAR, ["relay", "replay", file], { env: demo.env() })
    assert.equal(replayed.code, 0, replayed.said)
  }))

// proves RL-29
test("a page that is mounted twice, loaded again, or asleep for an hour joins once and replaces nothing", async () => {
  for (const [again, joins] of [[afterTwoMounts, 0], [afterReloads, 1], [afterSleeps, 1]]) {
    const room = again.name.toLowerCase()
    const times = again === afterTwoMounts ? 25 : 6
    await again(browser, demo, room, times)
    assert.deepEqual(hostsOf(demo, room), { joined: 1 + joins * times, replaced: 0 }, room)
  }
})

// proves RL-29
test("a glance at another window gives no place away", () =>
  hostOf("glance", async (page) => {
    await page.getByRole("link", { name: "Global chat" }).first().click()
    await page.locator(".chat-note").waitFor()
    await wait(400)
    await page.goBack()
    await isHost(page)
    assert.deepEqual(hostsOf(demo, "glance"), { joined: 1, replaced: 0 })
  }))

// proves RL-29, RL-4, FC-6
test("of two pages that want to be the host one is, until a person lets the other take its place", () =>
  hostOf("two", async (first) => {
    await first.locator(".items button").first().click()
    await first.locator(".items .is-on").waitFor()
    const second = await openHost(browser, demo, "two", "This room has a host already")
    assert.equal(await second.locator(".items button:enabled").count(), 0)
    assert.deepEqual(hostsOf(demo, "two"), { joined: 1, replaced: 0 })
    await second.getByRole("button", { name: "Take its place" }).click()
    await isHost(second)
    await second.locator(".items .is-on").waitFor()
    await first.getByText("Another host has taken this room.").waitFor()
    assert.equal(await first.locator(".items button:enabled").count(), 0)
    await second.locator(".items button:enabled").nth(1).click()
    await first.locator(".items button.is-on", { hasText: "Umbrellas" }).waitFor()
    await first.getByRole("button", { name: "Take its place" }).click()
    await isHost(first)
    await second.getByText("Another host has taken this room.").waitFor()
    assert.deepEqual(hostsOf(demo, "two"), { joined: 3, replaced: 2 })
    assert.deepEqual(second.faults, [])
    await second.context().close()
  }))

const roomOf = async (server, room) => (await server.call("/api/relay/rooms")).find((one) => one.room === room)

// proves RL-29
test("a link makes no page a host, a click does, and so do a reload and going back until it stops being the host", async () => {
  const page = await browser.open(demo)
  await page.goto(`${demo.base}/#/movie/linked/host`)
  await page.reload()
  await page.getByText("Nothing is shown in the room “linked”.").waitFor()
  await wait(500)
  assert.equal(await roomOf(demo, "linked"), undefined)
  await page.getByRole("button", { name: "Let this page be the host" }).click()
  await isHost(page)
  await page.reload()
  await isHost(page)
  await page.getByRole("link", { name: "Global chat" }).first().click()
  await page.locator(".chat-note").waitFor()
  await until("the room has no host", async () => (await roomOf(demo, "linked"))?.host === undefined)
  await page.goBack()
  await isHost(page)
  await page.getByRole("link", { name: "Stop being the host" }).click()
  await page.getByText("Nothing is shown in the room “linked”.").waitFor()
  await page.goBack()
  assert.equal(await page.evaluate(() => history.state), null)
  await wait(500)
  assert.equal((await roomOf(demo, "linked"))?.host, undefined)
  assert.deepEqual(page.faults, [])
  await page.context().close()
})

// proves RL-29, RL-4
test("of two pages of a browser that are restored at the same moment one is the host, and none is replaced", async () => {
  const first = await openHost(browser, demo, "restored")
  const second = await browser.window(first.context(), `${demo.base}/#/movie/restored/host`)
  await second.getByRole("button", { name: "Let this page be the host" }).click()
  await second.getByText("This room has a host already").waitFor()
  const before = hostsOf(demo, "restored")
  // Each hears late who was there, when the other could have joined.
  for (const page of [first, second]) {
    await page.goto("about:blank")
    await page.route("**/api/relay/rooms", async (route) => {
      const response = await route.fetch()
      await wait(600)
      await route.fulfill({ response }).catch(() => undefined)
    })
  }
  await until("the room has no host", async () => (await roomOf(demo, "restored"))?.host === undefined)
  await Promise.all([first, second].map((page) => page.goBack()))
  await until("one is the host", async () => (await Promise.all([first, second].map((page) => page.getByText("This page is the host of").count()))).includes(1))
  await until("the other is not", async () => (await Promise.all([first, second].map((page) => page.getByText("This room has a host already").count()))).includes(1))
  assert.deepEqual(hostsOf(demo, "restored"), { joined: before.joined + 1, replaced: before.replaced })
  await first.context().close()
})

// proves RL-29
test("a page that is loaded again waits for a server that notices late, and replaces nothing", async () => {
  const page = await openHost(browser, demo, "late")
  await page.goto("about:blank")
  await until("the room has no host", async () => (await roomOf(demo, "late"))?.host === undefined)
  const earlier = await Member.join(demo, "host", "late")
  await page.goBack()
  await page.getByText("If that is this page's earlier connection, it ends within a minute").waitFor()
  earlier.close()
  await isHost(page)
  assert.deepEqual(hostsOf(demo, "late"), { joined: 3, replaced: 0 })
  await page.context().close()
})

// proves RL-29, RL-8
test("without its page a room has no host, and with it again the booking is as it was", async () => {
  const watcher = await Member.join(demo, "agent", "leaves")
  await hostOf("leaves", async (page) => {
    await page.locator(".items button").nth(2).click()
    await page.locator(".items .is-on").waitFor()
    await page.getByRole("link", { name: "Stop being the host" }).click()
    await page.getByText("Nothing is shown in the room “leaves”.").waitFor()
    assert.equal((await watcher.call("next")).payload.code, "SESSION_NOT_ACTIVE")
    await page.getByRole("button", { name: "Let this page be the host" }).click()
    await isHost(page)
    await page.locator(".items button.is-on", { hasText: "Quiet Orbit" }).waitFor()
    assert.equal((await watcher.call("next")).payload.ok, true)
  })
  watcher.close()
})

// proves RL-29, FC-6
test("a server of another run has the page as its host again, with a booking that begins", () =>
  hostOf("rises", async (page) => {
    await page.locator(".items button").first().click()
    await page.locator(".items .is-on").waitFor()
    await demo.kill()
    await page.getByText("The server does not answer.").first().waitFor()
    await demo.up()
    await isHost(page)
    await title(page, "Which movie")
    await until("an empty booking", async () => (await page.locator(".items .is-on").count()) === 0)
    const watcher = await Member.join(demo, "agent", "rises")
    assert.equal((await watcher.call("select", { itemId: "m3" })).payload.ok, true)
    await page.locator(".items button.is-on", { hasText: "Quiet Orbit" }).waitFor()
    watcher.close()
  }))

// proves RL-29, RL-17, RL-23
test("twenty bookings, by hand, by the built-in agent and by one from outside at once, are made, and their logs replay", async () => {
  const server = await Server.start({ settings: { SAMOVAR__RELAY__AGENT_ROOMS: "demo-1,demo-2,demo-3,demo-4,demo-5,demo-6" } })
  const rooms = (name, count) => Array.from({ length: count }, (_, at) => `${name}-${at + 1}`)
  const [hands, demos, outside] = [rooms("hand", 8), rooms("demo", 6), rooms("out", 6)]
  for (const room of [...hands, ...demos, ...outside]) await server.call(`/api/relay/rooms/${room}/host`, { kind: "movie" })
  const page = await browser.open(server)
  const byHand = async () => {
    for (const room of hands) await bookByHand(page, room)
  }
  const byDemo = demos.map(async (room) => {
    await until("the built-in agent", async () => (await server.call("/api/relay/rooms")).find((one) => one.room === room)?.agents > 0)
    await server.call(`/api/relay/rooms/${room}/say`, { text: "book me the first comedy after six, two seats side by side" })
  })
  const fromOutside = outside.map(async (room) => {
    const { code, said } = await book(agent, server, room)
    assert.equal(code, 0, said)
  })
  await Promise.all([byHand(), ...byDemo, ...fromOutside])
  const booked = (study) => rowsOf(server, `logs/study/${study.id}.jsonl`).some(({ type, payload }) => type === "state.updated" && payload.uiSpec === null)
  const studies = await until("twenty bookings", async () => {
    const all = await server.call("/api/relay/logs")
    return all.filter(booked).length === 20 && all
  }, 90_000)
  assert.deepEqual(studies.map(({ room }) => room).sort(), [...hands, ...demos, ...outside].sort())
  for (const { id, room } of studies) {
    const replayed = await run(SAMOVAR, ["relay", "replay", join(server.root, "data/logs/study", `${id}.jsonl`)], { env: server.env() })
    assert.equal(replayed.code, 0, `${room}: ${replayed.said}`)
  }
  assert.deepEqual(page.faults, [])
  await page.context().close()
  await server.stop()
})

/** Begins a study in a room, and books what is first. */
async function bookByHand(page, room) {
  await page.evaluate((hash) => { location.hash = hash }, `#/movie/${room}`)
  await until("the room", async () => (await page.getByLabel("Room").inputValue().catch(() => "")) === room)
  await title(page, "Which movie")
  if (!(await page.getByRole("button", { name: "Begin a study" }).isVisible())) await page.locator(".room-panels summary", { hasText: "Study" }).click()
  await page.getByRole("button", { name: "Begin a study" }).click()
  await page.getByRole("button", { name: "End the study" }).waitFor()
  const next = (shown) => page.locator(".screen").getByRole("button", { name: "Next" }).click().then(() => title(page, shown))
  for (const question of ["In which theater", "On which day", "At which time", "Which seats"]) {
    await page.locator(".items button:enabled").first().click()
    await page.locator(".items .is-on").waitFor()
    await next(question)
  }
  await page.locator(".seat-row button:enabled").first().click()
  await page.locator(".seat-row .is-on").waitFor()
  await next("Which tickets")
  await page.locator(".quantities li").first().getByRole("button", { name: /more$/ }).click()
  await page.locator(".quantities output").first().getByText("1").waitFor()
  await next("Do you want to book this?")
  await page.getByRole("button", { name: "Book", exact: true }).click()
  await page.locator(".screen h2", { hasText: /B-[0-9A-F]{8}/ }).waitFor()
}
