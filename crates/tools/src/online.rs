//! What the tools that ask the web have in common.

use std::sync::Arc;
use std::time::Duration;

use samovar_core::tool::{Origin, Sharing};
use samovar_core::{Closer, Effect, ToolCall, ToolSpec};
use samovar_egress::{HeaderMap, HeaderValue, header};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::schema;

/// How much sooner than the engine a request gives up, which can then say why.
pub(crate) const HEAD_START: Duration = Duration::from_millis(50);

/// The description of a tool that only looks at public pages, which no level asks about (TL-4).
pub(crate) fn spec<T: JsonSchema>(name: &str, timeout: Duration) -> Arc<ToolSpec> {
    let (description, parameters) = schema::of::<T>();
    Arc::new(ToolSpec {
        name: name.to_owned(),
        description,
        parameters,
        effect: Effect::Read,
        asks: None,
        origin: Origin::BuiltIn,
        closed: false,
        timeout,
        sharing: Sharing::Parallel,
        closer: Closer::Tool,
    })
}

/// The arguments of a call.
pub(crate) fn arguments<T: DeserializeOwned>(call: &ToolCall) -> Result<T, String> {
    T::deserialize(&call.args).map_err(|why| format!("the arguments do not fit: {why}"))
}

/// The headers of a request that takes these types.
pub(crate) fn headers(accept: &'static str) -> HeaderMap {
    let agent = concat!("samovar/", env!("CARGO_PKG_VERSION"));
    let mut headers = HeaderMap::new();
    headers.insert(header::USER_AGENT, HeaderValue::from_static(agent));
    headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
    headers
}
