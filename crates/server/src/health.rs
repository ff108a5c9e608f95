//! Whether the server lives, and whether it takes work.

use samovar_core::{Code, Error};
use samovar_locale as locale;
use samovar_wire::agent::NoParams;
use schemars::JsonSchema;
use serde::Serialize;

use crate::endpoint::{Call, Route, Scope, Verb};

/// What a probe reads.
#[derive(Serialize, JsonSchema)]
struct Health {
    /// `ok`, or the request fails.
    status: &'static str,
}

pub(crate) fn routes() -> Vec<Route> {
    let probe = &[Verb::Get];
    vec![
        Route::answering(
            probe,
            Scope::Public,
            "/healthz".to_owned(),
            "Reports that the server is alive.",
            alive,
        ),
        Route::answering(
            probe,
            Scope::Public,
            "/readyz".to_owned(),
            "Reports whether the server accepts work.",
            ready,
        ),
    ]
}

async fn alive(_call: Call, _params: NoParams) -> Result<Health, Error> {
    Ok(Health { status: "ok" })
}

async fn ready(call: Call, _params: NoParams) -> Result<Health, Error> {
    if call.shared.slot.now()?.is_stopping() {
        return Err(Error::new(Code::Unavailable, locale::server::ends()));
    }
    Ok(Health { status: "ok" })
}
