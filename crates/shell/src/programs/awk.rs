//! awk, when its program can only print.

use super::Why;
use super::options::{Options, Style};
use crate::script::Word;

const OPTIONS: Options = Options::new("F:v:", "").style(Style::Leading);

/// A program of awk runs another through these alone: `print | command`, `command | getline`,
/// `system`, and an indirect call or an extension after `@`. It writes through `print > file`. It can
/// also change which files it reads, of which gawk opens some as connections; a table of all of its
/// variables is a way to that, too.
const WAYS_OUT: [&str; 8] = [
    "|", "@", "getline", "system", "ARGV", "ARGC", "SYMTAB", CONNECTION,
];

/// What names of gawk's connections begin with.
const CONNECTION: &str = "/inet";

pub(super) fn check(arguments: &[Word]) -> Result<(), Why> {
    let found = OPTIONS.check(arguments)?;
    let (program, files) = found.operands.split_first().ok_or("no program")?;
    let program = program.literal().ok_or("a pattern for a program")?;
    // These are conditions; of three bars the last one would be a pipe.
    let program = program.replace("||", " ").replace(">=", " ");
    // Before the first brace is a pattern, which prints nothing.
    let actions = program.find('{').map_or("", |at| &program[at..]);
    let writes = actions.contains("print") && actions.contains('>');
    if writes || WAYS_OUT.iter().any(|way| program.contains(way)) {
        return Err("a program that could write a file or run another");
    }
    // Some versions read options after operands.
    let is_odd = |word: &&Word| word.may_be_option() || word.text.contains(CONNECTION);
    let names_connection = |value: &&str| value.contains(CONNECTION);
    if files.iter().any(is_odd) || found.values.iter().any(names_connection) {
        return Err("a file that it could take for something else");
    }
    Ok(())
}
