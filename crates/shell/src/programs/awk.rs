//! awk, when its program can only print.

use super::Why;
use super::options::{Options, Style};
use crate::script::Word;

const OPTIONS: Options = Options::new("F:v:", "").style(Style::Leading);

/// A program of awk runs another through these alone: `print | command`, `command | getline`,
/// `system`, and an indirect call or an extension after `@`. It writes through `print > file`.
const WAYS_OUT: [&str; 4] = ["|", "@", "getline", "system"];

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
    // gawk opens a connection for such a name, and some versions read options after operands.
    let is_odd = |word: &&Word| word.may_be_option() || word.text.contains("/inet");
    if files.iter().any(is_odd) {
        return Err("a file that it could take for something else");
    }
    Ok(())
}
