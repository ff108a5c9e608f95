#!/usr/bin/env python3
"""CPU time of turns on two binaries, in pairs that alternate: pairs.py BEFORE AFTER [--pairs 10] [--turns 1000]
[--rounds 0] [--clients 1]

Each run starts a server, warms it up, and sends turns, each in a session of its own, to a model server in this
process. A turn has so many rounds with a call of read_file, a command that only reads in the last of them, and
ends with 200 deltas. The figure is user and system time of the server for one turn, without its commands; the
last line is the median of the pairs' ratios.
"""

import argparse
import http.client
import http.server
import json
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

WORDS = "".join(
    "data: " + json.dumps({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": f"word {n} "}, "finish_reason": None}]}) + "\n\n"
    for n in range(200))
END = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":200}}\n\ndata: [DONE]\n\n'
BODY = (WORDS + END).encode()
CALL_END = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":100,"completion_tokens":20}}\n\ndata: [DONE]\n\n'


def call(at, is_last):
    name, args = ("exec", {"command": "cat notes.md | head -n 3"}) if is_last else ("read_file", {"path": "notes.md"})
    piece = {"index": 0, "id": f"call-{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
    chunk = {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"tool_calls": [piece]}, "finish_reason": None}]}
    return ("data: " + json.dumps(chunk) + "\n\n" + CALL_END).encode()


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    rounds = 0

    def log_message(self, *_):
        pass

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        # In ten pieces, as a network brings them.
        for at in range(0, len(body), len(body) // 10 + 1):
            self.wfile.write(body[at:at + len(body) // 10 + 1])
            self.wfile.flush()

    def do_GET(self):
        self.answer("application/json", b'{"object":"list","data":[{"id":"m"}]}')

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        done = sum(message["role"] == "tool" for message in asked["messages"])
        left = self.rounds - done
        self.answer("text/event-stream", call(done, left == 1) if left > 0 else BODY)


def measure(binary, options, model):
    """Milliseconds of CPU time for one turn."""
    root = tempfile.mkdtemp(prefix="pairs-", dir=os.environ.get("PAIRS_DIR"))
    os.makedirs(root + "/ws")
    with open(root + "/ws/notes.md", "w") as notes:
        notes.write("A line of notes.\n" * 40)
    env = {"PATH": os.environ["PATH"], "HOME": root, "DATA_DIR": root + "/data", "AGENT_MODEL": "openai/m", "OPENAI_BASE_URL": f"http://127.0.0.1:{model}/v1"}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [binary, "serve", "--port", str(port), "--workspace", root + "/ws"]
    server = subprocess.Popen(command, cwd=root, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        token = subprocess.run([binary, "token", "show"], cwd=root, env=env, capture_output=True, text=True).stdout.strip()
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}

        def post(connection, method, **body):
            connection.request("POST", "/services/agent/" + method, json.dumps(body), headers)
            answer = connection.getresponse()
            said = answer.read()
            assert answer.status == 200, said
            return said

        def turns(name, count):
            connection = http.client.HTTPConnection("127.0.0.1", port)
            for at in range(count):
                session = f"{name}-{at}"
                post(connection, "createSession", sessionId=session)
                assert b"word 199" in post(connection, "sendMessage", sessionId=session, content="hi")

        turns("warm", 50)
        before = cpu(server.pid)
        with ThreadPoolExecutor(options.clients) as clients:
            each = options.turns // options.clients
            done = [clients.submit(turns, f"client{at}", each) for at in range(options.clients)]
            [one.result() for one in done]
        return (cpu(server.pid) - before) * 1000 / (each * options.clients)
    finally:
        server.terminate()
        server.wait(30)
        shutil.rmtree(root, ignore_errors=True)


def cpu(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--clients", type=int, default=1)
    options = parser.parse_args()
    Model.rounds = options.rounds
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    model.daemon_threads = True
    threading.Thread(target=model.serve_forever, daemon=True).start()
    ratios = []
    for pair in range(options.pairs):
        order = [options.before, options.after] if pair % 2 == 0 else [options.after, options.before]
        taken = {binary: measure(os.path.abspath(binary), options, model.server_address[1]) for binary in order}
        ratios.append(taken[options.after] / taken[options.before])
        print(f"pair {pair + 1}: {taken[options.before]:.3f} ms, {taken[options.after]:.3f} ms, ratio {ratios[-1]:.3f}", flush=True)
    print(f"median ratio {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
