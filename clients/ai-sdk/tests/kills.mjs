// A page that talks while its server is killed and started again: what it shows in the end is what an
// undisturbed page shows. Ends when its input does.
// node kills.mjs VERSION FILE_WITH_THE_ADDRESS TOKEN
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { open, plain, sleep } from './chat.mjs'

const [version, file, token] = process.argv.slice(2)
const sdk = await import(version)
const view = version === 'ai7' ? 'protocol=v7' : ''
const id = `killed-${version}`
let ended = false
process.stdin.on('end', () => (ended = true)).resume()

/** Asks whichever server is there. */
const there = async (input, init) => {
  const { pathname, search } = new URL(input, 'http://none')
  const response = await fetch(`${readFileSync(file, 'utf8')}${pathname}${search}`, init)
  return response.body ? new Response(inBrowserWords(response.body), response) : response
}

/** A body that fails in a browser's words, by which version 7 knows that its connection was lost. */
function inBrowserWords(body) {
  const reader = body.getReader()
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        done ? controller.close() : controller.enqueue(value)
      } catch {
        controller.error(new TypeError('network error'))
      }
    },
    cancel: (why) => reader.cancel(why),
  })
}
const load = (messages) =>
  open(sdk, { base: 'http://none', token, id, view, messages, fetch: there }).chat

/** The answer at a path, asked for until there is one. */
async function get(path) {
  for (;;) {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await there(path, { headers }).catch(() => undefined)
    if (answer?.status === 204) return undefined
    if (answer?.ok) return answer.json().catch(() => get(path))
    await sleep(20)
  }
}

const stored = () => get(`/api/chat/${id}/messages?limit=1000`)
const own = (messages) => messages.filter((one) => one.metadata?.agent?.depth !== 1)

/** A message without its ids, which differ from turn to turn, and without attempts that are void. */
function shown(message) {
  const { parts } = plain({ ...message, parts: withoutVoid(message.parts) })
  for (const part of parts) {
    for (const name of ['toolCallId', 'callProviderMetadata']) delete part[name]
    if (part.output?.messageId) part.output.messageId = 'its own'
  }
  return parts
}

/** In version 6 a void attempt stays, and a part after it says that it is void. */
function withoutVoid(parts) {
  const kept = []
  for (const part of parts) {
    if (part.type === 'data-retry') kept.splice(kept.findLastIndex((one) => one.type === 'step-start') + 1)
    else kept.push(part)
  }
  return kept
}

/** The page comes into view: from version 7.0.130 on the hook asks then for a stream that was cut. */
const look = (chat) => chat['~resumeStreamIfDisconnected']?.({ shouldResume: () => true })

let pages = 0
let looks = 0
/** A page as it is loaded: what is stored, and then what runs. */
async function reload() {
  pages++
  const chat = load(own(await stored()))
  await chat.resumeStream()
  return chat
}

/** Loads the page until nothing runs, and gives what it shows. */
async function settled(question) {
  for (;;) {
    const tabs = await Promise.all(Array.from({ length: 6 }, reload))
    const kept = own(await stored())
    const whole = kept.at(-1)?.role === 'assistant' && kept.at(-2)?.id === question
    const live = tabs.every((one) => one.status === 'ready' && one.lastMessage?.metadata?.reason)
    if (whole && live && kept.at(-1).metadata.reason !== undefined) return { tabs, kept }
    if (!kept.some((one) => one.id === question)) return undefined
    await sleep(20)
  }
}

let expected
let turns = 0
while (!ended) {
  const chat = load(own(await stored()))
  await chat.sendMessage({ text: 'work' })
  for (let tries = 0; chat.status === 'error' && tries < 20; tries++) {
    await sleep(20)
    await look(chat)
    looks++
  }
  const question = chat.messages.findLast((one) => one.role === 'user').id
  const found = await settled(question)
  if (!found) continue
  await Promise.all(found.tabs.map(look))
  const answers = [...found.tabs.map((tab) => tab.lastMessage), found.kept.at(-1)]
  // A turn that ended while its server was away is shown when the page is loaded again.
  if (chat.lastMessage?.metadata?.reason) answers.push(chat.lastMessage)
  expected ??= shown(answers[0])
  answers.forEach((answer, at) =>
    assert.deepEqual(shown(answer), expected, `${at}: ${JSON.stringify(answer)}\nis not ${JSON.stringify(expected)}`))
  const ids = found.kept.map((one) => one.id)
  assert.equal(new Set(ids).size, ids.length)
  console.log(`${++turns} turns, ${pages} pages, looked at ${looks} times`)
}
assert.equal(own(await stored()).length, 2 * turns)
