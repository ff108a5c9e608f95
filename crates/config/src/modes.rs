//! What can be set of a mode.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One mode.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentMode {
    /// The tools that no agent has in this mode; `settings` never has `open_url`.
    // A folder that says less to a person who said more opens something.
    #[schemars(
        with = "Vec<String>",
        length(max = 128),
        inner(length(min = 1, max = 128))
    )]
    #[schemars(extend("x-widens" = true, "examples" = [["open_url"]]))]
    pub deny: Option<Vec<String>>,
}
