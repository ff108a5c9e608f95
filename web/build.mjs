// Builds the page into dist: the same bytes in any folder.

import { build } from "esbuild"
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const here = dirname(fileURLToPath(import.meta.url))

/** The sentences of the page, those of `locales/en.json` that begin with `page.`, without that. */
export function sentences() {
  const all = JSON.parse(readFileSync(join(here, "../locales/en.json"), "utf8"))
  const own = Object.entries(all).filter(([key]) => key.startsWith("page."))
  return Object.fromEntries(own.map(([key, sentence]) => [key.slice("page.".length), sentence]))
}

/** The licences of the packages that are in the page. */
function licences() {
  const packages = ["preact", "marked", "dompurify"]
  const texts = packages.map((name) => `${name}\n\n${readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8")}`)
  return texts.join(`\n${"-".repeat(72)}\n\n`)
}

const catalogue = {
  name: "catalogue",
  setup(building) {
    building.onResolve({ filter: /^catalogue$/ }, () => ({ path: "catalogue", namespace: "catalogue" }))
    building.onLoad({ filter: /.*/, namespace: "catalogue" }, () => ({
      contents: JSON.stringify(sentences()),
      loader: "json",
    }))
  },
}

/** Builds one entry. */
export function bundle(entry, outfile, more = {}) {
  return build({
    absWorkingDir: here,
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    plugins: [catalogue],
    logLevel: "warning",
    ...more,
  })
}

async function main(out) {
  rmSync(out, { recursive: true, force: true })
  mkdirSync(join(out, "ui"), { recursive: true })
  // The parts have fixed names: the server says by their bytes whether a browser may keep them.
  await bundle("src/main.tsx", undefined, {
    outfile: undefined,
    entryPoints: { page: "src/main.tsx", markdown: "src/markdown.ts", style: "src/style.css" },
    outdir: join(out, "ui"),
    splitting: true,
    chunkNames: "[name]",
    minify: true,
  })
  copyFileSync(join(here, "src/icon.svg"), join(out, "ui/icon.svg"))
  writeFileSync(join(out, "ui/licences.txt"), licences())
  const [page, said] = [readFileSync(join(here, "src/index.html"), "utf8"), sentences()]
  writeFileSync(join(out, "index.html"), page.replace(/\{(\w+)\}/g, (_, key) => said[key]))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(process.argv[2] ?? join(here, "dist"))
}
