//! Turns of all sessions, each of which can be stopped alone (SA-7, SA-11).

use std::collections::HashSet;

use samovar_core::history::TurnQuery;
use samovar_core::{Accepted, Action, Clock, Command, Error};
use samovar_engine::Engine;
use samovar_wire::api::{BASE_PATH, TurnCancelled, TurnInfo, TurnsParams};

use super::state::{Call, Endpoint};
use crate::clock::SystemClock;
use crate::endpoint::Verb;
use crate::reply::fitting;
use crate::tokens::Scope;

/// Turns that are shown at once: by default, and at most.
const SHOWN: u32 = 50;
const MAX_SHOWN: u32 = 200;

pub(super) fn routes() -> Vec<Endpoint> {
    let at = |path: &str| format!("{BASE_PATH}/{path}");
    vec![
        Endpoint::answering(
            &[Verb::Get],
            Scope::Read,
            at("turns"),
            "Returns the last turns, oldest first, with the turns that they called.",
            turns,
        ),
        Endpoint::changing(
            at("turns/{turnId}/cancel"),
            "Stops a turn and those that it waits for.",
            cancel,
        ),
    ]
}

async fn turns(call: Call, params: TurnsParams) -> Result<Vec<TurnInfo>, Error> {
    let engine = call.engine().await?;
    if let Some(session) = &params.session_id {
        engine.session(session).await?;
    }
    let query = TurnQuery {
        session: params.session_id,
        among: Vec::new(),
        unfinished: false,
        limit: params.limit.unwrap_or(SHOWN).min(MAX_SHOWN),
    };
    shown(&engine, query).await
}

/// Turns as people see them.
pub(super) async fn shown(engine: &Engine, query: TurnQuery) -> Result<Vec<TurnInfo>, Error> {
    let rows = engine.turns(query).await?;
    let asking = engine.open_calls().await?.into_iter();
    let asking: HashSet<_> = asking.map(|open| open.turn).collect();
    let now = SystemClock.now();
    Ok(fitting(rows.into_iter().map(|row| {
        let is_asking = asking.contains(&row.turn);
        TurnInfo::of(row, is_asking, now)
    })))
}

async fn cancel(
    call: Call,
    _params: samovar_wire::agent::NoParams,
) -> Result<TurnCancelled, Error> {
    let engine = call.engine().await?;
    let (session, turn) = engine.find_turn(call.segment("turnId")).await?;
    let command = Command {
        by: call.by.sender.clone(),
        session,
        action: Action::Cancel { turn: Some(turn) },
    };
    let accepted = engine.submit(command).await?;
    let cancelled = matches!(accepted, Accepted::Cancelled { stopped: true });
    Ok(TurnCancelled { cancelled })
}
