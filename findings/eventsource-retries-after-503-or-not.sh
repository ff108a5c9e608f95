#!/usr/bin/env bash
# A server that is busy for a moment answers a stream with 503 or 429 and `Retry-After: 6`. Readers of
# event streams in wide use treat it in three ways, and none of them reads the header: eventsource 2.0.2
# comes back after 503 and gives up after 429; 4.1.1 and 5.1.5 give up after both without an exception,
# only their `error` event tells, and the process stays; eventsource-client 1.2.0 and
# @microsoft/fetch-event-source 2.0.1 come back after both, before the time. So an upgrade of eventsource
# from 2 to 4 ends for good what outlived a restart of a proxy before. (The HTML standard wants that: any
# status but 200 fails the connection.)
#
# Seen with Node 20: the table at the end.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type": "module"}' > package.json
npm install --silent --no-audit --no-fund eventsource-2@npm:eventsource@2.0.2 \
  eventsource-4@npm:eventsource@4.1.1 eventsource-5@npm:eventsource@5.1.5 eventsource-client@1.2.0 \
  @microsoft/fetch-event-source@2.0.1 2>/dev/null

cat > server.mjs <<'JS'
import { createServer } from "node:http";
const asked = {};
const server = createServer((request, response) => {
  if (request.url === "/counts") return response.end(JSON.stringify(asked));
  const [, status, reader] = request.url.split("/");
  const key = `${reader} ${status}`;
  (asked[key] ??= []).push(Date.now());
  const busy = { "content-type": "application/json", "retry-after": "6" };
  if (asked[key].length === 1) return response.writeHead(Number(status), busy).end("{}");
  response.writeHead(200, { "content-type": "text/event-stream" }).write("data: a\n\n");
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
JS
node server.mjs > port & server=$!
until [ -s port ]; do sleep 0.1; done
base="http://127.0.0.1:$(cat port)"

cat > read.mjs <<'JS'
const [, , base] = process.argv;
globalThis.window = globalThis;
setInterval(() => {}, 60_000);
for (const status of [429, 503]) {
  const at = (reader) => `${base}/${status}/${reader}`;
  for (const reader of ["eventsource-2", "eventsource-4", "eventsource-5"]) {
    const module = await import(reader);
    new (module.EventSource ?? module.default)(at(reader)).onerror = () => {};
  }
  const { createEventSource } = await import("eventsource-client");
  createEventSource({ url: at("eventsource-client"), onMessage: () => {} });
  const { fetchEventSource } = await import("@microsoft/fetch-event-source");
  fetchEventSource(at("fetch-event-source"), { openWhenHidden: true, onmessage: () => {} }).catch(() => {});
}
JS
timeout 15 node read.mjs "$base" || true
seen=$(curl -s "$base/counts" | node -e '
  const asked = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
  const did = ([first, second]) => (!second ? "gives up" : second - first < 5_000 ? "comes back too early" : "comes back");
  for (const key of Object.keys(asked).sort()) console.log(`${key}: ${did(asked[key])}`);')
echo "$seen"
[ "$seen" = "eventsource-2 429: gives up
eventsource-2 503: comes back too early
eventsource-4 429: gives up
eventsource-4 503: gives up
eventsource-5 429: gives up
eventsource-5 503: gives up
eventsource-client 429: comes back too early
eventsource-client 503: comes back too early
fetch-event-source 429: comes back too early
fetch-event-source 503: comes back too early" ] || { echo "it has changed" >&2; exit 1; }
