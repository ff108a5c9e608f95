// A model that does what the person's last message says in words that it knows: a server of the Chat
// Completions dialect for the browser tests.

import { createServer } from 'node:http'
const wait = ms => new Promise(r => setTimeout(r, ms))
const answer = async (q, r, released) => {
  let body = ''; for await (const c of q) body += c
  if (q.url.endsWith('/models')) return r.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: [{ id: 'scripted', context_length: 32768, max_model_len: 32768 }] }))
  const req = JSON.parse(body || '{}')
  const msgs = req.messages ?? []
  const lastUser = msgs.findLastIndex(m => m.role === 'user')
  const said = JSON.stringify(msgs[lastUser]?.content ?? '')
  const done = msgs.slice(lastUser + 1).filter(m => m.role === 'tool').length
  if (/refuses/.test(said)) return r.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"this is not how one asks"}}')
  r.writeHead(200, { 'content-type': 'text/event-stream' })
  const chunk = (delta, finish) => r.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', model: req.model, choices: [{ index: 0, delta, finish_reason: finish ?? null }] })}\n\n`)
  const end = (f) => { chunk({}, f); r.write(`data: ${JSON.stringify({ id: 'x', choices: [], usage: { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 } })}\n\n`); r.write('data: [DONE]\n\n'); r.end() }
  const text = async (t, ms = 0) => {
    const words = t.match(/\S+\s*|\s+/g) ?? []
    // A model that writes very much writes it in fewer pieces.
    const some = Math.ceil(words.length / 1_000)
    for (let at = 0; at < words.length; at += some) {
      const w = words.slice(at, at + some).join('')
      if (r.destroyed) return
      chunk({ content: w })
      if (ms) await wait(ms)
    }
  }
  const calls = (list) => { list.forEach(([name, args], index) => chunk({ tool_calls: [{ index, id: `c${Math.random().toString(36).slice(2)}`, type: 'function', function: { name, arguments: JSON.stringify(args) } }] })); end('tool_calls') }
  let m
  if (!done && (m = /slow (\d+) (\d+)/.exec(said))) { await text(Array.from({ length: +m[1] }, (_, i) => `word${i} `).join(''), +m[2]); return end('stop') }
  // Some words, and the others when the test lets it continue.
  if (!done && (m = /held (\d+) (\d+)/.exec(said))) {
    const words = Array.from({ length: +m[2] }, (_, i) => `word${i} `)
    await text(words.slice(0, +m[1]).join(''))
    await Promise.race([released(), new Promise(over => r.on('close', over))])
    await text(words.slice(+m[1]).join(''))
    return end('stop')
  }
  if (!done && /burst/.test(said)) { for (let i = 0; i < 6000; i += 20) { for (let j = 0; j < 20; j++) chunk({ content: (i + j) % 40 ? `w${i + j} ` : `\n\n## Part ${i + j}\n\n- point ` }); await wait(10) } return end('stop') }
  if (!done && (m = /exec: (.*?)"$/.exec(said))) return calls([['exec', { command: m[1] }]])
  if ((m = /crowd (\d+)/.exec(said)) && done < +m[1]) {
    // A turn may have eight children at once.
    return calls(Array.from({ length: Math.min(8, +m[1] - done) }, (_, i) => ['subAgent', { name: 'helper', task: `slow 40 20 number ${done + i}` }]))
  }
  if (!done && /background/.test(said) && !/background task/.test(JSON.stringify(msgs.slice(-2)))) return calls([['spawn', { task: 'held 10 60 in peace', agent: 'helper', label: 'Quiet' }]])
  if (!done && (m = /pair/.exec(said))) return calls([['subAgent', { name: 'helper', task: 'held 10 200 first' }], ['subAgent', { name: 'helper', task: 'held 10 200 second' }]])
  if (!done && /think/.test(said)) { for (const w of 'I weigh what is asked and what I know of it'.split(' ')) { chunk({ reasoning_content: w + ' ' }); await wait(20) } }
  if (/breaks/.test(said)) { await text('I begin well and then', 20); return r.destroy() }
  if (/hostile/.test(said)) { await text('<img src=x onerror="window.hacked=1"> <script>window.hacked=1</script>\n\n[click](javascript:alert(1)) ![pix](http://127.0.0.1:1/x.png) [good](https://example.com)\n\n<iframe src="//evil"></iframe>\n\n| a | b |\n|--|--|\n| 1 | <b onclick=alert(1)>2</b> |\n\n```html\n<script>alert(1)</script>\n```\n\n**bold** and `code`\n'); return end('stop') }
  if (/markdown/.test(said)) { await text('## What there is\n\nA paragraph with **bold**, *italic*, `code` and [a link](https://example.com).\n\n1. First\n2. Second\n   - inside\n\n> A quotation.\n\n```rust\nfn main() {\n    println!("tea");\n}\n```\n\n| kind | price |\n|---|---:|\n| green | 3 |\n| black | 2 |\n'); return end('stop') }
  if (/table/.test(said)) { await text('| n | square |\n|--|--|\n' + Array.from({ length: 1000 }, (_, i) => `| ${i} | ${i * i} |`).join('\n')); return end('stop') }
  if (/long/.test(said)) { await text('A long text. '.repeat(8000)); return end('stop') }
  if (/nested/.test(said)) { await text(`${'>'.repeat(2000)} deep down`); return end('stop') }
  if (/spaces/.test(said)) { await text(`a${' '.repeat(100_000)}far away`); return end('stop') }
  if (/endless/.test(said)) { await text('```rust\n' + 'let x = 1;\n'.repeat(9000)); return end('stop') }
  await text(done ? 'That is done: **the result** is above.' : 'Hello, I am the scripted model. Here is a list:\n\n- one\n- two\n\nAnd `code`.', 5)
  end('stop')
}

/** Starts one on a free port. `release` waits for an answer that is held, and lets it continue. */
export function startModel(port = 0) {
  let held = []
  const released = () => new Promise(goOn => held.push(goOn))
  const release = async () => {
    while (!held.length) await wait(50)
    held.forEach(goOn => goOn())
    held = []
  }
  return new Promise((ready) => {
    const server = createServer((q, r) => void answer(q, r, released).catch(() => r.destroy()))
    server.listen(port, '127.0.0.1', () => ready({ port: server.address().port, release, close: () => (server.closeAllConnections(), server.close()) }))
  })
}
