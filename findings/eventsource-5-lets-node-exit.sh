#!/usr/bin/env bash
# eventsource 5.1.5 (npm) does not keep a Node process alive while it waits to reconnect: its timer is
# `unref`ed. A program that only reads a stream ends without an error, with exit code 0, when the
# connection breaks. With eventsource 4.1.1 the same program reconnects, as a page's EventSource does.
#
# Seen with Node 20: eventsource 4 made 2 connections and was killed by its timeout, eventsource 5 made 1
# and exited with 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type": "module"}' > package.json
npm install --silent --no-audit --no-fund eventsource-4@npm:eventsource@4.1.1 \
  eventsource-5@npm:eventsource@5.1.5 2>/dev/null

cat > server.mjs <<'JS'
import { createServer } from "node:http";
const connections = {};
const server = createServer((request, response) => {
  if (request.url === "/counts") return response.end(JSON.stringify(connections));
  connections[request.url] = (connections[request.url] ?? 0) + 1;
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write("data: a\nid: 1\n\n");
  // The first connection of each reader breaks off, the second one stays.
  if (connections[request.url] === 1) setTimeout(() => response.destroy(), 200);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
JS
node server.mjs > port & server=$!
until [ -s port ]; do sleep 0.1; done
base="http://127.0.0.1:$(cat port)"

cat > read.mjs <<'JS'
const [, , reader, url] = process.argv;
const { EventSource } = await import(reader);
new EventSource(url).onmessage = () => {};
JS
run() {
  local code=0
  timeout 8 node read.mjs "$1" "$base/$1" || code=$?
  echo "$1: exit code $code"
  [ "$code" = "$2" ] || { echo "it has changed; it was $2" >&2; exit 1; }
}
run eventsource-4 124
run eventsource-5 0
counts=$(curl -s "$base/counts")
echo "connections: $counts"
[ "$counts" = '{"/eventsource-4":2,"/eventsource-5":1}' ] || { echo "the connections have changed" >&2; exit 1; }
