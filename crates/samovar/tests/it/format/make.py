"""Makes a data directory of the program that is named: see README.md."""
import json, os, re, signal, subprocess, sys, threading, time, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

binary, data = sys.argv[1], os.path.abspath(sys.argv[2])
home = data + ".home"
os.makedirs(home + "/work", exist_ok=True)
HANG = threading.Event()

class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *_): pass
    def do_GET(self):
        body = json.dumps({"object": "list", "data": [{"id": "scripted"}]}).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        messages = body["messages"]
        user = [m for m in messages if m["role"] == "user"][-1]["content"]
        if not isinstance(user, str): user = "".join(p.get("text", "") for p in user)
        last = messages[-1]["role"]
        self.send_response(200); self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close"); self.end_headers()
        def chunk(delta, finish=None, usage=None):
            out = {"id": "c", "object": "chat.completion.chunk", "model": "scripted",
                   "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
            if usage: out["usage"] = usage
            self.wfile.write(b"data: " + json.dumps(out).encode() + b"\n\n"); self.wfile.flush()
        def call(name, args):
            chunk({"role": "assistant", "tool_calls": [{"index": 0, "id": "c1", "type": "function",
                "function": {"name": name, "arguments": json.dumps(args)}}]})
            return "tool_calls"
        finish = "stop"
        if "look" in user and last == "user": finish = call("list_dir", {"path": "."})
        elif "ask" in user and last == "user": finish = call("ask", {"q": "when?"})
        elif "story" in user:
            for word in ["Once ", "upon ", "a ", "time "]: chunk({"content": word})
            HANG.wait(); return
        else:
            for word in ["an ", "old ", "answer"]: chunk({"content": word})
        chunk({}, finish, {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110})
        self.wfile.write(b"data: [DONE]\n\n"); self.wfile.flush()
        self.close_connection = True

model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
model.daemon_threads = True
threading.Thread(target=model.serve_forever, daemon=True).start()

env = {"HOME": home, "PATH": "/usr/bin:/bin", "SAMOVAR__MODELS__PROBE": "false",
       "CUSTOM_BASE_URL": f"http://127.0.0.1:{model.server_port}/v1", "AGENT_MODEL": sys.argv[3],
       "SAMOVAR_TOKEN": "a-token-of-forty-characters-for-this-file"}
server = subprocess.Popen([binary, "serve", "--port", "0", "--approval", "auto", "--data-dir", data], env=env,
                          cwd=home + "/work", stderr=subprocess.PIPE, text=True)
address = None
for line in server.stderr:
    sys.stderr.write(line)
    found = re.search(r"samovar listens on (http://\S+)", line)
    if found: address = found.group(1)
    if line.startswith("approval:"): break
threading.Thread(target=lambda: [sys.stderr.write(l) for l in server.stderr], daemon=True).start()

def ask(path, body=None, method=None):
    request = urllib.request.Request(address + path, method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": "Bearer " + env["SAMOVAR_TOKEN"], "Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=20))

def agent(method, params): return ask("/services/agent/" + method, params)

def stream(session, content):
    request = urllib.request.Request(address + "/services/agent/sendMessage/stream",
        data=json.dumps({"sessionId": session, "content": content}).encode(),
        headers={"Authorization": "Bearer " + env["SAMOVAR_TOKEN"], "Content-Type": "application/json"})
    return urllib.request.urlopen(request, timeout=20)

ask("/api/tools", {"name": "ask", "description": "Asks the person.", "client": True, "effect": "read",
    "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}})
for name in ["finished", "asks", "streams"]: print(agent("createSession", {"sessionId": name}))
agent("sendMessage", {"sessionId": "finished", "content": "hello"})
agent("sendMessage", {"sessionId": "finished", "content": "look around"})
keep = [stream("asks", "ask me")]
while not ask("/api/calls")["items"]: time.sleep(0.05)
print(ask("/api/calls"))
keep.append(stream("streams", "hello"))
keep.pop().read()
running = stream("streams", "tell me a story")
seen = b""
while b"time" not in seen: seen += running.read1(4096)
keep.append(stream("streams", "and then?"))
time.sleep(float(sys.argv[4]) if len(sys.argv) > 4 else 2)
print(agent("getMessages", {"sessionId": "finished"}))
server.send_signal(signal.SIGKILL); server.wait()
os._exit(0)
