//! `samovar turns`: which agents are at work, as a tree, and how to stop one of them.

use std::io;
use std::time::Duration;

use samovar_core::{Code, TurnId};
use samovar_locale as text;
use samovar_wire::agent::{BudgetInfo, Dollars};
use samovar_wire::api::{TurnCancelled, TurnInfo, TurnProgress};
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use crate::args::Turns;
use crate::client::{Client, segment};
use crate::exit::{Exit, Failure};
use crate::output::{self, Format};
use crate::reconnecting::Repeat;
use crate::screen::say;
use crate::sessions::{change, look};
use crate::style::{columns, wrapped};

/// By how much the rest of a line that is broken is indented deeper than its beginning: what is
/// indented by one level looks like a turn of its own.
const HANGING: usize = 4;

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
            if turns.is_empty() && common.machine.format() == Format::Text {
                say(text::turns::none());
            }
            output::list(common.machine.format(), "turn", &turns, tree)?;
            Ok(Exit::Ok)
        }
        Turns::Stop { turn, common } => {
            let path = format!("/api/turns/{}/cancel", segment(&turn));
            let asked = async |client: &Client| client.post(&path, &json!({})).await;
            let stopped = change(&common, Repeat::Harmless, asked).await;
            let stopped: TurnCancelled = stopped.map_err(|failure| {
                let code = Code::UnknownTurn.as_str();
                if failure.code == code {
                    Failure::new(Exit::Usage, code, text::turns::unknown())
                } else {
                    failure
                }
            })?;
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

/// Drops the trees in which nothing runs or waits any more.
pub(crate) fn keep_at_work(turns: &mut Vec<TurnInfo>) {
    let is_over = |turn: &TurnInfo| turn.state == TurnProgress::Finished;
    let parent = |of: &TurnInfo| {
        let id = of.parent_turn_id.as_ref()?;
        turns.iter().find(|turn| turn.turn_id == *id)
    };
    let root = |turn: &TurnInfo| {
        let above = std::iter::successors(parent(turn), |above| parent(above));
        above.last().unwrap_or(turn).turn_id.clone()
    };
    let at_work: Vec<_> = turns
        .iter()
        .filter(|turn| !is_over(turn))
        .map(root)
        .collect();
    let keeps: Vec<_> = turns
        .iter()
        .map(|turn| at_work.contains(&root(turn)))
        .collect();
    let mut keeps = keeps.into_iter();
    turns.retain(|_| keeps.next().unwrap_or_default());
}

/// The turns, each indented below the one that called it.
pub(crate) fn tree(turns: &[TurnInfo]) -> String {
    let mut shown = String::new();
    let is_here = |id: &TurnId| turns.iter().any(|turn| turn.turn_id == *id);
    let is_root = |turn: &&TurnInfo| turn.parent_turn_id.as_ref().is_none_or(|id| !is_here(id));
    let columns = columns(&io::stdout());
    for root in turns.iter().filter(is_root) {
        draw(root, turns, 0, columns, &mut shown);
    }
    shown
}

/// What a turn's own model calls used, and what is left of its budget.
fn used(turn: &TurnInfo) -> String {
    let mut used = if turn.estimated {
        text::turns::tokens_estimated(turn.tokens)
    } else {
        text::turns::tokens(turn.tokens)
    };
    if let Some(Dollars(cost)) = turn.cost_usd {
        used = format!("{used}  {}", text::turns::cost(cost));
    }
    if let Some(left) = &turn.left {
        used = format!("{used}  {}", text::turns::left(limits(left)));
    }
    used
}

fn limits(budget: &BudgetInfo) -> String {
    let seconds = |wall: u64| Duration::from_millis(wall).as_secs();
    let limits = [
        budget.steps.map(text::turns::steps),
        budget.tokens.map(text::turns::tokens),
        budget.usd.map(|Dollars(usd)| text::turns::cost(usd)),
        budget
            .wall_ms
            .map(|wall| text::turns::seconds(seconds(wall))),
    ];
    let limits: Vec<_> = limits.into_iter().flatten().collect();
    limits.join(", ")
}

fn draw(turn: &TurnInfo, all: &[TurnInfo], level: usize, columns: Option<usize>, out: &mut String) {
    let state = match (turn.state, &turn.finish_reason) {
        (TurnProgress::Finished, Some(reason)) => turn
            .limit
            .as_ref()
            .map_or_else(|| reason.clone(), |limit| format!("{reason} ({limit})")),
        (TurnProgress::Queued, _) => text::turns::queued().to_owned(),
        (TurnProgress::Running, _) => text::turns::running().to_owned(),
        (TurnProgress::Waiting, _) => text::turns::waiting().to_owned(),
        (TurnProgress::Finished, None) => text::turns::over().to_owned(),
    };
    let time = Duration::from_millis(turn.elapsed_ms).as_secs_f32();
    let used = used(turn);
    let indent = level * 2;
    let line = format!("{:indent$}{}  {state}  {time:.1} s  {used}", "", turn.name);
    out.push_str(&fitted(&line, turn.turn_id.as_str(), indent, columns));
    out.push('\n');
    let below = all
        .iter()
        .filter(|other| other.parent_turn_id.as_ref() == Some(&turn.turn_id));
    for child in below {
        draw(child, all, level + 1, columns, out);
    }
}

/// A line with the turn's id at its end; the id has a line of its own where both do not fit.
fn fitted(line: &str, id: &str, indent: usize, columns: Option<usize>) -> String {
    let whole = format!("{line}  {id}");
    let Some(columns) = columns.filter(|columns| whole.width() > *columns) else {
        return whole;
    };
    let line = wrapped(line, columns - HANGING).replace('\n', &format!("\n{:HANGING$}", ""));
    // An id is never broken if it fits at all.
    let indent = (indent + HANGING).min(columns.saturating_sub(id.len()));
    format!("{line}\n{:indent$}{id}", "")
}
