// A page with `useChat` of the AI SDK, unchanged, and the agents that a message called below it.
//
// `npm ci` and `npm start` build and serve it, and a server lets it in with
// SAMOVAR__SERVER__ORIGINS=http://127.0.0.1:5173 samovar serve. Its address and token are in the page's:
// http://127.0.0.1:5173/examples/use-chat/#http://127.0.0.1:4747,TOKEN
import { useChat } from '@ai-sdk/react'
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  readUIMessageStream,
  type UIMessage,
} from 'ai'
import { useEffect, useMemo, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { Subagents, tree } from '../../clients/ai-sdk/subagents.js'

const [server = '', token = ''] = location.hash.slice(1).split(',')
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
const id = sessionStorage.getItem('chat') ?? crypto.randomUUID()
sessionStorage.setItem('chat', id)

const post = (path: string, body: unknown) =>
  fetch(server + path, { method: 'POST', headers, body: JSON.stringify(body) })

function Chat({ stored }: { stored: UIMessage[] }) {
  const [live, setLive] = useState<UIMessage[]>([])
  const agents = useMemo(
    () =>
      new Subagents({
        readUIMessageStream,
        onChange: (messages: Map<string, UIMessage>) => setLive([...messages.values()]),
      }),
    [],
  )
  const chat = useChat({
    id,
    // What called agents said is shown below their callers.
    messages: stored.filter((message) => depth(message) === 0),
    transport: new DefaultChatTransport({ api: `${server}/api/chat`, headers }),
    resume: true,
    onData: (part) => agents.take(part),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  const known = [...stored.filter((one) => !live.some((other) => other.id === one.id)), ...live]
  const [text, setText] = useState('')
  const isBusy = chat.status === 'submitted' || chat.status === 'streaming'
  return (
    <>
      {chat.messages.map((message) => (
        <Message key={message.id} message={message} known={known} decide={chat.addToolApprovalResponse} />
      ))}
      {chat.error && <p role="alert">{chat.error.message}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void chat.sendMessage({ text })
          setText('')
        }}
      >
        <input value={text} onChange={(event) => setText(event.target.value)} aria-label="Message" />
        {isBusy ? (
          // Closing the connection stops nothing, so the server is told.
          <button type="button" onClick={() => void post(`/api/chat/${id}/stop`, {})}>
            Stop
          </button>
        ) : (
          <button disabled={text.trim() === ''}>Send</button>
        )}
      </form>
    </>
  )
}

type Decide = (answer: { id: string; approved: boolean }) => unknown

function Message({ message, known, decide }: { message: UIMessage; known: UIMessage[]; decide: Decide }) {
  return (
    <article className={message.role}>
      <small>{message.role === 'user' ? 'You' : agent(message)?.displayName}</small>
      {message.parts.map((part, at) => (
        <Part key={at} part={part} decide={decide} />
      ))}
      {tree(known, message.id).map((child: UIMessage) => (
        <Message key={child.id} message={child} known={known} decide={decide} />
      ))}
    </article>
  )
}

function Part({ part, decide }: { part: UIMessage['parts'][number]; decide: Decide }) {
  if (part.type === 'text') return <div>{part.text}</div>
  if (part.type === 'reasoning') return <small>{part.text}</small>
  if (part.type === 'data-approval') {
    const { approvalId, toolName, decision } = part.data as Record<string, string>
    const answer = (decision: string) => void post(`/api/approvals/${approvalId}`, { decision })
    return decision ? null : <Ask about={toolName} answer={(yes) => answer(yes ? 'once' : 'deny')} />
  }
  if (!('toolCallId' in part)) return null
  const name = part.type.replace(/^tool-/, '')
  if (part.state === 'approval-requested') {
    const { id } = part.approval
    return <Ask about={`${name} ${JSON.stringify(part.input)}`} answer={(approved) => decide({ id, approved })} />
  }
  return (
    <div>
      <small>
        {name}: {part.state}
      </small>
    </div>
  )
}

function Ask({ about, answer }: { about?: string; answer: (yes: boolean) => void }) {
  return (
    <div>
      May it run? <code>{about}</code> <button onClick={() => answer(true)}>Allow</button>{' '}
      <button onClick={() => answer(false)}>Deny</button>
    </div>
  )
}

const agent = (message: UIMessage) =>
  (message.metadata as { agent?: { displayName: string; depth: number } } | undefined)?.agent
const depth = (message: UIMessage) => agent(message)?.depth ?? 0

function Page() {
  const [stored, setStored] = useState<UIMessage[]>()
  useEffect(() => {
    void fetch(`${server}/api/chat/${id}/messages`, { headers })
      .then((answer) => answer.json())
      .then(setStored)
  }, [])
  return stored ? <Chat stored={stored} /> : <p>Loading…</p>
}

createRoot(document.getElementById('root')!).render(<Page />)
