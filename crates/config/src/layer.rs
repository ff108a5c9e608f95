//! What one source says.

use serde_json::Value;

use crate::origin::Origin;

/// A value, and where it stands. It may be a secret, so it cannot be printed.
#[derive(Clone, PartialEq)]
pub(crate) struct LayerValue {
    pub(crate) key: String,
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// What one source says, in the order in which it does.
pub(crate) type Layer = Vec<LayerValue>;
