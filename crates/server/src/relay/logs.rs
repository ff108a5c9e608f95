//! The study logs of the relay, for who may read.

use samovar_core::{Code, Error};
use samovar_locale as locale;
use samovar_relay::{Row, StudyInfo as Study, StudyLogs};
use samovar_wire::agent::Within;
use samovar_wire::api::{BASE_PATH, StudiesParams, StudyInfo, StudyRow, StudyRowsParams};

use crate::agent::fitting;
use crate::endpoint::{Call, Route, Scope, Verb};

/// Studies in an answer, unless another number is asked for.
const STUDIES: u32 = 50;
/// Rows in an answer, unless another number is asked for.
const ROWS: u32 = 1000;

pub(super) fn routes() -> Vec<Route> {
    let at = |path: &str| format!("{BASE_PATH}/relay/logs{path}");
    vec![
        Route::answering(
            &[Verb::Get],
            Scope::Read,
            at(""),
            "Returns the study logs, sorted by their ids.",
            studies,
        ),
        Route::answering(
            &[Verb::Get],
            Scope::Read,
            at("/{id}"),
            "Returns the rows of a study log, oldest first.",
            rows,
        ),
    ]
}

async fn studies(call: Call, params: StudiesParams) -> Result<Vec<StudyInfo>, Error> {
    let StudiesParams { after, limit } = params;
    let limit = limit.map_or(STUDIES, Within::get) as usize;
    let studies = read(&call, move |logs| Ok(logs.list(after.as_deref(), limit))).await?;
    Ok(studies.into_iter().map(study).collect())
}

async fn rows(call: Call, params: StudyRowsParams) -> Result<Vec<StudyRow>, Error> {
    let StudyRowsParams { id, after, limit } = params;
    let limit = limit.map_or(ROWS, Within::get) as usize;
    let rows = read(&call, move |logs| logs.rows(&id, after, limit)).await?;
    Ok(fitting(rows.into_iter().map(row)))
}

/// Files are read, and nobody else is to wait with it.
async fn read<T: Send + 'static>(
    call: &Call,
    read: impl FnOnce(&StudyLogs) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let logs = call.shared.relaying.relay.logs().clone();
    let read = tokio::task::spawn_blocking(move || read(&logs)).await;
    read.unwrap_or_else(|error| {
        tracing::error!(%error, "a study log was not read");
        let why = locale::store::unreadable();
        Err(Error::new(Code::StoreFailed, why))
    })
}

fn study(study: Study) -> StudyInfo {
    let Study {
        id,
        room,
        study,
        participant,
        begun,
        last,
        length_ms,
        rows,
        unreadable,
        bytes,
        tools,
        is_ended,
    } = study;
    StudyInfo {
        id,
        room,
        study_id: study,
        participant_id: participant,
        begun,
        last,
        length_ms,
        rows,
        unreadable,
        bytes,
        tools,
        is_ended,
    }
}

fn row(row: Row) -> StudyRow {
    let Row {
        session_id,
        event_index,
        timestamp,
        direction,
        kind,
        payload,
        relay_session_id,
        role,
        member,
        id,
        reply_to,
        check,
    } = row;
    StudyRow {
        session_id,
        event_index,
        timestamp,
        direction: direction.as_str().to_owned(),
        kind,
        payload,
        relay_session_id,
        role,
        member,
        id,
        reply_to,
        check,
    }
}
