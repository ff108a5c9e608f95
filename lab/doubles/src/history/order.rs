//! The order of a session's messages and turns, and rows in it.

use samovar_core::history::{LastTurn, MessageQuery, MessageRow, Speakers, WAITING};
use samovar_core::{Seq, TurnId};

use super::{Put, Session, Turn};

impl Session {
    /// Its messages in their order: those of a turn that waits come last.
    pub(super) fn in_order(&self) -> Vec<&Put> {
        let mut messages: Vec<_> = self.messages.iter().collect();
        messages.sort_by_key(|put| (self.place_of(put), put.seq));
        messages
    }

    pub(super) fn place_of(&self, put: &Put) -> Seq {
        match (&put.turn, self.turn_of(put)) {
            (None, _) => put.seq,
            (Some(_), turn) => turn.and_then(|turn| turn.place).unwrap_or(WAITING),
        }
    }

    /// Where the message stands that called a turn which waits.
    pub(super) fn place_of_caller(&self, turn: &TurnId) -> Option<Seq> {
        let of_turn = self.messages.iter();
        let mut of_turn = of_turn.filter(|put| put.turn.as_ref() == Some(turn));
        let caller = of_turn.find_map(|put| put.message.parent.as_ref())?;
        let caller = self.messages.iter().find(|put| put.message.id == *caller)?;
        Some(self.place_of(caller)).filter(|place| *place != WAITING)
    }

    pub(super) fn row_of(&self, put: &Put) -> MessageRow {
        MessageRow {
            session: self.row.id.clone(),
            turn: put.turn.clone(),
            agent: put.agent.clone(),
            has_begun: put.turn.is_none() || self.turn_of(put).is_some_and(|turn| turn.has_begun),
            place: self.place_of(put),
            message: put.message.clone(),
        }
    }

    pub(super) fn rows(&self, query: &MessageQuery) -> Vec<MessageRow> {
        let mut messages = self.in_order();
        if let Some(before) = &query.before {
            let end = messages.iter().position(|put| put.message.id == *before);
            messages.truncate(end.unwrap_or(0));
        }
        messages.retain(|put| query.of == Speakers::All || put.agent.depth() == 0);
        let start = messages.len().saturating_sub(query.limit as usize);
        let rows = messages[start..].iter();
        rows.map(|put| self.row_of(put)).collect()
    }

    pub(super) fn last_turn(&self, before: Option<&TurnId>) -> Option<LastTurn> {
        let messages = self.in_order();
        let before = self.turns.iter().find(|turn| Some(&turn.id) == before);
        let before = before.and_then(|turn| turn.place);
        let of_master = messages.iter().rev().filter(|put| put.agent.depth() == 0);
        let mut turns = of_master.filter_map(|put| self.turn_of(put));
        let is_before = |turn: &Turn| before.is_none() || turn.place < before;
        let last = turns.find(|turn| turn.place.is_some() && is_before(turn))?;
        let of = |turn: &TurnId| {
            let turn = Some(turn.clone());
            messages.iter().filter(move |put| put.turn == turn)
        };
        let mut said = of(&last.id).filter(|put| put.message.is_input());
        let said = said.next()?.message.clone();
        let mut family = vec![last.id.clone()];
        let mut next = 0;
        while let Some(turn) = family.get(next).cloned() {
            let calls = of(&turn).flat_map(|put| put.message.calls());
            let calls: Vec<_> = calls.map(|call| &call.id).collect();
            let called = |turn: &&Turn| {
                let call = turn.parent_call.as_ref();
                call.is_some_and(|call| calls.contains(&call))
            };
            family.extend(self.turns.iter().filter(called).map(|turn| turn.id.clone()));
            next += 1;
        }
        let messages = family.iter().map(|turn| of(turn).count() as u64).sum();
        Some(LastTurn {
            turn: family.remove(0),
            below: family,
            said,
            messages,
        })
    }
}
