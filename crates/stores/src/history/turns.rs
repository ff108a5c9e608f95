//! Turns, and the order that they give their messages.
//!
//! A turn stands where it started, or where it ended when it never did. Until then it waits, and
//! its messages stand behind all others.

use std::collections::HashMap;

use samovar_core::{AgentPath, CallId, FinishReason, Millis, Seq, TurnId, Usage};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::checksum::{self, Columns};
use super::failure::Failure;
use super::row::{bind_usage, integer, json};

/// The columns of a turn, which its checksum covers.
macro_rules! turn_columns {
    ($of:literal) => {
        concat!(
            $of,
            "key, ",
            $of,
            "id, ",
            $of,
            "session_key, ",
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
            "checksum"
        )
    };
}
pub(super) use turn_columns;

/// The place in the order of what waits.
const WAITING: i64 = i64::MAX;

// The update changes nothing; without it there would be nothing to return.
const FIND_TURN: &str = concat!(
    "INSERT INTO turns (session_key, id, agent) VALUES (?1, ?2, ?3) \
    ON CONFLICT (session_key, id) DO UPDATE SET id = id RETURNING ",
    turn_columns!("")
);
const KNOWN_TURN: &str = concat!(
    "SELECT ",
    turn_columns!(""),
    " FROM turns WHERE session_key = ?1 AND id = ?2"
);
const START_TURN: &str = concat!(
    "\
    INSERT INTO turns (session_key, id, agent, parent_call, turn_seq, started_at) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
    ON CONFLICT (session_key, id) DO UPDATE SET agent = excluded.agent, \
    parent_call = excluded.parent_call, turn_seq = coalesce(turn_seq, excluded.turn_seq), \
    started_at = coalesce(started_at, excluded.started_at) RETURNING ",
    turn_columns!("")
);
pub(super) const FINISH_TURN: &str = concat!(
    "\
    UPDATE turns SET turn_seq = coalesce(turn_seq, ?3), finish_reason = ?4, finished_at = ?5, \
    tokens_input = ?6, tokens_output = ?7, tokens_cache_read = ?8, tokens_cache_write = ?9, \
    tokens_reasoning = ?10 WHERE session_key = ?1 AND id = ?2 RETURNING ",
    turn_columns!("")
);
pub(super) const SEAL_TURN: &str = "UPDATE turns SET checksum = ?2 WHERE key = ?1";
pub(super) const PLACE_TURN: &str = "\
    UPDATE message_rows SET turn_seq = ?3, checksum = (checksum + ?5) & 4294967295 \
    WHERE session_key = ?1 AND turn_seq = ?4 AND turn_key = ?2";

/// A turn and the turns that answer calls of its messages, and so on.
pub(super) const FAMILY: &str = concat!(
    "\
    WITH RECURSIVE family (key, turn_seq) AS ( \
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
    " FROM family AS f JOIN turns AS t ON t.key = f.key ORDER BY t.turn_seq"
);
pub(super) const FORGET_MESSAGES: &str =
    "DELETE FROM message_rows WHERE session_key = ?1 AND turn_seq = ?2 AND turn_key = ?3";
pub(super) const FORGET_TURN: &str =
    "DELETE FROM turns WHERE session_key = ?1 AND id = ?2 RETURNING key, turn_seq";

/// When something happened, by the log and by the clock.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) seq: Seq,
    pub(super) at: Millis,
}

/// A turn's row.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    pub(super) key: i64,
    pub(super) is_over: bool,
    place: Option<i64>,
    /// What its checksum is to be.
    sum: u32,
}

/// The turns of one session. What was met stays known, so that each is looked up once.
pub(super) struct Turns {
    session_key: i64,
    known: HashMap<TurnId, Turn>,
    /// The checksums of the turns that were changed, by key.
    unsealed: HashMap<i64, u32>,
}

impl Turns {
    pub(super) fn new(session_key: i64) -> Self {
        Self {
            session_key,
            known: HashMap::new(),
            unsealed: HashMap::new(),
        }
    }

    /// A turn's row, made if this is the first that is heard of it.
    pub(super) async fn find(
        &mut self,
        connection: &mut SqliteConnection,
        id: &TurnId,
        agent: &AgentPath,
    ) -> Result<Turn, Failure> {
        if let Some(turn) = self.known.get(id) {
            return Ok(*turn);
        }
        let find = sqlx::query(FIND_TURN)
            .bind(self.session_key)
            .bind(id.as_str())
            .bind(agent.to_string());
        let row = find.fetch_one(connection).await?;
        let turn = Turn::read(&row)?;
        self.known.insert(id.clone(), turn);
        if checksum::kept(&row)?.is_none() {
            self.unsealed.insert(turn.key, turn.sum);
        }
        Ok(turn)
    }

    /// A turn's row, if there is one.
    pub(super) async fn place_of(
        &mut self,
        connection: &mut SqliteConnection,
        id: &TurnId,
    ) -> Result<Option<Turn>, Failure> {
        if let Some(turn) = self.known.get(id) {
            return Ok(Some(*turn));
        }
        let known = sqlx::query(KNOWN_TURN).bind(self.session_key);
        let known = known.bind(id.as_str()).fetch_optional(connection).await?;
        let turn = known.as_ref().map(Turn::read).transpose()?;
        self.known.extend(turn.map(|turn| (id.clone(), turn)));
        Ok(turn)
    }

    /// A turn runs.
    pub(super) async fn start(
        &mut self,
        connection: &mut SqliteConnection,
        moment: Moment,
        id: &TurnId,
        agent: &AgentPath,
        parent_call: Option<&CallId>,
    ) -> Result<(), Failure> {
        let start = sqlx::query(START_TURN)
            .bind(self.session_key)
            .bind(id.as_str())
            .bind(agent.to_string())
            .bind(parent_call.map(CallId::as_str))
            .bind(integer(moment.seq.0))
            .bind(moment.at.0);
        let row = start.fetch_one(&mut *connection).await?;
        self.place(connection, moment.seq, id, &row).await
    }

    /// A turn is over. There is nothing to tell of one that never ran and has no message.
    pub(super) async fn finish(
        &mut self,
        connection: &mut SqliteConnection,
        moment: Moment,
        id: &TurnId,
        reason: &FinishReason,
        usage: Usage,
    ) -> Result<(), Failure> {
        let finish = sqlx::query(FINISH_TURN)
            .bind(self.session_key)
            .bind(id.as_str())
            .bind(integer(moment.seq.0))
            .bind(json(reason)?)
            .bind(moment.at.0);
        let finish = bind_usage(finish, Some(usage));
        match finish.fetch_optional(&mut *connection).await? {
            Some(row) => self.place(connection, moment.seq, id, &row).await,
            None => Ok(()),
        }
    }

    /// Turns go with their messages; answers how many messages went.
    pub(super) async fn forget(
        &mut self,
        connection: &mut SqliteConnection,
        turns: &[TurnId],
    ) -> Result<u64, Failure> {
        let mut gone = 0;
        for id in turns {
            self.known.remove(id);
            let forget = sqlx::query(FORGET_TURN)
                .bind(self.session_key)
                .bind(id.as_str());
            let Some(row) = forget.fetch_optional(&mut *connection).await? else {
                continue;
            };
            let turn = Turn {
                key: row.try_get("key")?,
                is_over: true,
                place: row.try_get("turn_seq")?,
                sum: 0,
            };
            let messages = sqlx::query(FORGET_MESSAGES)
                .bind(self.session_key)
                .bind(turn.seq())
                .bind(turn.key);
            gone += messages.execute(&mut *connection).await?.rows_affected();
        }
        Ok(gone)
    }

    /// Moves a turn's messages to its place in the order, when it has just got one.
    async fn place(
        &mut self,
        connection: &mut SqliteConnection,
        seq: Seq,
        id: &TurnId,
        row: &SqliteRow,
    ) -> Result<(), Failure> {
        let turn = Turn::changed(row)?;
        self.learn(id, turn);
        if turn.place == Some(integer(seq.0)) {
            let placed = |turn_seq| checksum::placed(Some(id.as_str()), turn_seq);
            let place = sqlx::query(PLACE_TURN)
                .bind(self.session_key)
                .bind(turn.key)
                .bind(turn.place)
                .bind(WAITING)
                .bind(checksum::difference(placed(WAITING), placed(turn.seq())));
            place.execute(connection).await?;
        }
        Ok(())
    }

    fn learn(&mut self, id: &TurnId, turn: Turn) {
        self.known.insert(id.clone(), turn);
        self.unsealed.insert(turn.key, turn.sum);
    }

    /// Writes the checksums of the turns that were changed.
    pub(super) async fn seal(self, connection: &mut SqliteConnection) -> Result<(), Failure> {
        for (key, sum) in self.unsealed {
            let seal = sqlx::query(SEAL_TURN).bind(key).bind(i64::from(sum));
            seal.execute(&mut *connection).await?;
        }
        Ok(())
    }
}

impl Turn {
    /// Its place in the order.
    pub(super) fn seq(self) -> i64 {
        self.place.unwrap_or(WAITING)
    }

    /// Reads a row and verifies it.
    pub(super) fn read(row: &SqliteRow) -> Result<Self, Failure> {
        let turn = Self::changed(row)?;
        checksum::verify(row, || Ok(turn.sum))?;
        Ok(turn)
    }

    /// Reads a row whose checksum is out of date.
    fn changed(row: &SqliteRow) -> Result<Self, Failure> {
        let finished_at: Option<i64> = row.try_get("finished_at")?;
        let place = row.try_get("turn_seq")?;
        let key = row.try_get("key")?;
        let sum = Columns::of(b't')
            .number(key)
            .number(row.try_get("session_key")?)
            .text(row.try_get("id")?)
            .text(row.try_get("agent")?)
            .maybe_text(row.try_get("parent_call")?)
            .maybe_number(place)
            .maybe_text(row.try_get("finish_reason")?)
            .maybe_number(row.try_get("tokens_input")?)
            .maybe_number(row.try_get("tokens_output")?)
            .maybe_number(row.try_get("tokens_cache_read")?)
            .maybe_number(row.try_get("tokens_cache_write")?)
            .maybe_number(row.try_get("tokens_reasoning")?)
            .maybe_number(row.try_get("started_at")?)
            .maybe_number(finished_at)
            .sum();
        Ok(Self {
            key,
            is_over: finished_at.is_some(),
            place,
            sum,
        })
    }
}
