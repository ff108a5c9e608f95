//! The parsers of foreign bytes, each held against bytes that no one wrote (TL-16).
//!
//! Here: [`TARGETS`], one function for each parser. It takes any bytes and asserts what must hold of
//! them: not only that nothing panics, but that what was read is written back the same, that the
//! pieces in which bytes come make no difference, that a second opinion agrees. In `corpus`, by the
//! target's name, are inputs that reach far; the tests run them all, and `cargo xtask fuzz` makes
//! more. Not here: what the parsers are for.
//!
//! To add a target, write its function in the module of its kind, add its row, and put a few real
//! inputs into `corpus/NAME`. An input that made a target fail stays there, with its mending.

mod agents;
mod commands;
mod files;
mod network;
mod pages;
mod pieces;
mod secrets;
mod stores;
mod wire;

use std::sync::OnceLock;

/// What runs a parser on bytes, and panics when something does not hold.
pub type Target = fn(&[u8]);

/// Every target by its name, which is also that of its folder in `corpus`.
pub const TARGETS: &[(&str, Target)] = &[
    ("address", network::address),
    ("agent_file", files::agent_file),
    ("audit_chain", stores::audit_chain),
    ("command", commands::command),
    ("config_file", files::config_file),
    ("edit_file", files::edit_file),
    ("foreign_keys", secrets::foreign_keys),
    ("jail_path", files::jail_path),
    ("journal_row", stores::journal_row),
    ("memory_file", files::memory_file),
    ("origin", network::origin),
    ("own_keys", secrets::own_keys),
    ("relay_envelope", wire::relay_envelope),
    ("request", wire::request),
    ("shown_text", secrets::shown_text),
    ("spool_frame", stores::spool_frame),
    ("sse_anthropic", agents::sse_anthropic),
    ("sse_chat_completions", agents::sse_chat_completions),
    ("study_log", stores::study_log),
    ("text_calls", agents::text_calls),
    ("tool_arguments", agents::tool_arguments),
    ("url", network::url),
    ("web_page", pages::web_page),
];

/// The variable that names the target of a fuzzing run.
pub const VARIABLE: &str = "SAMOVAR_FUZZ";

/// The target of this name.
///
/// # Errors
/// There is none; the sentence lists those that there are.
pub fn target(name: &str) -> Result<Target, String> {
    let found = TARGETS.iter().find(|(other, _)| *other == name);
    let found = found.map(|(_, target)| *target);
    found.ok_or_else(|| {
        let names: Vec<_> = TARGETS.iter().map(|(name, _)| *name).collect();
        format!("no target {name:?}; there are: {}", names.join(", "))
    })
}

/// The target that the variable [`VARIABLE`] names.
///
/// # Panics
/// It names none.
#[expect(
    clippy::disallowed_methods,
    reason = "a fuzzing run has no other way to say which target it is"
)]
pub fn chosen() -> Target {
    static CHOSEN: OnceLock<Target> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let name = std::env::var(VARIABLE).unwrap_or_default();
        target(&name).expect("the variable names a target")
    })
}
