#!/usr/bin/env bash
# A UI message stream that stops in the middle looks like one that ended well to clients of the AI SDK.
#
# npm ai 5.0.277, 6.0.326 and 7.0.173. The streams end with a `finish` chunk and `data: [DONE]`, so one would
# expect a client to report a response that ends without them, as when a proxy closes it. The chat's status
# becomes "ready", no error is set, and the text is what came so far.
#
# Seen: each version says "ready", no error, and the half text, whose part is still marked "streaming".
# A server must send an `error` chunk whenever it cannot continue.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund ai5@npm:ai@5.0.277 ai6@npm:ai@6.0.326 ai7@npm:ai@7.0.173 2>/dev/null
cat >cut.mjs <<'JS'
import { createServer } from 'node:http'

const chunks = [
  { type: 'start', messageId: 'm' },
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta: 'half an ans' },
]
const server = createServer((request, response) => {
  request.resume()
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-vercel-ai-ui-message-stream': 'v1' })
  response.end(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(''))
})
await new Promise((done) => server.listen(0, '127.0.0.1', done))
const api = `http://127.0.0.1:${server.address().port}/`

for (const version of ['ai5', 'ai6', 'ai7']) {
  const { AbstractChat, DefaultChatTransport } = await import(version)
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
  const chat = new Chat({ id: 'c', state, transport: new DefaultChatTransport({ api }) })
  await chat.sendMessage({ text: 'hello' })
  const part = chat.lastMessage.parts.find((part) => part.type === 'text')
  console.log(version, chat.status, String(chat.error), part.text, part.state)
}
server.close()
JS
node cut.mjs 2>/dev/null | tee seen
for version in ai5 ai6 ai7; do
  grep -qx "$version ready undefined half an ans streaming" seen
done
