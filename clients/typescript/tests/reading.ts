// A stream is read the same in whatever pieces its bytes come, and is never half understood.

import { createClient } from "../client.js";
import type { AgentStreamEvent } from "../client.js";
import { all, check, refusal, same } from "./check.js";

const EVENTS: AgentStreamEvent[] = [
  { type: "iteration", iteration: 1, maxIterations: 20, tokens: 0 },
  { type: "text_delta", content: "на 3 кадра, 漢字 🎬\u2028\u0085\u0000" },
  { type: "tool_call_start", id: "c", name: "look", args: { at: "a\nb\r\ndata: [DONE]\n\n" } },
  { type: "completed", finishReason: "stop", totalIterations: 1 },
];
const IDS = ["1.1", "1.2.1", "1.2", undefined];

/** A stream as any server may write it, with lines that mean nothing to a client. */
const LINES = [
  ": hello",
  "",
  ...EVENTS.flatMap((event, at) => {
    const id = IDS[at] === undefined ? [] : [`id: ${IDS[at]}`];
    const data = JSON.stringify(event, null, at).split("\n").map((line) => `data: ${line}`);
    const frame = at === 0 ? [...id, ...data] : [...data, "event: message", ...id];
    return [...frame, "", ": ping", ""];
  }),
  "data: [DONE]",
  "",
];

function bytes(lines: readonly string[], end: string): Uint8Array {
  return new TextEncoder().encode(lines.map((line) => line + end).join(""));
}

/** A stream of these pieces, and how it was left. */
function stream(pieces: readonly Uint8Array[]) {
  const left = { closed: false };
  const rest = [...pieces];
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const piece = rest.shift();
        if (piece === undefined) controller.close();
        else controller.enqueue(piece);
      },
      cancel() {
        left.closed = true;
      },
    },
    { highWaterMark: 0 },
  );
  const fetch = async () => new Response(body);
  const client = createClient({ baseUrl: "http://host.test", token: "t", resumeMs: 0, fetch });
  return { read: client.sendMessage({ sessionId: "s", content: "x" }), left };
}

async function reads(pieces: readonly Uint8Array[], how: string): Promise<void> {
  const { read } = stream(pieces);
  const events: AgentStreamEvent[] = [];
  const ids: (string | undefined)[] = [];
  for await (const event of read) {
    events.push(event);
    ids.push(read.lastEventId);
  }
  same(events, EVENTS, `the events, ${how}`);
  same(ids, ["1.1", "1.2.1", "1.2", "1.2"], `the ids, ${how}`);
}

/** The pieces between these places. */
function cut(whole: Uint8Array, ...places: number[]): Uint8Array[] {
  return [0, ...places].map((from, at) => whole.subarray(from, places[at] ?? whole.length));
}

for (const [name, end] of Object.entries({ LF: "\n", CRLF: "\r\n", CR: "\r" })) {
  const whole = bytes(LINES, end);
  const every = Array.from(whole.keys());
  await reads([whole], `${name} in one piece`);
  const bytewise = cut(whole, ...every.slice(1));
  await reads(bytewise, `${name} byte by byte`);
  const empty = new Uint8Array();
  await reads(bytewise.flatMap((byte) => [byte, empty]), `${name} with nothing in between`);
  for (const at of every) await reads(cut(whole, at), `${name} cut at ${at}`);
  for (const size of [2, 3, 5, 7, 64]) {
    const places = every.filter((at) => at > 0 && at % size === 0);
    await reads(cut(whole, ...places), `${name} in pieces of ${size}`);
  }
  await reads([new Uint8Array([0xef, 0xbb, 0xbf]), whole], `${name} behind a byte order mark`);

  // Wherever a stream breaks off, what came whole is shown, and the end is an error.
  const done = bytes(LINES.slice(0, -1), end).length;
  for (const length of every.filter((length) => length <= done)) {
    const { read } = stream([whole.subarray(0, length)]);
    const events: AgentStreamEvent[] = [];
    const error = await refusal((async () => {
      for await (const event of read) events.push(event);
    })());
    same([error.status, error.code], [200, "stream_cut"], `${name} broken off at ${length}`);
    same(events, EVENTS.slice(0, events.length), `what came before ${length}`);
  }
}

const odd = ["data:{}", "", "data: {", "data: }", "", "data", "id: 1.9", "nonsense", "data : 1", "", ""];
const [first, second] = await (async () => {
  const read: AgentStreamEvent[] = [];
  const error = await refusal((async () => {
    for await (const event of stream([bytes(odd, "\n")]).read) read.push(event);
  })());
  same(error.code, "invalid_answer", "a frame that is no JSON");
  return read;
})();
same([first, second], [{}, {}], "a frame without a space, and one of two lines");

const { read, left } = stream([bytes(LINES, "\n"), new Uint8Array(8)]);
for await (const { type } of read) if (type === "text_delta") break;
check(left.closed, "a stream that was left early is closed");
same(await all(read), [], "and gives nothing more");

const broken = stream([bytes(["data: [DONE]", "", "data: not for us", ""], "\n")]);
same(await all(broken.read), [], "what comes behind the end");
