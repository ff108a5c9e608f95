// Drives one version of the AI SDK against a server whose model follows a script.
// node check.mjs VERSION BASE TOKEN
import assert from 'node:assert/strict'
import { open, plain, sleep, text, until } from './chat.mjs'

const [version, base, token] = process.argv.slice(2)
const sdk = await import(version)
const strict = (await import('ai60')).uiMessageChunkSchema()
const view = { ai5: 'protocol=v5', ai7: 'protocol=v7' }[version] ?? ''
const hasApprovals = version !== 'ai5'
const auth = { authorization: `Bearer ${token}` }
const json = { ...auth, 'content-type': 'application/json' }

const get = (path) => fetch(`${base}${path}`, { headers: auth })
const post = (path, body) =>
  fetch(`${base}${path}`, { method: 'POST', headers: json, body: JSON.stringify(body) })
const stored = async (id) => (await get(`/api/chat/${id}/messages`)).json()
const make = (id, more = {}) => open(sdk, { base, token, id: `${version}-${id}`, view, ...more })

/** What is kept is what was live, down to the last part. */
async function isKept(chat) {
  const kept = await stored(chat.id)
  assert.deepEqual(
    kept.filter((one) => one.metadata.agent.depth === 0).map(plain),
    chat.messages.map(plain),
  )
}

/** Every frame is one that the strictest released schema takes. */
async function isStrict(response) {
  for (const line of (await response.text()).split('\n')) {
    if (!line.startsWith('data: ') || line === 'data: [DONE]') continue
    const chunk = JSON.parse(line.slice(6))
    if (chunk.type === 'reset-step') continue
    const checked = await strict.validate(chunk)
    assert(checked.success, `${line}: ${checked.error}`)
  }
}

const scenes = {
  async 'text and thoughts'() {
    const { chat } = make('text')
    await chat.sendMessage({ text: 'think and say' })
    assert.equal(chat.error, undefined)
    assert.equal(text(chat.lastMessage), 'a thought-out answer')
    const thought = chat.lastMessage.parts.find((part) => part.type === 'reasoning')
    assert.equal(thought.text, 'let me think')
    assert.equal(chat.lastMessage.metadata.agent.displayName, 'Master')
    await chat.sendMessage({ text: 'think and say' })
    assert.equal(chat.messages.length, 4)
    await isKept(chat)
  },

  async 'tools'() {
    const { chat } = make('tools')
    await chat.sendMessage({ text: 'look' })
    const call = chat.lastMessage.parts.find((part) => part.type === 'tool-list_dir')
    assert.equal(call.state, 'output-available')
    assert.equal(text(chat.lastMessage), 'it is empty')
    await isKept(chat)
  },

  async 'approvals'() {
    if (!hasApprovals) return
    for (const approved of [true, false]) {
      const { chat } = make(`approvals-${approved}`, {
        sendAutomaticallyWhen: sdk.lastAssistantMessageIsCompleteWithApprovalResponses,
      })
      await chat.sendMessage({ text: 'write' })
      const asked = chat.lastMessage.parts.find((part) => part.state === 'approval-requested')
      assert(asked, JSON.stringify(chat.messages))
      // A page that is loaded again sees the question.
      const [, kept] = await stored(chat.id)
      const again = kept.parts.find((part) => part.toolCallId === asked.toolCallId)
      assert.deepEqual([again.state, again.approval.id], [asked.state, asked.approval.id])
      const id = chat.lastMessage.id
      await chat.addToolApprovalResponse({ id: asked.approval.id, approved })
      await until('the answer goes on', () => chat.status === 'ready' && text(chat.lastMessage))
      assert.equal(chat.lastMessage.id, id)
      const call = chat.lastMessage.parts.find((part) => part.type === 'tool-write_file')
      assert.equal(call.state, approved ? 'output-available' : 'output-denied')
      assert.equal(chat.messages.length, 2)
      if (approved) await isKept(chat)
    }
  },

  async 'two approvals in one message'() {
    if (!hasApprovals) return
    const { chat } = make('two-approvals', {
      sendAutomaticallyWhen: sdk.lastAssistantMessageIsCompleteWithApprovalResponses,
    })
    await chat.sendMessage({ text: 'send both' })
    for (let n = 0; n < 2; n++) {
      const asked = await until('it asks', () =>
        chat.status === 'ready' && chat.lastMessage.parts.find((part) => part.state === 'approval-requested'),
      )
      await chat.addToolApprovalResponse({ id: asked.approval.id, approved: n === 0 })
    }
    await until('the answer goes on', () => chat.status === 'ready' && text(chat.lastMessage))
    assert.equal(chat.messages.length, 2)
  },

  async 'a tool of the client'() {
    const { chat } = make('client', {
      sendAutomaticallyWhen: sdk.lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall: ({ toolCall }) => {
        if (toolCall.toolName === 'tabs') {
          const answer = { tool: 'tabs', toolCallId: toolCall.toolCallId, output: { open: 3 } }
          ;(chat.addToolOutput ?? chat.addToolResult)(answer)
        }
      },
    })
    await chat.sendMessage({ text: 'count the tabs' })
    await until('the answer', () => chat.status === 'ready' && text(chat.lastMessage))
    assert.equal(text(chat.lastMessage), 'there are three')
    const call = chat.lastMessage.parts.find((part) => part.type === 'tool-tabs')
    assert.deepEqual(call.output, { open: 3 })
    assert.equal(chat.messages.length, 2)
  },

  async 'a question, answered here and elsewhere'() {
    const { chat } = make('ask', {
      sendAutomaticallyWhen: sdk.lastAssistantMessageIsCompleteWithToolCalls,
    })
    await chat.sendMessage({ text: 'ask me' })
    const asked = chat.lastMessage.parts.find((part) => part.type === 'tool-ask_user')
    assert.equal(asked.state, 'input-available')
    const answer = { tool: 'ask_user', toolCallId: asked.toolCallId, output: 'green' }
    await (chat.addToolOutput ?? chat.addToolResult).call(chat, answer)
    await until('the answer', () => chat.status === 'ready' && text(chat.lastMessage))
    assert.equal(text(chat.lastMessage), 'noted')

    const other = make('ask-elsewhere').chat
    await other.sendMessage({ text: 'ask me' })
    const open = other.lastMessage.parts.find((part) => part.type === 'tool-ask_user')
    const settled = await post(`/api/calls/${open.toolCallId}`, { result: 'red' })
    assert.equal(settled.status, 200)
    await until('it is over', async () => {
      const [, kept] = await stored(other.id)
      return kept && text(kept) === 'noted'
    })
  },

  async 'edit and regenerate'() {
    const { chat } = make('edit')
    await chat.sendMessage({ text: 'think and say' })
    await chat.sendMessage({ text: 'look' })
    const [first, answer] = chat.messages
    await chat.regenerate({ messageId: answer.id })
    assert.equal(chat.error, undefined)
    assert.equal(chat.messages.length, 2)
    assert.equal(chat.messages[0].id, first.id)
    assert.notEqual(chat.messages[1].id, answer.id)
    await isKept(chat)
    await chat.sendMessage({ text: 'look', messageId: first.id })
    assert.equal(chat.error, undefined)
    assert.equal(chat.messages.length, 2)
    assert.equal(text(chat.lastMessage), 'it is empty')
    await isKept(chat)
  },

  async 'a reload and a second tab'() {
    const first = make('reload').chat
    const sent = first.sendMessage({ text: `slowly ${version}` })
    await until('it speaks', () => first.messages[1] && text(first.messages[1]))
    const tabs = []
    for (let n = 0; n < 2; n++) {
      const messages = await stored(first.id)
      assert.equal(messages.length, 1)
      const { chat } = make('reload', { messages })
      tabs.push([chat, chat.resumeStream()])
    }
    await until('they speak', () => tabs.every(([chat]) => chat.messages[1] && text(chat.messages[1])))
    console.log('ready')
    await Promise.all([sent, ...tabs.map(([, reading]) => reading)])
    for (const [chat] of tabs) {
      assert.equal(chat.error, undefined)
      assert.deepEqual(chat.messages.map(plain), first.messages.map(plain))
    }
    await isKept(first)
    // Nothing runs: a resume changes nothing.
    const before = structuredClone(first.messages)
    await first.resumeStream()
    assert.deepEqual(first.messages, before)
    assert.equal(first.status, 'ready')
  },

  async 'stop'() {
    const { chat } = make('stop')
    const sent = chat.sendMessage({ text: 'never end' })
    await until('it speaks', () => chat.messages[1] && text(chat.messages[1]))
    assert.equal((await post(`/api/chat/${chat.id}/stop`, {})).status, 200)
    await sent
    assert.equal(chat.lastMessage.metadata.reason, 'cancelled')
    assert.equal(chat.status, 'ready')
    await chat.sendMessage({ text: 'look' })
    assert.equal(text(chat.lastMessage), 'it is empty')
  },

  async 'errors before and inside the stream'() {
    const { chat } = make('error')
    await chat.sendMessage({ text: 'fail' })
    assert.equal(chat.status, 'error')
    assert(chat.error.message.length > 10, chat.error.message)
    const refused = make('refused').chat
    await refused.sendMessage({ text: ' ' })
    assert.equal(refused.status, 'error')
    assert.match(refused.error.message, /content/)
    assert.doesNotMatch(refused.error.message, /^\{/)
  },

  async 'a tree of agents'() {
    const { chat, agents } = make('tree')
    await chat.sendMessage({ text: 'send two' })
    assert.equal(chat.error, undefined)
    assert.equal(text(chat.lastMessage), 'both are back')
    await sleep(50)
    const children = agents.childrenOf(chat.lastMessage.id)
    assert.deepEqual(children.map(text).sort(), ['one is done', 'two is done'])
    const nested = children.flatMap((child) => agents.childrenOf(child.id))
    assert.deepEqual(nested.map(text), ['deep is done'])
    assert.equal(nested[0].metadata.agent.depth, 2)
    const parts = chat.lastMessage.parts.filter((part) => part.type === 'data-subagent')
    assert.equal(parts.length, 3)
    assert(parts.every((part) => part.data.status === 'done'), JSON.stringify(parts))
    // The stored conversation is the same tree.
    const kept = await stored(chat.id)
    for (const child of [...children, ...nested]) {
      const same = kept.find((one) => one.id === child.id)
      assert.deepEqual(plain(same), plain(child))
      assert.deepEqual(same.metadata.agent, child.metadata.agent)
    }
    await isKept(chat)
  },

  async 'agents as messages'() {
    const shown = view ? `${view}; subagents=messages` : 'subagents=messages'
    const { chat, agents } = make('messages', { view: shown })
    await chat.sendMessage({ text: 'send two' })
    assert.equal(chat.error, undefined)
    assert.equal(agents.messages.size, 0)
    const parts = chat.lastMessage.parts.filter((part) => part.type === 'data-subagent')
    assert.equal(parts.length, 3)
    const kept = await stored(chat.id)
    for (const { data } of parts) {
      const same = kept.find((one) => one.id === data.messageId)
      assert.deepEqual(plain(data.message), plain(same))
      assert.deepEqual(data.message.metadata.agent, same.metadata.agent)
    }
    await isKept(chat)
  },

  async 'an approval of a called agent'() {
    const { chat, data } = make('child-approval')
    const sent = chat.sendMessage({ text: 'let one write' })
    const asked = await until('it asks', () => data.find((part) => part.type === 'data-approval'))
    assert.equal(asked.data.toolName, 'write_file')
    assert.equal(chat.status, 'streaming')
    const decided = await post(`/api/approvals/${asked.data.approvalId}`, { decision: 'once' })
    assert.equal(decided.status, 200)
    await sent
    assert.equal(text(chat.lastMessage), 'one has written')
    const shown = chat.lastMessage.parts.filter((part) => part.type === 'data-approval')
    assert.deepEqual(shown.map((part) => part.data.decision), ['once'])
  },

  async 'strict frames'() {
    for (const content of ['think and say', 'look', 'send two', 'write', 'ask me', 'fail']) {
      const message = { id: `strict-${content}`, role: 'user', parts: [{ type: 'text', text: content }] }
      const body = { id: `${version}-strict-${content.replaceAll(' ', '-')}`, messages: [message] }
      await isStrict(await post('/api/chat', body))
    }
  },
}

const wanted = process.argv[5]
for (const [name, run] of Object.entries(scenes)) {
  if (wanted && name !== wanted) continue
  try {
    await run()
    console.log(`${version}: ${name}`)
  } catch (error) {
    console.error(`${version}: ${name}\n${error.stack}`)
    process.exitCode = 1
  }
}
process.exit()
