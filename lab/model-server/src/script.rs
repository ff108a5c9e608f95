//! What the server is to answer: plain data, the same for every dialect.

mod build;
mod delivery;
mod failure;
mod part;
mod reply;
mod rule;
mod when;

pub use self::{
    build::{call, endless, fail, hang_up, page, reset, say, silent, think},
    delivery::{Cut, Delivery, Ending, Gate, Hold, Newline, Point, Terminal},
    failure::Failure,
    part::{Arguments, CallIdRule, Index, Part, ToolCall},
    reply::{Answer, Finish, Page, Reply, Said, TokenCounts, Usage},
    rule::{Rule, Script, Times},
    when::When,
};
