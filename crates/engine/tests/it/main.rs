//! The engine, driven through its commands and followed through its log, without a socket.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod again;
mod approvals;
mod bounds;
mod branches;
mod budgets;
mod children;
mod claimed;
mod cut;
mod delivery;
mod ended;
mod environment;
mod failing;
mod folding;
mod forked;
mod guided;
mod in_memory;
mod kept;
mod left;
mod machine;
mod memory;
mod races;
mod resumed;
mod retries;
mod rig;
mod secrets;
mod taint;
mod tools;
mod troubled;
mod turns;
mod undo;
mod whose;
mod window;
mod words;
