// A stream that breaks off goes on behind the last event that was read, and is given up in the end.

import { createClient } from "../client.js";
import type { AgentStreamEvent } from "../client.js";
import { all, check, failure, refusal, same } from "./check.js";

interface Sent {
  method: string | undefined;
  after: string | undefined;
  body: Record<string, unknown>;
  url: string;
}

/** What a server does with one request. */
type Does = () => Response;

/** A client of a server that does this, one request after the other, and what it was asked. */
function alone(does: readonly Does[], resumeMs?: number) {
  const sent: Sent[] = [];
  const rest = [...does];
  const fetch = async (url: unknown, { method, headers, body }: RequestInit = {}) => {
    const after = (headers as Record<string, string>)["last-event-id"];
    sent.push({ method, after, body: JSON.parse(String(body ?? "{}")), url: String(url) });
    const next = rest.shift();
    check(next !== undefined, "it is asked no more often than it answers");
    return next();
  };
  const config = { baseUrl: "http://host.test", token: "t", fetch };
  const client = createClient(resumeMs === undefined ? config : { ...config, resumeMs });
  return { client, sent };
}

const frame = (id: string, content: string) =>
  `id: ${id}\ndata: ${JSON.stringify({ type: "text_delta", content })}\n\n`;
const RESTART = 'data: {"type":"error","code":"server_restart","message":"soon back"}\n\n';
const DONE = 'data: {"type":"completed","finishReason":"stop","totalIterations":1}\n\ndata: [DONE]\n\n';

const streams = (text: string) => () => new Response(text);
/** What comes, and then the connection breaks. */
const breaks = (text: string) => () => {
  const bytes = [new TextEncoder().encode(text)];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = bytes.shift();
      if (piece === undefined) controller.error(new TypeError("terminated"));
      else controller.enqueue(piece);
    },
  });
  return new Response(body);
};
const away = () => {
  throw new TypeError("fetch failed");
};
const starting = () =>
  Response.json({ error: "the server is starting", code: "unavailable" }, { status: 503 });

function text(events: readonly AgentStreamEvent[]): string {
  return events.map((event) => (event.type === "text_delta" ? event.content : "")).join("");
}

const kept = alone([
  breaks(frame("1.1", "a") + 'id: 1.2\ndata: {"type":"text_del'),
  away,
  starting,
  streams(frame("1.2", "b") + RESTART + "data: [DONE]\n\n"),
  streams(frame("2.3", "c") + DONE),
]);
const turn = kept.client.sendMessage({ sessionId: "s", content: "x" });
same(text(await all(turn)), "abc", "every event once");
same(turn.lastEventId, "2.3", "the last id");
same(kept.sent.map(({ after }) => after), [undefined, "1.1", "1.1", "1.1", "1.2"], "where it goes on");
const ids = kept.sent.map(({ body }) => body["messageId"]);
check(typeof ids[0] === "string" && ids[0].length > 20, "the message has an id");
check(ids.every((id) => id === ids[0]), "and keeps it, so that it is said once");

const named = alone([breaks(""), streams(DONE)]);
await all(named.client.sendMessage({ sessionId: "s", content: "x", messageId: "mine" }));
same(named.sent.map(({ body }) => body["messageId"]), ["mine", "mine"], "an id that was given");

const read = alone([breaks(frame("1.4", "d")), streams(DONE)]);
await all(read.client.resumeMessage({ sessionId: "s", after: "1.3" }));
same(read.sent.map(({ method }) => method), ["GET", "GET"], "a stream that is only read");
same(read.sent.map(({ after }) => after), [undefined, "1.4"], "and goes on");

const RESET = 'id: 2.9\ndata: {"type":"reset","snapshot":{"turnId":"t"}}\n\n';
const lost = alone([breaks(frame("1.1", "a")), streams(RESET + DONE)]);
const error = await refusal(all(lost.client.sendMessage({ sessionId: "s", content: "x" })));
same([error.code, error.details], ["stream_reset", { turnId: "t" }], "a place that is lost");
const seen = alone([streams(RESET + DONE)]);
const events = await all(seen.client.resumeMessage({ sessionId: "s", after: "9.9" }));
same(events[0]?.type, "reset", "where a reset is expected");

// What will not pass by is not waited for.
const refused = alone([breaks(""), () => Response.json({ error: "no", code: "unauthorized" }, { status: 401 })]);
same((await refusal(all(refused.client.sendMessage({ sessionId: "s", content: "x" })))).code, "unauthorized", "a refusal");
const never = alone([away]);
const unreached = await failure(all(never.client.sendMessage({ sessionId: "s", content: "x" })));
check(unreached instanceof TypeError && unreached.message.startsWith("no answer from http"), "what never reached a server");
const given = alone([breaks(frame("1.1", "a")), ...Array.from({ length: 20 }, () => away)], 250);
check((await failure(all(given.client.sendMessage({ sessionId: "s", content: "x" })))) instanceof TypeError, "a server that stays away");
check(given.sent.length > 1, "it is looked for");

const stop = new AbortController();
const aborted = alone([breaks(frame("1.1", "a")), away, away, away, away, away, away, away]);
const left = aborted.client.sendMessage({ sessionId: "s", content: "x" }, { signal: stop.signal });
const why = await failure((async () => {
  for await (const _ of left) stop.abort();
})());
same((why as Error).name, "AbortError", "who gives it up");
same(aborted.sent.length, 1, "and it is not asked again");
