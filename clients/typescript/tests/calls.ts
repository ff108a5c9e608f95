// What the client sends, and what it makes of answers that no server of ours gives.

import { AgentError, createClient } from "../client.js";
import { all, failure, refusal, same } from "./check.js";

interface Sent {
  url: string;
  method: string | undefined;
  headers: unknown;
  body: unknown;
}

/** A client whose requests go nowhere, and what it sent. */
function alone(answer: () => Response, baseUrl = "http://host.test") {
  const sent: Sent[] = [];
  const fetch = async (url: unknown, { method, headers, body }: RequestInit = {}) => {
    sent.push({ url: String(url), method, headers, body });
    return answer();
  };
  return { client: createClient({ baseUrl, token: "t", fetch }), sent };
}

const ok = (json: string) => () => new Response(json);

const { client, sent } = alone(ok('{"sessions": 1}'));
same(await client.getStats(), { sessions: 1 }, "the bare value");
const expected: Sent = {
  url: "http://host.test/services/agent/getStats",
  method: "POST",
  headers: { accept: "application/json", authorization: "Bearer t", "content-type": "application/json" },
  body: "{}",
};
same(sent, [expected], "what is sent");

for (const baseUrl of ["http://host.test/below/", "http://host.test/below"]) {
  const { client, sent } = alone(ok("null"), baseUrl);
  await client.deleteSession({ sessionId: "№ 1/2" });
  same(sent[0]?.url, "http://host.test/below/services/agent/deleteSession", "a base with a path");
  same(sent[0]?.body, '{"sessionId":"№ 1/2"}', "its parameters");
}

const stream = alone(() => new Response("data: [DONE]\n\n"));
const lazy = stream.client.sendMessage({ sessionId: "s", content: "x" });
same(stream.sent, [], "what is sent before anything is read");
same(await all(lazy), [], "an empty stream");
same(stream.sent[0]?.url, "http://host.test/services/agent/sendMessage/stream", "where it goes");
same((stream.sent[0]?.headers as Record<string, string>)["accept"], "text/event-stream", "its kind");

const answers: [Response, number, string][] = [
  [Response.json({ error: "full", code: "busy" }, { status: 429 }), 429, "busy"],
  [new Response("<h1>Bad Gateway</h1>", { status: 502 }), 502, "invalid_answer"],
  [Response.json({ message: "no" }, { status: 500 }), 500, "invalid_answer"],
  [Response.json(null, { status: 500 }), 500, "invalid_answer"],
  [new Response(null, { status: 503 }), 503, "invalid_answer"],
  [new Response("<h1>Sign in</h1>", { status: 200 }), 200, "invalid_answer"],
];
for (const [answer, status, code] of answers) {
  const { client } = alone(() => answer);
  const error = await refusal(client.getStats());
  same([error.status, error.code, error.name], [status, code, "AgentError"], "the error");
}

/** A server that never answers, and whose connections can be given up. */
const silent: typeof fetch = (_url, request) =>
  new Promise((_, reject) => {
    const signal = request?.signal;
    const giveUp = () => reject(signal?.reason);
    if (signal?.aborted) giveUp();
    signal?.addEventListener("abort", giveUp);
  });
const patient = createClient({ baseUrl: "http://host.test", token: "t", timeoutMs: 1, fetch: silent });
// Node ends when nothing but the clock of a signal is left; a real request keeps it up.
const busy = setInterval(() => {}, 1_000);
same((await failure(patient.getStats()) as Error).name, "TimeoutError", "a call that takes too long");
const given = AbortSignal.abort();
const late = await failure(patient.getStats({}, { signal: given }));
same((late as Error).name, "AbortError", "a call that was given up");
clearInterval(busy);

// A turn may take as long as it likes.
const waits: (AbortSignal | null | undefined)[] = [];
const slow: typeof fetch = async (_url, request) => {
  waits.push(request?.signal);
  return new Response("{}");
};
const client2 = createClient({ baseUrl: "http://host.test", token: "t", timeoutMs: 1, fetch: slow });
await client2.sendMessageAndWait({ sessionId: "s", content: "x" });
same(waits, [null], "the limit of a turn");

same(new AgentError(404, "x", "y") instanceof Error, true, "an error is an Error");
