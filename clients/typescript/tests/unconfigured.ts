// The first steps with a server that was told nothing: its model is `demo`, its tools are built in.

import { createClient } from "../client.js";
import { all, check, same, server } from "./check.js";

const client = createClient(server());

const { sessionId, model } = await client.createSession();
same(model, "demo", "the model of a server without a key");

const hello = await all(client.sendMessage({ sessionId, content: "hello" }));
check(hello.some(({ type }) => type === "text_delta"), "it says something");

const listing = await all(client.sendMessage({ sessionId, content: "list the files here" }));
const types = listing.map(({ type }) => type);
const inOrder = ["tool_call_start", "tool_call_result", "text_delta", "completed"] as const;
const places = inOrder.map((type) => types.lastIndexOf(type));
check(!places.includes(-1), `${types} has ${inOrder}`);
same(places, [...places].sort((a, b) => a - b), "the order of the events");

same((await client.listSessions()).items[0]?.id, sessionId, "the list of sessions");
const { sessions, messages, tokens } = await client.getStats();
same([sessions, messages], [1, 6], "what is counted");
check(tokens.total > 0, "tokens are counted");
