// The page without a browser: events become what is shown, and every sentence is in the catalogue.

import assert from "node:assert/strict"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { after, test } from "node:test"
import { fileURLToPath, pathToFileURL } from "node:url"
import { bundle, sentences } from "../build.mjs"

const here = dirname(fileURLToPath(import.meta.url))
const built = mkdtempSync(join(tmpdir(), "samovar-page-unit-"))
after(() => rmSync(built, { recursive: true }))

async function load(name, folder = "src") {
  const path = `${folder}/${name}`
  await bundle(path, join(built, "out.mjs"), { entryPoints: [path], outfile: join(built, `${name}.mjs`), platform: "node" })
  return import(pathToFileURL(join(built, `${name}.mjs`)))
}

const model = await load("model.ts")
const words = await load("words.ts")
const feed = await load("feed.ts")
const uispec = await load("uispec.ts")
const logs = await load("logs.ts")
const windows = await load("windows.ts")
// The page is in the background, where nothing is drawn.
globalThis.document = { hidden: true }
globalThis.window = globalThis
const { actions, api, drafts, outcome, rights, store } = await load("unit-entry.ts", "tests")

/** A recorded session: what its feed said, what was stored, and its turns. */
const recorded = JSON.parse(readFileSync(join(here, "recorded.json"), "utf8"))

/** All that a view shows, whichever way it came. */
function shown(view) {
  const message = ({ id, role, parts, agent, turnId, void: why }) => ({ id, role, parts, agent, turnId, why })
  const turn = ({ id, name, path, state, tokens, reason, parentCall }) => ({ id, name, path, state, tokens, reason, parentCall })
  const byId = (a, b) => (a.id < b.id ? -1 : 1)
  return {
    thread: model.threadOf(view),
    branches: [...view.branches].map(([call, ids]) => [call, [...ids].sort()]).sort(),
    messages: [...view.messages.values()].map(message).sort(byId),
    calls: [...view.calls.values()].map(({ id, state, outcome, askedAt }) => ({ id, state, outcome, askedAt })).sort(byId),
    turns: [...view.turns.values()].map(turn).sort(byId),
    tree: [...model.treeOf(view)].map(([id, turns]) => [id, turns.map(({ id }) => id).sort()]).sort(),
  }
}

function live(events) {
  const view = model.emptyView(recorded.session)
  for (const event of events) model.fold(view, event)
  return view
}

function stored() {
  const view = model.emptyView(recorded.session)
  model.addStored(view, recorded.messages)
  model.addTurns(view, recorded.turns)
  return view
}

const plain = (value) => JSON.parse(JSON.stringify(value))

// proves FC-9, UI-15
test("what was followed live and what is read later are the same", () => {
  assert.deepEqual(plain(shown(live(recorded.events))), plain(shown(stored())))
})

// proves UI-15
test("a reload at any event of the turn shows the same in the end", () => {
  const whole = plain(shown(stored()))
  for (let at = 0; at < recorded.events.length; at += 7) {
    const view = live(recorded.events.slice(0, at))
    // A page that is loaded again reads all that is stored, then the turn from its start.
    for (const event of recorded.events) model.fold(view, event)
    assert.deepEqual(plain(shown(view)), whole, `at ${at}`)
    const late = stored()
    for (const event of recorded.events) model.fold(late, event)
    assert.deepEqual(plain(shown(late)), whole, `stored, then ${at}`)
  }
})

// proves UI-10
test("an attempt that failed is void, and its words are not in the next", () => {
  const view = model.emptyView(recorded.session)
  const event = (type, more) => ({ type, turn: "t", agent: "master", at: 1, ...more })
  model.fold(view, event("turn_started", { model: "m", approval: "auto" }))
  model.fold(view, event("message_started", { message: "a", role: "assistant" }))
  model.fold(view, event("delta", { message: "a", part: 0, fragment: { text: "half" } }))
  model.fold(view, event("step_reset", { iteration: 1, usage: {}, reason: "cut" }))
  model.fold(view, event("message_started", { message: "b", role: "assistant" }))
  model.fold(view, event("delta", { message: "b", part: 0, fragment: { text: "whole" } }))
  assert.equal(view.messages.get("a").void, "cut")
  assert.deepEqual(view.messages.get("b").parts, [{ type: "text", text: "whole" }])
})

// proves UI-10
test("what an attempt that failed said is gone with its turn, as it is from what is stored", () => {
  const begun = recorded.events.findIndex(({ type }) => type === "step_started")
  const { turn, agent, at } = recorded.events[begun]
  const failed = [
    { type: "message_started", message: "void", role: "assistant" },
    { type: "delta", message: "void", part: 0, fragment: { text: "half" } },
    { type: "delta", message: "void", part: 1, fragment: { call: { id: "void-call", name: "read_file" } } },
    { type: "step_reset", iteration: 1, usage: {}, reason: "cut" },
  ].map((event) => ({ ...event, turn, agent, at }))
  const events = [...recorded.events.slice(0, begun + 1), ...failed, ...recorded.events.slice(begun + 1)]
  const half = live(events.slice(0, begun + 6))
  assert.equal(half.messages.get("void").void, "cut")
  assert.deepEqual(plain(shown(live(events))), plain(shown(stored())))
})

// proves FC-9
test("a stored message is of the turn that it names, whatever the clock says", () => {
  const view = model.emptyView(recorded.session)
  model.addStored(view, recorded.messages.map((message) => ({ ...message, createdAt: 1 })))
  const turns = recorded.messages.filter(({ role }) => role !== "tool").map(({ id, metadata }) => [id, metadata.turnId])
  assert.deepEqual([...view.messages.values()].map(({ id, turnId }) => [id, turnId]).sort(), turns.sort())
})

// proves TL-11
test("only what changes a file is drawn as changes", () => {
  const diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b"
  assert.deepEqual(["write_file", "edit_file", "exec", "web_fetch", "mine"].map((tool) => outcome.isChange(tool, diff)),
    [true, true, false, false, false])
  assert.ok(!outcome.isChange("write_file", "replaces 3 bytes"))
})

// proves FC-6
test("a call of an agent that failed is a sentence, not the JSON that programs get", () => {
  assert.equal(outcome.sentenceOf('{"ok":false,"code":"unknown_agent","error":"there is no agent"}'), "there is no agent")
  for (const text of ["all is well", '{"ok":true,"text":"yes"}', "{ broken", "{}"]) assert.equal(outcome.sentenceOf(text), text)
})

// proves TL-11
test("a login has the rights that the server gives its scope", () => {
  const of = (scope) => ["look", "decide", "use", "own"].filter((right) => rights.covers(scope, right)).join(" ")
  assert.deepEqual(["read", "approve", "use", "admin", { relay: { room: "r", role: "agent" } }, undefined].map(of),
    ["look", "look decide", "look use", "look decide use own", "", ""])
})

// proves FC-6
test("each session has its own draft, and what is refused comes back above what was written meanwhile", () => {
  const words = (text, ...images) => ({ text, images })
  drafts.keepDraft("a", words("of a"))
  assert.deepEqual([drafts.draftOf("a"), drafts.draftOf("b")], [words("of a"), words("")])
  drafts.putBack("a", words("refused", "picture"))
  assert.deepEqual(drafts.draftOf("a"), words("refused\n\nof a", "picture"))
  drafts.keepDraft(drafts.NEW, words("typed while the session was made"))
  drafts.moveDraft(drafts.NEW, "c")
  assert.deepEqual([drafts.draftOf(drafts.NEW).text, drafts.draftOf("c").text], ["", "typed while the session was made"])
  drafts.keepDraft("a", words(""))
  drafts.putBack("a", words("refused"))
  assert.equal(drafts.draftOf("a").text, "refused")
})

// proves FC-6
test("what passes by is no end of a login", async () => {
  const of = (status) => new api.Refusal(status, "", "")
  assert.deepEqual([0, 400, 401, 403, 404, 410, 429, 500, 502, 503, 507].filter((status) => api.passes(of(status))),
    [0, 429, 500, 502, 503, 507])
  const answers = { me: 200 }
  globalThis.fetch = async () => new Response("{}", { status: answers.me })
  const leaves = async (status, me) => {
    answers.me = me
    store.state.phase = "ready"
    return [await store.leave(of(status)), store.state.phase]
  }
  assert.deepEqual(await leaves(401, 401), [true, "out"])
  assert.deepEqual(await leaves(401, 200), [false, "ready"])
  for (const me of [429, 503]) assert.deepEqual(await leaves(401, me), [false, "ready"])
  for (const status of [429, 500, 503]) assert.deepEqual(await leaves(status, 401), [false, "ready"])
})

// proves FC-7
test("show more misses no session, whatever was deleted, found or moved meanwhile", async () => {
  let there = Array.from({ length: 170 }, (_, at) => ({ id: `s${at}` }))
  globalThis.fetch = async (_, { body }) => {
    const { offset, limit } = JSON.parse(body)
    return new Response(JSON.stringify({ items: there.slice(offset, offset + limit), totalCount: there.length }))
  }
  const { state } = store
  state.sessions = new Map(there.slice(0, 50).map((one) => [one.id, one]))
  state.totalSessions = there.length
  state.found.set("s160", there[160])
  // Eight of those that are listed are gone before the page hears of it.
  there = there.filter((_, at) => at < 10 || at > 17)
  let presses = 0
  while (state.totalSessions > state.sessions.size && presses < 20) {
    await actions.loadMoreSessions()
    presses += 1
  }
  assert.deepEqual(there.filter(({ id }) => !state.sessions.has(id)), [])
  assert.ok(presses <= 4, `${presses}`)
})

// proves DU-7
test("a stream is read in whatever pieces its bytes come", async () => {
  const bytes = new TextEncoder().encode(': ping\ndata: {"a":"ü"}\nid: 1.1\n\ndata: {"b":2}\nid: 1.2\n\ndata: cut')
  for (let size = 1; size <= bytes.length; size += 1) {
    const body = new ReadableStream({
      start(stream) {
        for (let at = 0; at < bytes.length; at += size) stream.enqueue(bytes.slice(at, at + size))
        stream.close()
      },
    })
    const read = []
    for await (const frame of feed.frames(body)) read.push(frame)
    assert.deepEqual(read, [{ id: "1.1", data: '{"a":"ü"}' }, { id: "1.2", data: '{"b":2}' }], `pieces of ${size}`)
  }
})

// proves FC-8
test("every sentence of the code is in the catalogue, and every one of the catalogue is in the code", () => {
  const source = readdirSync(join(here, "../src")).map((name) => readFileSync(join(here, "../src", name), "utf8")).join("\n")
  const used = new Set([...source.matchAll(/\bt\("([a-z_]+)"/g)].map(([, key]) => key))
  for (const [, key] of readFileSync(join(here, "../src/index.html"), "utf8").matchAll(/\{(\w+)\}/g)) used.add(key)
  assert.deepEqual([...used].sort(), Object.keys(sentences()).sort())
})

// proves FC-8
test("no sentence is in the code itself", () => {
  for (const name of readdirSync(join(here, "../src")).filter((one) => one.endsWith(".tsx"))) {
    const source = readFileSync(join(here, "../src", name), "utf8")
    const found = [...source.matchAll(/>\s*([A-Z][a-z]+ [a-z][^<{}`]*)</g)].map(([, text]) => text)
    const named = [...source.matchAll(/(?:aria-label|title|placeholder|alt)="([^"]+)"/g)].map(([, text]) => text)
    assert.deepEqual([...found, ...named], [], name)
  }
})

// proves TL-11
test("what is hidden in a text is spelled out", () => {
  assert.equal(words.visible("a\u202eb\u200bc\u0007\n\td"), "a\\u{202e}b\\u{200b}c\\u{7}\n\td")
  assert.equal(words.visible("tea, чай, 茶 🫖"), "tea, чай, 茶 🫖")
})

// proves RL-29, FC-6
test("a screen is read from whatever a host sends", () => {
  const spec = uispec.specOf({
    stage: "movie", title: "Which?", visibleItems: [{ id: "m2", value: "Two" }, { id: "m1", value: "One", isDisabled: true }],
    items: [{ id: "m1", title: "One", genre: "Drama" }, { id: "m2", title: "Zwei", genre: "Comedy", rating: 7.5 }, { id: "m3" }],
    state: { selected: "m2", highlighted: ["m1"], booking: { movie: { id: "m2", title: "Two" }, theater: null, seats: ["A1", "A2"], tickets: [{ typeId: "adult", name: "Adult", quantity: 2 }] } },
    modification: { filter: [{ field: "genre", operator: "in", value: ["a", "b"] }], sort: { field: "rating", order: "desc" } },
    display: { valueField: "title", component: "buttonGroup" }, meta: { seatCount: 2 },
  })
  assert.deepEqual(spec.items.map(({ id, value, isDisabled, about }) => [id, value, isDisabled, about]),
    [["m2", "Two", false, ["Comedy", "7.5"]], ["m1", "One", true, ["Drama"]]])
  assert.deepEqual([[...spec.selected], [...spec.highlighted], spec.hidden], [["m2"], ["m1"], 1])
  assert.deepEqual(spec.changes, ["genre in a, b", "rating desc"])
  assert.deepEqual(spec.facts, [["movie", "Two"], ["seats", "A1, A2"], ["tickets", "2 × Adult"], ["seat count", "2"]])
  for (const none of [7, "text", [], [[null]], { items: 3, visibleItems: {}, state: [], modification: 1, display: "x" }, { visibleItems: [null, 1, [], {}] }]) {
    assert.ok(uispec.specOf(none), JSON.stringify(none))
    assert.ok(uispec.historyOf([none]).length === 1 && uispec.toolsOf([none]).length === 1)
  }
  assert.equal(uispec.specOf(null), undefined)
  const shown = uispec.historyOf([["Booked", "Your number is B-1."], ["Which movie?", ""], ["", "Nothing."]].map(([title, description]) => ({ spec: { title, description } })))
  assert.deepEqual(shown.map(({ text }) => text), ["Booked. Your number is B-1.", "Which movie?", "Nothing."])
})

// proves RL-29, FC-6
test("an address alone makes no page a host, and leads to a room that requests can name", () => {
  const of = (hash, kept = null) => windows.windowOfAddress(hash, kept)
  for (const kept of [null, undefined, 7, {}, { isHost: "yes" }]) assert.equal(of("#/movie/r/host", kept).isHost, false)
  assert.deepEqual(of("#/movie/r/host", { isHost: true }), { kind: "movie", room: "r", isHost: true })
  assert.equal(of("#/movie/r", { isHost: true }).isHost, false)
  assert.deepEqual(["", "/", "/..", "/%2e", "/a%2Fb", "/%"].map((room) => of(`#/movie${room}`).room), ["default", "default", "default", "default", "a/b", "%"])
})

// proves RL-17
test("the rows of a log stay as they are written", () => {
  const rows = ['{"a":2.0,"b":"x\\"],[{"}', "[1,[2]]", '"plain"', "12345678901234567890"]
  assert.deepEqual(logs.elementsOf(`[${rows.join(",")}]`), rows)
  assert.deepEqual(logs.elementsOf(" [ ] "), [])
  for (const [text, cell] of [["a,b", '"a,b"'], ["=1+1", "'=1+1"], ["\t=1", '"\'\t=1"'], ["＝1", "'＝1"], ['say "hi"', '"say ""hi"""'], ["1-2", "1-2"], ["a;=1", '"a;=1"']]) {
    assert.equal(logs.cellOf(text), cell)
  }
})
