//! Tickets, with which a browser opens a stream or a WebSocket (TL-11).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A new ticket. As the parameter `ticket` of a stream or a WebSocket it replaces, once, the token
/// that requested it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedTicket {
    /// The ticket.
    pub ticket: String,
    /// How long it is valid, in milliseconds.
    pub expires_in_ms: u64,
}
