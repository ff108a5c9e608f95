//! Who causes events.

use serde::{Deserialize, Serialize};

use crate::words;

words! {
    /// Who caused an event. An agent is the one that the event's path names.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Author {
        /// A person, through any client.
        User = "user",
        /// The server itself.
        System = "system",
        /// An outside program that closes calls or shows state.
        Host = "host",
        /// The agent of the event's path.
        Agent = "agent",
    }
}
