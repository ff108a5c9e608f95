//! The study logs of the relay, for who may read.

use samovar_core::relay::{StudyInfo, StudyRow};
use samovar_core::{Code, Error};
use samovar_locale as locale;
use samovar_relay::StudyLogs;
use samovar_wire::agent::Within;
use samovar_wire::api::{BASE_PATH, RoomRowsParams, StudiesParams, StudyRowsParams};

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
        Endpoint::showing(
            format!("{BASE_PATH}/relay/rooms/{{room}}/log"),
            "Returns the newest rows of a room's own log, oldest first.",
            room_rows,
        ),
    ]
}

async fn studies(call: Call, params: StudiesParams) -> Result<Vec<StudyInfo>, Error> {
    let StudiesParams { after, limit } = params;
    let limit = limit.map_or(STUDIES, Within::get) as usize;
    read(&call, move |logs| Ok(logs.list(after.as_deref(), limit))).await
}

async fn rows(call: Call, params: StudyRowsParams) -> Result<Vec<StudyRow>, Error> {
    let StudyRowsParams {
        id,
        view,
        after,
        limit,
    } = params;
    let limit = limit.map_or(ROWS, Within::get) as usize;
    let rows = read(&call, move |logs| logs.rows(&id, view, after, limit)).await?;
    Ok(fitting(rows.into_iter()))
}

async fn room_rows(call: Call, params: RoomRowsParams) -> Result<Vec<StudyRow>, Error> {
    let room = call.segment("room").to_owned();
    let limit = params.limit.map_or(ROWS, Within::get) as usize;
    let rows = read(&call, move |logs| {
        logs.room_rows(&room, params.after, limit)
    });
    Ok(fitting(rows.await?.into_iter()))
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
