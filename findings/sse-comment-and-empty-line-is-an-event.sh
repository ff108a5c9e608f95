#!/usr/bin/env bash
# A comment with an empty line after it, the usual keep-alive of an event stream, is handed over as an
# event with empty data by httpx-sse 0.4.3 (Python), once an event has had an id, and by
# @microsoft/fetch-event-source 2.0.1 (npm). The HTML standard says that an event without data is not
# dispatched, and `eventsource` 5.1.5 follows it. A handler that parses each event's data as JSON raises
# at the first silence. A comment without the empty line is seen by none of them.
#
# Seen: httpx-sse ['x', '', 'y']; fetch-event-source ["x","","y"]; eventsource ["x","y"].
set -euo pipefail
folder=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv py
py/bin/pip install --quiet --disable-pip-version-check httpx==0.28.1 httpx-sse==0.4.3
echo '{"type": "module"}' > package.json
npm install --silent --no-audit --no-fund @microsoft/fetch-event-source@2.0.1 eventsource@5.1.5 2>/dev/null

cat > server.py <<'PY'
import http.server
class Stream(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        # An event with an id, a comment with an empty line, then one without.
        self.wfile.write(b"id: 1\ndata: x\n\n: ping\n\n: ping\ndata: y\n\n")
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Stream)
print(server.server_port, flush=True)
server.serve_forever()
PY
python3 server.py > port & server=$!
until [ -s port ]; do sleep 0.1; done
url="http://127.0.0.1:$(cat port)/"

cat > read.py <<'PY'
import sys, httpx, httpx_sse
with httpx.Client() as client, httpx_sse.connect_sse(client, "GET", sys.argv[1]) as source:
    print([event.data for event in source.iter_sse()])
PY
cat > read.mjs <<'JS'
const [, , reader, url] = process.argv;
globalThis.window = globalThis;
const seen = [];
const take = ({ data }) => {
  seen.push(data);
  if (data !== "y") return;
  console.log(JSON.stringify(seen));
  process.exit();
};
if (reader === "fetch-event-source") {
  const { fetchEventSource } = await import("@microsoft/fetch-event-source");
  fetchEventSource(url, { openWhenHidden: true, onmessage: take });
} else {
  const { EventSource } = await import("eventsource");
  new EventSource(url).onmessage = take;
}
JS
expect() {
  echo "$1: $2"
  [ "$2" = "$3" ] || { echo "it has changed; it was $3" >&2; exit 1; }
}
expect httpx-sse "$(py/bin/python read.py "$url")" "['x', '', 'y']"
expect fetch-event-source "$(node read.mjs fetch-event-source "$url")" '["x","","y"]'
expect eventsource "$(node read.mjs eventsource "$url")" '["x","y"]'
