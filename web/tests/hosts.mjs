// What a page goes through that is the host of a room, and how often it joined meanwhile.

import { readdirSync } from "node:fs"
import { join } from "node:path"
import { rowsOf } from "./agents.mjs"
import { until } from "./lib.mjs"

/** Opens a window that wants to be a room's host. */
export async function openHost(browser, server, room, says = "This page is the host of", way) {
  const context = await browser.chromium.newContext({ viewport: { width: 1440, height: 900 } })
  const page = await browser.stranger(context)
  if (way) {
    await way.lead(context)
    await page.clock.install()
  }
  await page.goto(await server.link())
  await page.waitForSelector("#composer")
  await page.evaluate((hash) => { location.hash = hash }, `#/movie/${encodeURIComponent(room)}/host`)
  await page.getByRole("button", { name: "Let this page be the host" }).click()
  await page.getByText(says).waitFor()
  return page
}

/** How often a host joined a room, and how often one was replaced. */
export function hostsOf(server, room) {
  const files = readdirSync(join(server.root, "data/logs/room")).filter((name) => name.endsWith(".jsonl"))
  const rows = files.flatMap((name) => rowsOf(server, join("logs/room", name))).filter(({ relaySessionId }) => relaySessionId === room)
  const count = (kind) => rows.filter(({ type, role }) => type === kind && role === "host").length
  return { joined: count("relay.entered"), replaced: count("relay.replaced") }
}

const hasHost = async (server, room) => (await server.call("/api/relay/rooms")).some((one) => one.room === room && one.host)

/** The window is left and entered again at once, as a development build mounts it. */
export async function afterTwoMounts(browser, server, room, times) {
  const page = await openHost(browser, server, room)
  for (let at = 0; at < times; at += 1) {
    await page.evaluate(async (hash) => {
      const drawn = () => new Promise((over) => requestAnimationFrame(() => requestAnimationFrame(over)))
      const go = async (to) => {
        history.replaceState(history.state, "", to)
        dispatchEvent(new PopStateEvent("popstate"))
        await drawn()
      }
      await go("#/chat")
      if (!document.querySelector(".chat-note")) throw new Error("the window is still there")
      await go(hash)
    }, `#/movie/${room}/host`)
    await page.getByText("This page is the host of").waitFor()
  }
  await new Promise((over) => setTimeout(over, 500))
  await page.context().close()
}

/** The page is loaded again. */
export async function afterReloads(browser, server, room, times) {
  const page = await openHost(browser, server, room)
  for (let at = 0; at < times; at += 1) {
    await page.reload()
    await page.getByText("This page is the host of").waitFor().catch(async (error) => {
      throw new Error(`after ${at + 1} reloads: ${await page.locator("main").innerText()}`, { cause: error })
    })
  }
  await page.context().close()
}

/** The machine sleeps for an hour: the server has dropped its connections, and the browser does not know. */
export async function afterSleeps(browser, server, room, times) {
  const way = new Way()
  const page = await openHost(browser, server, room, undefined, way)
  for (let at = 0; at < times; at += 1) {
    await way.cut()
    await until("the server has dropped it", async () => !(await hasHost(server, room)))
    await page.clock.fastForward("01:00:00")
    await page.clock.fastForward(4_000)
    await until("it is the host again", () => hasHost(server, room))
    await page.getByText("This page is the host of").waitFor()
  }
  await page.context().close()
}

/** The WebSockets of a page, whose end at the server can be cut while the page's stays open and silent. */
class Way {
  #pairs = new Set()

  async lead(context) {
    await context.routeWebSocket(/\/agent\/ws$/, (near) => {
      const far = near.connectToServer()
      const pair = { far, isCut: false }
      this.#pairs.add(pair)
      const unlessCut = (work) => (...said) => { if (!pair.isCut) work(...said) }
      near.onMessage(unlessCut((said) => far.send(said)))
      far.onMessage(unlessCut((said) => near.send(said)))
      near.onClose(unlessCut((code, reason) => far.close({ code, reason })))
      far.onClose(unlessCut((code, reason) => near.close({ code, reason })))
    })
  }

  async cut() {
    const pairs = [...this.#pairs]
    this.#pairs.clear()
    await Promise.all(pairs.map((pair) => ((pair.isCut = true), pair.far.close())))
  }
}
