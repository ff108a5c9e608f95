//! How a browser gets in, and what a client learns about itself (TL-11).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TokenName, TokenScope};

/// Parameters for a new login link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginLinkParams {
    /// The name of the token that the browser gets, `browser` by default; with a number after it if
    /// the name is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<TokenName>,
    /// What that token may do; `admin` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<TokenScope>,
}

/// A login link, which lets one browser in, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoginLink {
    /// The link; the code is in its fragment, which browsers send to no server.
    pub url: String,
    /// The code.
    pub code: String,
    /// How long it is valid, in milliseconds.
    pub expires_in_ms: u64,
}

/// The code of a login link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginParams {
    /// The code.
    pub code: String,
}

/// What a client brought to be let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Brought {
    /// A token in a header, or a ticket in its place.
    Token,
    /// The cookie of a login.
    Cookie,
}

/// Who a client is to the server, and what it may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Me {
    /// The name of its token.
    pub name: String,
    /// What its token may do.
    pub scope: TokenScope,
    /// What it brought to be let in.
    pub by: Brought,
    /// The id of the server's data directory, which is in the name of the cookie.
    pub server_id: String,
    /// The version of the server.
    pub version: String,
    /// The folder that tools work in, if the token may read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}
