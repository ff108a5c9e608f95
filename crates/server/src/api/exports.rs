//! Sessions as files: export and import (AS-29).

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use futures_util::stream;
use samovar_core::Error;
use samovar_wire::api::BASE_PATH;
use samovar_wire::export::{
    self, ExportLine, ExportParams, ImportResult, ImportedSession, MAX_IMPORT_BYTES,
};

use super::state::{Call, Endpoint};
use crate::tokens::Scope;

/// The media type of JSON lines.
const JSON_LINES: HeaderValue = HeaderValue::from_static("application/x-ndjson");

pub(super) fn routes() -> Vec<Endpoint> {
    let at = |path: &str| format!("{BASE_PATH}/{path}");
    vec![
        Endpoint::following::<_, ExportLine, _>(
            at("sessions/{id}/export"),
            "Streams a session and its messages as JSON lines.",
            export,
        )
        .with_scope(Scope::Admin),
        Endpoint::taking_bytes::<ExportLine, _, _>(
            at("sessions/import"),
            "Creates the sessions of an export.",
            import,
        )
        .with_longer_bodies(MAX_IMPORT_BYTES)
        .with_scope(Scope::Admin),
    ]
}

async fn export(call: Call, params: ExportParams) -> Result<Response<Body>, Error> {
    let copy = call.engine().await?.export(&params.id).await?;
    let lines = export::lines(copy).map(Ok::<_, std::convert::Infallible>);
    let mut response = Response::new(Body::from_stream(stream::iter(lines)));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, JSON_LINES);
    Ok(response)
}

async fn import(call: Call) -> Result<ImportResult, Error> {
    let file = export::read(&call.body)?;
    let engine = call.engine().await?;
    let mut sessions = Vec::new();
    for session in file.sessions {
        let from = session.session.id.clone();
        let import = engine.import(call.by.sender.clone(), session).await?;
        sessions.push(ImportedSession {
            session_id: import.session,
            from,
            messages: import.messages as u64,
            renamed: import.renamed as u64,
        });
    }
    Ok(ImportResult {
        sessions,
        broken_at_line: file.broken_at,
    })
}
