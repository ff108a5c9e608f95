// Generated from the server's Rust types by `cargo xtask contract`: what is changed here is lost.
//
// The contract of a Samovar server's agent service: its methods, what they take and answer, and
// what their streams say. docs/protocols.md explains it, and docs/requirements.md has the sentence
// for an id such as AS-7. A client that speaks it is beside this file, in client.ts.

/** Where the methods lie: `{AGENT_BASE_PATH}/{path}`. */
export const AGENT_BASE_PATH = "/services/agent";

/** The service. Every method takes one object of parameters. */
export interface AgentService {
  /** Makes a session; with the id of one that exists, answers that one. */
  createSession(params?: CreateSessionParams): Promise<SessionInfo>;
  /** Says something, waits for the turn that it starts, and answers the whole turn. */
  sendMessageAndWait(params: SendMessageParams): Promise<SendMessageResult>;
  /** Says something, and streams the turn that it starts. */
  sendMessage(params: SendMessageParams): AsyncIterable<AgentStreamEvent>;
  /** Streams a turn again, from behind what was read of it. */
  resumeMessage(params: ResumeParams): AsyncIterable<AgentResumedEvent>;
  /** Answers a session. */
  getSession(params: SessionParams): Promise<SessionInfo>;
  /** Answers the last messages of a session, oldest first. */
  getMessages(params: GetMessagesParams): Promise<AgentMessage[]>;
  /** Answers a page of the sessions, the one that changed last first. */
  listSessions(params?: PaginationParams): Promise<PaginatedResult<SessionInfo>>;
  /** Changes the title or the model of a session, and answers it. */
  updateSession(params: UpdateSessionParams): Promise<SessionInfo>;
  /** Stops what runs in a session, and removes it. */
  deleteSession(params: SessionParams): Promise<void>;
  /** Stops a turn, and answers whether one was stopped. */
  cancel(params: CancelParams): Promise<CancelResult>;
  /** Takes the last turn of a session back, and answers what its user had said. */
  undo(params: SessionParams): Promise<UndoResult>;
  /** Answers the tools that a model may call. */
  listTools(params?: NoParams): Promise<ToolDefinition[]>;
  /** Counts the sessions, their messages, and the tokens that they cost. */
  getStats(params?: NoParams): Promise<Stats>;
}

/** How a method is called. */
export interface AgentMethod {
  /** Its path below `AGENT_BASE_PATH`. */
  readonly path: string;
  /** `POST` with the parameters in a JSON body, `GET` with them in the query. */
  readonly verb: "POST" | "GET";
  /** `value`: an answer at once; `turn`: one when the turn is over; `stream`: its events. */
  readonly answers: "value" | "turn" | "stream";
}

/** Every method of the service, and how it is called. */
export const AGENT_METHODS = {
  createSession: { path: "createSession", verb: "POST", answers: "value" },
  sendMessageAndWait: { path: "sendMessage", verb: "POST", answers: "turn" },
  sendMessage: { path: "sendMessage/stream", verb: "POST", answers: "stream" },
  resumeMessage: { path: "sendMessage/stream", verb: "GET", answers: "stream" },
  getSession: { path: "getSession", verb: "POST", answers: "value" },
  getMessages: { path: "getMessages", verb: "POST", answers: "value" },
  listSessions: { path: "listSessions", verb: "POST", answers: "value" },
  updateSession: { path: "updateSession", verb: "POST", answers: "value" },
  deleteSession: { path: "deleteSession", verb: "POST", answers: "value" },
  cancel: { path: "cancel", verb: "POST", answers: "value" },
  undo: { path: "undo", verb: "POST", answers: "value" },
  listTools: { path: "listTools", verb: "POST", answers: "value" },
  getStats: { path: "getStats", verb: "POST", answers: "value" },
} as const satisfies Record<keyof AgentService, AgentMethod>;

/** Parameters of `createSession`. */
export interface CreateSessionParams {
  /** The model; none for the default. */
  model?: string;
  /** The session's id; none lets the server make one. A session that exists is given back. */
  sessionId?: string;
  /** Facts to be kept with the session. */
  metadata?: Record<string, unknown>;
}

/** Parameters of `sendMessage` and `sendMessage/stream`. */
export interface SendMessageParams {
  /** The session. */
  sessionId: string;
  /** What is said: at least one visible character. */
  content: string;
  /** The client's id for the message; none lets the server make one. */
  messageId?: string;
  /** What happens while another turn runs (AS-11). */
  delivery?: Delivery;
  /**
   * Passes of the loop that its turn may take; the server's own number when absent. From 1 to
   * 1000.
   */
  maxIterations?: number;
  /**
   * Tokens that all model calls of its turn together may cost; the server's own number when
   * absent. From 1 to 4294967295.
   */
  budgetTokens?: number;
  /** How much is asked before a call of its turn runs; the server's own level when absent. */
  approval?: "auto" | "supervised" | "read-only";
}

/** What happens to a message while another turn runs. */
export type Delivery =
  /** It waits for its turn. */
  | "queue"
  /**
   * It joins the turn that runs before that asks its model again; its own turn ends as
   * `steered` then. When the turn ends before, it begins its own. It can set nothing for its
   * turn.
   */
  | "steer"
  /** The turn that runs is stopped, and its own begins, before what waits. */
  | "interrupt"
  /** It is refused with `session_busy`. */
  | "reject";

/** Parameters of a stream that is read again. */
export interface ResumeParams {
  /** The session. */
  sessionId: string;
  /**
   * The id of the last frame that was read: the stream goes on behind it, to the end of that
   * frame's turn. Without one it begins with the turn that runs, else with the last one.
   */
  after?: string;
}

/** Parameters of `getSession`, `deleteSession` and `undo`. */
export interface SessionParams {
  /** The session. */
  sessionId: string;
}

/** Parameters of `getMessages`. */
export interface GetMessagesParams {
  /** The session. */
  sessionId: string;
  /** How many of the last to show; 1,000 when absent. From 0 to 1000. */
  limit?: number;
  /** Only messages before this one. */
  before?: string;
}

/** Parameters of `listSessions`. */
export interface PaginationParams {
  /** How many to skip; none when absent. From 0 to 4294967295. */
  offset?: number;
  /** How many to show; 50 when absent. From 0 to 200. */
  limit?: number;
  /** Only sessions whose id or title has this text. */
  query?: string;
}

/** Parameters of `updateSession`. What is absent stays as it is. */
export interface UpdateSessionParams {
  /** The session. */
  sessionId: string;
  /** What a person calls it: at most 256 bytes without control characters; empty to remove it. */
  title?: string;
  /** The model of its next turns. */
  model?: string;
}

/** Parameters of `cancel`. */
export interface CancelParams {
  /** The session. */
  sessionId: string;
  /** The turn; none for the one that runs. */
  turnId?: string;
}

/** No parameters: `listTools`, `getStats`. */
export type NoParams = Record<string, never>;

/** The body of every answer that is not 2xx (AS-3). */
export interface ErrorBody {
  /** What happened and what to do, for a person. */
  error: string;
  /** The stable code. */
  code: string;
  /** Facts for a program. */
  details?: unknown;
}

/** A session as clients see it. */
export interface SessionInfo {
  /** Its id. */
  id: string;
  /** Its id again, for clients that know it under this name. */
  sessionId: string;
  /** What a person calls it; absent when it has no title. */
  title?: string;
  /** The model, as it was asked for. */
  model: string;
  /** When it was made, in milliseconds since 1970. */
  createdAt: number;
  /** When it last changed, in milliseconds since 1970. */
  updatedAt: number;
  /** Its messages of every role. */
  messageCount: number;
  /** What all its model calls cost. */
  tokens: TokenUsage;
  /** The model, and what the client gave. */
  metadata: Record<string, unknown>;
}

/** Tokens of model calls, failed ones included. */
export interface TokenUsage {
  /** `input + output`. */
  total: number;
  /** Read by the model. */
  input: number;
  /** Written by the model. */
  output: number;
}

/** A whole turn in one answer. */
export interface SendMessageResult {
  /** The turn. */
  turnId: string;
  /** The last message that the model finished; none when it finished none. */
  messageId: string | null;
  /** That message's text. */
  text: string;
  /** What the stream of the default profile would have said. */
  events: AgentStreamEvent[];
  /** Why the turn is over; `error` when the last event is one. */
  finishReason: string;
  /** What the turn cost. */
  usage: TokenUsage;
}

/** One event of a stream. */
export type AgentStreamEvent = {
  /** Tokens that the turn has cost so far. */
  tokens?: number;
} & (
  /**
   * A pass of the loop begins. The same number again: the pass was restarted, and the text
   * since it first began is void (AS-7).
   */
  | {
      type: "iteration";
      /** Which pass: 1 for the first. */
      iteration: number;
      /** How many there may be. */
      maxIterations: number;
    }
  /** The model says more. */
  | {
      type: "text_delta";
      /** What it adds. */
      content: string;
    }
  /** The model asks for a tool, and its arguments are complete. */
  | {
      type: "tool_call_start";
      /** The call. */
      id: string;
      /** The tool. */
      name: string;
      /** An object; or a string with what the model wrote, when that was not a JSON object. */
      args: unknown;
    }
  /** A call has its answer. Answers come in the order of the calls. */
  | {
      type: "tool_call_result";
      /** The call. */
      id: string;
      /** The tool. */
      name: string;
      /** What the model reads. */
      result: string;
    }
  /** The turn is over. */
  | {
      type: "completed";
      /** The provider's own word, or `max_iterations`, `budget`, `cancelled` (AS-6). */
      finishReason: string;
      /** How many passes it took. */
      totalIterations: number;
    }
  /** The turn ended in an error. */
  | {
      type: "error";
      /** What happened, what was kept, one thing to do. */
      message: string;
      /** The stable code. */
      code: string;
    }
);

/** The types of events, in the order of a turn. */
export const AgentStreamEventType = {
  /**
   * A pass of the loop begins. The same number again: the pass was restarted, and the text
   * since it first began is void (AS-7).
   */
  ITERATION: "iteration",
  /** The model says more. */
  TEXT_DELTA: "text_delta",
  /** The model asks for a tool, and its arguments are complete. */
  TOOL_CALL_START: "tool_call_start",
  /** A call has its answer. Answers come in the order of the calls. */
  TOOL_CALL_RESULT: "tool_call_result",
  /** The turn is over. */
  COMPLETED: "completed",
  /** The turn ended in an error. */
  ERROR: "error",
} as const;

export type AgentStreamEventType = (typeof AgentStreamEventType)[keyof typeof AgentStreamEventType];

/** One event of a stream that is read again. */
export type AgentResumedEvent =
  /** An event of the turn. */
  | AgentStreamEvent
  /** The turn as it stands. */
  | AgentResetEvent;

/** What the stream says to who sent an id that is not, or not any longer, that of a frame. */
export type AgentResetEvent =
  /** Forget the turn as it was shown: this is how it stands, and the stream goes on behind it. */
  | {
      type: "reset";
      /** The turn. */
      snapshot: Snapshot;
    };

/** The turn as it stands behind one of its events. */
export interface Snapshot {
  /** The session. */
  sessionId: string;
  /** The turn; null when none is kept any longer. */
  turnId: string | null;
  /** How far it is. */
  state: TurnState;
  /** Which pass of the loop runs: 1 for the first, 0 before it. */
  iteration: number;
  /** How many there may be. */
  maxIterations: number;
  /** Tokens that the turn has cost so far. */
  tokens: number;
  /** Its messages that are finished, oldest first, the user's own included. */
  messages: AgentMessage[];
  /**
   * How many older ones were left out because all of them are too long; `getMessages` has
   * them.
   */
  leftOut: number;
  /** What the model has said so far of the message that is not finished. */
  text: string;
  /** The calls that have no result yet, in order. */
  calls: ToolCallRequest[];
  /**
   * The id to go on from: what follows in the stream comes behind it. Null when nothing
   * follows.
   */
  after: string | null;
}

/** How far a turn is. */
export type TurnState =
  /** No turn is kept. */
  | "idle"
  /** It waits until the turns before it are over. */
  | "queued"
  /** It runs. */
  | "running"
  /** It waits for somebody outside who closes its calls. */
  | "parked"
  /** It is over; how it ended follows in the stream. */
  | "finished";

/** A message of a session. */
export interface AgentMessage {
  /** Its id. */
  id: string;
  /** Its session. */
  sessionId: string;
  /** Who speaks. */
  role: "system" | "user" | "assistant" | "tool";
  /** All its text, without reasoning. */
  content: string;
  /** The calls that it asks for, in order; missing when there are none. */
  toolCalls?: ToolCallRequest[];
  /** The call that it answers, when its role is `tool`. */
  toolCallId?: string;
  /** The tool that was called, when its role is `tool`. */
  name?: string;
  /** Whether the call failed, when its role is `tool`. */
  isError?: boolean;
  /** Tokens that its model call cost; 0 for what no model said. */
  tokenUsage: number;
  /** When it was finished, in milliseconds since 1970. */
  createdAt: number;
  /** Its pieces, in order. */
  parts: MessagePart[];
  /** Facts for clients. */
  metadata: Record<string, unknown>;
}

/** A call that a model asked for. */
export interface ToolCallRequest {
  /** The call. */
  id: string;
  /** The tool. */
  name: string;
  /** An object; or a string with what the model wrote, when that was not a JSON object. */
  args: unknown;
}

/**
 * A piece of a message, told apart by `type`. What a provider wants back for itself stays
 * in the server.
 */
export type MessagePart =
  /** Plain text. */
  | {
      type: "text";
      /** The text. */
      text: string;
    }
  /** What a model thought before it spoke. */
  | {
      type: "reasoning";
      /** The readable part, often a summary, maybe empty. */
      text: string;
    }
  /** A call. */
  | {
      type: "call";
    } & ToolCallRequest
  /** The answer to a call. */
  | {
      type: "outcome";
      /** The call. */
      call: string;
      /** The tool. */
      name: string;
      /** How it ended. */
      status: "done" | "failed" | "denied" | "cancelled" | "unknown";
      /** What the model reads. */
      text: string;
      /** What a client may show instead. */
      data?: unknown;
    }
  /** Something structured that only clients read. */
  | {
      type: "data";
      /** What it is. */
      name: string;
      /** The value. */
      data: unknown;
    };

/** A page of a list. */
export interface PaginatedResult<T> {
  /** What is on this page. */
  items: T[];
  /** How many there are on all pages. */
  totalCount: number;
}

/** What `cancel` answers. */
export interface CancelResult {
  /** Whether a turn was stopped. */
  cancelled: boolean;
}

/** What `undo` answers. */
export interface UndoResult {
  /** The turn that was taken back. */
  turnId: string;
  /** What the user had said, so that it can be said differently. */
  content: string;
  /** What was not undone, for a person. */
  note: string;
}

/** A tool as clients see it. */
export interface ToolDefinition {
  /** The name that a model calls. */
  name: string;
  /** What it does and when to use it. */
  description: string;
  /** The JSON Schema of its arguments. */
  parameters: unknown;
}

/** What `getStats` answers. */
export interface Stats {
  /** Sessions that exist. */
  sessions: number;
  /** Their messages of every role. */
  messages: number;
  /** What all their model calls cost. */
  tokens: TokenUsage;
}
