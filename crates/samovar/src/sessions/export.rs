//! `samovar sessions export` and `import`: sessions as files (AS-29).

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::Path;

use axum::body::BodyDataStream;
use futures_util::TryStreamExt;
use samovar_core::SessionId;
use samovar_locale as text;
use samovar_wire::export::{ImportResult, ImportedSession, MAX_IMPORT_BYTES, begins, check_head};

use super::find::{self, Precision};
use super::{change, look_in};
use crate::args::{Common, DirArgs};
use crate::client::{Client, cut, segment};
use crate::exit::{Exit, Failure, ServerLoss};
use crate::output;
use crate::reconnecting::Repeat;
use crate::screen::{Reader, say, written};

/// Writes a session on stdout, or all of them.
///
/// # Errors
/// The refusal, or that it cannot be written.
pub(super) async fn export(id: Option<&str>, places: &DirArgs) -> Result<(), Failure> {
    let export = async |client: &Client| {
        let sessions = if let Some(id) = id {
            vec![find::session(client, id, Precision::Part).await?]
        } else {
            find::all(client).await?
        };
        let mut refused = None;
        for session in sessions {
            // The others are worth having without one that is damaged.
            match client.pieces(&path_of(&session.id)).await {
                Ok(pieces) => {
                    if write_out(pieces).await? == Reader::Gone {
                        break;
                    }
                }
                Err(failure) if failure.gone == ServerLoss::No && id.is_none() => {
                    say(&text::export::left_out(&session.id, &failure.message));
                    refused = Some(failure);
                }
                Err(failure) => return Err(failure),
            }
        }
        refused.map_or(Ok(()), Err)
    };
    look_in(places, export).await
}

fn path_of(id: &SessionId) -> String {
    format!("/api/sessions/{}/export", segment(id.as_str()))
}

async fn write_out(mut pieces: BodyDataStream) -> Result<Reader, Failure> {
    while let Some(piece) = pieces.try_next().await.map_err(|_| cut())? {
        let mut out = io::stdout().lock();
        if written(io::Write::write_all(&mut out, &piece))? == Reader::Gone {
            return Ok(Reader::Gone);
        }
    }
    Ok(Reader::There)
}

/// Brings in the sessions of a file, one after the other.
///
/// # Errors
/// The file cannot be read or is no export, it is cut or was changed, or the refusal. What came in before
/// stays.
pub(super) async fn import(path: &Path, common: &Common) -> Result<(), Failure> {
    let unreadable = |error: io::Error| {
        let why = text::export::unreadable(path.display(), error);
        Failure::new(Exit::Usage, "import_unusable", why)
    };
    // A newer version anywhere is refused before anything comes in.
    let mut whole = opened(path).map_err(unreadable)?;
    let mut file = Exports::new(BufReader::new(&whole));
    let mut is_empty = true;
    while let Some(lines) = file.next().map_err(unreadable)? {
        if is_empty || !is_cut_head(&lines) {
            let head = lines.split(|byte| *byte == b'\n').next();
            check_head(head.unwrap_or_default())?;
        }
        is_empty = false;
    }
    if is_empty {
        check_head(&[])?;
    }
    whole.rewind().map_err(unreadable)?;
    let mut file = Exports::new(BufReader::new(&whole));
    let mut imported = ImportResult::default();
    let result = async {
        while let Some(lines) = file.next().map_err(unreadable)? {
            if is_cut_head(&lines) && file.first_line > 1 {
                imported.broken_at_line = Some(file.first_line);
            } else {
                bring_in(lines, file.first_line, common, &mut imported).await?;
            }
            if imported.broken_at_line.is_some() {
                break;
            }
        }
        Ok(())
    };
    let result: Result<(), Failure> = result.await;
    let format = common.machine.format();
    if result.is_ok() || !imported.sessions.is_empty() {
        output::one(format, "imported", &imported, as_text)?;
    }
    result?;
    imported.broken_at_line.map_or(Ok(()), |line| {
        let why = if line > file.last_line {
            text::export::ends_early(file.last_line)
        } else {
            text::export::broken(line)
        };
        Err(Failure::new(Exit::Usage, "import_unusable", why))
    })
}

/// A file that can be read twice: what a pipe has, or stdin for `-`, is copied to one without a name.
fn opened(path: &Path) -> io::Result<File> {
    let mut found = if path == Path::new("-") {
        None
    } else {
        let found = File::open(path)?;
        if found.metadata()?.is_file() {
            return Ok(found);
        }
        Some(found)
    };
    let mut copy = tempfile::tempfile()?;
    match &mut found {
        Some(pipe) => io::copy(pipe, &mut copy)?,
        None => io::copy(&mut io::stdin().lock(), &mut copy)?,
    };
    copy.rewind()?;
    Ok(copy)
}

/// Whether nothing is left of an export but the beginning of its first line.
fn is_cut_head(lines: &[u8]) -> bool {
    !lines.contains(&b'\n')
}

/// Imports one export.
async fn bring_in(
    lines: Vec<u8>,
    first_line: u64,
    common: &Common,
    imported: &mut ImportResult,
) -> Result<(), Failure> {
    if lines.len() > MAX_IMPORT_BYTES {
        let why = text::export::too_long(first_line, MAX_IMPORT_BYTES >> 20);
        return Err(Failure::new(Exit::Usage, "body_too_large", why));
    }
    let import = async |client: &Client| {
        let lines = lines.clone();
        client.post_lines("/api/sessions/import", lines).await
    };
    let more: ImportResult = change(common, Repeat::Untaken, import).await?;
    imported.sessions.extend(more.sessions);
    let broken = more.broken_at_line.map(|line| first_line + line - 1);
    imported.broken_at_line = broken;
    Ok(())
}

fn as_text(imported: &ImportResult) -> String {
    let lines = imported.sessions.iter().map(|session| {
        let ImportedSession {
            session_id: id,
            from,
            messages,
            renamed,
        } = session;
        let mut line = text::export::imported(id, *messages);
        if id != from {
            line += &text::export::other_id(from);
        }
        if *renamed > 0 {
            line += &text::export::renamed(*renamed);
        }
        line + "\n"
    });
    lines.collect()
}

/// The exports in a file, of which each begins with its schema.
struct Exports<R> {
    file: R,
    /// The line that begins the next one.
    ahead: Vec<u8>,
    /// The numbers of the first and the last line of the last one, from 1.
    first_line: u64,
    last_line: u64,
}

impl<R: BufRead> Exports<R> {
    fn new(file: R) -> Self {
        Self {
            file,
            ahead: Vec::new(),
            first_line: 1,
            last_line: 0,
        }
    }

    /// The lines of the next one, at most one more byte than can be imported.
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut lines = std::mem::take(&mut self.ahead);
        self.first_line = self.last_line + 1;
        self.last_line += u64::from(!lines.is_empty());
        while lines.len() <= MAX_IMPORT_BYTES {
            let room = (MAX_IMPORT_BYTES + 1 - lines.len()) as u64;
            let mut line = Vec::new();
            if self.file.by_ref().take(room).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            if !lines.is_empty() && begins(&line) {
                self.ahead = line;
                break;
            }
            lines.append(&mut line);
            self.last_line += 1;
        }
        Ok((!lines.is_empty()).then_some(lines))
    }
}
