//! The search over the messages of all sessions (AS-27).

use samovar_core::Error;
use samovar_wire::api::{BASE_PATH, SearchParams, SearchResult};

use super::state::{Call, Endpoint};
use crate::endpoint::Verb;
use crate::tokens::Scope;

pub(super) fn routes() -> Vec<Endpoint> {
    vec![Endpoint::answering(
        &[Verb::Get],
        Scope::Read,
        format!("{BASE_PATH}/search"),
        "Returns the messages that have all words of a query, best first.",
        search,
    )]
}

async fn search(call: Call, params: SearchParams) -> Result<SearchResult, Error> {
    let engine = call.engine().await?;
    Ok(engine.search(params.into()).await?.into())
}
