//! How changes become rows: each position of a log counts once.
//!
//! A session's row holds `projected`, the last position that is in the tables; what lies at or
//! below it is skipped. The row is read first and written last, with its totals as values, in the
//! transaction of everything else, so a replay of any stretch of a log changes nothing.

use rusqlite::{Connection, params};
use samovar_core::history::{Change, Opened, Projection};
use samovar_core::message::Usage;
use samovar_core::{AgentPath, Message, MessageId, Millis, Role, Seq, SessionId, TurnId};

use super::failure::Failure;
use super::index::Unindexed;
use super::row::{self, Content, integer, json, maybe_text, usage_columns};
use super::session::{Preview, Session, found_by, session_columns};
use super::turns::{Turns, WAITING};
use super::{audit_head, checksum, file, reader, sql};

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
pub(super) fn write(
    connection: &mut Connection,
    projections: &[Projection],
    heads: &crate::audit::Heads,
) -> Result<(), Failure> {
    let transaction = file::begin(connection)?;
    for projection in projections {
        let is_deletion = matches!(projection.changes.last(), Some((_, Change::Close)));
        match project(&transaction, projection) {
            // A session whose rows cannot be read can still be deleted.
            Err(Failure::Odd(_)) if is_deletion => {
                close(&transaction, &projection.session)?;
            }
            done => done?,
        }
    }
    // What the audit recorded of these changes counts as recorded from here on, as they do.
    let head = audit_head::store_due(&transaction, heads)?;
    samovar_core::failpoint!("history.commit.before");
    transaction.commit()?;
    heads.are_stored(head);
    samovar_core::failpoint!("history.commit.after");
    Ok(())
}

/// How an id or a title is compared when sessions are searched.
pub(super) fn folded(text: &str) -> String {
    text.to_lowercase()
}

fn project(connection: &Connection, projection: &Projection) -> Result<(), Failure> {
    let id = &projection.session;
    let mut ledger = Ledger::find(connection, id)?;
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
                    None => Ledger::open(connection, id, model, agent, *at)?,
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
                close(connection, id)?;
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
                    ledger.apply(connection, *seq, change)?;
                }
            }
        }
    }
    match ledger {
        Some(ledger) if projection.up_to > projected => ledger.save(connection, projection.up_to),
        Some(_) | None => Ok(()),
    }
}

fn close(connection: &Connection, id: &SessionId) -> Result<(), Failure> {
    sql::execute(connection, CLOSE_SESSION, [id.as_str()])?;
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

    fn find(connection: &Connection, id: &SessionId) -> Result<Option<Self>, Failure> {
        let row = sql::first(connection, FIND_SESSION, [id.as_str()], Session::read)?;
        Ok(row.map(Self::new))
    }

    /// Makes a row, which is written whole at the end.
    fn open(
        connection: &Connection,
        id: &SessionId,
        model: &str,
        agent: &str,
        at: Millis,
    ) -> Result<Self, Failure> {
        let id = id.as_str();
        let values = params![id, model, agent, "{}", at.0, found_by(id, None)];
        let key = sql::value(connection, OPEN_SESSION, values)?;
        Ok(Self::new(Session {
            key,
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

    fn save(mut self, connection: &Connection, projected: Seq) -> Result<(), Failure> {
        self.turns.save(connection)?;
        if self.is_preview_stale {
            self.row.preview = reader::preview(connection, self.row.key)?;
        }
        self.row.projected = projected;
        self.row.save(connection)?;
        self.unindexed.settle(connection)
    }

    fn apply(&mut self, connection: &Connection, seq: Seq, change: &Change) -> Result<(), Failure> {
        match change {
            Change::Put {
                message,
                turn,
                agent,
            } => {
                self.put(connection, seq, message, turn.as_ref(), agent)?;
            }
            Change::Move { message, turn, at } => {
                self.seen(*at);
                self.shift(connection, seq, message, turn.as_ref())?;
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
                if let Some(row) = self.turns.find(connection, turn, Some(agent))? {
                    row.start(agent, parent_call.as_ref(), *budget, *at)?;
                    row.place_beginning(connection, seq, *background)?;
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
                if let Some(row) = self.turns.find(connection, turn, None)? {
                    row.finish((reason, fault.as_ref()), *usage, (*iterations, *bill), *at)?;
                    row.place(connection, seq)?;
                    let (key, turn_seq) = (row.key, row.seq());
                    self.turn_placed(key, turn_seq);
                }
            }
            Change::Forget { turns, at } => {
                self.seen(*at);
                let gone = self.turns.forget(connection, turns)?;
                self.row.message_count = self.row.message_count.saturating_sub(gone);
                self.is_preview_stale = true;
            }
            // These concern the row itself.
            Change::Open { .. } | Change::Set { .. } | Change::Close => {}
        }
        Ok(())
    }

    fn put(
        &mut self,
        connection: &Connection,
        seq: Seq,
        message: &Message,
        turn: Option<&TurnId>,
        agent: &AgentPath,
    ) -> Result<(), Failure> {
        self.seen(message.created_at);
        self.row.usage = self.row.usage.plus(message.usage.unwrap_or_default());
        let in_turn = match turn {
            Some(turn) => self.turns.find(connection, turn, Some(agent))?,
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
        let place = (self.row.key, turn_key, turn_seq, integer(seq.0));
        let put = insert(connection, &content, place, sum(turn_seq, integer(seq.0)))?;
        let Some((place, first_put, stands_at)) = put else {
            report_taken(&message.id);
            return Ok(());
        };
        self.unindexed.note(connection, place, content.parts)?;
        if first_put == integer(seq.0) {
            self.row.message_count += 1;
            self.preview(message, agent, turn_key, turn_seq);
            return Ok(());
        }
        self.is_preview_stale = true;
        seal(connection, content.id, sum(stands_at, first_put))
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
    fn shift(
        &mut self,
        connection: &Connection,
        seq: Seq,
        message: &MessageId,
        turn: Option<&TurnId>,
    ) -> Result<(), Failure> {
        let Some(turn) = turn else { return Ok(()) };
        self.is_preview_stale = true;
        let sum = |turn: Option<&str>, turn_seq, seq| {
            checksum::placed(turn, turn_seq).wrapping_add(checksum::at(seq))
        };
        let values = (message.as_str(), self.row.key);
        let old = sql::first(connection, PLACE_OF_MESSAGE, values, |row| {
            let turn = maybe_text(row, "turn_id")?;
            Ok(sum(turn, row.get("turn_seq")?, row.get("seq")?))
        })?;
        let Some(old) = old else {
            return Ok(());
        };
        let to = self.turns.find(connection, turn, None)?;
        let turn_seq = to.as_ref().map_or(integer(seq.0), |to| to.seq());
        let new = sum(to.as_ref().map(|_| turn.as_str()), turn_seq, integer(seq.0));
        let values = params![
            message.as_str(),
            self.row.key,
            to.map(|turn| turn.key),
            turn_seq,
            integer(seq.0),
            checksum::difference(old, new),
        ];
        sql::execute(connection, MOVE_MESSAGE, values)?;
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

/// The key of a message and the first one that the index lacks, where it was first put, and in which turn.
type Put = ((i64, i64), i64, i64);

/// Writes a message; `None` when another session has its id.
fn insert(
    connection: &Connection,
    content: &Content<'_>,
    (session, turn, turn_seq, seq): (i64, Option<i64>, i64, i64),
    sum: i64,
) -> Result<Option<Put>, Failure> {
    let [input, output, cache_read, cache_write, reasoning] = usage_columns(content.usage);
    let values = params![
        content.id,
        session,
        turn,
        turn_seq,
        seq,
        content.depth,
        content.agent,
        content.role,
        content.parts,
        content.parent,
        content.model,
        content.finish_reason,
        content.metadata,
        content.created_at,
        sum,
        input,
        output,
        cache_read,
        cache_write,
        reasoning,
    ];
    sql::first(connection, PUT_MESSAGE, values, |row| {
        let place = (row.get("key")?, row.get("above")?);
        Ok((place, row.get("seq")?, row.get("turn_seq")?))
    })
}

/// Writes the checksum of a message that was put again.
fn seal(connection: &Connection, message: &str, sum: i64) -> Result<(), Failure> {
    sql::execute(connection, SEAL_MESSAGE, (message, sum))?;
    Ok(())
}

/// The metadata of a message as JSON, if it has any.
fn known_metadata(message: &Message) -> Result<Option<String>, Failure> {
    let metadata = Some(&message.metadata).filter(|metadata| !metadata.is_empty());
    metadata.map(json).transpose()
}
