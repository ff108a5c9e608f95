//! Asks a model's server, and once more where it refuses a part of the request that can be left out.

use reqwest::Response;
use samovar_core::error::FaultCode;
use samovar_locale as locale;

use crate::dialect::{Reader, Request};
use crate::exchange::ModelCall;
use crate::fault::Fault;
use crate::habits::{Change, Sent};
use crate::http;
use crate::images;
use crate::timeouts::Watch;

/// How many parts one call may leave out, one after the other.
const MAX_CHANGES: usize = 4;

/// Sends the request. Returns the response and what reads it.
///
/// # Errors
/// There is no answer: nobody is there, it takes too long, or the server says no.
pub(crate) async fn ask(
    call: &ModelCall,
    watch: &mut Watch,
) -> Result<(Response, Box<dyn Reader>), Fault> {
    let ModelCall {
        endpoint,
        dialect,
        prompt,
    } = call;
    let mut changes = 0;
    loop {
        let habits = endpoint.habits(&prompt.model);
        let Request { body, reader } =
            (dialect.write)(endpoint, prompt, &habits).map_err(|error| {
                let why = locale::provider::request_unwritable(error);
                Fault::new(FaultCode::Internal, why)
            })?;
        let url = (dialect.url)(endpoint);
        let sent = http::ask(endpoint, url, dialect.headers, body.clone(), watch).await;
        let fault = match sent {
            Ok(response) => return Ok((response, reader)),
            Err(fault) => fault,
        };
        let refusal = fault.refusal.as_deref();
        if !prompt.images.is_empty()
            && habits.takes(Sent::Images)
            && refusal.is_some_and(images::is_refused)
        {
            // The person is told, instead of answered without what was sent.
            endpoint.change(&prompt.model, Change::Without(Sent::Images));
            let code = FaultCode::ImagesRefused;
            return Err(Fault { code, ..fault });
        }
        let change = refusal.and_then(|refusal| habits.change(refusal, prompt, &body));
        let Some(change) = change.filter(|_| changes < MAX_CHANGES) else {
            return Err(fault);
        };
        changes += 1;
        let (name, model) = (endpoint.spec.name, &prompt.model);
        let what = locale::provider::left_out(name, endpoint.host(), &change, model);
        tracing::warn!("{what}: {}", fault.message);
        endpoint.change(model, change);
        watch.restart();
    }
}
