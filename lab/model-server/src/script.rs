//! What the server is to answer: plain data, the same for every dialect.

mod build;
mod delivery;
mod reply;
mod rule;

pub use self::{
    build::{call, endless, fail, hang_up, page, reset, say, silent, think},
    delivery::{BreakOff, Delivery, Ending, Gate, Hold, Newline, Point, Terminal},
    reply::{
        Answer, Arguments, CallIdRule, Failure, Finish, Index, ModelOutput, Page, Part, Reply,
        TokenCounts, ToolCall, Usage,
    },
    rule::{Rule, Script, Times, When},
};
