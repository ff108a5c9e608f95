//! Turns, and the order that they give their messages.
//!
//! A turn stands where it started, or where it ended when it never did; one whose caller waits for it
//! stands with its caller's, so that their messages follow each other as in the log. Until then it
//! waits, and its messages come after all others.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::{Connection, Row, params};
use samovar_core::event::Fault;
use samovar_core::{AgentPath, Bill, Budget, CallId, FinishReason, Millis, Seq, TurnId, Usage};

use super::checksum::{self, Columns};
use super::failure::Failure;
use super::row::{self, integer, json, usage_columns};
use super::sql;

/// The place in the order of what waits.
pub(super) const WAITING: i64 = i64::MAX;

/// The columns of a turn, of the table with this prefix, by name: the driver panics at a name that a
/// bad disk changed when it comes out of the file.
macro_rules! turn_columns {
    ($of:literal) => {
        concat!(
            $of,
            "key, ",
            $of,
            "session_key, ",
            $of,
            "id, ",
            $of,
            "agent, ",
            $of,
            "parent_call, ",
            $of,
            "turn_seq, ",
            $of,
            "finish_reason, ",
            $of,
            "tokens_input, ",
            $of,
            "tokens_output, ",
            $of,
            "tokens_cache_read, ",
            $of,
            "tokens_cache_write, ",
            $of,
            "tokens_reasoning, ",
            $of,
            "started_at, ",
            $of,
            "finished_at, ",
            $of,
            "iterations, ",
            $of,
            "budget, ",
            $of,
            "bill, ",
            $of,
            "fault, ",
            $of,
            "checksum"
        )
    };
}
pub(super) use turn_columns;

// The update changes nothing; without it there would be nothing to return.
const MAKE_TURN: &str = concat!(
    "INSERT INTO turns (session_key, id, agent) VALUES (?1, ?2, ?3) \
     ON CONFLICT (session_key, id) DO UPDATE SET agent = agent RETURNING ",
    turn_columns!("")
);
pub(super) const FIND_TURN: &str = concat!(
    "SELECT ",
    turn_columns!(""),
    " FROM turns WHERE session_key = ?1 AND id = ?2"
);
pub(super) const SAVE_TURN: &str = "\
    UPDATE turns SET agent = ?2, parent_call = ?3, turn_seq = ?4, finish_reason = ?5, \
    started_at = ?6, finished_at = ?7, checksum = ?8, tokens_input = ?9, tokens_output = ?10, \
    tokens_cache_read = ?11, tokens_cache_write = ?12, tokens_reasoning = ?13, iterations = ?14, \
    budget = ?15, bill = ?16, fault = ?17 WHERE key = ?1";
pub(super) const PLACE_TURN: &str = "\
    UPDATE message_rows SET turn_seq = ?3, checksum = (checksum + ?5) & 4294967295 \
    WHERE session_key = ?1 AND turn_seq = ?4 AND turn_key = ?2";

/// Where the message stands that called a turn which has no place yet.
pub(super) const PLACE_OF_CALLER: &str = "\
    SELECT c.turn_seq FROM message_rows AS m \
    JOIN message_rows AS c ON c.id = m.parent_message_id AND c.session_key = m.session_key \
    WHERE m.session_key = ?1 AND m.turn_seq = 9223372036854775807 AND m.turn_key = ?2 \
    ORDER BY m.key LIMIT 1";

/// A turn and the turns that answer calls of its messages, and so on.
pub(super) const FAMILY: &str = concat!(
    "WITH RECURSIVE family (key, turn_seq) AS ( \
     SELECT key, turn_seq FROM turns WHERE session_key = ?1 AND id = ?2 \
     UNION \
     SELECT t.key, t.turn_seq FROM family AS f \
     JOIN message_rows AS m \
     ON m.session_key = ?1 AND m.turn_seq = f.turn_seq AND m.turn_key = f.key \
     JOIN json_each(m.parts) AS p \
     JOIN turns AS t ON t.session_key = ?1 AND t.parent_call = json_extract(p.value, '$.id') \
     WHERE json_extract(p.value, '$.type') = 'call' \
     ) SELECT ",
    turn_columns!("t."),
    " FROM family AS f JOIN turns AS t ON t.key = f.key ORDER BY t.turn_seq, t.key"
);
pub(super) const FORGET_MESSAGES: &str =
    "DELETE FROM message_rows WHERE session_key = ?1 AND turn_seq = ?2 AND turn_key = ?3";
pub(super) const FORGET_TURN: &str =
    "DELETE FROM turns WHERE session_key = ?1 AND id = ?2 RETURNING key, turn_seq";

/// A turn's row, whole: read and verified first, written last.
pub(super) struct Turn {
    pub(super) key: i64,
    pub(super) session_key: i64,
    pub(super) id: String,
    pub(super) agent: String,
    pub(super) parent_call: Option<String>,
    /// `None` while it waits.
    place: Option<i64>,
    /// JSON.
    finish_reason: Option<String>,
    pub(super) usage: Option<Usage>,
    pub(super) started_at: Option<i64>,
    finished_at: Option<i64>,
    costs: Costs,
    /// JSON.
    fault: Option<String>,
    /// Whether its row lacks what is here.
    is_changed: bool,
}

/// What a turn may use and what it cost, in the text of its columns.
#[derive(Default)]
struct Costs {
    iterations: Option<i64>,
    /// JSON.
    budget: Option<String>,
    /// JSON.
    bill: Option<String>,
}

/// The turns of one session. What was met stays known, so that each is looked up once.
pub(super) struct Turns {
    session_key: i64,
    known: HashMap<TurnId, Turn>,
}

impl Turns {
    pub(super) fn new(session_key: i64) -> Self {
        Self {
            session_key,
            known: HashMap::new(),
        }
    }

    /// Finds a turn. One that has no row yet is made for `agent`; without an agent it is `None`.
    pub(super) fn find(
        &mut self,
        connection: &Connection,
        id: &TurnId,
        agent: Option<&AgentPath>,
    ) -> Result<Option<&mut Turn>, Failure> {
        let unknown = match self.known.entry(id.clone()) {
            Entry::Occupied(known) => return Ok(Some(known.into_mut())),
            Entry::Vacant(unknown) => unknown,
        };
        let (key, name) = (self.session_key, id.as_str());
        let turn = match agent {
            Some(agent) => {
                let values = params![key, name, agent.to_string()];
                sql::first(connection, MAKE_TURN, values, Turn::made_or_found)?
            }
            None => sql::first(connection, FIND_TURN, (key, name), Turn::read)?,
        };
        Ok(turn.map(|turn| unknown.insert(turn)))
    }

    /// Turns go with their messages; answers how many messages went.
    pub(super) fn forget(
        &mut self,
        connection: &Connection,
        turns: &[TurnId],
    ) -> Result<u64, Failure> {
        let mut gone = 0;
        for id in turns {
            let known = self.known.remove(id);
            let values = (self.session_key, id.as_str());
            let read = |row: &Row<'_>| Ok((row.get("key")?, row.get("turn_seq")?));
            let forgotten = sql::first(connection, FORGET_TURN, values, read)?;
            let Some::<(i64, Option<i64>)>((key, place)) = forgotten else {
                continue;
            };
            // The row lacks a place that was given since it was read.
            let place = known.map_or(place, |turn| turn.place);
            let values = (self.session_key, place.unwrap_or(WAITING), key);
            gone += sql::execute(connection, FORGET_MESSAGES, values)? as u64;
        }
        Ok(gone)
    }

    /// Writes those that were changed.
    pub(super) fn save(self, connection: &Connection) -> Result<(), Failure> {
        for turn in self.known.into_values().filter(|turn| turn.is_changed) {
            turn.save(connection)?;
        }
        Ok(())
    }
}

impl Turn {
    /// Reads a row and verifies it. The failure names the turn.
    pub(super) fn read(row: &Row<'_>) -> Result<Self, Failure> {
        let id: String = row.get("id")?;
        let read = Self::read_as(row, id.clone(), false);
        read.map_err(|failure| failure.within(&format!("turn {id}")))
    }

    /// A row that was just made has no place and no checksum until it is saved.
    fn made_or_found(row: &Row<'_>) -> Result<Self, Failure> {
        let has = |column| Ok::<_, Failure>(row.get::<_, Option<i64>>(column)?.is_some());
        if has("checksum")? || has("turn_seq")? {
            Self::read(row)
        } else {
            Self::read_as(row, row.get("id")?, true)
        }
    }

    fn read_as(row: &Row<'_>, id: String, is_made: bool) -> Result<Self, Failure> {
        let turn = Self {
            key: row.get("key")?,
            session_key: row.get("session_key")?,
            id,
            agent: row.get("agent")?,
            parent_call: row.get("parent_call")?,
            place: row.get("turn_seq")?,
            finish_reason: row.get("finish_reason")?,
            usage: row::usage(row)?,
            started_at: row.get("started_at")?,
            finished_at: row.get("finished_at")?,
            costs: Costs {
                iterations: row.get("iterations")?,
                budget: row.get("budget")?,
                bill: row.get("bill")?,
            },
            fault: row.get("fault")?,
            is_changed: is_made,
        };
        if !is_made {
            checksum::verify(row, || Ok(turn.checksum()))?;
        }
        Ok(turn)
    }

    /// Its place in the order.
    pub(super) fn seq(&self) -> i64 {
        self.place.unwrap_or(WAITING)
    }

    /// Why and when it ended.
    pub(super) fn end(&self) -> Result<Option<(FinishReason, Millis)>, Failure> {
        let Some((reason, at)) = self.finish_reason.as_deref().zip(self.finished_at) else {
            return Ok(None);
        };
        Ok(Some((row::parse(reason)?, Millis(at))))
    }

    /// Why it failed.
    pub(super) fn fault(&self) -> Result<Option<Fault>, Failure> {
        self.fault.as_deref().map(row::parse).transpose()
    }

    /// What it may use, what it cost, and in how many iterations.
    pub(super) fn costs(&self) -> Result<(Budget, Bill, u32), Failure> {
        let budget = self.costs.budget.as_deref().map(row::parse).transpose()?;
        let bill = self.costs.bill.as_deref().map(row::parse).transpose()?;
        let iterations = self.costs.iterations.unwrap_or_default();
        Ok((
            budget.unwrap_or_default(),
            bill.unwrap_or_default(),
            u32::try_from(iterations).map_err(row::odd)?,
        ))
    }

    pub(super) fn is_over(&self) -> bool {
        self.finished_at.is_some()
    }

    /// It runs.
    pub(super) fn start(
        &mut self,
        agent: &AgentPath,
        parent_call: Option<&CallId>,
        budget: Budget,
        at: Millis,
    ) -> Result<(), Failure> {
        self.agent = agent.to_string();
        self.parent_call = parent_call.map(|call| call.as_str().to_owned());
        self.started_at.get_or_insert(at.0);
        let budget = (!budget.is_empty()).then(|| json(&budget));
        self.costs.budget = budget.transpose()?;
        self.is_changed = true;
        Ok(())
    }

    /// It is over.
    pub(super) fn finish(
        &mut self,
        (reason, fault): (&FinishReason, Option<&Fault>),
        usage: Usage,
        (iterations, bill): (u32, Bill),
        at: Millis,
    ) -> Result<(), Failure> {
        self.finish_reason = Some(json(reason)?);
        self.fault = fault.map(json).transpose()?;
        self.costs.iterations = Some(iterations.into());
        let bill = (!bill.is_empty()).then(|| json(&bill));
        self.costs.bill = bill.transpose()?;
        self.usage = Some(usage);
        self.finished_at = Some(at.0);
        self.is_changed = true;
        Ok(())
    }

    /// Gives it and its messages the place of its beginning in the order, which is its caller's if that
    /// waits for it, unless it has one.
    pub(super) fn place_beginning(
        &mut self,
        connection: &Connection,
        seq: Seq,
        is_background: bool,
    ) -> Result<(), Failure> {
        let is_waited_for = self.parent_call.is_some() && !is_background;
        if self.place.is_some() || !is_waited_for {
            return self.place(connection, seq);
        }
        let values = (self.session_key, self.key);
        let caller = sql::first(connection, PLACE_OF_CALLER, values, |row| {
            Ok(row.get::<_, i64>("turn_seq")?)
        })?;
        let known = caller.filter(|place| *place != WAITING);
        self.place_at(connection, known.unwrap_or(integer(seq.0)))
    }

    /// Gives it and its messages a place in the order, unless it has one.
    pub(super) fn place(&mut self, connection: &Connection, seq: Seq) -> Result<(), Failure> {
        if self.place.is_some() {
            return Ok(());
        }
        self.place_at(connection, integer(seq.0))
    }

    fn place_at(&mut self, connection: &Connection, new: i64) -> Result<(), Failure> {
        let placed = |turn_seq| checksum::placed(Some(&self.id), turn_seq);
        let difference = checksum::difference(placed(WAITING), placed(new));
        let values = (self.session_key, self.key, new, WAITING, difference);
        sql::execute(connection, PLACE_TURN, values)?;
        self.place = Some(new);
        self.is_changed = true;
        Ok(())
    }

    fn checksum(&self) -> u32 {
        let columns = Columns::of(b't')
            .number(self.key)
            .number(self.session_key)
            .text(&self.id)
            .text(&self.agent)
            .maybe_text(self.parent_call.as_deref())
            .maybe_number(self.place)
            .maybe_text(self.finish_reason.as_deref())
            .usage(self.usage)
            .maybe_number(self.started_at)
            .maybe_number(self.finished_at)
            .maybe_number(self.costs.iterations)
            .maybe_text(self.costs.budget.as_deref())
            .maybe_text(self.costs.bill.as_deref());
        match &self.fault {
            Some(fault) => columns.text(fault).sum(),
            None => columns.sum(),
        }
    }

    fn save(self, connection: &Connection) -> Result<(), Failure> {
        let checksum = self.checksum();
        let [input, output, cache_read, cache_write, reasoning] = usage_columns(self.usage);
        let values = params![
            self.key,
            self.agent,
            self.parent_call,
            self.place,
            self.finish_reason,
            self.started_at,
            self.finished_at,
            checksum,
            input,
            output,
            cache_read,
            cache_write,
            reasoning,
            self.costs.iterations,
            self.costs.budget,
            self.costs.bill,
            self.fault,
        ];
        sql::execute(connection, SAVE_TURN, values)?;
        Ok(())
    }
}
