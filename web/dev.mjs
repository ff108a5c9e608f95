// A small server for those who work on the page: it builds it when a file changes, serves it from dist and
// passes everything else on to a Samovar server with that server's token, as if a person were logged in.
//
//   SAMOVAR_TOKEN=… node dev.mjs [http://127.0.0.1:4747] [5174]

import { execFileSync } from "node:child_process"
import { readFile } from "node:fs/promises"
import { watch } from "node:fs"
import { createServer, request } from "node:http"
import { dirname, extname, join, normalize } from "node:path"
import { fileURLToPath } from "node:url"

const here = dirname(fileURLToPath(import.meta.url))
const [server = "http://127.0.0.1:4747", port = "5174"] = process.argv.slice(2)
const token = process.env.SAMOVAR_TOKEN ?? ""
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" }
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; " +
  "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

async function serve(path, response) {
  const name = path === "/" ? "index.html" : normalize(path).replace(/^[/\\]+/, "")
  const bytes = await readFile(join(here, "dist", name)).catch(() => undefined)
  if (!bytes) return response.writeHead(404).end()
  const type = `${TYPES[extname(name)] ?? "application/octet-stream"}; charset=utf-8`
  response.writeHead(200, { "content-type": type, "content-security-policy": POLICY, "cache-control": "no-cache" }).end(bytes)
}

function pass(incoming, response) {
  const headers = { ...incoming.headers, authorization: `Bearer ${token}`, host: new URL(server).host }
  for (const name of ["origin", "referer", "cookie"]) delete headers[name]
  for (const name of Object.keys(headers)) if (name.startsWith("sec-fetch-")) delete headers[name]
  const outgoing = request(new URL(incoming.url, server), { method: incoming.method, headers }, (answer) => {
    // A server without logins has no /api/me yet.
    if (incoming.url === "/api/me" && answer.statusCode === 404) {
      answer.resume()
      return response.writeHead(200, { "content-type": "application/json" }).end('{"name":"dev","scope":"admin"}')
    }
    response.writeHead(answer.statusCode, answer.headers)
    answer.pipe(response)
    answer.on("error", () => response.destroy())
  })
  outgoing.on("error", () => (response.headersSent ? response.destroy() : response.writeHead(502).end()))
  response.on("close", () => outgoing.destroy())
  incoming.pipe(outgoing)
}

const build = () => execFileSync(process.execPath, [join(here, "build.mjs")], { stdio: "inherit" })

let due
watch(join(here, "src"), { recursive: true }, () => {
  clearTimeout(due)
  due = setTimeout(() => { try { build() } catch { /* esbuild said why */ } }, 100)
})
createServer((incoming, response) => {
  const path = incoming.url.split("?")[0]
  if (incoming.method === "GET" && (path === "/" || path.startsWith("/ui/"))) void serve(path, response)
  else pass(incoming, response)
}).listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${port}`))
