//! Whether the audit's chain is whole, as far as its own file tells: the head is in the history, and
//! only the process that has that open reads it.

use samovar_locale::doctor as text;
use samovar_server::data_dir::examine_audit;

use super::Finding;
use crate::config::Setup;
use crate::exit::Exit;

/// Reads the whole chain.
pub(super) fn examine(found: &Setup) -> Option<Finding> {
    let dir = &found.config.data_dir;
    if !dir.exists() {
        return None;
    }
    let bad = |fact| {
        let bad = Finding::bad("audit", Exit::TurnFailed, fact, text::audit_why());
        bad.with_command("samovar audit verify")
    };
    Some(match examine_audit(dir) {
        Err(error) => bad(text::audit_unreadable(error)),
        Ok(verdict) => match verdict.problems.first() {
            Some(problem) => bad(text::audit_broken(problem.record)),
            None if verdict.records == 0 => {
                let fact = text::audit_none().to_owned();
                Finding::good("audit", fact, text::audit_why())
            }
            None => {
                let fact = text::audit_whole(verdict.records);
                Finding::good("audit", fact, text::audit_why())
            }
        },
    })
}
