//! What clients of the agent service rely on: calls, streams, sessions, messages.

mod calls;
mod changes;
mod frames;
mod messages;
mod paging;
mod seed;
mod sessions;
