//! The study logs of the relay, for who may read.

use samovar_core::{Code, Error};
use samovar_locale as locale;
use samovar_relay::{LogView, Row, StudyInfo as Study, StudyLogs};
use samovar_wire::agent::Within;
use samovar_wire::api::{
    BASE_PATH, StudiesParams, StudyInfo, StudyRow, StudyRowsParams, StudyView,
};

use crate::relaying::{Call, Endpoint};
use crate::reply::fitting;

/// Studies in an answer, unless another number is asked for.
const STUDIES: u32 = 50;
/// Rows in an answer, unless another number is asked for.
const ROWS: u32 = 1000;

pub(super) fn routes() -> Vec<Endpoint> {
    let at = |path: &str| format!("{BASE_PATH}/relay/logs{path}");
    vec![
        Endpoint::showing(
            at(""),
            "Returns the study logs, sorted by their ids.",
            studies,
        ),
        Endpoint::showing(
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
    let StudyRowsParams {
        id,
        view,
        after,
        limit,
    } = params;
    let view = match view {
        StudyView::File => LogView::File,
        StudyView::Host => LogView::Host,
    };
    let limit = limit.map_or(ROWS, Within::get) as usize;
    let rows = read(&call, move |logs| logs.rows(&id, view, after, limit)).await?;
    Ok(fitting(rows.into_iter().map(row)))
}

/// Files are read, and nobody else is to wait with it.
async fn read<T: Send + 'static>(
    call: &Call,
    read: impl FnOnce(&StudyLogs) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let logs = call.state.relay.logs().clone();
    let read = tokio::task::spawn_blocking(move || read(&logs)).await;
    read.unwrap_or_else(|error| {
        tracing::error!(%error, "a study log was not read");
        let why = locale::store::unreadable(error);
        Err(Error::new(Code::StoreFailed, why))
    })
}

fn study(study: Study) -> StudyInfo {
    StudyInfo {
        id: study.id,
        room: study.room,
        study_id: study.study,
        participant_id: study.participant,
        begun: study.begun,
        last: study.last,
        length_ms: study.length_ms,
        rows: study.rows,
        unreadable: study.unreadable,
        bytes: study.bytes,
        tools: study.tools,
        is_ended: study.is_ended,
    }
}

fn row(row: Row) -> StudyRow {
    StudyRow {
        session_id: row.session_id,
        event_index: row.event_index,
        timestamp: row.timestamp,
        direction: row.direction.as_str().to_owned(),
        kind: row.kind,
        payload: row.payload,
        relay_session_id: row.relay_session_id,
        role: row.role,
        member: row.member,
        id: row.id,
        reply_to: row.reply_to,
        check: row.check,
    }
}
