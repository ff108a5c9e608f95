//! How changes become rows: each position of a log counts once.
//!
//! A session's row holds `projected`, the last position that is in the tables; what lies at or
//! below it is skipped. The row is read first and written last, with its totals as values, in the
//! transaction of everything else, so a replay of any stretch of a log changes nothing.

use samovar_core::history::{Change, Opened, Projection};
use samovar_core::message::Usage;
use samovar_core::{AgentPath, Message, MessageId, Millis, Role, Seq, SessionId, TurnId};
use sqlx::{Connection, Row, SqliteConnection};

use super::failure::Failure;
use super::index::Unindexed;
use super::row::{self, Content, bind_usage, integer, json};
use super::session::{Preview, Session, found_by, session_columns};
use super::turns::{Turns, WAITING};
use super::{audit_head, checksum, reader};

pub(super) const FIND_SESSION: &str = concat!(
    "SELECT ",
    session_columns!(),
    " FROM sessions WHERE id = ?1"
);
const OPEN_SESSION: &str = "\
    INSERT INTO sessions (id, model, agent, metadata, created_at, updated_at, found_by) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6) RETURNING key";
pub(super) const CLOSE_SESSION: &str = "DELETE FROM sessions WHERE id = ?1";
// Says where the message was first put; nothing when another session has its id.
const PUT_MESSAGE: &str = "\
    INSERT INTO message_rows (id, session_key, turn_key, turn_seq, seq, depth, agent, role, \
    parts, parent_message_id, model, finish_reason, metadata, created_at, checksum, tokens_input, \
    tokens_output, tokens_cache_read, tokens_cache_write, tokens_reasoning) VALUES (?1, ?2, ?3, \
    ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20) \
    ON CONFLICT (id) DO UPDATE SET turn_key = excluded.turn_key, \
    turn_seq = iif(turn_key IS NULL AND excluded.turn_key IS NULL, turn_seq, excluded.turn_seq), \
    depth = excluded.depth, agent = excluded.agent, role = excluded.role, \
    parts = excluded.parts, parent_message_id = excluded.parent_message_id, \
    model = excluded.model, finish_reason = excluded.finish_reason, \
    metadata = excluded.metadata, created_at = excluded.created_at, \
    checksum = excluded.checksum, tokens_input = excluded.tokens_input, \
    tokens_output = excluded.tokens_output, \
    tokens_cache_read = excluded.tokens_cache_read, \
    tokens_cache_write = excluded.tokens_cache_write, \
    tokens_reasoning = excluded.tokens_reasoning \
    WHERE session_key = excluded.session_key RETURNING key, seq, turn_seq, \
    (SELECT above FROM search_range) AS above";
// A message that is put again keeps its position, which its checksum could not know before.
const SEAL_MESSAGE: &str = "UPDATE message_rows SET checksum = ?2 WHERE id = ?1";

const MOVE_MESSAGE: &str = "\
    UPDATE message_rows SET turn_key = ?3, turn_seq = ?4, seq = ?5, \
    checksum = (checksum + ?6) & 4294967295 WHERE id = ?1 AND session_key = ?2";
const PLACE_OF_MESSAGE: &str = "\
    SELECT t.id AS turn_id, m.turn_seq, m.seq FROM message_rows AS m \
    LEFT JOIN turns AS t ON t.key = m.turn_key WHERE m.id = ?1 AND m.session_key = ?2";

/// Writes projections in one transaction.
pub(super) async fn write(
    connection: &mut SqliteConnection,
    projections: &[Projection],
    heads: &crate::audit::Heads,
) -> Result<(), Failure> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    for projection in projections {
        let is_deletion = matches!(projection.changes.last(), Some((_, Change::Close)));
        match project(&mut transaction, projection).await {
            // A session whose rows cannot be read can still be deleted.
            Err(Failure::Odd(_)) if is_deletion => {
                close(&mut transaction, &projection.session).await?;
            }
            done => done?,
        }
    }
    // What the audit recorded of these changes counts as recorded from here on, as they do.
    let head = audit_head::store_due(&mut transaction, heads).await?;
    samovar_core::failpoint!("history.commit.before");
    transaction.commit().await?;
    heads.are_stored(head);
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
    let projected = ledger
        .as_ref()
        .map_or(Seq(0), |ledger| ledger.row.projected);
    for (seq, change) in &projection.changes {
        if *seq <= projected {
            continue;
        }
        match change {
            Change::Open(Opened {
                model, agent, at, ..
            }) => {
                let mut opened = match ledger.take() {
                    Some(known) => known,
                    None => Ledger::open(connection, id, model, agent, *at).await?,
                };
                opened.row.take(change)?;
                opened.seen(*at);
                ledger = Some(opened);
            }
            Change::Set { at, .. } => {
                if let Some(ledger) = &mut ledger {
                    ledger.row.take(change)?;
                    ledger.seen(*at);
                }
            }
            Change::Close => {
                close(connection, id).await?;
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

async fn close(connection: &mut SqliteConnection, id: &SessionId) -> Result<(), Failure> {
    let close = sqlx::query(CLOSE_SESSION).bind(id.as_str());
    close.execute(connection).await?;
    Ok(())
}

/// A session's row while its changes are applied.
struct Ledger {
    row: Session,
    turns: Turns,
    /// The turn of the user's first message, if that was put just now.
    first_in: Option<i64>,
    /// Whether another message may be the user's first by now.
    is_preview_stale: bool,
    unindexed: Unindexed,
}

impl Ledger {
    fn new(row: Session) -> Self {
        Self {
            turns: Turns::new(row.key),
            first_in: None,
            is_preview_stale: false,
            unindexed: Unindexed::default(),
            row,
        }
    }

    async fn find(
        connection: &mut SqliteConnection,
        id: &SessionId,
    ) -> Result<Option<Self>, Failure> {
        let row = sqlx::query(FIND_SESSION).bind(id.as_str());
        let row = row.fetch_optional(connection).await?;
        let row = row.as_ref().map(Session::read).transpose()?;
        Ok(row.map(Self::new))
    }

    /// Makes a row, which is written whole at the end.
    async fn open(
        connection: &mut SqliteConnection,
        id: &SessionId,
        model: &str,
        agent: &str,
        at: Millis,
    ) -> Result<Self, Failure> {
        let id = id.as_str();
        let row = sqlx::query(OPEN_SESSION)
            .bind(id)
            .bind(model)
            .bind(agent)
            .bind("{}")
            .bind(at.0)
            .bind(found_by(id, None));
        let row = row.fetch_one(connection).await?;
        Ok(Self::new(Session {
            key: row.try_get("key")?,
            id: id.to_owned(),
            model: model.to_owned(),
            route: None,
            title: None,
            agent: agent.to_owned(),
            system_prompt: None,
            approval: None,
            begun_by: None,
            tainted: false,
            metadata: String::new(),
            created_at: at,
            updated_at: Millis(i64::MIN),
            message_count: 0,
            usage: Usage::default(),
            context: None,
            projected: Seq(0),
            found_by: String::new(),
            preview: None,
        }))
    }

    async fn save(
        mut self,
        connection: &mut SqliteConnection,
        projected: Seq,
    ) -> Result<(), Failure> {
        self.turns.save(connection).await?;
        if self.is_preview_stale {
            self.row.preview = reader::preview(connection, self.row.key).await?;
        }
        self.row.projected = projected;
        self.row.save(&mut *connection).await?;
        self.unindexed.settle(connection).await
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
                    .await?;
            }
            Change::Move { message, turn, at } => {
                self.seen(*at);
                self.shift(connection, seq, message, turn.as_ref()).await?;
            }
            Change::TurnStarted {
                turn,
                agent,
                parent_call,
                background,
                budget,
                at,
            } => {
                self.seen(*at);
                if let Some(row) = self.turns.find(connection, turn, Some(agent)).await? {
                    row.start(agent, parent_call.as_ref(), *budget, *at)?;
                    row.place_beginning(connection, seq, *background).await?;
                    let (key, turn_seq) = (row.key, row.seq());
                    self.turn_placed(key, turn_seq);
                }
            }
            Change::Spent { usage, context } => {
                self.row.usage = self.row.usage.plus(*usage);
                if let Some(context) = context {
                    self.row.context = Some(json(context)?);
                }
            }
            Change::TurnFinished {
                turn,
                reason,
                fault,
                usage,
                iterations,
                bill,
                at,
            } => {
                self.seen(*at);
                // There is nothing to tell of one that never ran and has no message.
                if let Some(row) = self.turns.find(connection, turn, None).await? {
                    row.finish((reason, fault.as_ref()), *usage, (*iterations, *bill), *at)?;
                    row.place(connection, seq).await?;
                    let (key, turn_seq) = (row.key, row.seq());
                    self.turn_placed(key, turn_seq);
                }
            }
            Change::Forget { turns, at } => {
                self.seen(*at);
                let gone = self.turns.forget(connection, turns).await?;
                self.row.message_count = self.row.message_count.saturating_sub(gone);
                self.is_preview_stale = true;
            }
            // These concern the row itself.
            Change::Open { .. } | Change::Set { .. } | Change::Close => {}
        }
        Ok(())
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
        self.row.usage = self.row.usage.plus(message.usage.unwrap_or_default());
        let in_turn = match turn {
            Some(turn) => self.turns.find(connection, turn, Some(agent)).await?,
            None => None,
        };
        let turn_key = in_turn.as_ref().map(|turn| turn.key);
        let turn_seq = in_turn.map_or(integer(seq.0), |turn| turn.seq());
        let (parts, metadata) = (json(&message.parts)?, known_metadata(message)?);
        let speaker = agent.to_string();
        let content = Content {
            id: message.id.as_str(),
            session: &self.row.id,
            depth: integer(agent.depth() as u64),
            agent: &speaker,
            role: message.role.as_str(),
            parts: &parts,
            parent: message.parent.as_ref().map(MessageId::as_str),
            model: message.model.as_deref(),
            finish_reason: message.finish_reason.as_deref(),
            metadata: metadata.as_deref(),
            created_at: message.created_at.0,
            usage: message.usage,
        };
        let content_sum = content.checksum();
        let sum = |turn_seq, seq| {
            let placed = checksum::placed(turn.map(TurnId::as_str), turn_seq);
            i64::from(row::message_sum(content_sum, placed, checksum::at(seq)))
        };
        let put = sqlx::query(PUT_MESSAGE)
            .bind(content.id)
            .bind(self.row.key)
            .bind(turn_key)
            .bind(turn_seq)
            .bind(integer(seq.0))
            .bind(content.depth)
            .bind(content.agent)
            .bind(content.role)
            .bind(content.parts)
            .bind(content.parent)
            .bind(content.model)
            .bind(content.finish_reason)
            .bind(content.metadata)
            .bind(content.created_at)
            .bind(sum(turn_seq, integer(seq.0)));
        let put = bind_usage(put, message.usage);
        let Some(row) = put.fetch_optional(&mut *connection).await? else {
            report_taken(&message.id);
            return Ok(());
        };
        let unindexed = &mut self.unindexed;
        unindexed.note(connection, &row, content.parts).await?;
        let (first_put, stands_at): (i64, i64) = (row.try_get("seq")?, row.try_get("turn_seq")?);
        if first_put == integer(seq.0) {
            self.row.message_count += 1;
            self.preview(message, agent, turn_key, turn_seq);
            return Ok(());
        }
        self.is_preview_stale = true;
        seal(connection, content.id, sum(stands_at, first_put)).await
    }

    /// Takes a new message for the preview when it is the user's first.
    fn preview(&mut self, message: &Message, agent: &AgentPath, turn: Option<i64>, turn_seq: i64) {
        if message.role != Role::User || agent.depth() > 0 {
            return;
        }
        match &self.row.preview {
            None => {
                let text = row::preview(&message.parts);
                self.row.preview = Some(Preview { text, turn_seq });
                self.first_in = turn;
            }
            Some(first) => self.is_preview_stale |= turn_seq < first.turn_seq,
        }
    }

    /// A first message that waits gets the place of its turn. Another turn that is placed before that
    /// may have a message that is first now.
    fn turn_placed(&mut self, turn: i64, turn_seq: i64) {
        match &mut self.row.preview {
            Some(first) if first.turn_seq != WAITING => {}
            Some(first) if self.first_in == Some(turn) => first.turn_seq = turn_seq,
            first => self.is_preview_stale |= first.is_some(),
        }
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
        self.is_preview_stale = true;
        let place = sqlx::query(PLACE_OF_MESSAGE).bind(message.as_str());
        let place = place.bind(self.row.key);
        let Some(place) = place.fetch_optional(&mut *connection).await? else {
            return Ok(());
        };
        let to = self.turns.find(connection, turn, None).await?;
        let turn_seq = to.as_ref().map_or(integer(seq.0), |to| to.seq());
        let sum =
            |turn, turn_seq, seq| checksum::placed(turn, turn_seq).wrapping_add(checksum::at(seq));
        let old = sum(
            place.try_get("turn_id")?,
            place.try_get("turn_seq")?,
            place.try_get("seq")?,
        );
        let new = sum(to.as_ref().map(|_| turn.as_str()), turn_seq, integer(seq.0));
        let shift = sqlx::query(MOVE_MESSAGE)
            .bind(message.as_str())
            .bind(self.row.key)
            .bind(to.map(|turn| turn.key))
            .bind(turn_seq)
            .bind(integer(seq.0))
            .bind(checksum::difference(old, new));
        shift.execute(connection).await?;
        Ok(())
    }

    fn seen(&mut self, at: Millis) {
        self.row.updated_at = self.row.updated_at.max(at);
    }
}

fn report_taken(message: &MessageId) {
    tracing::error!(
        %message,
        "a message was left out of the history: another session has one with its id"
    );
}

/// Writes the checksum of a message that was put again.
async fn seal(connection: &mut SqliteConnection, message: &str, sum: i64) -> Result<(), Failure> {
    let seal = sqlx::query(SEAL_MESSAGE).bind(message).bind(sum);
    seal.execute(connection).await?;
    Ok(())
}

/// The metadata of a message as JSON, if it has any.
fn known_metadata(message: &Message) -> Result<Option<String>, Failure> {
    let metadata = Some(&message.metadata).filter(|metadata| !metadata.is_empty());
    metadata.map(json).transpose()
}
