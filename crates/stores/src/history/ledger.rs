//! How changes become rows: each position of a log counts once.
//!
//! A session's row holds `projected`, the last position that is in the tables; what lies at or
//! below it is skipped. The row is read first and written last, with its totals as values, in the
//! transaction of everything else, so a replay of any stretch of a log changes nothing.

use samovar_core::history::{Change, Projection};
use samovar_core::message::Usage;
use samovar_core::{AgentPath, Message, MessageId, Millis, Seq, SessionId, Title, TurnId};
use serde_json::{Map, Value};
use sqlx::sqlite::SqliteRow;
use sqlx::{Connection, Row, SqliteConnection};

use super::failure::Failure;
use super::row::{self, bind_usage, integer, json};
use super::turns::{Moment, Turn, Turns};

pub(super) const FIND_SESSION: &str = "\
    SELECT key, updated_at, message_count, projected, total_tokens_input, total_tokens_output, \
    total_tokens_cache_read, total_tokens_cache_write, total_tokens_reasoning \
    FROM sessions WHERE id = ?1";
const OPEN_SESSION: &str = "\
    INSERT INTO sessions (id, model, agent, metadata, created_at, updated_at, title, found_by, \
    route) VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7, ?8) ON CONFLICT (id) DO UPDATE SET \
    model = excluded.model, route = excluded.route, agent = excluded.agent, \
    metadata = excluded.metadata, title = excluded.title, found_by = excluded.found_by \
    RETURNING key";
pub(super) const SET_MODEL: &str = "\
    UPDATE sessions SET model = ?2, route = ?3, context = NULL WHERE key = ?1";
pub(super) const SET_CONTEXT: &str = "UPDATE sessions SET context = ?2 WHERE key = ?1";
pub(super) const SET_TITLE: &str = "UPDATE sessions SET title = ?2, found_by = ?3 WHERE key = ?1";
pub(super) const SAVE_SESSION: &str = "\
    UPDATE sessions SET updated_at = ?2, message_count = ?3, projected = ?4, \
    total_tokens_input = ?5, total_tokens_output = ?6, total_tokens_cache_read = ?7, \
    total_tokens_cache_write = ?8, total_tokens_reasoning = ?9 WHERE key = ?1";
pub(super) const CLOSE_SESSION: &str = "DELETE FROM sessions WHERE id = ?1";
// Says where the message was first put; nothing when another session has its id.
const PUT_MESSAGE: &str = "\
    INSERT INTO message_rows (id, session_key, turn_key, turn_seq, seq, depth, agent, role, \
    parts, parent_message_id, model, finish_reason, metadata, created_at, tokens_input, \
    tokens_output, tokens_cache_read, tokens_cache_write, tokens_reasoning) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19) \
    ON CONFLICT (id) DO UPDATE SET turn_key = excluded.turn_key, \
    turn_seq = iif(turn_key IS NULL AND excluded.turn_key IS NULL, turn_seq, excluded.turn_seq), \
    depth = excluded.depth, agent = excluded.agent, role = excluded.role, \
    parts = excluded.parts, parent_message_id = excluded.parent_message_id, \
    model = excluded.model, finish_reason = excluded.finish_reason, \
    metadata = excluded.metadata, created_at = excluded.created_at, \
    tokens_input = excluded.tokens_input, tokens_output = excluded.tokens_output, \
    tokens_cache_read = excluded.tokens_cache_read, \
    tokens_cache_write = excluded.tokens_cache_write, \
    tokens_reasoning = excluded.tokens_reasoning \
    WHERE session_key = excluded.session_key RETURNING seq";

const MOVE_MESSAGE: &str = "\
    UPDATE message_rows SET turn_key = ?3, turn_seq = ?4, seq = ?5 \
    WHERE id = ?1 AND session_key = ?2";

/// Writes projections in one transaction.
pub(super) async fn write(
    connection: &mut SqliteConnection,
    projections: &[Projection],
) -> Result<(), Failure> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    for projection in projections {
        project(&mut transaction, projection).await?;
    }
    samovar_core::failpoint!("history.commit.before");
    transaction.commit().await?;
    samovar_core::failpoint!("history.commit.after");
    Ok(())
}

/// How an id or a title is compared when sessions are searched.
pub(super) fn folded(text: &str) -> String {
    text.to_lowercase()
}

async fn project(
    connection: &mut SqliteConnection,
    projection: &Projection,
) -> Result<(), Failure> {
    let id = &projection.session;
    let mut ledger = Ledger::find(connection, id).await?;
    let projected = ledger.as_ref().map_or(Seq(0), |ledger| ledger.projected);
    for (seq, change) in &projection.changes {
        if *seq <= projected {
            continue;
        }
        match change {
            Change::Open {
                model,
                route,
                agent,
                metadata,
                at,
            } => {
                let model = (model.as_str(), route.as_deref());
                let key = open(connection, id, model, agent, metadata, *at).await?;
                let ledger = ledger.get_or_insert_with(|| Ledger::new(key));
                ledger.seen(*at);
            }
            Change::Set {
                model,
                route,
                title,
                at,
            } => {
                if let Some(ledger) = &mut ledger {
                    let model = model.as_deref().map(|model| (model, route.as_deref()));
                    set(connection, ledger.key, id, model, title.as_ref()).await?;
                    ledger.seen(*at);
                }
            }
            Change::Close => {
                let close = sqlx::query(CLOSE_SESSION).bind(id.as_str());
                close.execute(&mut *connection).await?;
                ledger = None;
            }
            Change::Put { .. }
            | Change::Move { .. }
            | Change::TurnStarted { .. }
            | Change::Spent { .. }
            | Change::TurnFinished { .. }
            | Change::Forget { .. } => {
                // Nothing but its opening may bring back a session that was deleted.
                if let Some(ledger) = &mut ledger {
                    ledger.apply(connection, *seq, change).await?;
                }
            }
        }
    }
    match ledger {
        Some(ledger) if projection.up_to > projected => {
            ledger.save(connection, projection.up_to).await
        }
        Some(_) | None => Ok(()),
    }
}

/// Writes a session's row, or what its opening says into the row that is there; answers its key.
async fn open(
    connection: &mut SqliteConnection,
    id: &SessionId,
    (model, route): (&str, Option<&str>),
    agent: &str,
    metadata: &Map<String, Value>,
    at: Millis,
) -> Result<i64, Failure> {
    let title = Title::of_metadata(metadata);
    let row = sqlx::query(OPEN_SESSION)
        .bind(id.as_str())
        .bind(model)
        .bind(agent)
        .bind(json(metadata)?)
        .bind(at.0)
        .bind(title.as_ref().map(Title::as_str))
        .bind(found_by(id, title.as_ref()))
        .bind(route)
        .fetch_one(connection)
        .await?;
    Ok(row.try_get("key")?)
}

/// Writes what a session is from here on into its row.
async fn set(
    connection: &mut SqliteConnection,
    key: i64,
    id: &SessionId,
    model: Option<(&str, Option<&str>)>,
    title: Option<&Title>,
) -> Result<(), Failure> {
    if let Some((model, route)) = model {
        let set = sqlx::query(SET_MODEL).bind(key).bind(model).bind(route);
        set.execute(&mut *connection).await?;
    }
    if let Some(title) = title {
        let shown = Some(title.as_str()).filter(|_| !title.is_empty());
        let set = sqlx::query(SET_TITLE).bind(key).bind(shown);
        let set = set.bind(found_by(id, Some(title)));
        set.execute(connection).await?;
    }
    Ok(())
}

/// What a session is found by. A unit separator keeps a text from being found across the border of
/// the two.
fn found_by(id: &SessionId, title: Option<&Title>) -> String {
    let title = title.map_or("", Title::as_str);
    folded(&format!("{id}\u{1f}{title}"))
}

/// A session's row while its changes are applied.
struct Ledger {
    key: i64,
    projected: Seq,
    updated_at: Millis,
    message_count: u64,
    usage: Usage,
    turns: Turns,
}

impl Ledger {
    fn new(key: i64) -> Self {
        Self {
            key,
            projected: Seq(0),
            updated_at: Millis(i64::MIN),
            message_count: 0,
            usage: Usage::default(),
            turns: Turns::new(key),
        }
    }

    async fn find(
        connection: &mut SqliteConnection,
        id: &SessionId,
    ) -> Result<Option<Self>, Failure> {
        let row = sqlx::query(FIND_SESSION).bind(id.as_str());
        let row = row.fetch_optional(connection).await?;
        let ledger = row.map(|row| Self::read(&row)).transpose();
        ledger.map_err(|failure| failure.within(&format!("session {id}")))
    }

    fn read(row: &SqliteRow) -> Result<Self, Failure> {
        Ok(Self {
            projected: Seq(row::count(row, "projected")?),
            updated_at: Millis(row.try_get("updated_at")?),
            message_count: row::count(row, "message_count")?,
            usage: row::total_usage(row)?,
            ..Self::new(row.try_get("key")?)
        })
    }

    async fn save(self, connection: &mut SqliteConnection, projected: Seq) -> Result<(), Failure> {
        let save = sqlx::query(SAVE_SESSION)
            .bind(self.key)
            .bind(self.updated_at.0)
            .bind(integer(self.message_count))
            .bind(integer(projected.0));
        let save = bind_usage(save, Some(self.usage));
        save.execute(connection).await?;
        Ok(())
    }

    async fn apply(
        &mut self,
        connection: &mut SqliteConnection,
        seq: Seq,
        change: &Change,
    ) -> Result<(), Failure> {
        match change {
            Change::Put {
                message,
                turn,
                agent,
            } => {
                self.put(connection, seq, message, turn.as_ref(), agent)
                    .await
            }
            Change::Move { message, turn, at } => {
                self.seen(*at);
                self.shift(connection, seq, message, turn.as_ref()).await
            }
            Change::TurnStarted {
                turn,
                agent,
                parent_call,
                at,
            } => {
                self.seen(*at);
                let moment = Moment { seq, at: *at };
                let start = self
                    .turns
                    .start(connection, moment, turn, agent, parent_call.as_ref());
                start.await
            }
            Change::Spent { usage, context } => {
                self.usage = self.usage.plus(*usage);
                let Some(context) = context else {
                    return Ok(());
                };
                let set = sqlx::query(SET_CONTEXT).bind(self.key).bind(json(context)?);
                set.execute(connection).await?;
                Ok(())
            }
            Change::TurnFinished {
                turn,
                reason,
                usage,
                at,
            } => {
                self.seen(*at);
                let moment = Moment { seq, at: *at };
                self.turns
                    .finish(connection, moment, turn, reason, *usage)
                    .await
            }
            Change::Forget { turns, at } => {
                self.seen(*at);
                let gone = self.turns.forget(connection, turns).await?;
                self.message_count = self.message_count.saturating_sub(gone);
                Ok(())
            }
            // These concern the row itself.
            Change::Open { .. } | Change::Set { .. } | Change::Close => Ok(()),
        }
    }

    async fn put(
        &mut self,
        connection: &mut SqliteConnection,
        seq: Seq,
        message: &Message,
        turn: Option<&TurnId>,
        agent: &AgentPath,
    ) -> Result<(), Failure> {
        self.seen(message.created_at);
        self.usage = self.usage.plus(message.usage.unwrap_or_default());
        let turn = match turn {
            Some(turn) => Some(self.turns.find(connection, turn, agent).await?),
            None => None,
        };
        let turn_seq = match turn {
            Some(turn) => turn.seq(),
            None => integer(seq.0),
        };
        let metadata = Some(&message.metadata).filter(|metadata| !metadata.is_empty());
        let put = sqlx::query(PUT_MESSAGE)
            .bind(message.id.as_str())
            .bind(self.key)
            .bind(turn.map(|turn| turn.key))
            .bind(turn_seq)
            .bind(integer(seq.0))
            .bind(integer(agent.depth() as u64))
            .bind(agent.to_string())
            .bind(message.role.as_str())
            .bind(json(&message.parts)?)
            .bind(message.parent.as_ref().map(MessageId::as_str))
            .bind(message.model.as_deref())
            .bind(message.finish_reason.as_deref())
            .bind(metadata.map(json).transpose()?)
            .bind(message.created_at.0);
        let put = bind_usage(put, message.usage);
        let first_put: Option<i64> = match put.fetch_optional(connection).await? {
            Some(row) => Some(row.try_get("seq")?),
            None => None,
        };
        match first_put {
            Some(first_put) if first_put == integer(seq.0) => self.message_count += 1,
            Some(_) => {}
            None => tracing::error!(
                message = %message.id,
                "a message was left out of the history: another session has one with its id"
            ),
        }
        Ok(())
    }

    /// Moves a message to the end of a turn, where it counts no second time.
    async fn shift(
        &mut self,
        connection: &mut SqliteConnection,
        seq: Seq,
        message: &MessageId,
        turn: Option<&TurnId>,
    ) -> Result<(), Failure> {
        let Some(turn) = turn else { return Ok(()) };
        let turn = self.turns.place_of(connection, turn).await?;
        let shift = sqlx::query(MOVE_MESSAGE)
            .bind(message.as_str())
            .bind(self.key)
            .bind(turn.map(|turn| turn.key))
            .bind(turn.map_or(integer(seq.0), Turn::seq))
            .bind(integer(seq.0));
        shift.execute(connection).await?;
        Ok(())
    }

    fn seen(&mut self, at: Millis) {
        self.updated_at = self.updated_at.max(at);
    }
}
