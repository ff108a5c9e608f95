//! `samovar doctor --deep`: every row of the history and of the journal, read and verified.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;

use samovar_core::Broken;
use samovar_locale::doctor as text;
use samovar_server::WalkReport;
use samovar_server::data_dir::{HistoryReport, read_history, take};
use tokio::process::Command;

use super::Finding;
use crate::config::Setup;
use crate::exit::Exit;
use crate::walk::walker;

/// Reads everything, unless another process has the stores open: only one may.
pub(super) async fn examine(found: &Setup) -> Vec<Finding> {
    let dir = &found.config.data_dir;
    if !dir.exists() {
        return Vec::new();
    }
    let _lock = match take(dir) {
        Ok(lock) => lock,
        Err(error) if error.code() == "data_dir_busy" => {
            let fact = text::deep_held().to_owned();
            let held = Finding::bad("rows", Exit::Busy, fact, text::deep_why());
            return vec![held];
        }
        Err(error) => return vec![odd(&error.to_string())],
    };
    let (journal, history) = tokio::join!(walk(dir), read_history(dir));
    let mut findings = Vec::new();
    let journal = journal.unwrap_or_else(|why| {
        findings.push(unread(&why));
        WalkReport::default()
    });
    let history = history.unwrap_or_else(|broken| {
        findings.push(unread(&broken));
        HistoryReport::default()
    });
    let (rows, sessions, messages) = (journal.rows, history.sessions, history.messages);
    let fact = text::deep_read(rows, sessions, messages);
    let of_journal = journal.odd.iter();
    findings.extend(of_journal.map(|(what, why)| odd(&format!("{what}: {why}"))));
    findings.extend(history.odd.iter().map(|why| odd(why)));
    let mut damaged = journal.damaged;
    damaged.extend(history.damaged);
    let sessions = damaged.iter().map(|(session, why)| {
        let fact = text::deep_damaged(session, why);
        let finding = Finding::bad("rows", Exit::TurnFailed, fact, text::deep_damaged_why());
        finding.with_command(format!("samovar sessions delete {session}"))
    });
    findings.extend(sessions);
    if let Some(first) = history.images.first() {
        let fact = text::deep_images(history.images.len() as u64, first);
        let why = text::deep_images_why();
        findings.push(Finding::bad("rows", Exit::TurnFailed, fact, why));
    }
    if findings.is_empty() {
        findings.push(Finding::good("rows", fact, text::deep_why()));
    }
    findings
}

fn odd(why: &str) -> Finding {
    let fact = text::deep_odd(why);
    Finding::bad("rows", Exit::TurnFailed, fact, text::deep_odd_why())
}

/// A store of which nothing can be read. Only one that is damaged is set aside; a start refuses any
/// other, such as one of another format.
fn unread(broken: &Broken) -> Finding {
    let why = match broken {
        Broken::Damaged(_) => text::deep_aside_why(),
        Broken::Full(_) | Broken::Starved(_) | Broken::ReadOnly(_) | Broken::Io(_) => {
            text::deep_unread_why()
        }
    };
    let fact = text::deep_odd(broken);
    Finding::bad("rows", Exit::TurnFailed, fact, why)
}

/// Lets a process of its own read the journal, which may die of that.
async fn walk(dir: &Path) -> Result<WalkReport, Broken> {
    let walker = walker();
    let args = walker.args.iter().map(AsRef::as_ref);
    let output = Command::new(&walker.program)
        .args(args.chain([dir.as_os_str()]).collect::<Vec<&OsStr>>())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|error| Broken::Io(error.to_string()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        return serde_json::from_str(&said).map_err(|error| Broken::Damaged(error.to_string()));
    }
    let why = [said, String::from_utf8_lossy(&output.stderr)].concat();
    let why = format!("{}: {}", output.status, why.trim());
    // Another exit code means that it lives and cannot read, which is no damage.
    let is_damaged = output
        .status
        .code()
        .is_none_or(|code| code == Exit::Damaged as i32);
    Err(if is_damaged {
        Broken::Damaged(why)
    } else {
        Broken::Io(why)
    })
}
