//! The server, driven over its real socket.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod again;
mod agents;
mod appended;
mod approvals;
mod asking;
mod audit;
mod bridge;
mod by_hand;
mod care;
mod chat;
mod children;
mod client_tools;
mod contract;
#[cfg(feature = "plant")]
mod days;
mod dialects;
mod door;
mod durability;
mod ending;
mod exchanges;
mod exported;
mod feeds;
mod full;
mod guide;
mod handshake;
mod hole;
mod hook;
mod images;
mod limits;
mod meaning;
mod memory;
mod metrics;
mod mounted;
mod places;
mod planted;
mod proposals;
mod provider_faults;
mod raw;
mod reach;
mod readers;
mod recorded;
mod relay;
mod resume;
mod searching;
mod secrets;
mod shown;
mod stall;
mod tools;
mod turns;
mod typescript;
mod ui;
mod undone;
mod waiting;
mod webhooks;
mod words;
