//! Tickets: what a browser opens a stream or a WebSocket with (TL-11).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A ticket that was made just now. As the parameter `ticket` of a stream or a WebSocket it stands
/// once for the token that asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedTicket {
    /// The ticket.
    pub ticket: String,
    /// How long it counts, in milliseconds.
    pub expires_in_ms: u64,
}
