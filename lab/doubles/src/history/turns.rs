//! The turns of a session, as a history lists them.

use samovar_core::history::{TurnQuery, TurnRow};

use super::{Put, Session, Turn};

impl Session {
    /// Those that a query wants, oldest first.
    pub(super) fn turns(&self, query: &TurnQuery) -> Vec<TurnRow> {
        let wanted = |turn: &&Turn| query.among.is_empty() || query.among.contains(&turn.id);
        let shown = self.turns.iter().filter(wanted).filter_map(|turn| {
            let of_turn = |put: &&Put| put.turn.as_ref() == Some(&turn.id);
            let first = self.messages.iter().find(of_turn)?;
            let caller = self
                .messages
                .iter()
                .find(|put| Some(&put.message.id) == first.message.parent.as_ref());
            let (iterations, bill, budget) = turn.costs;
            Some(TurnRow {
                turn: turn.id.clone(),
                session: self.row.id.clone(),
                agent: first.agent.clone(),
                parent: caller.and_then(|put| put.turn.clone()),
                parent_call: turn.parent_call.clone(),
                started_at: turn.started_at,
                end: turn.end.clone(),
                fault: turn.fault.clone(),
                usage: turn.usage,
                iterations,
                bill,
                budget,
                left: None,
                last: None,
            })
        });
        shown.collect()
    }
}
