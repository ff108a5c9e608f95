#!/usr/bin/env bash
# A second `start` in one UI message stream of the AI SDK keeps what the first message had, in a chat; a bare
# reader of the same stream starts over.
#
# npm ai 5.0.277, 6.0.326 and 7.0.173. The protocol has one chunk that names a message, `start` with a
# `messageId`, so a server with several agents would send one `start` for each. A chat (`AbstractChat`, which
# `useChat` wraps) renames the message that it is building and continues: the second message has the text of
# both. `readUIMessageStream` of the same package drops the first text.
#
# Seen: in each version the chat has the answers "one" with "from one", and "two" with "from one" and
# "from two"; the reader ends with "two" and "from two" alone. No error is reported.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund ai5@npm:ai@5.0.277 ai6@npm:ai@6.0.326 ai7@npm:ai@7.0.173 2>/dev/null
cat >read.mjs <<'JS'
const said = (id) => [
  { type: 'start', messageId: id },
  { type: 'text-start', id: `text-${id}` },
  { type: 'text-delta', id: `text-${id}`, delta: `from ${id}` },
  { type: 'text-end', id: `text-${id}` },
]
const chunks = [...said('one'), ...said('two'), { type: 'finish' }]
const stream = () =>
  new ReadableStream({
    start(controller) {
      chunks.forEach((chunk) => controller.enqueue(chunk))
      controller.close()
    },
  })
const texts = (message) => message.parts.filter((part) => part.type === 'text').map((part) => part.text)

for (const version of ['ai5', 'ai6', 'ai7']) {
  const { AbstractChat, readUIMessageStream } = await import(version)
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
  const chat = new Chat({ id: 'c', state, transport: { sendMessages: async () => stream() } })
  await chat.sendMessage({ text: 'hello' })
  const answers = chat.messages.filter((message) => message.role === 'assistant')
  let last
  for await (const message of readUIMessageStream({ stream: stream() })) last = message
  const seen = [answers.map((one) => [one.id, texts(one)]), String(chat.error), [last.id, texts(last)]]
  console.log(version, JSON.stringify(seen))
}
JS
node read.mjs 2>/dev/null | tee seen
for version in ai5 ai6 ai7; do
  expected="$version"' [[["one",["from one"]],["two",["from one","from two"]]],"undefined",["two",["from two"]]]'
  grep -Fqx "$expected" seen
done
