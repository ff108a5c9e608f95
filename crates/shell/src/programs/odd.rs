//! Programs whose arguments are not only options: builtins of the shell, and some with a mode.

use super::Why;
use super::options::Options;
use crate::script::Word;

const MORE: Why = "arguments that are not known to only read";

/// The texts of arguments, if none is a pattern.
fn literals(arguments: &[Word]) -> Result<Vec<&str>, Why> {
    let texts = arguments.iter().map(Word::literal);
    texts.collect::<Option<_>>().ok_or("a pattern of files")
}

fn accept(is_accepted: bool) -> Result<(), Why> {
    if is_accepted { Ok(()) } else { Err(MORE) }
}

/// `printf` of the shell: `-v` and the conversion `%n` set a variable, such as PATH, and the
/// subscript of a variable can run a command.
pub(super) fn printf(arguments: &[Word]) -> Result<(), Why> {
    let arguments = match arguments {
        [first, rest @ ..] if first.text == "--" => rest,
        [first, ..] if first.may_be_option() => return Err(MORE),
        all => all,
    };
    let format = arguments.first().and_then(Word::literal).ok_or(MORE)?;
    accept(!sets_a_variable(format))
}

fn sets_a_variable(format: &str) -> bool {
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        let conversion =
            rest[at + 1..].trim_start_matches(|c: char| !c.is_alphabetic() && c != '%');
        let conversion = conversion.trim_start_matches(['h', 'l', 'L', 'j', 'z', 't', 'q']);
        if conversion.starts_with('n') {
            return true;
        }
        rest = conversion.strip_prefix('%').unwrap_or(conversion);
    }
    false
}

/// `test` and `[` of the shell: `-v` and `-R` take a variable, whose subscript can run a command. A
/// pattern such as `-?` becomes one of them where a file has its name.
pub(super) fn test(arguments: &[Word]) -> Result<(), Why> {
    accept(
        !literals(arguments)?
            .iter()
            .any(|word| matches!(*word, "-v" | "-R")),
    )
}

/// `command` of the shell, when it only looks a name up.
pub(super) fn command(arguments: &[Word]) -> Result<(), Why> {
    accept(matches!(literals(arguments)?[..], ["-v" | "-V", ..]))
}

/// The date; an operand without a plus sets it.
pub(super) fn date(arguments: &[Word]) -> Result<(), Why> {
    const OPTIONS: Options = Options::new(
        "uRI::d:r:",
        "utc universal date= reference= iso-8601? rfc-3339= rfc-email",
    );
    let found = OPTIONS.check(arguments)?;
    accept(found.operands.iter().all(|word| word.text.starts_with('+')))
}

/// The list of an archive: `tf`, `-tvf`, `tzf` and the like, then the archive and members.
pub(super) fn tar(arguments: &[Word]) -> Result<(), Why> {
    let (mode, operands) = arguments.split_first().ok_or(MORE)?;
    let mode = mode.literal().ok_or(MORE)?.trim_start_matches('-');
    // An archive whose name has a colon is on another host; a pattern can match such a name.
    let is_safe = |word: &Word| {
        let name = word.literal().unwrap_or("-");
        !name.starts_with('-') && !name.contains(':')
    };
    let is_list = mode.contains('t') && mode.ends_with('f');
    let is_plain = mode.chars().all(|letter| "tvzjJaf".contains(letter));
    accept(is_list && is_plain && !operands.is_empty() && operands.iter().all(is_safe))
}

/// The list of an archive.
pub(super) fn unzip(arguments: &[Word]) -> Result<(), Why> {
    let (mode, operands) = arguments.split_first().ok_or(MORE)?;
    let is_list = matches!(mode.literal(), Some("-l" | "-v" | "-Z1" | "-lv"));
    accept(is_list && !operands.iter().any(Word::may_be_option))
}

/// What the addresses and routes are: `ip addr`, `ip route show` and the like.
pub(super) fn ip(arguments: &[Word]) -> Result<(), Why> {
    let words = literals(arguments)?;
    let is_switch = |word: &&str| matches!(*word, "-4" | "-6" | "-br" | "-brief" | "-s" | "-c");
    let after: Vec<&str> = words.into_iter().skip_while(is_switch).collect();
    let object = "a addr address l link r route n neigh";
    let is_object = |word: &str| object.split(' ').any(|known| known == word);
    accept(match after[..] {
        [what] | [what, "show" | "list" | "ls"] | [what, "show", "dev", _] => is_object(what),
        _ => false,
    })
}

/// Installed packages of Debian.
pub(super) fn dpkg(arguments: &[Word]) -> Result<(), Why> {
    let (mode, operands) = arguments.split_first().ok_or(MORE)?;
    let is_query = matches!(mode.literal(), Some("-l" | "-L" | "-s" | "-S"));
    accept(is_query && !operands.iter().any(Word::may_be_option))
}

/// A name in one of the local tables; others ask a server.
pub(super) fn getent(arguments: &[Word]) -> Result<(), Why> {
    accept(matches!(
        literals(arguments)?[..],
        ["passwd" | "group" | "services" | "protocols", ..]
    ))
}

/// A dump; a second operand is the file that it writes. Its options cannot be bundled: `-ps` is
/// one of them, and after the first operand they are names of files.
pub(super) fn xxd(arguments: &[Word]) -> Result<(), Why> {
    let words = literals(arguments)?;
    let mut words = words.into_iter();
    let mut operands = 0;
    while let Some(word) = words.next() {
        match word {
            "-a" | "-b" | "-e" | "-i" | "-p" | "-ps" | "-u" if operands == 0 => {}
            "-c" | "-g" | "-l" | "-s" if operands == 0 => {
                let value = words.next().ok_or(MORE)?;
                accept(value.starts_with(|c: char| c.is_ascii_digit()))?;
            }
            _ => {
                accept(word == "-" || !word.starts_with(['-', '+']))?;
                operands += 1;
            }
        }
    }
    accept(operands <= 1)
}
