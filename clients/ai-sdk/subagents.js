// Rebuilds what called agents say, for clients of the AI SDK that talk to a Samovar server.
//
// A server never puts the text of two agents into one message. What a called agent says travels in
// transient parts `data-subagent-chunk`, which `useChat` gives to `onData` and keeps nowhere:
//
//   const agents = new Subagents({ readUIMessageStream, onChange: (messages) => setAgents(messages) })
//   const chat = useChat({ transport, onData: (part) => agents.take(part) })
//
// `messages` is a Map from the message id of an agent to its UIMessage, in the order in which the agents
// began. `childrenOf` gives the agents that one message called; each says which in
// `metadata.agent.parentMessageId`, and by which call in `metadata.agent.toolCallId`. A stored
// conversation needs none of this: its messages have the same metadata, so `tree` takes them as well.

export class Subagents {
  /** The messages so far, by their ids. */
  messages = new Map()
  #writers = new Map()
  #read
  #onChange

  /**
   * @param options.readUIMessageStream the function of that name of the package `ai`
   * @param options.onChange is called with `messages` after each change
   */
  constructor({ readUIMessageStream, onChange = () => {} }) {
    this.#read = readUIMessageStream
    this.#onChange = onChange
  }

  /** Takes a part that `onData` is given; any other part than that of an agent is left alone. */
  take(part) {
    if (part.type !== 'data-subagent-chunk') return
    const { messageId, seq, chunk } = part.data
    // A stream that is read again begins each agent again.
    if (seq === 1) this.#begin(messageId)
    this.#writers.get(messageId)?.enqueue(chunk)
    if (chunk.type === 'finish') {
      this.#writers.get(messageId)?.close()
      this.#writers.delete(messageId)
    }
  }

  /** The messages of the agents that a message called. */
  childrenOf(messageId) {
    return tree([...this.messages.values()], messageId)
  }

  #begin(messageId) {
    let writer
    const stream = new ReadableStream({ start: (controller) => (writer = controller) })
    this.#writers.set(messageId, writer)
    this.#follow(messageId, stream)
  }

  async #follow(messageId, stream) {
    for await (const message of this.#read({ stream })) {
      this.messages.set(messageId, message)
      this.#onChange(this.messages)
    }
  }
}

/** Those of some messages that belong to agents which a message called, in the order of its calls, live or stored. */
export function tree(messages, messageId) {
  const call = (one) => one.metadata.agent.toolCallId ?? ''
  return messages
    .filter((one) => one.metadata?.agent?.parentMessageId === messageId)
    .sort((one, other) => (call(one) < call(other) ? -1 : Number(call(one) > call(other))))
}
