//! Blobs under `/api/blobs`.

use samovar_core::BlobHash;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A blob that a message names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlobParams {
    /// The SHA-256 of its bytes: 64 lower-case hexadecimal digits.
    pub hash: BlobHash,
}
