// The whole way of a client: a session, a text, a tool at work, the lists, and what goes wrong.
// The server's model follows a script, which typescript.rs has; it also registers the tool `clock`.

import { AgentStreamEventType, createClient } from "../client.js";
import type { AgentService, AgentStreamEvent, SessionInfo, PaginatedResult } from "../client.js";
import { all, check, failure, refusal, same, server } from "./check.js";

const { baseUrl, token } = server();
const client = createClient({ baseUrl, token });
const service: AgentService = client;

/** The types of events in their order, without repetitions. */
function types(events: readonly AgentStreamEvent[]): AgentStreamEventType[] {
  const types = events.map(({ type }) => type);
  return types.filter((type, at) => type !== types[at - 1]);
}

function text(events: readonly AgentStreamEvent[]): string {
  return events.map((event) => (event.type === "text_delta" ? event.content : "")).join("");
}

/** The same by `GET`, which a client does not need. */
async function get(method: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${baseUrl}/services/agent/${method}`, { headers });
  same(response.status, 200, method);
  return response.json();
}

const made = await client.createSession({ metadata: { source: "verification" } });
const { sessionId } = made;
same([made.id, made.metadata["source"]], [sessionId, "verification"], "the session");

const hello = client.sendMessage({ sessionId, content: "hello" });
same(hello.lastEventId, undefined, "the id before the first event");
const greeting = await all(hello);
same(types(greeting), ["iteration", "text_delta", "completed"], "a turn without tools");
same(text(greeting), "hello there", "its text");
check(/^\d+\.\d+$/.test(hello.lastEventId ?? ""), `${hello.lastEventId} is the id of an event`);
same(await all(hello), [], "a stream that was read");

const tools = await client.listTools();
const clock = tools.find(({ name }) => name === "clock");
same(clock?.parameters, { type: "object" }, "the tool that was registered");

const worked = await all(service.sendMessage({ sessionId, content: "what time is it?" }));
const { ITERATION, TEXT_DELTA, TOOL_CALL_START, TOOL_CALL_RESULT, COMPLETED } = AgentStreamEventType;
const loop = [ITERATION, TOOL_CALL_START, TOOL_CALL_RESULT, ITERATION, TEXT_DELTA, COMPLETED];
same(types(worked), loop, "a turn with a tool");
for (const event of worked) {
  if (event.type === "tool_call_start") same([event.name, event.args], ["clock", {}], "the call");
  if (event.type === "tool_call_result") same(event.result, "12:00", "its result");
}
same(text(worked), "it is noon", "the text behind the tool");

const whole = await client.sendMessageAndWait({ sessionId, content: "and now?" });
same([whole.text, whole.finishReason], ["still noon", "stop"], "a turn in one answer");
same(types(whole.events), types(greeting), "its events");
check(whole.usage.total > 0, "it cost tokens");

const sessions = await client.listSessions({ limit: 10 });
same(sessions.items.map(({ id }) => id), [sessionId], "the list of sessions");
const listed = (await get("listSessions?limit=10")) as PaginatedResult<SessionInfo>;
same(listed, sessions, "the list by GET");

const stats = await client.getStats();
check(stats.sessions > 0 && stats.messages > 0 && stats.tokens.total > 0, "there is something");
same(await get("getStats"), stats, "the statistics by GET");

const messages = await client.getMessages({ sessionId });
const answered = messages.find(({ role }) => role === "tool");
same([answered?.name, answered?.content, answered?.isError], ["clock", "12:00", false], "a result");
same(messages.at(-1)?.id, whole.messageId, "the last message");

const unknown = await refusal(client.getSession({ sessionId: "nobody" }));
same([unknown.status, unknown.code], [404, "unknown_session"], "a session that is not there");
check(unknown.message.includes("nobody"), "the sentence names it");
const blank = await refusal(all(client.sendMessage({ sessionId, content: " " })));
same([blank.status, blank.code], [400, "blank_content"], "a message without a word");
const late = await refusal(client.getMessages({ sessionId, limit: 1_001 }));
same([late.status, late.details], [400, { parameter: "limit" }], "a limit that is too high");
const stranger = createClient({ baseUrl, token: "a token that nobody made" });
same((await refusal(stranger.getStats())).status, 401, "a wrong token");

// The model holds this answer back in its middle.
const giveUp = new AbortController();
const held = client.sendMessage({ sessionId, content: "go on" }, { signal: giveUp.signal });
const aborted = await failure(
  (async () => {
    for await (const event of held) if (event.type === "text_delta") giveUp.abort();
  })(),
);
same((aborted as Error).name, "AbortError", "a stream that was given up");
same(await client.cancel({ sessionId }), { cancelled: true }, "its turn, which went on");
for await (const { type } of client.sendMessage({ sessionId, content: "again" })) {
  if (type === "text_delta") break;
}

await client.deleteSession({ sessionId });
same((await refusal(client.getSession({ sessionId }))).code, "unknown_session", "what was deleted");

// What the compiler has to refuse.
export function refused(): void {
  // @ts-expect-error a session has to be named
  void client.getSession({});
  // @ts-expect-error a number is no text
  void client.sendMessageAndWait({ sessionId, content: 1 });
  // @ts-expect-error there is no such delivery
  void client.sendMessageAndWait({ sessionId, content: "", delivery: "never" });
  // @ts-expect-error there is no such method
  void client.sendMessages({ sessionId, content: "" });
  // @ts-expect-error a stream is no promise
  void client.sendMessage({ sessionId, content: "" }).then();
}

/** Says of every type of event what it is: a type that is not here does not compile. */
export function about(event: AgentStreamEvent): string {
  switch (event.type) {
    case "iteration":
      return `${event.iteration} of ${event.maxIterations}`;
    case "text_delta":
      return event.content;
    case "tool_call_start":
      return `${event.id} ${event.name} ${JSON.stringify(event.args)}`;
    case "tool_call_result":
      return `${event.id} ${event.name} ${event.result}`;
    case "completed":
      return `${event.finishReason} ${event.totalIterations}`;
    case "error":
      return `${event.code} ${event.message}`;
  }
}
