// A turn that waits for a person, seen and decided through the client, and a stream by a ticket.
// The server's level is `supervised`; its model follows a script, which typescript.rs has.

import { createClient, waitingEvent } from "../client.js";
import { check, same, server } from "./check.js";

const { baseUrl, token } = server();
const client = createClient({ baseUrl, token });
const { sessionId } = await client.createSession();

const turn = client.sendMessage({ sessionId, content: "write it" }, { approvals: true });
const waits: string[] = [];
for await (const event of turn) {
  const { type, asked } = waitingEvent(event) ?? {};
  if (type !== undefined) waits.push(type);
  if (type === "approval_asked" && asked !== undefined) {
    const { items } = await client.approvals.list();
    same(items.map(({ id }) => id), [asked.id], "what is to be decided");
    await client.approvals.decide(asked.id, { decision: "once" });
  }
  if (event.type === "tool_call_result") same(event.status, "done", "the status of the result");
}
same(waits, ["approval_asked", "call_approved"], "what the stream says of the wait");

const url = await client.streamUrl({ sessionId }, { approvals: true });
const first = await fetch(url);
const read = await first.text();
check(first.ok && read.includes("approval_asked") && read.includes("[DONE]"), read);
same((await fetch(url)).status, 401, "a ticket that was used");
