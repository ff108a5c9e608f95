//! `search_files`: lines that match a regular expression.

mod hunt;

use std::ops::ControlFlow;
use std::time::Duration;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use samovar_core::Outcome;
use samovar_sandbox::{JailError, Kind};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::filter::Filter;
use crate::survey::{LeftOut, survey};
use crate::tool::{Access, FileTool, Refusal};
use crate::workspace::{Stop, Workspace};

use hunt::Hunt;

/// The longest pattern that is taken, in bytes.
const MAX_PATTERN_BYTES: usize = 1024;
/// Memory that a compiled pattern may take, and what it remembers while it searches, in bytes each.
const MAX_PATTERN_MEMORY: usize = 10 * 1024 * 1024;

/// Finds the lines that match a regular expression, in a file or in all files of a folder and the
/// folders in it. What .gitignore names, the folder .git, binary files and files over 8 MiB are
/// left out. At most 200 lines are shown.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchFiles {
    /// The regular expression, without look-around and backreferences; (?i) in front ignores case.
    pattern: String,
    /// The file or folder, relative to the workspace; left out, the workspace itself.
    path: Option<String>,
    /// Searches only files that match: a glob of names such as *.rs, or, with a slash, of paths
    /// below the folder such as src/**/*.rs.
    glob: Option<String>,
}

impl FileTool for SearchFiles {
    const NAME: &'static str = "search_files";
    const ACCESS: Access = Access::Read;
    const TIMEOUT: Duration = Duration::from_secs(30);

    fn run(self, workspace: &Workspace, stop: &Stop) -> Result<Outcome, Refusal> {
        let jail = workspace.jail();
        let start = workspace.place(self.path.as_deref().unwrap_or("."))?;
        let filter = Filter::new(self.glob.as_deref())?;
        let mut hunt = Hunt::new(compile(&self.pattern)?, stop);
        let left_out = match jail.open_file(&start) {
            Ok(file) => {
                hunt.search(&start, file);
                LeftOut::default()
            }
            Err(JailError::IsADirectory { .. }) => {
                survey(workspace, stop, &start, usize::MAX, |entry| {
                    if entry.kind == Kind::File && filter.takes(&entry.place, &start) {
                        match jail.open_file(&entry.place) {
                            Ok(file) => hunt.search(&entry.place, file),
                            Err(_) => hunt.miss(),
                        }
                    }
                    if hunt.is_over() {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                })?
            }
            Err(refused) => return Err(refused.into()),
        };
        stop.check()?;
        Ok(hunt.present(&left_out))
    }
}

fn compile(pattern: &str) -> Result<RegexMatcher, Refusal> {
    let bytes = pattern.len();
    if !(1..=MAX_PATTERN_BYTES).contains(&bytes) {
        let why = format!("the pattern has 1 to {MAX_PATTERN_BYTES} bytes, this one has {bytes}");
        return Err(why.into());
    }
    RegexMatcherBuilder::new()
        .multi_line(true)
        // `$` also stands before `\r\n`; a line still ends with `\n`, as it does for the searcher.
        .crlf(true)
        .line_terminator(Some(b'\n'))
        .size_limit(MAX_PATTERN_MEMORY)
        .dfa_size_limit(MAX_PATTERN_MEMORY)
        .build(pattern)
        .map_err(|error| format!("the pattern is not valid: {error}; correct it").into())
}
