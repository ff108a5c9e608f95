//! find and xargs, which hand names of files to other programs.

use super::options::{Options, Style};
use super::{Why, always_reads};
use crate::script::Word;

/// Tests and actions without a value.
const ALONE: &str = "-empty -depth -d -prune -print -print0 -ls -quit -o -or -a -and -not -follow \
    -xdev -mount -true -false -readable -writable -executable -nouser -nogroup -daystart -noleaf \
    -H -L -P -E -X -x -s";

/// Tests and actions with one value.
const WITH_VALUE: &str = "-name -iname -path -ipath -wholename -iwholename -regex -iregex -type \
    -xtype -size -mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -newermt -newerct \
    -newerat -perm -user -group -uid -gid -maxdepth -mindepth -printf -links -inum -samefile \
    -regextype -lname -ilname -fstype -used";

pub(super) fn check(arguments: &[Word]) -> Result<(), Why> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word.pattern_at == Some(0) {
            return Err("a pattern of files that could become an action");
        }
        if !word.may_be_option() {
            continue;
        }
        let primary = word.literal().unwrap_or_default();
        if is_in(ALONE, primary) || is_level(primary) {
            continue;
        }
        if primary == "-exec" {
            let rest = words.as_slice();
            let is_end = |word: &Word| matches!(word.literal(), Some(";" | "+"));
            let end = rest.iter().position(is_end).ok_or("an open `-exec`")?;
            always(&rest[..end])?;
            words = rest[end + 1..].iter();
        } else if is_in(WITH_VALUE, primary) {
            value(words.next().ok_or("a test without its value")?)?;
        } else {
            return Err("an action that is not known to only read");
        }
    }
    Ok(())
}

fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// `-O2`, how much find optimises.
fn is_level(word: &str) -> bool {
    matches!(word.strip_prefix("-O"), Some("0" | "1" | "2" | "3"))
}

/// A value can begin with a dash when it is a time, a size or a mode: `-mtime -7`, `-perm -u+x`.
fn value(word: &Word) -> Result<(), Why> {
    let after_dash = word.text.strip_prefix('-').unwrap_or_default();
    let is_mode = |c: char| c.is_ascii_digit() || "ugoarwxst+=,cbkMG".contains(c);
    if word.pattern_at != Some(0) && (!word.may_be_option() || after_dash.chars().all(is_mode)) {
        return Ok(());
    }
    Err("a value that could become an action")
}

/// A command of which some words are names of files, so its program must be in the list with any.
fn always(words: &[Word]) -> Result<(), Why> {
    let program = words.first().and_then(Word::literal).ok_or("no program")?;
    always_reads(program)
}

const XARGS: Options = Options::new(
    "0rtn:L:P:I:d:s:",
    "null no-run-if-empty verbose max-args= max-lines= max-procs= delimiter=",
)
.style(Style::Leading);

pub(super) fn check_xargs(arguments: &[Word]) -> Result<(), Why> {
    let found = XARGS.check(arguments)?;
    let Some(program) = found.operands.first() else {
        return Ok(());
    };
    // xargs puts its input in place of this text, in the name of the program, too.
    let program = program.literal().ok_or("no program")?;
    if found.values.iter().any(|value| program.contains(value)) {
        return Err("a place for its input in the name of the program");
    }
    always_reads(program)
}
