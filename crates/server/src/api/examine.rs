//! The routes by which the owner has the server and its models looked at.

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use futures_util::StreamExt;
use samovar_core::Error;
use samovar_wire::agent::NoParams;
use samovar_wire::api::{BASE_PATH, DoctorReport, TestLine, TestModelParams};

use super::state::{Call, Endpoint};
use crate::endpoint::Verb;
use crate::tokens::Scope;

pub(super) fn routes() -> Vec<Endpoint> {
    let at = |path: &str| format!("{BASE_PATH}/{path}");
    let post = &[Verb::Post];
    vec![
        Endpoint::answering(
            post,
            Scope::Admin,
            at("doctor"),
            "Looks at everything that a turn needs, and changes nothing.",
            doctor,
        ),
        Endpoint::streaming::<TestModelParams, TestLine, _>(
            at("models/test"),
            "Makes real calls of a model, and streams what each showed as JSON lines.",
            test_model,
        )
        .with_scope(Scope::Admin),
    ]
}

async fn doctor(call: Call, _params: NoParams) -> Result<DoctorReport, Error> {
    call.engine().await?;
    call.state.examination.doctor().await
}

async fn test_model(call: Call, params: TestModelParams) -> Result<Response<Body>, Error> {
    call.engine().await?;
    let lines = call.state.examination.test_model(params.name)?;
    let lines = lines.map(|line| {
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        Ok::<_, serde_json::Error>(text)
    });
    let mut response = Response::new(Body::from_stream(lines));
    let json_lines = HeaderValue::from_static("application/x-ndjson");
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, json_lines);
    Ok(response)
}
