//! A search without an index: messages that have all words, the newest first.

use std::cmp::Reverse;

use samovar_core::history::{Hit, Hits, SearchQuery, SessionRow};

use super::Session;

/// Whether an edit made this session, from the one that it forked.
pub(super) fn is_edit(row: &SessionRow) -> bool {
    let of = row.metadata.get("forkedFrom");
    of.is_some_and(|of| of["edit"] == true)
}

pub(super) fn search(sessions: &[Session], query: &SearchQuery) -> Hits {
    let words = query.text.to_lowercase();
    let words: Vec<_> = words.split_whitespace().collect();
    let shown = |session: &&Session| query.edit_forks || !is_edit(&session.row);
    let hits = sessions.iter().filter(shown).flat_map(|session| {
        session.messages.iter().map(|put| Hit {
            session: session.row.id.clone(),
            message: put.message.id.clone(),
            role: put.message.role,
            text: put.message.text(),
            at: put.message.created_at,
        })
    });
    let has = |hit: &Hit| {
        let text = hit.text.to_lowercase();
        !words.is_empty() && words.iter().all(|word| text.contains(word))
    };
    let mut hits: Vec<_> = hits.filter(has).collect();
    hits.reverse();
    hits.sort_by_key(|hit| Reverse(hit.at));
    if let Some(before) = &query.before {
        let place = hits.iter().position(|hit| hit.message == *before);
        hits.drain(..place.map_or(hits.len(), |place| place + 1));
    }
    hits.truncate(query.limit as usize);
    Hits {
        items: hits,
        is_indexed: true,
    }
}
