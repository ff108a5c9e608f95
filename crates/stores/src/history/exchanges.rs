//! Finished exchanges: those in which words are, and what was said in some (MD-11).
//!
//! The index says where each word is. A query asks for its rarest words, as many as name few enough
//! messages; what an exchange is worth is for who recalls it.

use std::collections::HashMap;

use samovar_core::history::{Exchange, ExchangeId, ExchangeQuery, SessionRow};
use samovar_core::{Beginner, Damages, SessionId, terms};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection, SqlitePool};

use super::failure::Failure;
use super::reader::{
    self, ANSWERED_IN, ASKED_IN, COUNT_OF_WORD, EXCHANGES, EXCHANGES_NOT_INDEXED, EXCHANGES_WITH,
};
use super::row;
use super::search::asked::Asked;

/// Messages with words of a query that are looked at, the newest ones.
const MAX_MESSAGES: i64 = 1_000;

/// The newest exchanges, the newest first.
pub(super) async fn exchange_ids(
    readers: &SqlitePool,
    most: u32,
) -> Result<Vec<ExchangeId>, Failure> {
    let rows = sqlx::query(EXCHANGES).bind(most).fetch_all(readers).await?;
    rows.iter().map(id).collect()
}

/// What was said in exchanges, as of one moment. A damaged one is reported and left out.
pub(super) async fn exchanges(
    readers: &SqlitePool,
    query: &ExchangeQuery,
    damages: &dyn Damages,
) -> Result<Vec<Exchange>, Failure> {
    let mut moment = readers.begin().await?;
    let ids = match query {
        ExchangeQuery::These(ids) => ids.clone(),
        ExchangeQuery::Words {
            begun_by,
            text,
            limit,
        } => with_words(&mut moment, begun_by, text, *limit).await?,
    };
    let mut sessions = HashMap::new();
    let mut found = Vec::new();
    for id in ids {
        if !sessions.contains_key(&id.session) {
            let session = reader::session_in(&mut moment, &id.session).await;
            let session = session.unwrap_or_else(|failure| {
                damages.session(&id.session, &failure.to_string());
                None
            });
            sessions.insert(id.session.clone(), session);
        }
        let session = sessions.get(&id.session).and_then(Option::as_ref);
        found.extend(read(&mut moment, id, session, damages).await?);
    }
    moment.rollback().await?;
    Ok(found)
}

/// The newest of the exchanges that have words of a text, and those that the index lacks.
async fn with_words(
    moment: &mut SqliteConnection,
    begun_by: &Beginner,
    text: &str,
    limit: u32,
) -> Result<Vec<ExchangeId>, Failure> {
    let by = String::from(begun_by.clone());
    let mut words = Vec::new();
    for word in Asked::read(text).each() {
        let count = sqlx::query_scalar(COUNT_OF_WORD)
            .bind(&word)
            .bind(MAX_MESSAGES);
        let count: i64 = count.fetch_one(&mut *moment).await?;
        words.push((count, word));
    }
    words.sort();
    let mut sum = 0;
    let rare = words.into_iter().filter(|(count, _)| *count > 0);
    // The rarest one counts, however many have it.
    let rare = rare.take_while(|(count, _)| {
        let is_first = sum == 0;
        sum += count;
        is_first || sum <= MAX_MESSAGES
    });
    let rare: Vec<_> = rare.map(|(_, word)| word).collect();
    let newest = sqlx::query(EXCHANGES_NOT_INDEXED).bind(&by).bind(limit);
    let mut rows = newest.fetch_all(&mut *moment).await?;
    if !rare.is_empty() {
        let with = sqlx::query(EXCHANGES_WITH).bind(&by).bind(limit);
        let with = with.bind(rare.join(" OR ")).bind(MAX_MESSAGES);
        rows.extend(with.fetch_all(moment).await?);
    }
    let mut ids: Vec<ExchangeId> = Vec::new();
    for row in &rows {
        let id = id(row)?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

fn id(row: &SqliteRow) -> Result<ExchangeId, Failure> {
    let begun_by: String = row.try_get("begun_by")?;
    Ok(ExchangeId {
        session: SessionId::new(row.try_get::<&str, _>("session_id")?).map_err(row::odd)?,
        turn: row::turn_id(row.try_get("turn_id")?)?,
        begun_by: Beginner::try_from(begun_by).map_err(row::odd)?,
    })
}

/// One exchange; `None` if it is not there any more, or has no answer.
async fn read(
    moment: &mut SqliteConnection,
    id: ExchangeId,
    session: Option<&SessionRow>,
    damages: &dyn Damages,
) -> Result<Option<Exchange>, Failure> {
    let session = session.filter(|session| session.begun_by.as_ref() == Some(&id.begun_by));
    let Some(session) = session else {
        return Ok(None);
    };
    let mut said = Vec::new();
    for query in [ASKED_IN, ANSWERED_IN] {
        let row = sqlx::query(query)
            .bind(id.session.as_str())
            .bind(id.turn.as_str());
        let row = row.fetch_optional(&mut *moment).await?;
        let row = row.and_then(|row| row::sound(&row, damages));
        let Some(message) = row.map(|row| row.message) else {
            return Ok(None);
        };
        let text = message.text();
        let text = terms::indexed(&text).trim().to_owned();
        if text.is_empty() {
            return Ok(None);
        }
        said.push((text, message.created_at));
    }
    let mut said = said.into_iter();
    let (Some((asked, at)), Some((answer, _))) = (said.next(), said.next()) else {
        return Ok(None);
    };
    Ok(Some(Exchange {
        id,
        said: asked,
        answer,
        at,
        tainted: session.tainted,
    }))
}
