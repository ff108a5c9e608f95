//! The result of a called agent's call says whose it is, as the other messages of its turn do (SA-8).
//!
//! The event that closes a call has nothing of that, so it is filled in when rows are read: rows of
//! older stores have it, too, and none is written twice.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use samovar_core::agent::MASTER;
use samovar_core::history::MessageRow;
use samovar_core::{Role, TurnId};

/// What says whose a message is.
const ABOUT: &str = "agent";

/// Fills rows in from messages of the same turns. Returns the turns of which none of them says it.
pub(crate) fn fill(rows: &mut [MessageRow], others: &[MessageRow]) -> BTreeSet<TurnId> {
    let mut lacking = BTreeSet::new();
    if !rows.iter().any(lacks) {
        return lacking;
    }
    let said = rows.iter().chain(others).filter_map(|row| {
        let about = row.message.metadata.get(ABOUT)?.clone();
        Some((row.turn.clone()?, (row.message.parent.clone(), about)))
    });
    let said: HashMap<_, _> = said.collect();
    for row in rows.iter_mut().filter(|row| lacks(row)) {
        let Some(turn) = &row.turn else { continue };
        let Some((parent, about)) = said.get(turn) else {
            lacking.insert(turn.clone());
            continue;
        };
        let message = Arc::make_mut(&mut row.message);
        message.parent.clone_from(parent);
        message.metadata.insert(ABOUT.to_owned(), about.clone());
    }
    lacking
}

/// The session's own agent is known without it.
fn lacks(row: &MessageRow) -> bool {
    let is_called = row.agent.depth() > 0 || row.agent.name() != MASTER;
    is_called && row.message.role == Role::Tool && !row.message.metadata.contains_key(ABOUT)
}
