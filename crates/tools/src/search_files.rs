//! `search_files`: lines that match a regular expression.

mod hunt;

use std::ops::ControlFlow;
use std::time::Duration;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use samovar_core::Outcome;
use samovar_sandbox::{JailError, JailPath, Kind};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::caller::{Caller, Stop};
use crate::filter::Filter;
use crate::refusal::Refusal;
use crate::survey::{LeftOut, survey};
use crate::text::{here, path, plural, visible};
use crate::tool::{Access, FileTool};
use crate::workspace::Workspace;

use hunt::Hunt;

/// The longest pattern that is taken, in bytes.
const MAX_PATTERN_BYTES: usize = 1024;
/// Memory that a compiled pattern may take, and what it remembers while it searches, in bytes each.
const MAX_PATTERN_MEMORY: usize = 10 * 1024 * 1024;

/// Finds the lines that match a regular expression, in a file or in a folder with all below it,
/// without what .gitignore names.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchFiles {
    /// The regular expression. If nothing matches, case is ignored.
    pattern: String,
    /// A file or folder; leave it out for the whole workspace.
    path: Option<String>,
    /// Such as * for names of files, or **/* for paths.
    glob: Option<String>,
}

impl FileTool for SearchFiles {
    const NAME: &'static str = "search_files";
    const ACCESS: Access = Access::Read;
    const TIMEOUT: Duration = Duration::from_secs(30);

    fn run(self, workspace: &Workspace, caller: &Caller) -> Result<Outcome, Refusal> {
        let stop = &caller.stop;
        let (start, mut lead) = self.start(workspace)?;
        let mut glob = self.glob.as_deref();
        let mut found = self.search(workspace, stop, &start, glob)?;
        if found.hunt.has_met_no_file()
            && let Some(glob) = glob.take()
        {
            lead = format!("{lead}no file matches the glob {glob:?}; in all files: ");
            found = self.search(workspace, stop, &start, None)?;
        }
        let Found {
            hunt,
            case,
            left_out,
        } = found;
        let head = match (hunt.has_matches(), case) {
            (true, Case::Kept) => hunt.count(),
            (true, Case::Ignored) => format!("{}, all by ignoring case", hunt.count()),
            (false, _) => self.no_match(&start, glob, &hunt),
        };
        Ok(hunt.present(lead + &head, &left_out))
    }

    fn file(&self) -> &str {
        self.path.as_deref().unwrap_or(".")
    }
}

impl SearchFiles {
    /// Where to search, and the words about it: the whole workspace for a path that leads nowhere,
    /// since a search there finds what was meant.
    fn start(&self, workspace: &Workspace) -> Result<(JailPath, String), Refusal> {
        let asked = workspace.place(self.path.as_deref().unwrap_or("."));
        let asked = asked.and_then(|place| match workspace.jail().open_file(&place) {
            Err(error @ JailError::NotFound { .. }) => Err(error.into()),
            _ => Ok(place),
        });
        match asked {
            Ok(place) => Ok((place, String::new())),
            Err(refusal) => match refusal.lost() {
                Some(lost) => Ok((
                    workspace.place(".")?,
                    format!("{}; in this folder: ", lost.why),
                )),
                None => Err(refusal),
            },
        }
    }

    /// Searches as the pattern is written, and without regard to case if that finds nothing.
    fn search<'a>(
        &self,
        workspace: &Workspace,
        stop: &'a Stop,
        start: &JailPath,
        glob: Option<&str>,
    ) -> Result<Found<'a>, Refusal> {
        let filter = Filter::new(glob)?;
        let mut hunt = Hunt::new(compile(&self.pattern, Case::Kept)?, stop);
        let mut case = Case::Kept;
        let mut left_out = search(workspace, stop, start, &filter, &mut hunt)?;
        // Without case, a pattern may become too large.
        if !hunt.has_matches()
            && let Ok(matcher) = compile(&self.pattern, Case::Ignored)
        {
            (hunt, case) = (Hunt::new(matcher, stop), Case::Ignored);
            left_out = search(workspace, stop, start, &filter, &mut hunt)?;
        }
        Ok(Found {
            hunt,
            case,
            left_out,
        })
    }

    /// What was searched in vain.
    fn no_match(&self, start: &JailPath, glob: Option<&str>, hunt: &Hunt<'_>) -> String {
        let pattern = visible(&self.pattern);
        let Some(files) = hunt.files_of_folder() else {
            return format!("no match for \"{pattern}\" in {}, in any case", path(start));
        };
        let here = here(start);
        let of_glob = match glob {
            Some(glob) => format!(" that match the glob {glob:?}"),
            None => String::new(),
        };
        let files = plural(files, "file", "files");
        format!("no match for \"{pattern}\" in any case, in {files} of {here}{of_glob}")
    }
}

/// What a search found.
struct Found<'a> {
    hunt: Hunt<'a>,
    case: Case,
    left_out: LeftOut,
}

/// Whether a search tells upper case from lower case.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Kept,
    Ignored,
}

fn search(
    workspace: &Workspace,
    stop: &Stop,
    start: &JailPath,
    filter: &Filter,
    hunt: &mut Hunt<'_>,
) -> Result<LeftOut, Refusal> {
    let jail = workspace.jail();
    let left_out = match jail.open_file(start) {
        Ok(file) => {
            hunt.search(start, file);
            LeftOut::default()
        }
        Err(JailError::IsADirectory { .. }) => {
            hunt.enter_folder();
            let mut starved = None;
            let left_out = survey(workspace, stop, start, usize::MAX, |entry| {
                if entry.kind == Kind::File && filter.takes(&entry.place, start) {
                    hunt.look_at_name(&entry.place);
                    match jail.open_file(&entry.place) {
                        Ok(file) => hunt.search(&entry.place, file),
                        // What there was no descriptor for was not searched, whatever it holds.
                        Err(error @ JailError::NoDescriptor { .. }) => {
                            starved = Some(error);
                            return ControlFlow::Break(());
                        }
                        Err(_) => hunt.miss(),
                    }
                }
                if hunt.is_over() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })?;
            match starved {
                Some(error) => return Err(error.into()),
                None => left_out,
            }
        }
        Err(refused) => return Err(refused.into()),
    };
    stop.check()?;
    Ok(left_out)
}

fn compile(pattern: &str, case: Case) -> Result<RegexMatcher, Refusal> {
    let bytes = pattern.len();
    if !(1..=MAX_PATTERN_BYTES).contains(&bytes) {
        let why = format!("the pattern has 1 to {MAX_PATTERN_BYTES} bytes, this one has {bytes}");
        return Err(Refusal::of_arguments(why));
    }
    RegexMatcherBuilder::new()
        .multi_line(true)
        .case_insensitive(case == Case::Ignored)
        // `$` also stands before `\r\n`; a line still ends with `\n`, as it does for the searcher.
        .crlf(true)
        .line_terminator(Some(b'\n'))
        .size_limit(MAX_PATTERN_MEMORY)
        .dfa_size_limit(MAX_PATTERN_MEMORY)
        .build(pattern)
        .map_err(|error| {
            Refusal::of_arguments(format!("the pattern is not valid: {error}; correct it"))
        })
}
