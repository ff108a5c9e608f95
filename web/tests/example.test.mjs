// The page of examples/use-chat in a real browser, from another origin than the server's.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import { dirname, join } from "node:path"
import { after, before, test } from "node:test"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { Browser, Server, until } from "./lib.mjs"

const folder = join(dirname(fileURLToPath(import.meta.url)), "../../examples/use-chat")
let browser, files, origin, server

before(async () => {
  const { outputFiles } = await build({
    entryPoints: [join(folder, "page.tsx")], bundle: true, write: false, outfile: "page.js", define: { "process.env.NODE_ENV": '"production"' },
  })
  files = createServer(({ url }, answer) => {
    const isScript = url.endsWith("/dist/page.js")
    answer.writeHead(200, { "content-type": isScript ? "text/javascript" : "text/html" })
    answer.end(isScript ? outputFiles[0].text : readFileSync(join(folder, "index.html")))
  })
  await new Promise((ready) => files.listen(0, "127.0.0.1", ready))
  origin = `http://127.0.0.1:${files.address().port}`
  browser = await Browser.start()
  server = await Server.start({ settings: { SAMOVAR__SERVER__ORIGINS: origin } })
})
after(async () => {
  await browser?.stop()
  await server?.stop()
  files?.close()
})

/** The page in a browser that opens an address for the first time. */
async function opened(hash) {
  const page = await (await browser.chromium.newContext()).newPage()
  page.faults = []
  page.on("pageerror", (error) => page.faults.push(error.stack))
  await page.goto(`${origin}/examples/use-chat/${hash}`)
  return page
}

const said = (page) => page.locator("#root").innerText()

// proves UI-1, UI-11, FC-6
test("a page with useChat asks, decides, answers, and shows the agents below their callers as they were, after a reload too", async () => {
  const page = await opened(`#${server.base},${server.token}`)
  const send = async (text) => {
    await page.getByLabel("Message").fill(text)
    await page.getByRole("button", { name: "Send" }).click()
  }
  const has = (words) => until(words, async () => (await said(page)).includes(words))
  await send("ask the browser agent to list files and the helper agent to ask the browser agent to read notes.txt")
  await has("The agent “helper” answered:")
  await page.getByRole("button", { name: "Send" }).waitFor()
  const names = () => page.locator("article article > small:first-child").allInnerTexts()
  await until("three agents", async () => (await names()).length === 3)
  assert.deepEqual(await names(), ["Browser", "Helper", "Browser"])
  const live = await said(page)
  await page.reload()
  await until("the same conversation", async () => (await said(page)) === live)
  await send('write "hello" to a.txt')
  await page.getByRole("button", { name: "Allow" }).click()
  await has("I wrote “hello” to “a.txt”.")
  assert.equal(server.file("a.txt"), "hello")
  await send("ask me: tea or coffee?")
  await page.getByLabel("Answer", { exact: true }).fill("green tea")
  await page.getByRole("button", { name: "Answer" }).click()
  await has("You answered: “green tea”.")
  assert.deepEqual(page.faults, [])
  await page.context().close()
})

// proves FC-6
test("an address without a server, and a token that is none, are sentences", async () => {
  for (const [hash, why] of [["", "No conversation with the server"], [`#${server.base},none`, "a valid token is required"], ["#http://127.0.0.1:1,none", "Failed to fetch"]]) {
    const page = await opened(hash)
    await page.getByRole("alert").getByText(why).waitFor()
    assert.deepEqual(page.faults, [])
    await page.context().close()
  }
})
