// What the browser tests share: a server in a folder of its own, a scripted model, and a browser.

import { chromium } from "playwright-core"
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { startModel } from "./model.mjs"

const TOKEN = "a-token-of-the-tests-0123456789"
export const SAMOVAR = process.env.SAMOVAR_BIN ?? "target/debug/samovar"
export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium"

/** How long something may take on a machine that has much to do. */
const PATIENCE = 90_000

export const wait = (ms) => new Promise((goOn) => setTimeout(goOn, ms))

/** Waits until something holds, and says what did not. */
export async function until(what, holds, ms = PATIENCE) {
  const end = Date.now() + ms
  for (;;) {
    const value = await holds()
    if (value) return value
    if (Date.now() > end) throw new Error(`not in ${ms} ms: ${what}`)
    await wait(50)
  }
}

/** A port that the system gives to none that asks for any: it is still free after the server is killed. */
async function freePort() {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 20_000)
    const server = createServer()
    const isFree = await new Promise((found) => {
      server.once("error", () => found(false)).listen(port, "127.0.0.1", () => found(true))
    })
    await new Promise((over) => (isFree ? server.close(over) : over()))
    if (isFree) return port
  }
}

/** A server with a folder, a data folder and a home of its own. */
export class Server {
  static async start({ model = "demo", level = "supervised", settings = {} } = {}) {
    const server = new Server()
    server.settings = settings
    server.root = mkdtempSync(join(tmpdir(), "samovar-page-"))
    for (const name of ["work", "home"]) mkdirSync(join(server.root, name))
    writeFileSync(join(server.root, "work/notes.txt"), "hello\nTODO one\n")
    server.level = level
    server.port = await freePort()
    if (model === "scripted") server.models = await startModel()
    server.model = model === "scripted" ? "openai/scripted" : model
    await server.up()
    const toolKeys = ["read_file", "list_dir", "search_files"]
    await server.call("/api/agents", { name: "helper", displayName: "Helper", systemPrompt: "You help.", toolKeys, allowedSubAgents: ["browser"] })
    return server
  }

  get base() {
    return `http://127.0.0.1:${this.port}`
  }

  get token() {
    return TOKEN
  }

  env() {
    const { PATH, LANG } = process.env
    const models = this.models ? { OPENAI_API_KEY: "x", OPENAI_BASE_URL: `http://127.0.0.1:${this.models.port}/v1` } : {}
    return { PATH, LANG, HOME: join(this.root, "home"), SAMOVAR_TOKEN: TOKEN, ...models, ...this.settings }
  }

  async up() {
    const told = ["serve", "--port", String(this.port), "--data-dir", join(this.root, "data"), "--model", this.model,
      "--approval", this.level, "--trust"]
    this.said = ""
    this.child = spawn(SAMOVAR, told, { cwd: join(this.root, "work"), env: this.env(), stdio: ["ignore", "pipe", "pipe"] })
    for (const stream of [this.child.stdout, this.child.stderr]) stream.on("data", (bytes) => { this.said += bytes })
    this.ended = new Promise((over) => this.child.on("exit", over))
    await until(`the server is there: ${this.said}`, () => fetch(`${this.base}/readyz`).then(({ ok }) => ok, () => false))
  }

  async kill() {
    this.child.kill("SIGKILL")
    await this.ended
  }

  async stop() {
    await this.kill()
    this.models?.close()
    rmSync(this.root, { recursive: true, force: true })
  }

  async call(path, body, verb = body === undefined ? "GET" : "POST") {
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" }
    const answer = await fetch(this.base + path, { method: verb, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`)
    return text === "" ? undefined : JSON.parse(text)
  }

  agent(method, params) {
    return this.call(`/services/agent/${method}`, params)
  }

  /** Runs the command line beside the server, as a person at a terminal does. */
  command(...told) {
    return new Promise((over) => {
      const child = spawn(SAMOVAR, [...told, "--data-dir", join(this.root, "data")], { cwd: join(this.root, "work"), env: this.env() })
      let said = ""
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => { said += bytes })
      child.on("exit", (code) => over({ code, said }))
    })
  }

  /** A fresh link that lets a browser in. */
  async link() {
    const { said } = await this.command("open", "--print")
    const link = /http:\/\/\S+#login=\S+/.exec(said)?.[0]
    if (!link) throw new Error(`no link in: ${said}`)
    return link
  }

  file(name) {
    const path = join(this.root, "work", name)
    return existsSync(path) ? readFileSync(path, "utf8") : undefined
  }
}

/** A browser; each of its windows is a person's own unless it shares a context. */
export class Browser {
  static async start() {
    const browser = new Browser()
    const args = ["--no-sandbox", "--disable-dev-shm-usage"]
    // A page that comes from the driver has no address, and may open no socket on this machine.
    if (process.env.PAGE_FROM_DISK) args.push("--disable-features=LocalNetworkAccessChecks")
    browser.chromium = await chromium.launch({ executablePath: CHROMIUM, args })
    return browser
  }

  /** A window that is logged in. */
  async open(server, { width = 1440, height = 900, dark = false } = {}) {
    const context = await this.chromium.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light" })
    return this.window(context, await server.link())
  }

  async window(context, address) {
    const page = await this.stranger(context)
    await page.goto(address)
    await page.waitForSelector("#composer")
    return page
  }

  /** A window that has been nowhere yet. */
  async stranger(context) {
    const page = await (context ?? (await this.chromium.newContext())).newPage()
    await fromDisk(page)
    page.setDefaultTimeout(PATIENCE)
    page.faults = []
    page.on("pageerror", (error) => page.faults.push(error.stack))
    page.on("console", (line) => {
      if (/Content Security Policy/.test(line.text())) page.faults.push(line.text())
    })
    return page
  }

  stop() {
    return this.chromium.close()
  }
}

/** For who works on the page: with PAGE_FROM_DISK the files of `dist` count, not those in the binary. */
async function fromDisk(page) {
  if (!process.env.PAGE_FROM_DISK) return
  const dist = join(dirname(fileURLToPath(import.meta.url)), "../dist")
  await page.route(/^http:\/\/127\.0\.0\.1:\d+\/(ui\/.*)?$/, (route) => {
    const { pathname } = new URL(route.request().url())
    return route.fulfill({ path: join(dist, pathname === "/" ? "index.html" : pathname) })
  })
}

/** What is shown as soon as it has not changed for a second. */
export async function settled(shows) {
  let [last, since] = [await shows(), Date.now()]
  await until("nothing changes any more", async () => {
    const now = await shows()
    if (now !== last) [last, since] = [now, Date.now()]
    return Date.now() - since > 1_000
  })
  return last
}

/** Writes a message and sends it. */
export async function say(page, text) {
  await page.fill("#composer", text)
  await page.press("#composer", "Enter")
}

/** Waits until the last answer is complete. */
export function answered(page, count = 1) {
  return until(`${count} answers are complete`, async () => (await page.locator(".answer-end").count()) >= count)
}

/** What the thread shows, without what counts seconds. */
export function shown(page) {
  return page.locator(".thread-inner").innerText().then((text) => text.replace(/\d+(\.\d+)? (s|min)\b/g, "#"))
}

export function treeShown(page) {
  return page.locator(".tree").innerText().then((text) => text.replace(/\d+(\.\d+)? (s|min)\b/g, "#"))
}
