// Generated from the server's Rust types by `cargo xtask contract`; do not edit.
//
// The contract of a Samovar server's agent service: its methods, their parameters and results,
// and the events of their streams. docs/protocols.md explains it, docs/requirements.md explains ids
// such as AS-7, and client.ts, in this folder, is a client for it.

/** The path of a method is `{AGENT_BASE_PATH}/{path}`. */
export const AGENT_BASE_PATH = "/services/agent";

/** Where approvals are listed, and each decided about below its id. */
export const APPROVALS_PATH = "/api/approvals";

/** Where a ticket is created. */
export const TICKETS_PATH = "/api/tickets";

/** The service. Every method takes one object of parameters. */
export interface AgentService {
  /** Creates a session; with the id of an existing session, returns that one. */
  createSession(params?: CreateSessionParams): Promise<SessionInfo>;
  /** Returns a session. */
  getSession(params: SessionParams): Promise<SessionInfo>;
  /** Returns a page of the sessions, the most recently changed first. */
  listSessions(params?: PaginationParams): Promise<PaginatedResult<SessionInfo>>;
  /** Changes the title, the model or the approval level of a session, and returns it. */
  updateSession(params: UpdateSessionParams): Promise<SessionInfo>;
  /** Creates a session with copies of the messages of another one, and returns it. */
  forkSession(params: ForkSessionParams): Promise<SessionInfo>;
  /** Adds tokens to those that a session has used, and returns the session. */
  updateTokenUsage(params: UpdateTokenUsageParams): Promise<SessionInfo>;
  /** Stops a session's turns, and deletes the session. */
  deleteSession(params: DeleteSessionParams): Promise<void>;
  /** Stops a turn, and returns whether one was stopped. */
  cancel(params: CancelParams): Promise<CancelResult>;
  /**
   * Takes back the last turn of a session, also what its tools changed in files if asked to,
   * and returns its user's message.
   */
  undo(params: UndoParams): Promise<UndoResult>;
  /** Sends a message, waits for its turn to end, and returns the whole turn. */
  sendMessageAndWait(params: SendMessageParams): Promise<SendMessageResult>;
  /** Sends a message, and streams its turn. */
  sendMessage(params: SendMessageParams): AsyncIterable<AgentStreamEvent>;
  /** Streams a turn again, after the last frame that was read. */
  resumeMessage(params: ResumeParams): AsyncIterable<AgentResumedEvent>;
  /** Returns the last messages of a session, oldest first. */
  getMessages(params: GetMessagesParams): Promise<AgentMessage[]>;
  /** Adds a message to a session without starting a turn, and returns it. */
  appendMessage(params: AppendMessageParams): Promise<AgentMessage>;
  /** Returns the tools that a model may call. */
  listTools(params?: NoParams): Promise<ToolDefinition[]>;
  /** Counts the sessions, their messages, and the tokens they used. */
  getStats(params?: NoParams): Promise<Stats>;
  /** Returns the long-term memory and the notes of the last days. */
  getMemory(params?: NoParams): Promise<MemoryState>;
  /** Adds facts to the long-term memory. */
  updateMemory(params: UpdateMemoryParams): Promise<void>;
  /**
   * Returns the memories and the exchanges of earlier sessions that answer a query, best
   * first.
   */
  searchMemory(params: SearchMemoryParams): Promise<FoundMemory[]>;
  /** Returns the skills that agents may read. */
  listSkills(params?: NoParams): Promise<SkillSummary[]>;
  /** Returns a skill and what it says. */
  getSkill(params: GetSkillParams): Promise<SkillDefinition>;
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
  getSession: { path: "getSession", verb: "POST", answers: "value" },
  listSessions: { path: "listSessions", verb: "POST", answers: "value" },
  updateSession: { path: "updateSession", verb: "POST", answers: "value" },
  forkSession: { path: "forkSession", verb: "POST", answers: "value" },
  updateTokenUsage: { path: "updateTokenUsage", verb: "POST", answers: "value" },
  deleteSession: { path: "deleteSession", verb: "POST", answers: "value" },
  cancel: { path: "cancel", verb: "POST", answers: "value" },
  undo: { path: "undo", verb: "POST", answers: "value" },
  sendMessageAndWait: { path: "sendMessage", verb: "POST", answers: "turn" },
  sendMessage: { path: "sendMessage/stream", verb: "POST", answers: "stream" },
  resumeMessage: { path: "sendMessage/stream", verb: "GET", answers: "stream" },
  getMessages: { path: "getMessages", verb: "POST", answers: "value" },
  appendMessage: { path: "appendMessage", verb: "POST", answers: "value" },
  listTools: { path: "listTools", verb: "POST", answers: "value" },
  getStats: { path: "getStats", verb: "POST", answers: "value" },
  getMemory: { path: "getMemory", verb: "POST", answers: "value" },
  updateMemory: { path: "updateMemory", verb: "POST", answers: "value" },
  searchMemory: { path: "searchMemory", verb: "POST", answers: "value" },
  listSkills: { path: "listSkills", verb: "POST", answers: "value" },
  getSkill: { path: "getSkill", verb: "POST", answers: "value" },
} as const satisfies Record<keyof AgentService, AgentMethod>;

/** Parameters of `createSession`. */
export interface CreateSessionParams {
  /** The model; by default the server's. */
  model?: string;
  /** The session's id; by default the server generates one. An existing session is returned. */
  sessionId?: string;
  /** Metadata to store with the session. */
  metadata?: Record<string, unknown>;
  /**
   * The session's agent, by its name; by default `master`. Unless `model` is given, its model
   * is the session's.
   */
  agent?: string;
  /**
   * What to tell the session's agent besides its own prompt: at most 64 KiB, without control
   * characters but tabs and line ends.
   */
  systemPrompt?: string;
  /**
   * The approval level of its turns; by default the server's. Only the owner's tokens can set
   * a wider one.
   */
  approval?: string;
}

/** Parameters of `getSession`. */
export interface SessionParams {
  /** The session. */
  sessionId: string;
}

/** Parameters of `listSessions`. */
export interface PaginationParams {
  /** How many sessions to skip; by default 0. From 0 to 4294967295. */
  offset?: number;
  /** The most sessions to return; by default 50. From 0 to 200. */
  limit?: number;
  /** Only sessions whose id, title or first words contain this text. */
  query?: string;
  /**
   * Whether the forks are listed, too, in which edits of clients keep what they replaced; by
   * default not.
   */
  editForks?: boolean;
}

/** Parameters of `updateSession`. Absent fields are not changed. */
export interface UpdateSessionParams {
  /** The session. */
  sessionId: string;
  /** The title for people: at most 256 bytes without control characters; empty to remove it. */
  title?: string;
  /** The model from the next turn on. */
  model?: string;
  /**
   * The approval level from the next turn on. Only the owner's tokens can set a wider one
   * than the session has.
   */
  approval?: string;
}

/** Parameters of `forkSession`. */
export interface ForkSessionParams {
  /** The session. */
  sessionId: string;
  /**
   * The last message of the fork: one of the session's own agent, of a turn that is over. By
   * default the last that there is.
   */
  messageId?: string;
  /** The id of the fork, which no session has; by default the server generates one. */
  newSessionId?: string;
  /** The title of the fork; by default that of the session. */
  title?: string;
}

/** Parameters of `updateTokenUsage`. */
export interface UpdateTokenUsageParams {
  /** The session. */
  sessionId: string;
  /** Tokens to add to those that were read by models. From 0 to 4294967295. */
  input: number;
  /** Tokens to add to those that were written by models. From 0 to 4294967295. */
  output: number;
}

/** Parameters of `deleteSession`. */
export interface DeleteSessionParams {
  /** The session. */
  sessionId: string;
  /** Delete only an empty session; refuse one that has messages. */
  ifEmpty?: boolean;
}

/** Parameters of `cancel`. */
export interface CancelParams {
  /** The session. */
  sessionId: string;
  /** The turn; by default the current one. */
  turnId?: string;
}

/** Parameters of `undo`. */
export interface UndoParams {
  /** The session. */
  sessionId: string;
  /**
   * The turn that is to be taken back, and no other. With it the request can be sent again:
   * for a turn that was taken back already it has the same result, while the log has that.
   */
  turnId?: string;
  /**
   * Whether files get the content back that they had before the turn; by default they stay as
   * they are.
   */
  files?: boolean;
}

/** Parameters of `sendMessage` and `sendMessage/stream`. */
export interface SendMessageParams {
  /** The session. */
  sessionId: string;
  /** The text: at least one visible character. */
  content: string;
  /** Images that come with the text: at most 8, and 20 MiB together. */
  attachments?: Attachment[];
  /** The client's id for the message; by default the server generates one. */
  messageId?: string;
  /** What happens when another turn is running (AS-11). */
  delivery?: Delivery;
  /** The most iterations of its turn; by default the server's setting. From 1 to 1000. */
  maxIterations?: number;
  /**
   * The most tokens that all model calls of its turn, and of the turns that it waits for, may
   * use together; by default the server's setting. From 1 to 4294967295.
   */
  budgetTokens?: number;
  /**
   * The most iterations of its turn and of those that it waits for; by default the server's
   * setting. From 1 to 1000000.
   */
  budgetSteps?: number;
  /**
   * The most US dollars that these model calls may cost; by default the server's setting.
   * Needs models whose price is known.
   */
  budgetUsd?: number;
  /**
   * The most seconds from the start of its turn, including those in which it waits; by
   * default the server's setting. From 1 to 31622400.
   */
  budgetWallSeconds?: number;
  /** Which calls of its turn need approval; by default the server's level. */
  approval?: "auto" | "supervised" | "read-only";
  /**
   * Whether no person can answer a question of its turn or read what it posts: the model is
   * then not offered `ask_user` and `post_message`. By default false.
   */
  noInput?: boolean;
  /**
   * What the client's UI shows to the person, for its turn alone: at most 64 KiB as JSON. Its
   * turn's agents read it as text from outside.
   */
  context?: 
    | Context;
  /**
   * What the person is doing, by the name of a mode, which takes tools away from agents; by
   * default the kind of `context.activeTab` if a mode has that name, else `default`.
   */
  agentMode?: string;
  /**
   * What the commands of its turn get of the owner's shell; by default they get what the
   * server was started with. Only the owner's token may set it.
   */
  environment?: 
    | Environment;
  /**
   * Without a stream: after how many seconds in which its turn waits for a person the request
   * returns, while the turn continues; by default 30. From 0 to 1800.
   */
  waitSeconds?: number;
}

/** An image that comes with a message. */
export interface Attachment {
  /** A PNG, JPEG or WebP image in base64: at most 5 MiB and 8,000 pixels wide and high. */
  data: string;
}

/** What happens to a message when another turn is running. */
export type Delivery =
  /** It waits for its turn. */
  | "queue"
  /**
   * It joins the running turn before that turn's next model call; its own turn then ends as
   * `steered`. If the running turn ends first, the message starts its own. It cannot set
   * bounds.
   */
  | "steer"
  /** The running turn is stopped, and its own turn starts, before waiting messages. */
  | "interrupt"
  /** It is refused with `session_busy`. */
  | "reject";

/** What a client's UI shows to the person. */
export interface Context {
  /** The workspace of the UI. */
  workspaceId?: string;
  /** The page of the UI. */
  pageId?: string;
  /** The tab that the person looks at. */
  activeTab?: 
    | Tab;
  /** The open tabs. */
  tabs?: Tab[];
}

/** A tab of a client's UI. */
export interface Tab {
  /** Its id. */
  id?: string;
  /** The address of what it shows. */
  url?: string;
  /** Its title. */
  title?: string;
  /** What kind of tab it is, such as `settings`. */
  kind?: string;
}

/** Variables for commands: 16 KiB at most, without control characters. */
export interface Environment {
  /** The folders in which programs are found; commands may read them. */
  PATH?: string;
  /** The language. */
  LANG?: string;
  /** The time zone. */
  TZ?: string;
}

/** Parameters for reading a stream again. */
export interface ResumeParams {
  /** The session. */
  sessionId: string;
  /**
   * The id of the last frame that was read: the stream resumes after it, to the end of that
   * frame's turn. Without an id it starts with the running turn, or else the last one.
   */
  after?: string;
}

/** Parameters of `getMessages`. */
export interface GetMessagesParams {
  /** The session. */
  sessionId: string;
  /** The most messages to return, counted from the last; by default 1,000. From 0 to 1000. */
  limit?: number;
  /** Only messages before this one. */
  before?: string;
}

/** Parameters of `appendMessage`. */
export interface AppendMessageParams {
  /** The session. */
  sessionId: string;
  /** The message. */
  message: AppendedMessage;
  /** The tokens that its model call used, to be counted with the session's. */
  tokenUsage?: 
    | CountedTokens;
}

/** A message that is appended. */
export interface AppendedMessage {
  /**
   * The id; by default the server generates one. The same message under the same id is kept
   * once.
   */
  id?: string;
  /** The role of the author. */
  role: "system" | "user" | "assistant" | "tool";
  /** The text. Only a message with `toolCalls`, or of role `tool`, may have none. */
  content?: string;
  /** The calls of a message of role `assistant`. */
  toolCalls?: AppendedCall[];
  /**
   * The call that a message of role `tool` answers: one at the end of the conversation that
   * has no result.
   */
  toolCallId?: string;
  /** The tool of a message of role `tool`; the one that the call names counts. */
  name?: string;
  /** Whether that call failed. */
  isError?: boolean;
}

/** A call of an appended message. */
export interface AppendedCall {
  /** The call: 1 to 40 letters, digits, `_` and `-`. */
  id: string;
  /** The tool: 1 to 64 of the same. */
  name: string;
  /** The arguments. */
  args?: Record<string, unknown>;
}

/** Tokens that a client counted. */
export interface CountedTokens {
  /** Tokens read by the model. From 0 to 4294967295. */
  input: number;
  /** Tokens written by the model. From 0 to 4294967295. */
  output: number;
}

/** No parameters: `listTools`, `listSkills`, `getMemory`, `getStats`. */
export type NoParams = Record<string, never>;

/** Parameters of `updateMemory`. */
export interface UpdateMemoryParams {
  /**
   * Facts to add to the long-term memory, at most 100, each of at most 2 KiB; what it says
   * already is not added.
   */
  facts: string[];
}

/** Parameters of `searchMemory`. */
export interface SearchMemoryParams {
  /** Words, some of which a memory must have. */
  query: string;
  /** The most hits to return; by default 10. From 1 to 100. */
  limit?: number;
}

/** Parameters of `getSkill`. */
export interface GetSkillParams {
  /** The skill. */
  name: string;
}

/** A decision. */
export interface DecideParams {
  /** `once`, `turn`, `always` or `deny`. */
  decision: Decision;
  /** What you say to the model with a `deny`, at most 4 KiB. */
  message?: string;
}

/** What a person decides. */
export type Decision = "once" | "turn" | "always" | "deny";

/** The body of every answer with a status other than 2xx (AS-3). */
export interface ErrorBody {
  /** What happened and what to do, for people. */
  error: string;
  /** The stable code. */
  code: string;
  /** Details for programs. */
  details?: unknown;
}

/** A session. */
export interface SessionInfo {
  /** The id. */
  id: string;
  /** The id again, for clients that expect it under this name. */
  sessionId: string;
  /** The title for people; absent if the session has none. */
  title?: string;
  /** The model, by the name that was requested. */
  model: string;
  /** The session's agent. */
  agent: string;
  /** The approval level of its turns; absent if that is the server's. */
  approval?: string;
  /**
   * Whether text from outside may be in it, such as a web page: then a person is asked before
   * a tool sends data out.
   */
  tainted?: boolean;
  /** The creation time, in milliseconds since 1970. */
  createdAt: number;
  /** The time of the last change, in milliseconds since 1970. */
  updatedAt: number;
  /** The number of messages of every role. */
  messageCount: number;
  /** The first words of the user's first message; absent before it. */
  preview?: string;
  /** What it was forked from; absent if it was not. */
  forkedFrom?: 
    | ForkedFrom;
  /** The token usage of all its model calls. */
  tokens: TokenUsage;
  /** The client's metadata, and the model. */
  metadata: Record<string, unknown>;
}

/** What a session was forked from. */
export interface ForkedFrom {
  /** The session. */
  sessionId: string;
  /** The last message that was copied; null if there was none. */
  messageId: string | null;
}

/** Tokens of model calls, including failed ones. */
export interface TokenUsage {
  /** `input + output`. */
  total: number;
  /** Tokens read by the model. */
  input: number;
  /** Tokens written by the model. */
  output: number;
}

/** A page of a list. */
export interface PaginatedResult<T> {
  /** The items on this page. */
  items: T[];
  /** The number of items on all pages. */
  totalCount: number;
}

/** The result of `cancel`. */
export interface CancelResult {
  /** Whether a turn was stopped. */
  cancelled: boolean;
}

/** The result of `undo`. */
export interface UndoResult {
  /** The turn that was taken back. */
  turnId: string;
  /** The user's message, to edit and send again. */
  content: string;
  /** Which effects remain, for people. */
  note: string;
  /** The files that are as they were before the turn; absent if `files` was not asked for. */
  files?: UndoneFile[];
  /** The tools whose other effects remain, by name; absent if `files` was not asked for. */
  remainingTools?: string[];
}

/** A file that an `undo` took back. */
export interface UndoneFile {
  /** Its path, relative to the workspace. */
  path: string;
  /** What happened to it. */
  change: UndoneChange;
}

/** What an `undo` did with a file. */
export type UndoneChange =
  /** It has its earlier content. */
  | "restored"
  /** The turn had created it, and it was removed. */
  | "removed";

/** A whole turn in one result. */
export interface SendMessageResult {
  /** The turn. */
  turnId: string;
  /** The model's last finished message; null if there is none. */
  messageId: string | null;
  /** The text of that message. */
  text: string;
  /** The events that the stream of the default profile would have sent. */
  events: AgentStreamEvent[];
  /**
   * Why the turn ended; `error` when its last event is an error, `waiting` when it still
   * waits for a person.
   */
  finishReason: string;
  /** The token usage of the turn. */
  usage: TokenUsage;
  /**
   * What the turn waits for, if `finishReason` is `waiting`. The same message with the same
   * `messageId` waits again.
   */
  waits?: 
    | Waits;
}

/** One event of a stream. */
export type AgentStreamEvent = {
  /** The token usage of the turn so far. */
  tokens?: number;
} & (
  /**
   * An iteration begins: the model is called. The same number as before means a restart, and
   * the text since it first began is void (AS-7).
   */
  | {
      type: "iteration";
      /** The number of the iteration; the first is 1. */
      iteration: number;
      /** The most iterations of the turn. */
      maxIterations: number;
    }
  /** More text of the model. */
  | {
      type: "text_delta";
      /** The added text. */
      content: string;
    }
  /** The model calls a tool; the arguments are complete. */
  | {
      type: "tool_call_start";
      /** The call. */
      id: string;
      /** The tool. */
      name: string;
      /** An object; or a string with the model's text, if that was not a JSON object. */
      args: unknown;
    }
  /** The result of a call. Results come in the order of the calls. */
  | {
      type: "tool_call_result";
      /** The call. */
      id: string;
      /** The tool. */
      name: string;
      /** The text that the model sees. */
      result: string;
      /** How the call ended. */
      status: "done" | "failed" | "denied" | "cancelled" | "unknown";
    }
  /** The turn is over. */
  | {
      type: "completed";
      /**
       * The provider's own word, or `max_iterations`, `budget`, `failed_call`, `repeated_call`,
       * `cancelled` or `steered` (AS-6).
       */
      finishReason: string;
      /** The number of iterations. */
      totalIterations: number;
      /**
       * The limit that ended the turn, if `finishReason` is `budget`: `steps`, `tokens`, `cost`
       * or `wall`.
       */
      limit?: string;
    }
  /** The turn failed, or the stream ends before its turn. */
  | {
      type: "error";
      /** What happened, what was kept, and what to do. */
      message: string;
      /** The stable code. */
      code: string;
    }
);

/** The types of events, in the order of a turn. */
export const AgentStreamEventType = {
  /**
   * An iteration begins: the model is called. The same number as before means a restart, and
   * the text since it first began is void (AS-7).
   */
  ITERATION: "iteration",
  /** More text of the model. */
  TEXT_DELTA: "text_delta",
  /** The model calls a tool; the arguments are complete. */
  TOOL_CALL_START: "tool_call_start",
  /** The result of a call. Results come in the order of the calls. */
  TOOL_CALL_RESULT: "tool_call_result",
  /** The turn is over. */
  COMPLETED: "completed",
  /** The turn failed, or the stream ends before its turn. */
  ERROR: "error",
} as const;

export type AgentStreamEventType = (typeof AgentStreamEventType)[keyof typeof AgentStreamEventType];

/** What a turn and the agents that it called wait for. */
export interface Waits {
  /** The calls that a person decides about. */
  approvals: ApprovalInfo[];
  /** The calls that a person or a client closes, such as questions. */
  calls: OpenCallInfo[];
}

/** A call that waits for a person's decision. */
export interface ApprovalInfo {
  /** The id, with which a client decides. */
  id: string;
  /** The session. */
  sessionId: string;
  /** The waiting turn. */
  turnId: string;
  /** The call. */
  callId: string;
  /** The agents from the session's own down to the one that calls. */
  path: string[];
  /** The tool. */
  tool: string;
  /** The arguments, as the model wrote them. */
  args: unknown;
  /** The arguments for a person: on one line, with hidden characters escaped. */
  shown: string;
  /**
   * What the call would do, such as a diff, with hidden characters escaped; absent if the
   * tool cannot tell.
   */
  preview?: string;
  /** Why a person is asked. */
  reason: string;
  /** When the call is denied, in milliseconds since 1970. */
  expiresAt: number;
  /** What `turn` and `always` would allow; absent if only `once` and `deny` are possible. */
  grant?: 
    | GrantInfo;
}

/** What a person can allow together. */
export interface GrantInfo {
  /** The tool. If it is replaced by another of its name, the grant does not count for that. */
  tool: string;
  /**
   * The folder of the workspace with the files that a call may change, without those below
   * it; absent for a tool that changes no file.
   */
  folder?: string;
  /**
   * The programs that a command may run besides those that only read, each with its
   * subcommand.
   */
  programs?: string[];
  /**
   * Whether it also covers calls that are asked about because the session has read text from
   * outside.
   */
  tainted?: boolean;
}

/** A call that waits for an outside answer. */
export interface OpenCallInfo {
  /** The id, with which a client settles it. */
  id: string;
  /** The session. */
  sessionId: string;
  /** The waiting turn. */
  turnId: string;
  /** The agents from the session's own down to the one that asks. */
  path: string[];
  /** The tool. */
  tool: string;
  /** The arguments. */
  args: unknown;
}

/** One event of a stream that is read again. */
export type AgentResumedEvent =
  /** An event of the turn. */
  | AgentStreamEvent
  /** The current state of the turn. */
  | AgentResetEvent;

/** The stream's answer to an id that is not, or no longer, that of a frame. */
export type AgentResetEvent =
  /** Discard what you have of the turn: this is its state, and the stream continues after it. */
  | {
      type: "reset";
      /** The turn. */
      snapshot: Snapshot;
    };

/** The state of a turn after one of its events. */
export interface Snapshot {
  /** The session. */
  sessionId: string;
  /** The turn; null if none is kept any longer. */
  turnId: string | null;
  /** The progress of the turn. */
  state: TurnState;
  /** The number of the current iteration; the first is 1, 0 before it. */
  iteration: number;
  /** The most iterations of the turn. */
  maxIterations: number;
  /** The token usage of the turn so far. */
  tokens: number;
  /** The turn's finished messages, oldest first, including the user's. */
  messages: AgentMessage[];
  /** How many older messages were left out because of their size; `getMessages` has them. */
  leftOut: number;
  /** The text so far of the unfinished message. */
  text: string;
  /** The calls without a result, in order. */
  calls: ToolCallRequest[];
  /** The agents that work for this turn and have calls without a result; absent without any. */
  children?: SnapshotChild[];
  /** The id after which the stream continues. Null if no frames follow. */
  after: string | null;
}

/** The progress of a turn. */
export type TurnState =
  /** No turn is kept. */
  | "idle"
  /** It waits for earlier turns to end. */
  | "queued"
  /** It runs. */
  | "running"
  /** It waits for an outside answer to its calls. */
  | "parked"
  /** It is over; its end follows in the stream. */
  | "finished";

/** A message of a session. */
export interface AgentMessage {
  /** The id. */
  id: string;
  /** The session. */
  sessionId: string;
  /** The role of the author. */
  role: "system" | "user" | "assistant" | "tool";
  /** The whole text, without reasoning. */
  content: string;
  /** The tool calls, in order; absent if there are none. */
  toolCalls?: ToolCallRequest[];
  /** The call that it answers, if its role is `tool`. */
  toolCallId?: string;
  /** The tool that was called, if its role is `tool`. */
  name?: string;
  /** Whether the call failed, if its role is `tool`. */
  isError?: boolean;
  /** The token usage of its model call; 0 if no model wrote it. */
  tokenUsage: number;
  /** When it was finished, in milliseconds since 1970. */
  createdAt: number;
  /** The pieces, in order. */
  parts: MessagePart[];
  /** Metadata for clients: `agent`, whose it is, and `turnId`, its turn, if it has one. */
  metadata: Record<string, unknown>;
}

/** A model's tool call. */
export interface ToolCallRequest {
  /** The call. */
  id: string;
  /** The tool. */
  name: string;
  /** An object; or a string with the model's text, if that was not a JSON object. */
  args: unknown;
}

/**
 * A piece of a message, distinguished by `type`. Data that a provider stores for itself
 * stays in the server.
 */
export type MessagePart =
  /** Plain text. */
  | {
      type: "text";
      /** The text. */
      text: string;
    }
  /** The model's reasoning. */
  | {
      type: "reasoning";
      /** The readable part, often a summary, possibly empty. */
      text: string;
    }
  /** A call. */
  | {
      type: "call";
    } & ToolCallRequest
  /** The result of a call. */
  | {
      type: "outcome";
      /** The call. */
      call: string;
      /** The tool. */
      name: string;
      /** How it ended. */
      status: "done" | "failed" | "denied" | "cancelled" | "unknown";
      /** The text that the model sees. */
      text: string;
      /** A structured value that a client may show instead. */
      data?: unknown;
    }
  /** Structured data that only clients read. */
  | {
      type: "data";
      /** Its name. */
      name: string;
      /** The value. */
      data: unknown;
    }
  /** An image. */
  | {
      type: "image";
      /** Its bytes, which `GET /api/blobs/{hash}` returns, by their SHA-256. */
      blob: string;
      /** Its format. */
      mediaType: "image/png" | "image/jpeg" | "image/webp";
      /** Its width, in pixels. */
      width: number;
      /** Its height, in pixels. */
      height: number;
      /** Its size, in bytes. */
      bytes: number;
    };

/** An agent that works for a turn, with what it waits for. */
export interface SnapshotChild {
  /** Its turn. */
  turnId: string;
  /** The agents from the session's own down to this one. */
  path: string[];
  /** Its calls without a result, in order. */
  calls: ToolCallRequest[];
}

/** A tool. */
export interface ToolDefinition {
  /** The name that a model calls. */
  name: string;
  /** What it does and when to use it. */
  description: string;
  /** The JSON Schema of its arguments. */
  parameters: unknown;
  /** Why no call of it can run on this machine; absent if calls can. */
  unavailable?: string;
}

/** The result of `getStats`. */
export interface Stats {
  /** The number of sessions. */
  sessions: number;
  /** The number of their messages, of every role. */
  messages: number;
  /** The token usage of all their model calls. */
  tokens: TokenUsage;
}

/** What is remembered. */
export interface MemoryState {
  /** The text of the long-term memory, as its file has it. */
  longTerm: string;
  /** The text of the person's own memory for all folders, as its file has it. */
  person?: string;
  /** The notes of the last days, the oldest first. */
  daily: DailyNotes[];
  /** The vectors. */
  vectors: VectorCount;
  /** Why files cannot be read or changed, a sentence each. */
  problems?: string[];
}

/** The notes of a day. */
export interface DailyNotes {
  /** The day, `2026-11-29`. */
  date: string;
  /** Its notes, a line each. */
  text: string;
}

/** How many vectors there are. */
export interface VectorCount {
  /** The number of memories that are found by their meaning, too. */
  count: number;
}

/** A memory, or an exchange of an earlier session, that was found. */
export interface FoundMemory {
  /** Its id; that of its turn for an exchange. */
  id: string;
  /** What it says; of an exchange what the person said, and on the next line the answer. */
  text: string;
  /** What it is worth as a hit: more is better. */
  score: number;
  /** How much of the query's words it has: 0 for none, about 1 for all. */
  words: number;
  /** How near its meaning is to the query's, from -1 to 1; absent where that is not known. */
  meaning?: number;
  /** Where it stands: a section of the long-term memory, the day of a note, or `exchange`. */
  source: string;
  /** The day on which it was written, `2026-11-29`; absent of a line that a hand wrote. */
  createdAt?: string;
  /** The session of an exchange; absent of a memory. */
  sessionId?: string;
  /** The turn that it comes from. */
  turnId?: string;
  /** Whether text from outside was in its session. */
  tainted?: boolean;
}

/** A skill in a list. */
export interface SkillSummary {
  /** Its name. */
  name: string;
  /** What it is for, on one line. */
  description: string;
  /** Whether it is in every prompt in full. */
  always: boolean;
  /** Whether the server has all that it needs. */
  available: boolean;
  /** The programs, and as `env:NAME` the variables, that it needs and commands lack. */
  missing?: string[];
  /** Where it comes from. */
  origin: SkillOrigin;
  /** Whether no person trusts the folder that it comes from: then it is text from outside. */
  foreign?: boolean;
}

/** Where a skill comes from. */
export type SkillOrigin =
  /** The person's configuration folder. */
  | "user"
  /** The program. */
  | "built_in"
  /** The workspace. */
  | "workspace";

/** A skill. */
export interface SkillDefinition {
  /** Its name. */
  name: string;
  /** What it is for, on one line. */
  description: string;
  /** Whether it is in every prompt in full. */
  always: boolean;
  /** Whether the server has all that it needs. */
  available: boolean;
  /** The programs, and as `env:NAME` the variables, that it needs and commands lack. */
  missing?: string[];
  /** Where it comes from. */
  origin: SkillOrigin;
  /** Whether no person trusts the folder that it comes from: then it is text from outside. */
  foreign?: boolean;
  /** The programs that it needs, and as `env:NAME` the variables. */
  requires: string[];
  /** Its whole text, with its front matter. */
  content: string;
  /** The SHA-256 of that, in hex. */
  sha256: string;
}

/** What a message says of itself (UI-11), live and stored. */
export interface UiMetadata {
  /** Whose message it is. */
  agent?: 
    | UiAgent;
  /** The model that answers. */
  model?: string;
  /** The turn. */
  turnId?: string;
  /** Milliseconds since 1970. */
  createdAt?: number;
  /** The tokens of the turn so far. */
  usage?: 
    | UiUsage;
  /** What the turn cost, in US dollars, if the price is known. */
  costUsd?: number;
  /** Why the turn ended, in Samovar's own word. */
  reason?: string;
  /** Why it failed. */
  error?: string;
  /** Live, where text from outside comes into the session: true. */
  tainted?: boolean;
  /** Of a called agent's message inside a part: how many of its parts are left out. */
  leftOut?: number;
}

/** An agent in the tree of a session. */
export interface UiAgent {
  /** `master` for the session's own agent, else `sub`. */
  kind: string;
  /** The name of its definition. */
  name: string;
  /** Its name for people. */
  displayName: string;
  /** How many agents are above it. */
  depth: number;
  /** The names from the session's own agent down to it. */
  path: string[];
  /** The call that it answers. */
  toolCallId?: string;
  /** The message with that call. */
  parentMessageId?: string;
}

/** Tokens. */
export interface UiUsage {
  /** Of the prompts. */
  input: number;
  /** Of the answers. */
  output: number;
  /** Of the prompts, those that the provider had kept. */
  cacheRead: number;
  /** Of the prompts, those that the provider keeps from now on. */
  cacheWrite: number;
}

/** The data of `data-*` parts, by the words after `data-`. */
export interface UiDataTypes {
  /** What became of a called agent, replaced in place. */
  subagent: SubagentData;
  /** A chunk of a called agent's own message; transient. */
  "subagent-chunk": SubagentChunkData;
  /** A decision that is asked for outside the client's own calls. */
  approval: ApprovalData;
  /** A question to the person outside the client's own calls. */
  question: QuestionData;
  /** The model is asked again, and what it said in this step is void. */
  retry: RetryData;
  /** What a tool tells the page; transient. */
  "ui-event": UiEventData;
  /** How far a call is; transient. */
  "call-progress": CallProgressData;
  /** How far the model is with reading the prompt; transient. */
  "prompt-progress": PromptProgressData;
}

/** What became of a called agent. */
export interface SubagentData {
  /** Its message. */
  messageId: string;
  /** The agent. */
  agent: UiAgent;
  /** `queued`, `running`, `waiting`, `done`, `failed` or `cancelled`. */
  status: string;
  /** The beginning of what it said last. */
  summary: string;
  /** Its tokens. */
  usage: UiUsage;
  /** Its message so far, with `subagents=messages`. */
  message?: Record<string, unknown>;
}

/** A chunk of a called agent's own message. */
export interface SubagentChunkData {
  /** Its message. */
  messageId: string;
  /** The agent. */
  agent: UiAgent;
  /** The number of the chunk in that message, from 1. */
  seq: number;
  /** The chunk, as the agent's stream alone would have it. */
  chunk: Record<string, unknown>;
}

/** A decision that is asked for, made at `/api/approvals/{approvalId}`. */
export interface ApprovalData {
  /** The question, good for one answer. */
  approvalId: string;
  /** Who asks. */
  agent: UiAgent;
  /** The call. */
  toolCallId: string;
  /** The tool. */
  toolName: string;
  /** Its arguments. */
  input: unknown;
  /** Why a person is asked. */
  reason: string;
  /** What was decided: `once`, `turn`, `always` or `deny`. */
  decision?: string;
}

/** A question to the person, answered at `/api/calls/{callId}`. */
export interface QuestionData {
  /** The call. */
  callId: string;
  /** Who asks. */
  agent: UiAgent;
  /** The tool. */
  toolName: string;
  /** The question. */
  question?: unknown;
  /** What can be chosen. */
  options?: unknown;
  /** All arguments. */
  input: unknown;
  /** The answer. */
  answer?: string;
}

/** An attempt that is void. */
export interface RetryData {
  /** The number of the step in its turn, from 1. */
  iteration: number;
  /** What happened. */
  reason: string;
}

/** What a tool tells the page. */
export interface UiEventData {
  /** The call. */
  toolCallId: string;
  /** What it is about, in the tool's own word. */
  kind: string;
  /** Whatever the tool gave. */
  payload: unknown;
}

/** How far a call is. */
export interface CallProgressData {
  /** The call. */
  toolCallId: string;
  /** Since it began. */
  elapsedMs: number;
  /** What it has written. */
  outputBytes: number;
  /** The end of that. */
  last: string;
  /** What a person is to know before it continues. */
  note?: string;
}

/** How far the model is with reading the prompt. */
export interface PromptProgressData {
  /** Tokens that were read. */
  read: number;
  /** Tokens in all. */
  total: number;
}

/** The calls that wait for a decision. */
export interface ApprovalList {
  /** The oldest of them. */
  items: ApprovalInfo[];
  /** How many there are. */
  totalCount: number;
}

/** A decision that counts. */
export interface Decided {
  /** The rule that `always` made, or that existed already. */
  rule?: 
    | RuleInfo;
}

/** A rule that allows calls without a question. */
export interface RuleInfo {
  /** Its id. */
  id: string;
  /** The tool. If it is replaced by another of its name, the grant does not count for that. */
  tool: string;
  /**
   * The folder of the workspace with the files that a call may change, without those below
   * it; absent for a tool that changes no file.
   */
  folder?: string;
  /**
   * The programs that a command may run besides those that only read, each with its
   * subcommand.
   */
  programs?: string[];
  /**
   * Whether it also covers calls that are asked about because the session has read text from
   * outside.
   */
  tainted?: boolean;
  /** The workspace in which it counts. */
  workspace: string;
  /** When it was made, in milliseconds since 1970. */
  createdAt: number;
  /** Who made it. */
  by: string;
}

/**
 * A new ticket. As the parameter `ticket` of a stream or a WebSocket it replaces, once, the
 * token that requested it.
 */
export interface CreatedTicket {
  /** The ticket. */
  ticket: string;
  /** How long it is valid, in milliseconds. */
  expiresInMs: number;
}
