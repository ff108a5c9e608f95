// A chat as useChat drives it, over any version of the AI SDK.
import { Subagents } from '../subagents.js'

export class ChatState {
  status = 'ready'
  error = undefined
  messages = []
  constructor(messages) {
    this.messages = messages
  }
  pushMessage = (message) => {
    this.messages = this.messages.concat(message)
  }
  popMessage = () => {
    this.messages = this.messages.slice(0, -1)
  }
  replaceMessage = (index, message) => {
    this.messages = [
      ...this.messages.slice(0, index),
      this.snapshot(message),
      ...this.messages.slice(index + 1),
    ]
  }
  snapshot = (value) => structuredClone(value)
}

/** Opens a chat: what the hook of the React package makes, without React. */
export function open(sdk, { base, token, id, view = '', messages = [], fetch, ...more }) {
  class Chat extends sdk.AbstractChat {
    constructor(init) {
      super({ ...init, state: new ChatState(init.messages) })
    }
  }
  const data = []
  const agents = new Subagents({ readUIMessageStream: sdk.readUIMessageStream })
  const transport = new sdk.DefaultChatTransport({
    api: `${base}/api/chat`,
    headers: { authorization: `Bearer ${token}`, 'x-samovar-ui': view },
    fetch,
  })
  const chat = new Chat({
    id,
    transport,
    messages,
    onData: (part) => {
      data.push(part)
      agents.take(part)
    },
    ...more,
  })
  return { chat, data, agents }
}

export const text = (message) =>
  message.parts.filter((part) => part.type === 'text').map((part) => part.text).join('')

/** A message without what only a live or only a stored one has. */
export function plain(message) {
  const parts = JSON.parse(JSON.stringify(message.parts))
  for (const part of parts) {
    delete part.id
    if (part.type !== 'data-approval') delete part.approval
  }
  return { id: message.id, role: message.role, parts: parts.filter((part) => !part.type.startsWith('data-')) }
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms))

/** Waits until something is true. */
export async function until(what, is) {
  for (let n = 0; n < 2000; n++) {
    const found = await is()
    if (found) return found
    await sleep(10)
  }
  throw new Error(`never: ${what}`)
}
