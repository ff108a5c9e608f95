//! What was found damaged, and whether the last start came to serving.

use samovar_core::Damage;
use samovar_locale::doctor as text;
use samovar_server::data_dir::{Run, RunState, damages, last_backup, unheld};

use super::{Finding, Mode, disk};
use crate::config::Setup;
use crate::exit::Exit;
use crate::timestamps::moment;

/// The damage that is reported so far.
pub(super) fn known(found: &Setup) -> Vec<Damage> {
    let dir = &found.config.data_dir;
    if dir.exists() {
        damages(&unheld(dir))
    } else {
        Vec::new()
    }
}

/// Everything that the data directory tells of damage. What `--fix` has just moved aside is told, and
/// is mended.
pub(super) fn examine(found: &Setup, care: Mode, known: &[Damage]) -> Vec<Finding> {
    let dir = &found.config.data_dir;
    if !dir.exists() {
        return Vec::new();
    }
    let dir = unheld(dir);
    let mut findings: Vec<_> = damages(&dir)
        .iter()
        .map(|info| {
            let finding = damage(found, info);
            if care == Mode::Look || known.iter().any(|other| other.id == info.id) {
                return finding;
            }
            Finding {
                exit: Exit::Ok,
                is_mended: true,
                ..finding
            }
        })
        .collect();
    if findings.is_empty() {
        let fact = text::damage_none().to_owned();
        findings.push(Finding::good("damage", fact, text::damage_why()));
    }
    if let Some(last) = last_backup(&dir) {
        let fact = text::backup_last(moment(last.created_at), &last.path);
        findings.push(Finding::good("backup", fact, text::backup_why()));
    } else {
        let fact = text::backup_none().to_owned();
        let finding = Finding::good("backup", fact, text::backup_why());
        findings.push(finding.with_command("samovar backup \"$HOME/samovar-backup\""));
    }
    if Run::of(&dir).state == RunState::Starting {
        let fact = text::start_died().to_owned();
        findings.push(Finding::good("start", fact, text::start_why()));
    }
    findings
}

fn damage(found: &Setup, info: &Damage) -> Finding {
    let dir = &found.config.data_dir;
    let fact = match (&info.session_id, &info.kept_in) {
        (Some(session), _) => text::damaged_session(session, &info.reason),
        (None, Some(kept)) => {
            let kept = dir.join(kept);
            let mebibytes = disk::mebibytes(&kept);
            text::damaged_store(kept.display(), mebibytes, &info.reason)
        }
        (None, None) => info.reason.clone(),
    };
    let command = match (&info.session_id, &info.kept_in) {
        (Some(session), _) => format!("samovar sessions delete {session}"),
        (None, Some(kept)) => disk::remove(&dir.join(kept)),
        (None, None) => {
            let report = dir.join("damaged").join(format!("{}.json", info.id));
            format!("rm '{}'", report.display())
        }
    };
    Finding::bad("damage", Exit::TurnFailed, fact, info.lost.clone()).with_command(command)
}
