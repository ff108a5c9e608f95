//! The search over messages: an index of words, of which the newest candidates are read (AS-27).
//!
//! The index says in which messages all words of a query are, and no more; the newest few messages are
//! not in it and are all candidates. What a message is worth
//! as a hit, and the words around the hit, come from its row, which is verified as for any reader. So
//! a query costs what its candidates cost, however many messages there are.

pub(super) mod asked;

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use rusqlite::{Connection, Row};
use samovar_core::history::{Hit, Hits, MessageRow, SearchQuery};
use samovar_core::{Damages, Millis, Role, terms};

use self::asked::{Asked, Fit, Looseness, Worth};
use super::failure::Failure;
use super::reader::{NEWEST, NOT_INDEXED, SEARCHED, is_edit_fork};
use super::{row, sql};

/// Candidates that are read for each way of looking, the newest ones.
const MAX_CANDIDATES: u32 = 200;
/// Candidates when the index cannot be asked.
const MAX_NEWEST: u32 = 1000;
/// Bytes of text that are read of what the index names; after so many, there are no more candidates. All
/// that it lacks is read: it is little.
const MAX_READ_BYTES: usize = 256 << 10;

const IS_INDEXED: &str = "SELECT NOT EXISTS (SELECT 1 FROM message_rows \
     WHERE key < (SELECT below FROM search_range))";

/// Searches all messages, as of one moment. A damaged one is reported and left out.
pub(super) fn search(
    moment: &Connection,
    query: &SearchQuery,
    damages: &dyn Damages,
) -> Result<Hits, Failure> {
    let is_indexed = sql::value(moment, IS_INDEXED, [])?;
    let asked = Asked::read(&query.text);
    let mut found = Found::default();
    let mut items = Vec::new();
    for looseness in Looseness::ALL {
        if let Some(expression) = asked.expression(looseness) {
            let fits = |text: &str| asked.fit(text, looseness);
            found.look(moment, &expression, fits, damages)?;
            found.drop_edit_forks(moment, query)?;
        }
        items = found.page(query);
        if items.len() >= query.limit as usize {
            break;
        }
    }
    Ok(Hits { items, is_indexed })
}

/// What a hit is worth: its words, whether a tool did not say it, and its time.
type Rank = (Worth, bool, Millis);

/// The hits so far: those of a stricter look come before those of a looser one.
#[derive(Default)]
struct Found {
    hits: Vec<Hit>,
    keys: HashSet<i64>,
}

impl Found {
    fn look(
        &mut self,
        moment: &Connection,
        expression: &str,
        fits: impl Fn(&str) -> Option<Fit>,
        damages: &dyn Damages,
    ) -> Result<(), Failure> {
        let mut ranked = Vec::new();
        sql::each(moment, NOT_INDEXED, [], |row| {
            ranked.extend(self.rank(row, &fits, damages, &mut 0)?);
            Ok(ControlFlow::Continue(()))
        })?;
        let mut bytes = 0;
        let take = |row: &Row<'_>| {
            ranked.extend(self.rank(row, &fits, damages, &mut bytes)?);
            Ok(sql::until(bytes >= MAX_READ_BYTES))
        };
        match expression {
            "" => sql::each(moment, NEWEST, [MAX_NEWEST], take)?,
            _ => sql::each(moment, SEARCHED, (MAX_CANDIDATES, expression), take)?,
        }
        // Stable: of those of one moment, the one that was put last is first.
        ranked.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
        self.hits.extend(ranked.into_iter().map(|(_, hit)| hit));
        Ok(())
    }

    /// Reads a candidate, and answers it as a hit if it fits; `bytes` counts the text that was read.
    fn rank(
        &mut self,
        row: &Row<'_>,
        fits: impl Fn(&str) -> Option<Fit>,
        damages: &dyn Damages,
        bytes: &mut usize,
    ) -> Result<Option<(Rank, Hit)>, Failure> {
        let key = row.get("key")?;
        if self.keys.contains(&key) {
            return Ok(None);
        }
        let Some(MessageRow {
            session, message, ..
        }) = row::sound(row, damages)
        else {
            return Ok(None);
        };
        let text = message.text();
        let text = terms::indexed(&text);
        *bytes += text.len();
        // The index may have what a flipped bit made of it.
        let Some(Fit { worth, around }) = fits(text) else {
            return Ok(None);
        };
        self.keys.insert(key);
        let is_said = message.role != Role::Tool;
        let at = message.created_at;
        let hit = Hit {
            session,
            message: message.id.clone(),
            role: message.role,
            text: around,
            at,
        };
        Ok(Some(((worth, is_said, at), hit)))
    }

    /// Drops the hits in forks that edits made, unless these are wanted.
    fn drop_edit_forks(&mut self, moment: &Connection, query: &SearchQuery) -> Result<(), Failure> {
        let mut known = HashMap::new();
        for hit in self.hits.iter().filter(|_| !query.edit_forks) {
            if !known.contains_key(&hit.session) {
                let is_one = is_edit_fork(moment, &hit.session)?;
                known.insert(hit.session.clone(), is_one);
            }
        }
        let is_one = |hit: &Hit| known.get(&hit.session).copied().unwrap_or_default();
        self.hits.retain(|hit| !is_one(hit));
        Ok(())
    }

    fn page(&self, query: &SearchQuery) -> Vec<Hit> {
        let skipped = match &query.before {
            None => 0,
            Some(before) => {
                let is_it = |hit: &Hit| hit.message == *before;
                let place = self.hits.iter().position(is_it);
                place.map_or(self.hits.len(), |place| place + 1)
            }
        };
        let page = self.hits[skipped..].iter();
        page.take(query.limit as usize).cloned().collect()
    }
}

#[cfg(test)]
mod tests;
