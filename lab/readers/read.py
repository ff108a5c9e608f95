"""Reads the streams BASE/0 to BASE/(COUNT - 1) at once with one reader, and prints what it hands over, a line of JSON
for each event: [stream, data]. It runs until it is killed.

    python read.py httpx-sse http://127.0.0.1:PORT/httpx-sse COUNT
"""

import json
import sys
import threading

import httpx
import httpx_sse
import sseclient

reader, base, count = sys.argv[1:]
# `sseclient` prints the error after which it reconnects.
out, sys.stdout = sys.stdout, sys.stderr


def by_httpx(url):
    """It leaves the next connection to its user, who stops at `[DONE]` or a 204."""
    last = {}
    while True:
        try:
            with httpx.Client(timeout=60) as client, httpx_sse.connect_sse(client, "GET", url, headers=last) as source:
                if source.response.status_code == 204:
                    return
                for event in source.iter_sse():
                    last = {"last-event-id": event.id} if event.id else {}
                    yield event.data
                    if event.data == "[DONE]":
                        return
        except httpx.TransportError:
            pass


def by_sseclient(url):
    return (event.data for event in sseclient.SSEClient(url))


writing = threading.Lock()
readers = {"httpx-sse": by_httpx, "sseclient": by_sseclient}


def read(stream):
    for data in readers[reader](f"{base}/{stream}"):
        with writing:
            print(json.dumps([stream, data]), file=out, flush=True)


for stream in range(int(count)):
    threading.Thread(target=read, args=(stream,)).start()
