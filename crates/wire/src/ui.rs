//! The UI message stream of the AI SDK (UI-1 to UI-13): its chunks, and the encoder that turns a turn's
//! events into the stream that `useChat` reads.
//!
//! One turn is one UI message, whose id is the turn's. What a called agent says is never mixed in: its
//! own chunks travel inside transient data parts, and one durable part tells what became of it.

mod asking;
mod calls;
mod chunk;
mod data;
mod encoder;
mod history;
mod parts;
mod post;
mod rebuilt;
mod skim;
mod turn;
mod view;

pub use chunk::{AgentChunk, UiChunk, UiFinishReason};
pub use data::{
    ApprovalData, CallProgressData, PromptProgressData, QuestionData, RetryData, SubagentChunkData,
    SubagentData, UiAgent, UiDataTypes, UiEventData, UiMetadata, UiUsage,
};
pub use encoder::{Leg, UiEncoder};
pub use history::{UiState, ui_messages};
pub use post::{
    ApprovalResponse, ClientAnswers, MAX_POST_BYTES, PostBody, Posted, ToolAnswer, UiPost,
};
pub use skim::Skimmer;
pub use view::{
    Protocol, Subagents, UiMessagesParams, UiResumeParams, UiStreamParams, UiView, VIEW_HEADER,
};

/// The path of the routes: `/api/chat`.
pub const BASE_PATH: &str = "/api/chat";
/// The header that says which stream it is, and its value.
pub const STREAM_HEADER: (&str, &str) = ("x-vercel-ai-ui-message-stream", "v1");
/// The header with the stable code of a refusal, whose body is a sentence.
pub const CODE_HEADER: &str = "x-samovar-code";
