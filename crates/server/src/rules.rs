//! The rules that people made, kept in `rules.json` (TL-5).

use samovar_core::{Code, Error, Rule};
use samovar_engine::{MAX_RULES, RuleBook};
use samovar_locale as locale;
use samovar_sandbox::{SmallFiles, Survival};

const NAME: &str = "rules.json";

/// Bytes of the file, at most: more than that many rules have.
const MAX_BYTES: u64 = 8 * 1024 * MAX_RULES as u64;

/// The rules of a data directory, for a workspace.
///
/// # Errors
/// What the system said, or that the file is damaged.
pub(crate) fn open(files: SmallFiles, workspace: String) -> std::io::Result<RuleBook> {
    let rules = kept(&files)?;
    let save = move |rules: &[Rule]| {
        let text = serde_json::to_vec(rules).map_err(|error| not_kept(&error.into()))?;
        let kept = files.write(NAME, &text, Survival::Crash);
        kept.map_err(|error| not_kept(&error))
    };
    Ok(RuleBook::new(workspace, rules, save))
}

/// The rules that a data directory keeps.
///
/// # Errors
/// What the system said, or that the list is damaged.
pub(crate) fn kept(files: &SmallFiles) -> std::io::Result<Vec<Rule>> {
    match files.read(NAME, MAX_BYTES)? {
        Some(text) => Ok(serde_json::from_str(&text)?),
        None => Ok(Vec::new()),
    }
}

fn not_kept(error: &std::io::Error) -> Error {
    let why = locale::approval::not_kept(error);
    Error::new(Code::StoreFull, why)
}
