//! What a person is told before a command of what an undo will not take back.

use samovar_locale as locale;
use samovar_sandbox::Jail;

use super::scan::scan;
use super::{Bounds, Gaps, Uncovered, Why};

/// Paths that a note names for one reason, at most.
const MAX_NAMED: usize = 3;

/// What an undo would not take back of what commands change in a folder; `None` where it takes all
/// back. Nothing is recorded.
pub fn not_covered(jail: &Jail) -> Option<String> {
    note(&scan(jail, &Bounds::default()).map(|scan| scan.gaps))
}

/// The same after a look.
pub(crate) fn note(looked: &Result<Gaps, Uncovered>) -> Option<String> {
    match looked {
        Ok(gaps) => of_parts(gaps),
        Err(why) => Some(of_all(why)),
    }
}

/// What a person is told of a folder that is not covered.
fn of_all(why: &Uncovered) -> String {
    match why {
        Uncovered::Files(most) => locale::undo::uncovered_files(most),
        Uncovered::Entries(most) => locale::undo::uncovered_entries(most),
        Uncovered::Rules(most) => locale::undo::uncovered_rules(most >> 10),
        Uncovered::Bytes(most) => locale::undo::uncovered_bytes(most >> 20),
        Uncovered::Failed(cause) => locale::undo::uncovered(cause),
    }
}

/// What a person is told of the parts that are not covered.
fn of_parts(gaps: &Gaps) -> Option<String> {
    let sentence = |why: Why, paths: String| match why {
        Why::Repository => locale::undo::gap_repository(paths),
        Why::Unreadable => locale::undo::gap_unreadable(paths),
        Why::Deep => locale::undo::gap_deep(paths),
        Why::Special => locale::undo::gap_special(paths),
        Why::Name => locale::undo::gap_name(paths),
        Why::Large => locale::undo::gap_large(paths),
    };
    let lines = Why::ALL.iter().filter_map(|why| {
        let paths: Vec<&str> = gaps
            .iter()
            .filter_map(|(found, path)| (found == why).then_some(path.as_str()))
            .collect();
        let paths = named(&paths)?;
        Some(sentence(*why, paths))
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The beginning of a list of paths; `None` if there are none.
fn named(paths: &[&str]) -> Option<String> {
    let more = if paths.len() > MAX_NAMED { ", …" } else { "" };
    let shown = paths.iter().take(MAX_NAMED);
    let shown: Vec<String> = shown.map(|path| locale::quoted(path).to_string()).collect();
    (!shown.is_empty()).then(|| shown.join(", ") + more)
}
