//! What the server is to answer: plain data, the same for every dialect.

mod build;
mod delivery;
mod reply;
mod rule;

pub use self::{
    build::{call, endless, fail, hang_up, page, reset, say, silent, think},
    delivery::{Cut, Delivery, Ending, Gate, Hold, Newline, Point, Terminal},
    reply::{
        Answer, Arguments, CallIdRule, Failure, Finish, Index, Page, Part, Reply, Said,
        TokenCounts, ToolCall, Usage,
    },
    rule::{Rule, Script, Times, When},
};
