//! `samovar relay logs`: the study logs, the rows of one, and those as CSV.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

use samovar_core::relay::StudyInfo;
use samovar_locale as text;
use serde_json::Value;

use super::csv;
use crate::access::Purpose;
use crate::args::{Logs, ModelArgs};
use crate::client::{Client, segment};
use crate::config::{self, LocalData, Setup};
use crate::exit::{Exit, Failure};
use crate::output::{self, Format, table};
use crate::reconnecting::{Reconnecting, Repeat};
use crate::screen::{Reader, beginning, put, say, visible};
use crate::timestamps::clock;

/// Where the logs are.
const LOGS: &str = "/api/relay/logs";

/// Studies that are asked for at once.
const STUDIES: usize = 200;

/// Rows that are asked for at once.
const ROWS: usize = 1_000;

/// Characters that are shown of what a row brought.
const SHOWN: usize = 120;

/// What CSV is written to where no file is named.
const STDOUT: &str = "-";

/// Lists the logs, or shows one.
pub(super) async fn logs(logs: Logs) -> Result<Exit, Failure> {
    let places = &logs.common.places;
    let found = config::read(places, &ModelArgs::default(), LocalData::UseOnly)?;
    found.say_foreign();
    let format = logs.common.machine.format();
    let Some(id) = logs.id else {
        return list(&found, format).await;
    };
    let whose = if logs.all || logs.host_view {
        RowFilter::All
    } else {
        RowFilter::Agents
    };
    let view = if logs.host_view { "host" } else { "file" };
    let mut rows = Rows::new(&found, id, view);
    let shown = match &logs.csv {
        Some(file) if file.as_os_str() == STDOUT => print(&mut rows, whose).await,
        Some(file) => export(&mut rows, whose, file).await,
        None => show(&mut rows, RowFilter::All, format).await,
    };
    rows.way.close_now().await;
    shown.map(|()| Exit::Ok)
}

/// Whose rows are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowFilter {
    /// Those of what agents said and were told, which are the protocol's own log.
    Agents,
    All,
}

impl RowFilter {
    fn has(self, row: &Value) -> bool {
        self == Self::All || row["role"] == "agent"
    }
}

async fn list(found: &Setup, format: Format) -> Result<Exit, Failure> {
    let mut way = Reconnecting::new(&found.config, Purpose::Rows);
    let studies = way.ask(Repeat::Harmless, all_studies).await;
    way.close_now().await;
    let studies = studies?;
    if studies.is_empty() && format == Format::Text {
        say(text::relay_cli::no_studies());
    }
    output::list(format, "relay_study", &studies, |studies| {
        table(&studies.iter().map(study_row).collect::<Vec<_>>())
    })?;
    Ok(Exit::Ok)
}

async fn all_studies(client: &Client) -> Result<Vec<StudyInfo>, Failure> {
    let mut studies: Vec<StudyInfo> = Vec::new();
    loop {
        let after = studies.last().map(|last| segment(&last.id));
        let after = after.map_or_else(String::new, |after| format!("&after={after}"));
        let path = format!("{LOGS}?limit={STUDIES}{after}");
        let page: Vec<StudyInfo> = client.get(&path).await?;
        let is_last = page.is_empty();
        studies.extend(page);
        if is_last {
            return Ok(studies);
        }
    }
}

fn study_row(study: &StudyInfo) -> Vec<String> {
    let tools = study.tools.iter();
    let tools: Vec<_> = tools
        .map(|(tool, count)| text::relay_cli::tool_count(count, tool))
        .collect();
    let length = text::relay_cli::length(study.length_ms / 60_000, study.length_ms / 1_000 % 60);
    let state = if study.unreadable > 0 {
        text::relay_cli::study_damaged(study.unreadable)
    } else if study.is_ended {
        text::relay_cli::study_over().to_owned()
    } else {
        text::relay_cli::study_open().to_owned()
    };
    vec![
        study.id.clone(),
        study.room.clone().unwrap_or_default(),
        length,
        text::relay_cli::row_count(study.rows),
        state,
        tools.join(", "),
    ]
}

/// The rows of one log, a part at a time.
struct Rows {
    way: Reconnecting,
    id: String,
    view: &'static str,
    after: Option<u64>,
}

impl Rows {
    fn new(found: &Setup, id: String, view: &'static str) -> Self {
        Self {
            way: Reconnecting::new(&found.config, Purpose::Rows),
            id,
            view,
            after: None,
        }
    }

    /// The next part; an empty one behind the last row.
    async fn next(&mut self) -> Result<Vec<Value>, Failure> {
        let after = self.after.map(|after| format!("&after={after}"));
        let id = segment(&self.id);
        let (view, after) = (self.view, after.unwrap_or_default());
        let path = format!("{LOGS}/{id}?view={view}&limit={ROWS}{after}");
        let asked = async |client: &Client| client.get::<Vec<Value>>(&path).await;
        let rows = self.way.ask(Repeat::Harmless, asked).await?;
        let last = rows.last().and_then(|row| row["eventIndex"].as_u64());
        self.after = last.or(self.after);
        Ok(rows)
    }
}

async fn show(rows: &mut Rows, whose: RowFilter, format: Format) -> Result<(), Failure> {
    // One document has all of it, and is written when all of it is there.
    let mut all = Vec::new();
    loop {
        let mut part = rows.next().await?;
        if part.is_empty() {
            break;
        }
        part.retain(|row| whose.has(row));
        let lines: Result<String, _> = match format {
            Format::Json => {
                all.extend(part);
                continue;
            }
            Format::Jsonl => part
                .iter()
                .map(|row| output::line("relay_row", row))
                .collect(),
            Format::Text => Ok(part.iter().map(line).collect()),
        };
        if put(&lines?)? == Reader::Gone {
            return Ok(());
        }
    }
    match format {
        Format::Json => output::list(format, "relay_row", &all, |_| String::new()),
        Format::Jsonl | Format::Text => Ok(()),
    }
}

/// A row in a line for a person.
fn line(row: &Value) -> String {
    let word = |name: &str| row[name].as_str().unwrap_or_default();
    let who = match (word("role"), row["member"].as_u64()) {
        ("", _) => String::new(),
        (role, None) => format!(" {role}"),
        (role, Some(member)) => format!(" {role} {member}"),
    };
    let (index, at) = (row["eventIndex"].to_string(), clock(word("timestamp")));
    let (direction, kind) = (word("direction"), word("type"));
    let what = beginning(&told(&row["payload"]), SHOWN);
    let line = format!("{index} {at} {direction}{who} {kind} {what}");
    visible(line.trim_end()) + "\n"
}

/// What a row brought, in short.
fn told(payload: &Value) -> String {
    let word = |name: &str| payload[name].as_str();
    if let Some(tool) = word("toolName") {
        let params = payload.get("params").map(ToString::to_string);
        let reason = word("reason").map(|reason| format!(" ({reason})"));
        return [
            Some(tool.to_owned()),
            params.map(|params| format!(" {params}")),
            reason,
        ]
        .into_iter()
        .flatten()
        .collect();
    }
    if let (Some(code), Some(message)) = (word("code"), word("message")) {
        return format!("{code}: {message}");
    }
    if let Some(said) = word("text") {
        return said.to_owned();
    }
    if let Some(stage) = payload["uiSpec"]["stage"].as_str() {
        return stage.to_owned();
    }
    match payload {
        Value::Object(fields) if fields.is_empty() => String::new(),
        other => other.to_string(),
    }
}

/// Writes CSV on stdout.
async fn print(rows: &mut Rows, whose: RowFilter) -> Result<(), Failure> {
    let mut head = csv::head();
    loop {
        let part = rows.next().await?;
        if part.is_empty() {
            return put(&head).map(drop);
        }
        let lines: String = part
            .iter()
            .filter(|row| whose.has(row))
            .map(csv::row)
            .collect();
        if put(&(std::mem::take(&mut head) + &lines))? == Reader::Gone {
            return Ok(());
        }
    }
}

/// Writes CSV into a new file; what could not be written as a whole is not left behind.
async fn export(rows: &mut Rows, whose: RowFilter, path: &Path) -> Result<(), Failure> {
    // Before the file is made: a log that is not there leaves none.
    let mut part = rows.next().await?;
    let shown = path.display();
    let unwritable = |error: &std::io::Error| {
        let why = match error.kind() {
            ErrorKind::AlreadyExists => text::relay_cli::csv_exists(&shown),
            _ => text::relay_cli::csv_unwritable(&shown, error),
        };
        Failure::new(Exit::Usage, "output_failed", why)
    };
    let mut file = File::create_new(path).map_err(|error| unwritable(&error))?;
    let mut lines = csv::head();
    let mut count = 0_u64;
    let written = loop {
        for row in part.iter().filter(|row| whose.has(row)) {
            lines.push_str(&csv::row(row));
            count += 1;
        }
        if let Err(error) = file.write_all(lines.as_bytes()) {
            break Err(unwritable(&error));
        }
        if part.is_empty() {
            break file.sync_all().map_err(|error| unwritable(&error));
        }
        lines.clear();
        match rows.next().await {
            Ok(next) => part = next,
            Err(failure) => break Err(failure),
        }
    };
    if written.is_err() {
        let _is_gone = std::fs::remove_file(path);
        return written;
    }
    say(&text::relay_cli::exported(count, &shown));
    Ok(())
}
