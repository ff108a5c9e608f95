// A client of the agent service that needs only `fetch`, for Node 20.3 or later and for browsers.

import { AGENT_BASE_PATH, AGENT_METHODS, APPROVALS_PATH, TICKETS_PATH } from "./agent.js";
import type {
  AgentMethod, AgentService, ApprovalList, CreatedTicket, DecideParams, Decided, ErrorBody,
} from "./agent.js";

export * from "./agent.js";

/** The server's address, the token, and timeouts. */
export interface ClientConfig {
  /** For example `http://127.0.0.1:4747`. */
  baseUrl: string;
  /** The server's token. */
  token: string;
  /** The timeout of a call that does not wait for a turn; by default 5,000. */
  timeoutMs?: number;
  /** How long to try to resume a stream that broke off, after its last event; by default 60,000,
   * 0 for never. */
  resumeMs?: number;
  /** Sends the requests; by default the platform's own `fetch`. */
  fetch?: typeof fetch;
}

/** Options of a single call. */
export interface CallOptions {
  /** Aborts the call. It does not stop a turn: `cancel` does. */
  signal?: AbortSignal;
}

/** Options of a stream. */
export interface StreamOptions extends CallOptions {
  /** Whether the stream also has the events with which a call begins or ends to wait for a person or
   * a client, each a `WaitingEvent`. */
  approvals?: boolean;
}

/** With `approvals`: a call waits, or waits no longer. Other fields are those of the full profile. */
export interface WaitingEvent {
  /** `approval_asked` and `call_approved` are about a decision, `call_started` and `call_closed`
   * about a question or another call that is settled from outside. */
  type: "approval_asked" | "call_approved" | "call_started" | "call_closed";
  /** The id of the call, with which `POST /api/calls/{id}` settles it. */
  call: string;
  /** The turn, which may be that of a called agent. */
  turn: string;
  /** The agents from the session's own down to the one that calls, separated by `/`. */
  agent: string;
  /** What a person decides about; `id` is the approval's. */
  asked?: { id: string; reason: string; preview?: string; expires_at: number };
  /** The decision. */
  decision?: "once" | "turn" | "always" | "deny";
}

/** An event of a stream with `approvals`, if it is a `WaitingEvent`. */
export function waitingEvent(event: { type: string }): WaitingEvent | undefined {
  const isOne = /^(approval_asked|call_(approved|started|closed))$/.test(event.type);
  return isOne ? (event as WaitingEvent) : undefined;
}

/** The service, with options for every call, and streams that can resume. */
export type AgentClient = {
  [Name in keyof AgentService]: (
    ...given: [...params: Parameters<AgentService[Name]>, options?: OptionsOf<AgentService[Name]>]
  ) => Answer<ReturnType<AgentService[Name]>>;
} & {
  /** What a person decides about. */
  approvals: {
    /** The calls that wait for a decision, oldest first. */
    list(options?: CallOptions): Promise<ApprovalList>;
    /** Decides about one, by the id of the approval. The first decision counts. */
    decide(id: string, params: DecideParams, options?: CallOptions): Promise<Decided>;
  };
  /** The address of a stream for an `EventSource`, with a ticket that opens it once, within 30
   * seconds. A source that broke off cannot reconnect: close it, and open the next one with a new
   * address, `after` the last id that you read. */
  streamUrl(params: { sessionId: string; after?: string }, options?: StreamOptions): Promise<string>;
};

type Answer<T> = T extends AsyncIterable<infer Event> ? EventStream<Event> : T;

type OptionsOf<Method> = Method extends (...given: never) => AsyncIterable<unknown>
  ? StreamOptions
  : CallOptions;

/** A refusal, an answer that cannot be understood (`invalid_answer`, `stream_cut`), or a position
 * in a stream that the server no longer knows (`stream_reset`). */
export class AgentError extends Error {
  override readonly name = "AgentError";
  /** The HTTP status. */
  readonly status: number;
  /** The stable code, one of docs/protocols.md. */
  readonly code: string;
  /** Details for programs. */
  readonly details: unknown;

  constructor(status: number, code: string, message: string, details?: unknown) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** Opens a stream after the event with an id; without an id, at its start. */
type Open = (after: string | undefined) => Promise<Response>;

/** How to resume a stream that breaks off. */
interface Resuming {
  forMs: number;
  signal: AbortSignal | undefined;
  /** Whether the reader handles a `reset`; otherwise it is an error. */
  takesResets: boolean;
}

/** The events of a turn, which can be read once. The message is sent when the first event is
 * requested. A stream that breaks off resumes after the last event that was read. */
export class EventStream<Event> implements AsyncIterable<Event> {
  /** The id of the last event that was read, of those with an id. */
  lastEventId: string | undefined;
  readonly #events: AsyncGenerator<Event, void>;

  constructor(open: Open, resuming: Resuming) {
    this.#events = this.#read(open, resuming);
  }

  [Symbol.asyncIterator](): AsyncGenerator<Event, void> {
    return this.#events;
  }

  async *#read(open: Open, resuming: Resuming): AsyncGenerator<Event, void> {
    // A request that never reached a server throws the error of `fetch`: there may be no server.
    let response = await open(undefined);
    let lostAt: number | undefined;
    for (;;) {
      const { body, status } = response;
      // Nothing follows the last event that was read.
      if (status === 204) return;
      let why: unknown = cut(status);
      try {
        for await (const { id, data } of body ? frames(body) : []) {
          if (data === "[DONE]") return;
          const event = parse(data, status);
          if (LEFT.some((code) => says(event, "error", code)) && resuming.forMs > 0) break;
          if (says(event, "reset") && !resuming.takesResets) throw reset(status, event);
          this.lastEventId = id ?? this.lastEventId;
          lostAt = undefined;
          yield event as Event;
        }
      } catch (error) {
        if (error instanceof AgentError || resuming.forMs <= 0) throw error;
        why = error;
      }
      lostAt ??= Date.now();
      response = await this.#reopen(open, resuming, lostAt + resuming.forMs, why);
    }
  }

  async #reopen(open: Open, { signal }: Resuming, until: number, why: unknown): Promise<Response> {
    for (let pauseMs = 100; ; pauseMs = Math.min(2 * pauseMs, 2_000)) {
      signal?.throwIfAborted();
      if (Date.now() >= until) throw why;
      await new Promise((goOn) => setTimeout(goOn, pauseMs));
      try {
        return await open(this.lastEventId);
      } catch (error) {
        if (error instanceof AgentError && !PASSES_BY.includes(error.status)) throw error;
        why = error;
      }
    }
  }
}

/** Why a stream ends while its turn continues. */
const LEFT: readonly string[] = ["server_restart", "reader_stalled"];

/** The answers of a server, or of a proxy in front of it, while the server is away. */
const PASSES_BY: readonly number[] = [429, 502, 503, 504];

/** A client of one server. */
export function createClient(config: ClientConfig): AgentClient {
  const { token, timeoutMs = 5_000, resumeMs = 60_000, fetch = globalThis.fetch } = config;
  const server = config.baseUrl.replace(/\/+$/, "");

  async function send(
    { path, verb, answers }: AgentMethod,
    params: object,
    options: StreamOptions,
    after?: string,
  ): Promise<Response> {
    const headers: Record<string, string> = {
      accept: answers === "stream" ? "text/event-stream" : "application/json",
      authorization: `Bearer ${token}`,
    };
    const said: RequestInit = { method: verb, headers, signal: options.signal ?? null };
    if (verb === "POST") {
      headers["content-type"] = "application/json";
      said.body = JSON.stringify(params);
    }
    if (after !== undefined) headers["last-event-id"] = after;
    const approvals = options.approvals ? { approvals: true } : {};
    const query = queryOf({ ...(verb === "GET" ? params : {}), ...approvals });
    const response = await fetch(`${server}${path}${query}`, said).catch((error: unknown) => {
      throw unreached(server, error);
    });
    if (response.ok) return response;
    throw refusal(response.status, await response.text());
  }

  async function value(method: AgentMethod, params: object, options: CallOptions) {
    const response = await send(method, params, options);
    return parse(await response.text(), response.status);
  }

  /** A call that does not wait for a turn. */
  function soon(method: AgentMethod, params: object, { signal }: CallOptions) {
    const limit = AbortSignal.timeout(timeoutMs);
    return value(method, params, { signal: signal ? AbortSignal.any([signal, limit]) : limit });
  }

  function stream(method: AgentMethod, params: object, options: StreamOptions) {
    const takesResets = method.verb === "GET";
    // With an id, a message is accepted once, however often it is sent.
    const said = takesResets ? params : { messageId: crypto.randomUUID(), ...params };
    const open: Open = (after) => send(method, said, options, after);
    return new EventStream(open, { forMs: resumeMs, signal: options.signal, takesResets });
  }

  const waysToAnswer = { stream, turn: value, value: soon };
  const calls = Object.entries(AGENT_METHODS).map(([name, method]) => [
    name,
    (params: object = {}, options: StreamOptions = {}) =>
      waysToAnswer[method.answers](
        { ...method, path: `${AGENT_BASE_PATH}/${method.path}` },
        params,
        options,
      ),
  ]);
  const more: Pick<AgentClient, "approvals" | "streamUrl"> = {
    approvals: {
      list: (options = {}) =>
        soon({ path: APPROVALS_PATH, verb: "GET", answers: "value" }, {}, options) as
          Promise<ApprovalList>,
      decide: (id, params, options = {}) => {
        const path = `${APPROVALS_PATH}/${encodeURIComponent(id)}`;
        return soon({ path, verb: "POST", answers: "value" }, params, options) as Promise<Decided>;
      },
    },
    streamUrl: async (params, options = {}) => {
      const asked = soon({ path: TICKETS_PATH, verb: "POST", answers: "value" }, {}, options);
      const { ticket } = (await asked) as CreatedTicket;
      const approvals = options.approvals ? { approvals: true } : {};
      const { path } = AGENT_METHODS.resumeMessage;
      return `${server}${AGENT_BASE_PATH}/${path}${queryOf({ ...params, ...approvals, ticket })}`;
    },
  };
  // The table has every method of the service: agent.ts says so with `satisfies`.
  return Object.assign(Object.fromEntries(calls), more) as AgentClient;
}

function queryOf(params: object): string {
  const given = Object.entries(params).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return given.length > 0 ? `?${query.toString()}` : "";
}

interface Frame {
  /** The last id, of this frame or an earlier one. */
  id: string | undefined;
  data: string;
}

async function* frames(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame> {
  let id: string | undefined;
  let data: string | undefined;
  for await (const line of lines(body)) {
    // Other fields, and comments, which have no name, are ignored.
    const [, field, said = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "id") id = said;
    if (field === "data") data = data === undefined ? said : `${data}\n${said}`;
    if (line !== "") continue;
    if (data !== undefined) yield { id, data };
    data = undefined;
  }
}

/** The lines of a body, in whatever pieces its bytes come. An unterminated line is dropped. */
async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let line = "";
  let endsWithCr = false;
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      let text = decoder.decode(read.value, { stream: true });
      if (text === "") continue;
      // The other half of a CRLF that two pieces share.
      if (endsWithCr && text.startsWith("\n")) text = text.slice(1);
      endsWithCr = text.endsWith("\r");
      for (const [at, piece] of text.split(/\r\n|\r|\n/).entries()) {
        if (at > 0) yield line;
        line = at > 0 ? piece : line + piece;
      }
    }
  } finally {
    // Closes the connection when the reader stops early; a broken one is closed already.
    await reader.cancel().catch(() => undefined);
  }
}

function parse(text: string, status: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notUnderstood(status, text);
  }
}

function says(event: unknown, type: string, code?: string): boolean {
  const said = (event ?? {}) as { type?: unknown; code?: unknown };
  return said.type === type && (code === undefined || said.code === code);
}

/** The error of a request that reached no server, with the address that it was sent to. */
function unreached(server: string, error: unknown): unknown {
  if (!(error instanceof TypeError)) return error;
  const { code } = (error.cause ?? {}) as { code?: unknown };
  const why = typeof code === "string" ? code : error.message;
  return new TypeError(`no answer from ${server}: ${why}; is the server running?`, { cause: error });
}

function cut(status: number): AgentError {
  const why = "the stream broke off; the turn may continue, and getMessages returns its messages";
  return new AgentError(status, "stream_cut", why);
}

/** Earlier events of the turn may be missing; the details have its current state. */
function reset(status: number, event: unknown): AgentError {
  const why = "the server no longer knows this position; details has the current state of the turn";
  return new AgentError(status, "stream_reset", why, (event as { snapshot?: unknown }).snapshot);
}

function refusal(status: number, text: string): AgentError {
  const { code, error, details } = (parse(text, status) ?? {}) as Partial<ErrorBody>;
  if (typeof code !== "string" || typeof error !== "string") return notUnderstood(status, text);
  return new AgentError(status, code, error, details);
}

function notUnderstood(status: number, text: string): AgentError {
  const why = `the answer is not one of the agent service (status ${status}): ${text.slice(0, 80)}`;
  return new AgentError(status, "invalid_answer", why);
}
