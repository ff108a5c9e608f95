//! The words of Samovar and the interfaces between its parts.
//!
//! Here: identifiers, messages (including those of the chat and the relay), events, commands, the
//! error codes, what replaces keys in texts ([`redact`]), and the ports that the leaves implement
//! ([`Provider`], [`Models`], [`Toolset`], [`Journal`], [`History`], [`AgentRows`],
//! [`FileChanges`], [`Blobs`], [`Vectors`], [`Audit`], [`Clock`], [`Ids`], [`Damages`]). Not here: I/O, a runtime, HTTP, SQL,
//! the spelling of any protocol.
//!
//! Start with [`event`]: a session is an ordered log of events, commands go in, turns decide,
//! events come out, and every protocol is only a spelling of those two words.

pub mod agent;
pub mod agent_rows;
pub mod approval;
pub mod audit;
mod author;
pub mod backup;
mod beginner;
mod blank;
pub mod blob;
pub mod budget;
pub mod chat;
mod checked;
mod choices;
pub mod command;
pub mod damage;
pub mod error;
pub mod event;
mod exchange;
pub mod file_changes;
mod future;
pub mod history;
pub mod id;
pub mod image;
pub mod instructions;
pub mod journal;
pub mod json;
pub mod message;
pub mod ports;
pub mod provider;
pub mod redact;
pub mod relay;
mod search;
pub mod situation;
pub mod terms;
pub mod title;
pub mod tool;
pub mod vectors;
mod window;
mod words;

pub use agent::{Agent, AgentName, Agents};
pub use agent_rows::{AgentRow, AgentRows, RowChange};
pub use approval::{Answer, Asked, Decision, Grant, Grounds, Preview, Reach, Rule};
pub use audit::Audit;
pub use backup::Backup;
pub use beginner::Beginner;
pub use blob::{BlobHash, Blobs};
pub use budget::{Bill, Budget, BudgetLimit, Price, Quote, Usd};
pub use chat::{ChatMessage, ChatMeta, ChatRole, PendingInput};
pub use choices::{Durability, Resume};
pub use command::{Accepted, Action, Command, Delivery, Sender, SessionCopy};
pub use damage::{Damage, DamagedPart};
pub use error::{Code, Error};
pub use event::{
    Author, Bounds, ContextLimit, Entry, Event, FinishReason, Kind, LimitSource, Limits, Reminders,
    SessionChange,
};
pub use file_changes::FileChanges;
pub use future::Future;
pub use history::History;
pub use id::{
    AgentPath, ApprovalId, CallId, Epoch, EventId, MessageId, RuleId, Seq, SessionId, TurnId,
};
pub use image::Image;
pub use instructions::{PromptHashes, SystemPrompt};
pub use journal::{Broken, Journal};
pub use message::{Message, Outcome, Part, Role, Status, ToolCall, Usage};
pub use ports::{Clock, Damages, Ids, Millis};
pub use provider::{Model, Models, Prompt, Provider, ProviderEvent};
pub use samovar_points::{failpoint, plant, planted};
pub use situation::{AgentMode, PostedContext, Situation};
pub use title::Title;
pub use tool::{
    Approval, Asks, CallContext, CallFacts, Closer, Effect, OutsideText, Probed, ProgressSink,
    Sends, ToolReply, ToolSpec, Toolset,
};
pub use vectors::{TextHash, TextVector, Vectors};
