//! A session's row, whole: read and verified first, written last.

use rusqlite::{Connection, Row, params};
use samovar_core::history::{Change, Opened, SessionRow};
use samovar_core::message::Usage;
use samovar_core::{Approval, Beginner, ContextLimit, Millis, Seq, SessionId, SystemPrompt, Title};

use super::checksum::{self, Columns};
use super::failure::Failure;
use super::ledger::folded;
use super::row::{self, integer, json, odd, parse, usage_columns};
use super::sql;

/// The columns of a session.
macro_rules! session_columns {
    () => {
        "key, id, model, route, title, agent, system_prompt, approval, begun_by, tainted, metadata, created_at, \
         updated_at, message_count, \
         total_tokens_input, total_tokens_output, total_tokens_cache_read, \
         total_tokens_cache_write, total_tokens_reasoning, context, projected, found_by, \
         preview, preview_seq, counts_check, checksum"
    };
}
pub(super) use session_columns;

pub(super) const SAVE_SESSION: &str = "\
    UPDATE sessions SET model = ?2, route = ?3, title = ?4, agent = ?5, metadata = ?6, \
    updated_at = ?7, message_count = ?8, context = ?9, projected = ?10, found_by = ?11, \
    preview = ?12, preview_seq = ?13, counts_check = ?14, checksum = ?15, \
    total_tokens_input = ?16, total_tokens_output = ?17, total_tokens_cache_read = ?18, \
    total_tokens_cache_write = ?19, total_tokens_reasoning = ?20, system_prompt = ?21, \
    approval = ?22, tainted = ?23, begun_by = ?24 \
    WHERE key = ?1";

/// What a session is found by. A unit separator keeps a text from being found across the border of
/// the two.
pub(super) fn found_by(id: &str, title: Option<&str>) -> String {
    let title = title.unwrap_or_default();
    folded(&format!("{id}\u{1f}{title}"))
}

/// Where a session's preview comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Preview {
    /// The beginning of the message's text; `None` when it has none.
    pub(super) text: Option<String>,
    /// The place of the message's turn.
    pub(super) turn_seq: i64,
}

/// A session as its row has it.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) key: i64,
    pub(super) id: String,
    pub(super) model: String,
    pub(super) route: Option<String>,
    pub(super) title: Option<String>,
    pub(super) agent: String,
    pub(super) system_prompt: Option<String>,
    pub(super) approval: Option<String>,
    pub(super) begun_by: Option<String>,
    pub(super) tainted: bool,
    /// JSON.
    pub(super) metadata: String,
    pub(super) created_at: Millis,
    pub(super) updated_at: Millis,
    pub(super) message_count: u64,
    pub(super) usage: Usage,
    /// JSON.
    pub(super) context: Option<String>,
    pub(super) projected: Seq,
    pub(super) found_by: String,
    /// `None` before the user's first message.
    pub(super) preview: Option<Preview>,
}

impl Session {
    /// Reads a row and verifies it. The failure names the session.
    pub(super) fn read(row: &Row<'_>) -> Result<Self, Failure> {
        let id: String = row.get("id")?;
        let read = Self::read_as(row, id.clone());
        read.map_err(|failure| failure.within(&format!("session {id}")))
    }

    fn read_as(row: &Row<'_>, id: String) -> Result<Self, Failure> {
        let text = row.get("preview")?;
        let turn_seq: Option<i64> = row.get("preview_seq")?;
        let preview = turn_seq.map(|turn_seq| Preview { text, turn_seq });
        let session = Self {
            id,
            key: row.get("key")?,
            model: row.get("model")?,
            route: row.get("route")?,
            title: row.get("title")?,
            agent: row.get("agent")?,
            system_prompt: row.get("system_prompt")?,
            approval: row.get("approval")?,
            begun_by: row.get("begun_by")?,
            tainted: row.get("tainted")?,
            metadata: row.get("metadata")?,
            created_at: Millis(row.get("created_at")?),
            updated_at: Millis(row.get("updated_at")?),
            message_count: row::count(row, "message_count")?,
            usage: row::total_usage(row)?,
            context: row.get("context")?,
            projected: Seq(row::count(row, "projected")?),
            found_by: row.get("found_by")?,
            preview,
        };
        let counts: Option<i64> = row.get("counts_check")?;
        checksum::verify(row, || Ok(session.checksum()))?;
        if counts != Some(session.counts()) {
            return Err(checksum::wrong());
        }
        Ok(session)
    }

    /// Takes over what an opening or a change says of the session.
    pub(super) fn take(&mut self, change: &Change) -> Result<(), Failure> {
        match change {
            Change::Open(Opened {
                model,
                route,
                agent,
                system_prompt,
                approval,
                begun_by,
                metadata,
                at: _,
            }) => {
                model.clone_into(&mut self.model);
                self.route.clone_from(route);
                agent.clone_into(&mut self.agent);
                self.system_prompt = system_prompt.clone().map(String::from);
                self.approval = approval.map(|level| level.as_str().to_owned());
                self.begun_by = begun_by.clone().map(String::from);
                self.metadata = json(metadata)?;
                self.title = Title::of_metadata(metadata).map(String::from);
            }
            Change::Set {
                model,
                route,
                title,
                approval,
                tainted,
                at: _,
            } => {
                self.tainted |= tainted;
                if let Some(model) = model {
                    model.clone_into(&mut self.model);
                    self.route.clone_from(route);
                    self.context = None;
                }
                if let Some(title) = title {
                    self.title =
                        Some(title.clone().into()).filter(|title: &String| !title.is_empty());
                }
                if let Some(level) = approval {
                    self.approval = Some(level.as_str().to_owned());
                }
            }
            _ => return Ok(()),
        }
        self.found_by = found_by(&self.id, self.title.as_deref());
        Ok(())
    }

    fn counts(&self) -> i64 {
        checksum::counts(self.message_count, self.usage)
    }

    fn checksum(&self) -> u32 {
        let preview = self.preview.as_ref();
        let columns = Columns::of(b's')
            .text(&self.id)
            .text(&self.model)
            .maybe_text(self.route.as_deref())
            .maybe_text(self.title.as_deref())
            .text(&self.agent)
            .text(&self.metadata)
            .number(self.created_at.0)
            .number(self.updated_at.0)
            .number(integer(self.message_count))
            .usage(Some(self.usage))
            .maybe_text(self.context.as_deref())
            .number(integer(self.projected.0))
            .text(&self.found_by)
            .maybe_number(preview.map(|preview| preview.turn_seq))
            .maybe_text(preview.and_then(|preview| preview.text.as_deref()))
            .maybe_text(self.system_prompt.as_deref())
            .maybe_text(self.approval.as_deref())
            .number(self.tainted.into());
        // The sums of rows that were written before the column was there do not know it.
        let columns = match &self.begun_by {
            Some(beginner) => columns.text(beginner),
            None => columns,
        };
        columns.sum()
    }

    /// Writes all of it into its row.
    pub(super) fn save(self, connection: &Connection) -> Result<(), Failure> {
        let (counts, checksum) = (self.counts(), self.checksum());
        let (text, turn_seq) = match self.preview {
            Some(preview) => (preview.text, Some(preview.turn_seq)),
            None => (None, None),
        };
        let [input, output, cache_read, cache_write, reasoning] = usage_columns(Some(self.usage));
        let values = params![
            self.key,
            self.model,
            self.route,
            self.title,
            self.agent,
            self.metadata,
            self.updated_at.0,
            integer(self.message_count),
            self.context,
            integer(self.projected.0),
            self.found_by,
            text,
            turn_seq,
            counts,
            checksum,
            input,
            output,
            cache_read,
            cache_write,
            reasoning,
            self.system_prompt,
            self.approval,
            self.tainted,
            self.begun_by,
        ];
        sql::execute(connection, SAVE_SESSION, values)?;
        Ok(())
    }

    /// The same in the words of the port.
    pub(super) fn shown(self) -> Result<SessionRow, Failure> {
        let id = self.id.clone();
        let shown = self.try_shown();
        shown.map_err(|failure| failure.within(&format!("session {id}")))
    }

    fn try_shown(self) -> Result<SessionRow, Failure> {
        let title = self.title.as_deref().map(Title::new);
        let title = title.transpose().map_err(odd)?;
        let context = self.context.as_deref().map(parse::<ContextLimit>);
        let system_prompt = self.system_prompt.as_deref().map(SystemPrompt::new);
        let level = |word: &str| {
            Approval::from_word(word).ok_or_else(|| odd(format!("no approval level: {word:?}")))
        };
        let approval = self.approval.as_deref().map(level);
        let begun_by = self.begun_by.map(Beginner::try_from);
        Ok(SessionRow {
            id: SessionId::new(&self.id).map_err(odd)?,
            title: title.filter(|title| !title.is_empty()),
            metadata: parse(&self.metadata)?,
            context: context.transpose()?,
            model: self.model,
            route: self.route,
            agent: self.agent,
            system_prompt: system_prompt.transpose().map_err(odd)?,
            approval: approval.transpose()?,
            begun_by: begun_by.transpose().map_err(odd)?,
            tainted: self.tainted,
            created_at: self.created_at,
            updated_at: self.updated_at,
            message_count: self.message_count,
            preview: self.preview.and_then(|preview| preview.text),
            usage: self.usage,
            projected: self.projected,
        })
    }
}
