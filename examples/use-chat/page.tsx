// A page with `useChat` of the AI SDK, unchanged, and the agents that a message called below it.
//
// README.md says how to run it. The address and the token of the server are in its own address, after the #.
import { useChat, type UseChatHelpers } from '@ai-sdk/react'
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
        <Message key={message.id} message={message} known={known} chat={chat} />
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

type Helpers = UseChatHelpers<UIMessage>

function Message({ message, known, chat }: { message: UIMessage; known: UIMessage[]; chat: Helpers }) {
  return (
    <article className={message.role}>
      <small>{message.role === 'user' ? 'You' : agent(message)?.displayName}</small>
      {message.parts.map((part, at) => (
        <Part key={at} part={part} chat={chat} />
      ))}
      {tree(known, message.id).map((child: UIMessage) => (
        <Message key={child.id} message={child} known={known} chat={chat} />
      ))}
    </article>
  )
}

function Part({ part, chat }: { part: UIMessage['parts'][number]; chat: Helpers }) {
  if (part.type === 'text') return <div>{part.text}</div>
  if (part.type === 'reasoning') return <small>{part.text}</small>
  if (part.type === 'data-approval') {
    const { approvalId, toolName, decision } = part.data as Record<string, string>
    const answer = (yes: boolean) => void post(`/api/approvals/${approvalId}`, { decision: yes ? 'once' : 'deny' })
    return decision ? null : <Ask about={toolName} answer={answer} />
  }
  if (part.type === 'data-question') {
    const { callId, question, answer } = part.data as Record<string, string>
    return answer ? null : <Ask about={question} reply={(result) => void post(`/api/calls/${callId}`, { result })} />
  }
  if (!('toolCallId' in part)) return null
  const name = part.type.replace(/^tool-/, '')
  if (part.state === 'approval-requested') {
    const { id } = part.approval
    return <Ask about={`${name} ${JSON.stringify(part.input)}`} answer={(approved) => chat.addToolApprovalResponse({ id, approved })} />
  }
  if (name === 'ask_user' && part.state === 'input-available') {
    const { toolCallId } = part
    const reply = (output: string) =>
      void Promise.resolve(chat.addToolOutput({ tool: name, toolCallId, output })).then(() => chat.sendMessage())
    return <Ask about={(part.input as { question: string }).question} reply={reply} />
  }
  return <small style={{ display: 'block' }}>{`${name}: ${part.state}`}</small>
}

type Asked = { about?: string; answer?: (yes: boolean) => void; reply?: (text: string) => void }

function Ask({ about, answer, reply }: Asked) {
  const [text, setText] = useState('')
  return (
    <div>
      {answer && 'May it run? '} <code>{about}</code> {answer && <button onClick={() => answer(true)}>Allow</button>}{' '}
      {answer && <button onClick={() => answer(false)}>Deny</button>}
      {reply && <input value={text} onChange={(event) => setText(event.target.value)} aria-label="Answer" />}{' '}
      {reply && <button onClick={() => reply(text)}>Answer</button>}
    </div>
  )
}

const agent = (message: UIMessage) =>
  (message.metadata as { agent?: { displayName: string; depth: number } } | undefined)?.agent
const depth = (message: UIMessage) => agent(message)?.depth ?? 0

async function load(): Promise<UIMessage[]> {
  const answer = await fetch(`${server}/api/chat/${id}/messages`, { headers })
  if (!answer.ok) throw new Error(await answer.text())
  return answer.json()
}

function Page() {
  const [stored, setStored] = useState<UIMessage[]>()
  const [why, setWhy] = useState('')
  useEffect(() => void load().then(setStored, (error) => setWhy(String(error))), [])
  if (why) return <p role="alert">No conversation with the server {server}: {why}. README.md says what it needs.</p>
  return stored ? <Chat stored={stored} /> : <p>Loading…</p>
}

createRoot(document.getElementById('root')!).render(<Page />)
