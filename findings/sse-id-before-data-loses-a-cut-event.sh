#!/usr/bin/env bash
# Two readers of event streams take an event's id when they read its line, and not when the event is
# dispatched: @microsoft/fetch-event-source 2.0.1 and eventsource 2.0.2 (npm). A connection that breaks
# between `id:` and the end of the event loses the event: the reader reconnects with an id whose event
# it never handed over. `eventsource` 5.1.5 keeps the id back, as the HTML standard says. A server that
# writes `data:` before `id:` loses nothing with any of them.
#
# Seen, as the Last-Event-ID of the second connection after `id: 1`, data, then `id: 2` and a cut:
# fetch-event-source 2, eventsource 2.0.2 2, eventsource 5.1.5 1; with `data:` first 1 each.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type": "module"}' > package.json
npm install --silent --no-audit --no-fund @microsoft/fetch-event-source@2.0.1 \
  eventsource-2@npm:eventsource@2.0.2 eventsource-5@npm:eventsource@5.1.5 2>/dev/null

cat > read.mjs <<'JS'
import { createServer } from "node:http";

const [, , reader, order] = process.argv;
globalThis.window = globalThis;
const streams = {
  "id-first": ["id: 1\ndata: a\n\n", "id: 2\n"],
  "data-first": ["data: a\nid: 1\n\n", "data: b\n"],
};
let connections = 0;
const server = createServer((request, response) => {
  connections += 1;
  if (connections === 2) {
    console.log(request.headers["last-event-id"]);
    process.exit();
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const piece of streams[order]) response.write(piece);
  setTimeout(() => response.destroy(), 300);
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const url = `http://127.0.0.1:${server.address().port}/`;
if (reader === "fetch-event-source") {
  const { fetchEventSource } = await import("@microsoft/fetch-event-source");
  fetchEventSource(url, { openWhenHidden: true });
} else {
  const module = await import(reader);
  new (module.EventSource ?? module.default)(url);
}
JS
expect() {
  local seen
  seen=$(node read.mjs "$1" "$2")
  echo "$1, $2: $seen"
  [ "$seen" = "$3" ] || { echo "it has changed; it was $3" >&2; exit 1; }
}
expect fetch-event-source id-first 2
expect eventsource-2 id-first 2
expect eventsource-5 id-first 1
for reader in fetch-event-source eventsource-2 eventsource-5; do expect "$reader" data-first 1; done
