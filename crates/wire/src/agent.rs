//! The agent service under `/services/agent` (AS-1 to AS-8): its types, under the names that its
//! clients know, and the encoder that turns a turn's events into a stream.

mod answer;
mod append;
mod attachment;
mod budget;
mod collector;
mod encoder;
mod event;
mod family;
mod memory;
mod message;
mod request;
mod snapshot;
mod waiting;

pub use answer::{
    CancelResult, ErrorBody, ForkedFrom, PaginatedResult, SendMessageResult, SessionInfo,
    SkillDefinition, SkillOrigin, SkillSummary, Stats, TokenUsage, ToolDefinition, UndoResult,
    Waits,
};
pub use append::{
    AppendMessageParams, AppendedCall, AppendedMessage, CountedTokens, UpdateTokenUsageParams,
};
pub use attachment::{Attachment, MAX_ATTACHMENTS_BYTES};
pub(crate) use budget::maybe as maybe_dollars;
pub use budget::{BudgetInfo, Dollars};
pub use collector::Collector;
pub use encoder::{Encoder, Profile};
pub(crate) use encoder::{LeaveEvent, aborted};
pub use event::{AgentStreamEvent, AgentStreamEventType};
pub(crate) use family::Family;
pub use family::ShownEvent;
pub(crate) use family::WholeEvent;
pub use memory::{
    DailyNotes, FoundMemory, MAX_FACTS, MemoryState, SearchMemoryParams, UpdateMemoryParams,
    VectorCount,
};
pub(crate) use message::display_name;
pub use message::{AgentMessage, MessagePart, ToolCallRequest};
pub(crate) use request::MAX_MESSAGES;
pub use request::{
    CancelParams, CreateSessionParams, DeleteSessionParams, ForkSessionParams, GetMessagesParams,
    GetSkillParams, NoParams, PaginationParams, ResumeParams, SendMessageParams, SessionParams,
    StreamParams, UndoParams, UpdateSessionParams, Within,
};
pub use snapshot::{ResetEvent, ResumedEvent, Snapshot, SnapshotChild, SnapshotFold, TurnState};
pub use waiting::{Awaited, Waiting};

/// The path of the service's methods: `/services/agent/{method}`.
pub const BASE_PATH: &str = "/services/agent";
