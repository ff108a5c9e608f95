//! The built program, used as a person, a script, a service manager and a killer use it. The model
//! is scripted, over HTTP; everything else is real.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on ends there"
)]

mod agents;
mod alike;
mod asked;
mod audit;
mod backup;
#[cfg(feature = "failpoints")]
mod care;
mod chat;
mod chat_global;
mod config;
mod container;
mod crash;
#[cfg(feature = "failpoints")]
mod cut_writes;
mod damage;
mod data_dir;
mod descriptors;
mod docs;
mod doctor;
mod examples;
mod exec;
mod exits;
mod exported;
mod failed;
mod folders;
mod forgotten;
mod forked;
mod format;
mod full;
mod gone;
mod guided;
mod hook;
mod images;
mod keys;
mod local;
#[cfg(all(feature = "failpoints", feature = "plant"))]
mod marks;
mod missing;
mod model_test;
mod open;
mod outside;
mod page;
mod pipes;
#[cfg(all(feature = "failpoints", feature = "plant"))]
mod proof;
#[cfg(all(feature = "failpoints", feature = "plant"))]
mod prove;
mod proxy;
mod readers;
mod relay;
mod relay_killed;
mod rooms;
mod run;
mod search;
mod secrets;
mod serve;
mod setup;
mod survives;
mod terminal;
mod together;
mod tool_room;
mod tools;
mod trust;
mod turns;
mod undone;
mod wakes;
mod wrong;
