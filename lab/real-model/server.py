#!/usr/bin/env python3
"""Twelve cases in which a real llama.cpp server behaves as no scripted one does; none may end a session.

    server.py --binary target/release/samovar --base-url http://127.0.0.1:8090/v1 --model NAME [--only 3,6]

Each case has a server of its own with its own folders, sends what is told below, and then "Say ok." in the
same session, which must be answered. One line a case goes to stdout; the exit code is 1 if one failed.
Not a part of the gate: it needs the server, and minutes on a slow processor.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

PROSE = "The miller counted the sacks twice and wrote the number on the door with chalk. "
TABLE = "".join(f"{n * 7919 % 100003},{n * 104729 % 99991},{n}\n" for n in range(1, 400))
AGENT = "---\ntoolKeys: [list_dir, read_file, write_file, TOOL]\n---\n\nYou are brief. Use tools for files.\n"


class Server:
    """A samovar whose only model is the real one."""

    def __init__(self, options, model=None, config="[defaults]\nmax_tokens = 60\n", tool=None):
        self.tool = tool
        self.root = Path(tempfile.mkdtemp(prefix="real-server-"))
        for folder in ("work", "home/.config/samovar", "data/agents"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "work/notes.txt").write_text("buy milk\n")
        agent = AGENT.replace(", TOOL", f", {tool['name']}" if tool else "")
        (self.root / "data/agents/small.md").write_text(agent)
        (self.root / "home/.config/samovar/samovar.toml").write_text(config)
        env = {"PATH": os.environ["PATH"], "HOME": str(self.root / "home"), "DATA_DIR": str(self.root / "data"),
               "OPENAI_BASE_URL": options.base_url, "AGENT_MODEL": model or f"openai/{options.model}"}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.log = self.root / "log"
        command = [options.binary, "serve", "--port", str(self.port), "--workspace", str(self.root / "work"), "--approval", "auto"]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, cwd=self.root, env=env, stdout=log, stderr=log)
        for _ in range(200):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=2).read()
                break
            except OSError:
                time.sleep(0.05)
        shown = subprocess.run([options.binary, "token", "show"], env=env, cwd=self.root, capture_output=True, text=True)
        self.token = shown.stdout.strip()

    def call(self, path, body, timeout=900):
        """Posts; returns the answer, or the error as an object."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", json.dumps(body).encode(),
                                         {"authorization": f"Bearer {self.token}", "content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return {"status": error.code, "body": error.read().decode()[:300]}

    def agent(self, method, **body):
        return self.call(f"/services/agent/{method}", body)

    def send(self, content, **more):
        return self.agent("sendMessage", sessionId="s", content=content, **more)

    def full(self, content, **more):
        """The events of a message's turn in the full profile."""
        body = json.dumps({"sessionId": "s", "content": content, **more}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/services/agent/sendMessage/stream?profile=full", body,
                                         {"authorization": f"Bearer {self.token}", "content-type": "application/json"})
        events = []
        with urllib.request.urlopen(request, timeout=900) as answer:
            for line in answer:
                if line.startswith(b"data: {"):
                    events.append(json.loads(line[6:]))
        return events

    def __enter__(self):
        if self.tool:
            made = self.call("/api/tools", self.tool)
            assert made.get("name") == self.tool["name"], made
        made = self.agent("createSession", sessionId="s", agent="small")
        assert made.get("id") == "s", made
        return self

    def __exit__(self, *_):
        """After its case the session must still answer."""
        self.after = fault(self.send("Say ok."))
        self.process.terminate()
        self.process.wait(30)
        shutil.rmtree(self.root, ignore_errors=True)


def fault(reply):
    """The failure of a turn, or nothing."""
    if "finishReason" not in reply:
        return json.dumps(reply)[:300]
    errors = [event for event in reply.get("events", []) if event.get("type") == "error"]
    return json.dumps(errors[-1])[:300] if errors else ""


def types(events):
    return [event.get("type") for event in events]


def text(options):
    """a text"""
    with Server(options) as server:
        first = server.send("Say hello.")
        return server, fault(first), first.get("usage")


def call(options):
    """a call, and the answer after its result"""
    with Server(options) as server:
        first = server.send("Which files are in this folder? Use list_dir.")
        return server, fault(first), first.get("totalIterations", first.get("finishReason"))


def cut_call(options):
    """a call that the limit of tokens cut"""
    config = "[defaults]\nmax_tokens = 30\n"
    with Server(options, config=config) as server:
        first = server.send("Write a file poem.txt with a poem of 20 lines. Use write_file.")
        return server, fault(first), first.get("finishReason")


def order(parameters):
    """A tool of the person's own."""
    return {"name": "order", "description": "Orders a dish.", "parameters": parameters, "effect": "read", "client": True}


def true_schema(options):
    """`true` as the schema of a property"""
    with Server(options, tool=order({"type": "object", "properties": {"d": True}})) as server:
        return server, fault(server.send("Say hello.")), "taken"


def odd_schema(options):
    """a schema that the server may refuse: a pattern with a look ahead"""
    parameters = {"type": "object", "properties": {"dish": {"type": "string", "pattern": "^(?!x)a$"}}}
    with Server(options, tool=order(parameters)) as server:
        first = fault(server.send("Say hello."))
        return server, first, "left out" if "order" in server.log.read_text() else "taken"


def overflow(options):
    """a message longer than the window, which a wrong setting allows"""
    with Server(options, config="[defaults]\nmax_tokens = 60\n[providers.openai]\ncontext_window = 100000\n") as server:
        first = server.send(PROSE * 700)
        codes = [event["code"] for event in first.get("events", []) if event.get("type") == "error"]
        return server, "" if codes == ["context_full"] else fault(first) or "it was taken", "context_full"


def window(options):
    """the window is known from the list, before the first refusal"""
    with Server(options) as server:
        events = server.full("Say hello.")
        limits = [event["context"] for event in events if event.get("context")]
        return server, "" if limits and limits[0]["source"] == "list" else str(types(events)), limits[:1]


def slow_prompt(options):
    """a prompt that takes longer than the wait for the first piece"""
    with Server(options, config="[defaults]\nmax_tokens = 60\n[models]\nfirst_token_seconds = 45\n") as server:
        began = time.time()
        first = server.send("Count the sacks. " + PROSE * 200)
        return server, fault(first), f"{time.time() - began:.0f} s for a wait of 45 s"


def progress(options):
    """the progress of a prompt"""
    with Server(options) as server:
        events = server.full("Say ok. " + PROSE * 60)
        shown = [(event["read"], event["total"]) for event in events if event["type"] == "prompt_progress"]
        return server, "" if shown else str(types(events)), shown


def unknown_model(options):
    """a model that the server does not have"""
    with Server(options, model="openai/no-such-model") as server:
        return server, fault(server.send("Say hello.")), "answered under any name"


def stopped(options):
    """an answer that is stopped in its middle"""
    with Server(options, config="[defaults]\nmax_tokens = 400\n") as server:
        asked = threading.Thread(target=server.send, args=("Tell a long story about a miller.",))
        asked.start()
        time.sleep(20)
        server.agent("cancel", sessionId="s")
        asked.join(60)
        return server, "the turn did not end" if asked.is_alive() else "", "stopped after 20 s"


def table(options):
    """a table of numbers, then prose up to the window"""
    with Server(options) as server:
        first = fault(server.send("Say ok. " + TABLE[:5600]))
        inputs = []
        for _ in range(4):
            reply = server.send("Say ok. " + PROSE * 100)
            first = first or fault(reply)
            inputs.append((reply.get("usage") or {}).get("input"))
        return server, first, f"tokens of the prompts after it: {inputs}"


CASES = [text, call, cut_call, true_schema, odd_schema, overflow, window, slow_prompt, progress, unknown_model, stopped, table]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, type=os.path.abspath)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--only", default="", help="numbers of cases, separated by commas")
    options = parser.parse_args()
    wanted = {int(number) for number in options.only.split(",") if number}
    failed = 0
    for number, case in enumerate(CASES, 1):
        if wanted and number not in wanted:
            continue
        failed += not run(number, case, options)
    raise SystemExit(1 if failed else 0)


def run(number, case, options):
    began = time.time()
    server, wrong, shown = case(options)
    is_right = not wrong and not server.after
    afterwards = f"; afterwards: {server.after}" if server.after else ""
    seconds = time.time() - began
    print(f"{'PASS' if is_right else 'FAIL'} {number:2} {case.__doc__}: {wrong or shown}{afterwards} ({seconds:.0f} s)", flush=True)
    return is_right


if __name__ == "__main__":
    main()
