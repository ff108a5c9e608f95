//! The built-in list: which programs only read, and with which arguments.
//!
//! A rule names what it accepts. An option that it does not name, an abbreviation of one, and a
//! pattern of files that could become an option are refused, so a new version of a program can
//! add no hole. Only programs that have never had an option that writes, sends or runs, such as
//! `ls` and `grep`, may have any.

mod awk;
mod find;
mod git;
mod git_rules;
mod odd;
mod options;
mod sed;
mod table;

use crate::script::{Command, Word};
use options::Options;

/// Why a command is not in the list.
pub(crate) type Why = &'static str;

const UNKNOWN: Why = "not a program of the list";

/// How a program is judged.
enum Rule {
    /// It reads, whatever its arguments say.
    Always,
    /// It reads with these options.
    With(Options),
    /// It only shows its version, with this option, too.
    Version(&'static str),
    /// A function of its arguments.
    Only(fn(&[Word]) -> Result<(), Why>),
}

/// Whether a command only reads.
pub(crate) fn reads(command: &Command) -> Result<(), Why> {
    let rule = rule(&command.program)?;
    let arguments = command.arguments.as_slice();
    if let [only] = arguments {
        // Some show their help in a pager, which their settings name.
        let has_help = !matches!(rule, Rule::Version(_));
        let only = only.literal();
        if only == Some("--version") || (has_help && only == Some("--help")) {
            return Ok(());
        }
    }
    match rule {
        Rule::Always => Ok(()),
        Rule::With(options) => options.check(arguments).map(|_| ()),
        Rule::Version(option) => match arguments {
            [only] if only.literal() == Some(option) => Ok(()),
            _ => Err("more than its version is asked for"),
        },
        Rule::Only(check) => check(arguments),
    }
}

/// Whether a program reads with arguments that are not known yet.
fn always_reads(program: &str) -> Result<(), Why> {
    match rule(program)? {
        Rule::Always => Ok(()),
        _ => Err("it hands names of files to a program that could take them for options"),
    }
}

fn rule(program: &str) -> Result<Rule, Why> {
    let system = ["/bin/", "/usr/bin/"];
    let name = system.iter().find_map(|home| program.strip_prefix(home));
    let name = name.unwrap_or(program);
    if name.contains('/') {
        return Err("a program by its path");
    }
    table::rule(name).ok_or(UNKNOWN)
}
