//! `samovar turns`: which agents are at work, as a tree, and how to stop one of them.

use std::fmt::Write as _;
use std::time::Duration;

use samovar_core::TurnId;
use samovar_locale as text;
use samovar_wire::api::{TurnCancelled, TurnInfo, TurnProgress};
use serde_json::json;

use crate::args::Turns;
use crate::client::{Client, segment};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::reconnecting::Repeat;
use crate::sessions::{change, look};

/// `samovar turns`.
pub(crate) async fn turns(command: Turns) -> Result<Exit, Failure> {
    match command {
        Turns::List {
            session,
            limit,
            common,
        } => {
            let session = session.map(|id| format!("&sessionId={}", segment(&id)));
            let path = format!(
                "/api/turns?limit={limit}{}",
                session.as_deref().unwrap_or_default()
            );
            let asked = async |client: &Client| client.get::<Vec<TurnInfo>>(&path).await;
            let turns = look(&common, asked).await?;
            output::list(common.machine.format(), "turn", &turns, tree)?;
            Ok(Exit::Ok)
        }
        Turns::Stop { turn, common } => {
            let path = format!("/api/turns/{}/cancel", segment(&turn));
            let asked = async |client: &Client| client.post(&path, &json!({})).await;
            let stopped: TurnCancelled = change(&common, Repeat::Harmless, asked).await?;
            output::one(common.machine.format(), "turn", &stopped, |stopped| {
                if stopped.cancelled {
                    text::turns::stopped(&turn) + "\n"
                } else {
                    text::turns::over_already(&turn) + "\n"
                }
            })?;
            Ok(Exit::Ok)
        }
    }
}

/// The turns, each indented below the one that called it.
fn tree(turns: &[TurnInfo]) -> String {
    let mut shown = String::new();
    let is_here = |id: &TurnId| turns.iter().any(|turn| turn.turn_id == *id);
    let is_root = |turn: &&TurnInfo| turn.parent_turn_id.as_ref().is_none_or(|id| !is_here(id));
    for root in turns.iter().filter(is_root) {
        draw(root, turns, 0, &mut shown);
    }
    shown
}

fn draw(turn: &TurnInfo, all: &[TurnInfo], level: usize, out: &mut String) {
    let state = match (turn.state, &turn.finish_reason) {
        (TurnProgress::Finished, Some(reason)) => reason.as_str(),
        (TurnProgress::Queued, _) => text::turns::queued(),
        (TurnProgress::Running, _) => text::turns::running(),
        (TurnProgress::Waiting, _) => text::turns::waiting(),
        (TurnProgress::Finished, None) => text::turns::over(),
    };
    let time = Duration::from_millis(turn.elapsed_ms).as_secs_f32();
    let tokens = text::turns::tokens(turn.tokens);
    // Writing to a string cannot fail.
    let _infallible = writeln!(
        out,
        "{:indent$}{}  {state}  {time:.1} s  {tokens}  {}",
        "",
        turn.name,
        turn.turn_id,
        indent = level * 2
    );
    let below = all
        .iter()
        .filter(|other| other.parent_turn_id.as_ref() == Some(&turn.turn_id));
    for child in below {
        draw(child, all, level + 1, out);
    }
}
