import type { UIMessage, readUIMessageStream } from 'ai'

/** Rebuilds what called agents say from the transient parts of their callers' streams. */
export class Subagents {
  constructor(options: {
    readUIMessageStream: typeof readUIMessageStream
    onChange?: (messages: Map<string, UIMessage>) => void
  })
  /** The messages so far, by their ids. */
  messages: Map<string, UIMessage>
  /** Takes a part that `onData` is given. */
  take(part: { type: string; data?: unknown }): void
  /** The messages of the agents that a message called. */
  childrenOf(messageId: string): UIMessage[]
}

/** Those of some messages that belong to agents which a message called, live or stored. */
export function tree(messages: UIMessage[], messageId: string): UIMessage[]
