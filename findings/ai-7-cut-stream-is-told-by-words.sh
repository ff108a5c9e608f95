#!/usr/bin/env bash
# Version 7 of the AI SDK asks for a stream again that was cut, if the words of the error are a browser's, and
# takes "nothing runs" for the end of the answer.
#
# npm ai 7.0.173. When a page with `resume: true` comes into view, `useChat` resumes a response that lost its
# connection. One would expect that to depend on the connection. It depends on the message of the error: with
# "network error" the chat asks again, with "terminated", as Node's fetch says of the same cut, it never does.
# And where the answer ended meanwhile, so that the stream's address says 204, the chat drops the error and is
# "ready" with the half text, whose part is still marked "streaming"; it does not ask a second time.
#
# Seen: as below. A server can only have the whole message ready in its history, and a page has to load that.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund ai7@npm:ai@7.0.173 2>/dev/null
cat >words.mjs <<'JS'
import { createServer } from 'node:http'
import { AbstractChat, DefaultChatTransport } from 'ai7'

const chunks = [
  { type: 'start', messageId: 'm' },
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta: 'half an ans' },
]
let asked = 0
const server = createServer((request, response) => {
  request.resume()
  if (request.method === 'GET') {
    asked += 1
    return response.writeHead(204).end()
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-vercel-ai-ui-message-stream': 'v1' })
  response.write(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(''))
  setTimeout(() => response.destroy(), 100)
})
await new Promise((done) => server.listen(0, '127.0.0.1', done))
const api = `http://127.0.0.1:${server.address().port}/`

/** Fetches as a browser does, whose bodies fail in other words. */
async function asInBrowser(...request) {
  const response = await fetch(...request)
  if (!response.body) return response
  const reader = response.body.getReader()
  const body = new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        done ? controller.close() : controller.enqueue(value)
      } catch {
        controller.error(new TypeError('network error'))
      }
    },
  })
  return new Response(body, response)
}

for (const [name, how] of [['node', fetch], ['browser', asInBrowser]]) {
  const state = {
    status: 'ready',
    error: undefined,
    messages: [],
    pushMessage: (message) => state.messages.push(message),
    popMessage: () => state.messages.pop(),
    replaceMessage: (at, message) => (state.messages[at] = structuredClone(message)),
    snapshot: (value) => structuredClone(value),
  }
  class Chat extends AbstractChat {}
  const chat = new Chat({ id: 'c', state, transport: new DefaultChatTransport({ api, fetch: how }) })
  asked = 0
  await chat.sendMessage({ text: 'hello' })
  // What the hook of the React package does when its page comes into view, twice.
  for (let times = 0; times < 2; times++) await chat['~resumeStreamIfDisconnected']()
  const part = chat.lastMessage.parts.find((part) => part.type === 'text')
  console.log(name, 'asked', asked, chat.status, String(chat.error), part.text, part.state)
}
server.close()
JS
node words.mjs 2>/dev/null | tee seen
grep -qx "node asked 0 error TypeError: terminated half an ans streaming" seen
grep -qx "browser asked 1 ready undefined half an ans streaming" seen
