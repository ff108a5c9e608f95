// External agents and hosts for the browser tests: the example of the repository, and members of a room
// that say what a test wants.

import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { until } from "./lib.mjs"

const require = createRequire(import.meta.url)
// The browser's driver brings a WebSocket that takes headers; Node 20 has none.
const driver = require.resolve("playwright-core/lib/utilsBundle")
const { ws: WebSocket } = require(driver)
const here = dirname(fileURLToPath(import.meta.url))

/** A member of a room. */
export class Member {
  static async join(server, role, room, token = server.token) {
    const member = new Member()
    member.heard = []
    member.closed = undefined
    member.numbers = 0
    member.socket = new WebSocket(`ws://127.0.0.1:${server.port}/agent/ws`, { headers: { authorization: `Bearer ${token}` } })
    member.socket.on("message", (data) => {
      const said = JSON.parse(String(data))
      member.heard.push(said)
      member.onHeard?.(said)
    })
    member.socket.on("close", (code) => { member.closed = code })
    await new Promise((open, failed) => (member.socket.on("open", open), member.socket.on("error", failed)))
    const { type, payload } = await member.ask("relay.join", { role, sessionId: room })
    if (type !== "relay.joined") throw new Error(payload.message)
    return member
  }

  say(type, payload, more = {}) {
    const id = `m-${++this.numbers}`
    this.socket.send(JSON.stringify({ v: "mvp-0.2", type, id, payload, ...more }))
    return id
  }

  async ask(type, payload = {}) {
    const id = this.say(type, payload)
    return until(`an answer to ${type}`, () => this.heard.find(({ replyTo }) => replyTo === id))
  }

  call(toolName, params = {}, reason = `I call ${toolName}.`) {
    return this.ask("tool.call", { toolName, params, reason })
  }

  close() {
    this.socket.close()
  }
}

/** The path of `examples/relay-typescript/agent.ts`, built to run. */
export async function example() {
  const folder = mkdtempSync(join(tmpdir(), "samovar-page-example-"))
  const ws = join(folder, "ws.mjs")
  writeFileSync(ws, `import { createRequire } from "node:module"\nexport const WebSocket = createRequire(import.meta.url)(${JSON.stringify(driver)}).ws\n`)
  const outfile = join(folder, "agent.mjs")
  await build({
    entryPoints: [join(here, "../../examples/relay-typescript/agent.ts")], outfile, bundle: true, platform: "node", format: "esm", target: "node20",
    plugins: [{ name: "ws", setup: (building) => building.onResolve({ filter: /^ws$/ }, () => ({ path: ws })) }], logLevel: "warning",
  })
  return outfile
}

/** Runs something to its end. */
export function run(command, args, more = {}) {
  return new Promise((over) => {
    const child = spawn(command, args, more)
    let said = ""
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => { said += bytes })
    child.on("exit", (code) => over({ code, said }))
  })
}

/** Lets the example book in a room. */
export async function book(agent, server, room) {
  const [url, file] = [`ws://127.0.0.1:${server.port}/agent/ws`, join(server.root, "token")]
  writeFileSync(file, server.token)
  return run(process.execPath, [agent, "--url", url, "--room", room, "--token-file", file])
}

/** The rows of a log below the data folder. */
export function rowsOf(server, path) {
  const text = readFileSync(join(server.root, "data", path), "utf8")
  return text.trim().split("\n").map((line) => JSON.parse(line))
}
