//! `read_file`: lines of a text, with their numbers.

mod lines;
mod page;

use std::io::Read;

use samovar_core::Outcome;
use samovar_sandbox::JailPath;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::caller::{Caller, Stop};
use crate::outputs;
use crate::refusal::Refusal;
use crate::seen::{MAX_SEEN_BYTES, Sight};
use crate::text::{Hashed, sha256};
use crate::tool::{Access, FileTool};
use crate::workspace::Workspace;

use lines::Lines;
use page::Page;

pub(crate) use page::MAX_LINE_BYTES;

/// Lines that one call shows, unless it asks for more.
const USUAL_LINES: u64 = 400;
/// Lines that one call shows at most.
const MAX_LINES: u64 = 2_000;
/// Bytes that one call shows, unless it asks for more lines than usual.
const USUAL_BYTES: usize = 16 * 1024;
/// Bytes that one call shows at most.
const MAX_BYTES: usize = 256 * 1024;
/// How many bytes are looked at to tell what is no text.
const SNIFFED_BYTES: usize = 8 * 1024;
/// How far into a file lines are counted, in bytes.
const MAX_COUNTED_BYTES: u64 = 64 * 1024 * 1024;

/// Reads a text file; each line comes with its number and a tab. A long file comes in parts; each
/// says how to read the next.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadFile {
    path: String,
    /// The first line to show; leave it out to begin at the top.
    offset: Option<u64>,
    /// How many lines; leave it out for as many as fit.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

impl FileTool for ReadFile {
    const NAME: &'static str = "read_file";
    const ACCESS: Access = Access::Read;

    fn run(self, workspace: &Workspace, caller: &Caller) -> Result<Outcome, Refusal> {
        let stop = &caller.stop;
        // Models that count from 0 mean the beginning.
        let first = self.offset.unwrap_or(1).max(1);
        let limit = self.limit.unwrap_or(USUAL_LINES).min(MAX_LINES);
        if limit == 0 {
            let why = "limit is the number of lines to show; leave it out or give one above 0";
            return Err(Refusal::of_arguments(why));
        }
        let max_bytes = if limit > USUAL_LINES {
            MAX_BYTES
        } else {
            USUAL_BYTES
        };
        let place = workspace.place(&self.path)?;
        let output = workspace
            .outputs()
            .filter(|_| self.path.starts_with(outputs::PREFIX));
        let file = match output {
            Some(outputs) => outputs.read(&self.path)?,
            None => workspace.jail().open_file(&place)?,
        };
        let is_output = output.is_some();
        let bytes = file.len();
        if file.read_at(0, SNIFFED_BYTES)?.contains(&0) {
            if let (false, Ok(content)) = (is_output, file.into_bytes(MAX_SEEN_BYTES)) {
                let sha256 = sha256(&content);
                workspace.seen().see(caller, &place, sha256, Sight::Whole);
            }
            return Ok(binary(&place, bytes));
        }
        let page = Page::new(first, limit, max_bytes);
        let page = if first == 1 && bytes <= MAX_COUNTED_BYTES {
            page.with_end()
        } else {
            page
        };
        // What is appended while the file is read belongs to the next call.
        let mut file = Hashed::new(file.into_file().take(bytes.min(MAX_COUNTED_BYTES)));
        let page = read(&mut file, page, stop)
            .map_err(|error| format!("{:?} cannot be read: {error}", place.to_string()))?;
        stop.check()?;
        if !is_output && bytes <= MAX_SEEN_BYTES {
            let sight = Sight::of_lines(page.in_full(), page.lines());
            workspace.seen().see(caller, &place, file.sha256(), sight);
        }
        present(&place, bytes, page)
    }

    fn file(&self) -> &str {
        &self.path
    }
}

fn read(file: impl Read, mut page: Page, stop: &Stop) -> std::io::Result<Page> {
    let mut lines = Lines::new(file);
    while !stop.is_set()
        && let Some(line) = lines.next(page.keeps())?
    {
        page.add(&line);
    }
    Ok(page)
}

fn binary(place: &JailPath, bytes: u64) -> Outcome {
    let path = place.to_string();
    let data = json!({
        "path": path, "from": 0, "to": 0, "lines": 0, "bytes": bytes, "binary": true,
    });
    Outcome::done(format!("[binary file, {bytes} bytes]")).with_data(data)
}

fn present(place: &JailPath, bytes: u64, page: Page) -> Result<Outcome, Refusal> {
    let is_counted = bytes <= MAX_COUNTED_BYTES;
    let (from, to, lines) = (page.first(), page.last(), page.lines());
    if bytes > 0 && from > lines {
        let path = place.to_string();
        let why = if is_counted {
            format!("{path:?} has {lines} lines and offset is {from}; give a smaller one")
        } else {
            format!(
                "line {from} of {path:?} is beyond the first 64 MiB, which is as far as lines are \
                 counted; give a smaller offset"
            )
        };
        return Err(Refusal::of_arguments(why));
    }
    let (from, to) = if bytes == 0 { (0, 0) } else { (from, to) };
    let data = json!({
        "path": place.to_string(), "from": from, "to": to, "lines": lines, "bytes": bytes,
        "binary": false,
    });
    let mut notes = page.notes();
    if bytes == 0 {
        notes.push("[empty file]".to_owned());
    }
    if !is_counted {
        notes.push("[only the lines in the first 64 MiB are counted]".to_owned());
    }
    if to < lines {
        let next = to + 1;
        notes.push(format!(
            "[lines {from}-{to} of {lines}; call again with offset={next}]"
        ));
    }
    let (text, end) = page.into_text();
    let mut rows: Vec<_> = Some(text)
        .filter(|text| !text.is_empty())
        .into_iter()
        .collect();
    rows.extend(notes);
    if !end.is_empty() {
        rows.push("[the text ends:]".to_owned());
        rows.extend(end);
    }
    Ok(Outcome::done(rows.join("\n")).with_data(data))
}
