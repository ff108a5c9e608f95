//! Sessions as files: export and import (AS-29).

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use futures_util::stream;
use samovar_core::{Broken, Code, Error};
use samovar_locale as locale;
use samovar_wire::api::BASE_PATH;
use samovar_wire::export::{
    self, ExportLine, ExportParams, ImportResult, ImportedSession, Line, MAX_IMPORT_BYTES, Step,
    Writer,
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
        .with_longer_bodies(MAX_IMPORT_BYTES, <[u8]>::len)
        .with_scope(Scope::Admin),
    ]
}

async fn export(call: Call, params: ExportParams) -> Result<Response<Body>, Error> {
    let engine = call.engine().await?;
    let steps = export::steps(engine.export(&params.id).await?);
    let begun = (steps, Writer::default(), engine);
    let lines = stream::try_unfold(begun, |(mut steps, mut writer, engine)| async move {
        let Some(step) = steps.next() else {
            return Ok::<_, Broken>(None);
        };
        let line = match step {
            Step::Line(line) => Some(line),
            // One that is gone is missing in the file, too.
            Step::Blob(hash) => {
                let bytes = engine.blobs().read(&hash).await?;
                bytes.map(|bytes| Line::of_blob(hash, &bytes))
            }
        };
        let text = line.map(|line| writer.write(&line)).unwrap_or_default();
        Ok(Some((text, (steps, writer, engine))))
    });
    let mut response = Response::new(Body::from_stream(lines));
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, JSON_LINES);
    Ok(response)
}

async fn import(call: Call) -> Result<ImportResult, Error> {
    // It may take seconds.
    let body = call.body.clone();
    let read = tokio::task::spawn_blocking(move || export::read(&body)).await;
    let file = read.unwrap_or_else(|error| {
        tracing::error!(%error, "an import was not read");
        Err(Error::new(Code::Internal, locale::message::not_taken()))
    })?;
    let engine = call.engine().await?;
    let mut sessions = Vec::new();
    for session in file.sessions {
        let from = session.session.id.clone();
        let naming = engine.blobs().naming().await;
        for hash in session.messages.iter().flat_map(|row| row.message.blobs()) {
            if let Some(blob) = file.blobs.get(hash) {
                naming.put(blob.bytes(&call.body)).await?;
            }
        }
        let import = engine.import(call.by.sender.clone(), session).await?;
        naming.named();
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
