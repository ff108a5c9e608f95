//! What the grammar reads, against what real shells hand to the programs.
//!
//! In the shell each program is a function that prints its words, so nothing runs.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use samovar_shell::{Join, Redirect, Script, parse};

use crate::table::rows;

const ORDINARY: &str = include_str!("ordinary.tsv");
const TRICKS: &str = include_str!("tricks.tsv");

/// Scripts for one shell process.
const BATCH: usize = 400;

/// Random strings of the short test; the long one has more.
const STRINGS: usize = 6_000;

/// What random strings are made of: each character that a shell treats in a special way, and some
/// tokens that come out rarely otherwise.
const PIECES: &str = "a·b·c·echo·A·é·1·2·9· · · · ·\t·\n·\n·'·'·\"·\"·\\·;·;·&·|·<·>·$·`·(·)·{·}·{}·{1}·[·]·*\
    ·?·~·~/·#· #·!· ! ·=·%·,·..·-·@·^·+·:·&&·||· 2>&1·>/dev/null·&>/dev/null· >&2· \\\n·\\\n\
    ·</dev/null·;&·&>";

const BASH: &str = r#"
exec 9>&1 1>/dev/null 2>/dev/null
status=$1 PATH=/nonexistent HOME='~'
case $2 in patterns) set -f ;; *) shopt -s failglob ;; esac
shift 2
# Without ends of lines, at which bash would write what it has: others of a pipe write, too.
command_not_found_handle() {
    builtin printf '%s\0' "$#" "${@//$'\n'/$'\001'}" >&9
    builtin return "$status"
}
builtins=$(compgen -b)
for name in $builtins; do
    case $name in
    builtin) ;;
    *) builtin eval "$name() { command_not_found_handle $name \"\$@\"; }" ;;
    esac
done
for script; do
    ( builtin eval -- "$script" )
    builtin printf 'end\0' >&9
done
"#;

const POSIX: &str = r#"
exec 9>&1 1>/dev/null 2>/dev/null
status=$1 names=$2 PATH=/nonexistent HOME='~'
shift 2
set -f
seen() { command printf '%s\0' "$#" "$@" >&9; return "$status"; }
for name in $names; do eval "$name() { seen $name \"\$@\"; }"; done
for script; do
    ( command eval "$script" )
    command printf 'end\0' >&9
done
"#;

/// The calls of programs in one script, sorted, because those of a pipe come in any order.
type Calls = Vec<Vec<String>>;

/// The calls that a shell makes when each program ends with `status`.
fn expected(script: &Script, folder: &Path, status: i32) -> Calls {
    let mut calls = Calls::new();
    let (mut last, mut is_skipped) = (0, false);
    for command in script.commands() {
        is_skipped = match command.join {
            Join::Then => false,
            Join::And => last != 0,
            Join::Or => last == 0,
            Join::Pipe => is_skipped,
        };
        if is_skipped {
            continue;
        }
        let is_there = |redirect: &Redirect| match redirect {
            Redirect::Read(file) => folder.join(file).exists(),
            Redirect::Discard | Redirect::Merge => true,
        };
        let is_called = command.redirects.iter().all(is_there) && !command.program.contains('/');
        last = if is_called { status } else { 127 };
        if is_called {
            let words = command.arguments.iter().map(|word| word.text.clone());
            calls.push(
                std::iter::once(command.program.clone())
                    .chain(words)
                    .collect(),
            );
        }
    }
    calls.sort();
    calls
}

/// The calls of each script that a shell prints.
fn printed(output: &[u8]) -> Vec<Calls> {
    let text = String::from_utf8(output.to_vec()).unwrap();
    let text = text.replace('\u{1}', "\n");
    let mut words = text.split_terminator('\0');
    let (mut all, mut calls) = (Vec::new(), Calls::new());
    while let Some(count) = words.next() {
        if count == "end" {
            calls.sort();
            all.push(std::mem::take(&mut calls));
        } else {
            calls.push(
                words
                    .by_ref()
                    .take(count.parse().unwrap())
                    .map(str::to_owned)
                    .collect(),
            );
        }
    }
    all
}

/// Runs scripts in a shell; each must make the calls that the grammar says.
fn compare(shell: &[&str], second: &str, scripts: &[(String, Script)]) {
    let folder = tempfile::tempdir().unwrap();
    for batch in scripts.chunks(BATCH) {
        for status in [0, 1] {
            let output = Command::new(shell[0])
                .args(&shell[1..])
                .args(["shell", &status.to_string(), second])
                .args(batch.iter().map(|(text, _)| text))
                .current_dir(folder.path())
                .env_clear()
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let seen = printed(&output.stdout);
            assert_eq!(seen.len(), batch.len(), "{output:?}");
            for ((text, script), seen) in batch.iter().zip(seen) {
                let expected = expected(script, folder.path(), status);
                assert_eq!(seen, expected, "{text:?} with the status {status}");
            }
        }
    }
    let made: Vec<_> = folder.path().read_dir().unwrap().collect();
    assert!(made.is_empty(), "a script wrote {made:?}");
}

fn is_there(shell: &str) -> bool {
    let asked = Command::new(shell).args(["-c", ":"]).status();
    asked.is_ok_and(|status| status.success())
}

/// Compares accepted commands with bash: those with patterns of files while bash leaves these
/// alone, all others while bash fails at any pattern, so that no pattern is overlooked.
fn compare_with_bash(commands: impl Iterator<Item = String>) -> usize {
    let scripts = commands.filter_map(|text| {
        let script = parse(&text).ok()?;
        let can_be_compared = |program: &str| {
            program != "builtin" && !(program.contains('/') && Path::new(program).exists())
        };
        let is_compared = script.programs().all(can_be_compared);
        is_compared.then_some((text, script))
    });
    let has_pattern = |(_, script): &(String, Script)| {
        let arguments = script
            .commands()
            .iter()
            .flat_map(|command| &command.arguments);
        arguments.into_iter().any(|word| word.pattern_at.is_some())
    };
    let (patterns, plain): (Vec<_>, Vec<_>) = scripts.partition(has_pattern);
    compare(&["bash", "-c", BASH], "patterns", &patterns);
    compare(&["bash", "-c", BASH], "plain", &plain);
    patterns.len() + plain.len()
}

/// The same with a shell that can only replace programs whose names are those of functions.
fn compare_with_posix(shell: &str, commands: impl Iterator<Item = String>) -> usize {
    const SPECIAL: &str = "command eval exec : . set shift exit return export readonly times trap \
        unset break continue local";
    let can_be_function = |program: &str| {
        let is_name = program.bytes().all(|byte| byte.is_ascii_alphabetic());
        is_name && !SPECIAL.split_whitespace().any(|word| word == program)
    };
    let scripts: Vec<_> = commands
        .filter(|text| !text.contains("&>") && !text.contains("< "))
        .filter_map(|text| parse(&text).ok().map(|script| (text, script)))
        .filter(|(_, script)| script.programs().all(can_be_function))
        .collect();
    let programs = scripts.iter().flat_map(|(_, script)| script.programs());
    let names: Vec<&str> = programs.collect::<BTreeSet<_>>().into_iter().collect();
    compare(&[shell, "-c", POSIX], &names.join(" "), &scripts);
    scripts.len()
}

fn tables() -> impl Iterator<Item = String> {
    rows(ORDINARY)
        .chain(rows(TRICKS))
        .map(|(_, command)| command)
}

/// A small generator of numbers (xorshift), the same in each run.
struct Dice {
    state: u64,
    pieces: Vec<&'static str>,
}

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state % 1_000_003).unwrap() % count
    }

    fn piece(&mut self) -> &'static str {
        let piece = self.below(self.pieces.len());
        self.pieces[piece]
    }

    /// Pieces in any order, after a name, because few strings begin a command by chance.
    fn string(&mut self) -> String {
        let length = 1 + self.below(9);
        let pieces = (0..length).map(|_| self.piece());
        std::iter::once("a").chain(pieces).collect()
    }

    /// A command of the tables with two changes.
    fn changed(&mut self, commands: &[String]) -> String {
        let mut characters: Vec<char> = commands[self.below(commands.len())].chars().collect();
        for _ in 0..2 {
            let at = self.below(characters.len() + 1);
            let end = (at + self.below(2)).min(characters.len());
            characters.splice(at..end, self.piece().chars());
        }
        characters
            .into_iter()
            .filter(|character| *character != '\0')
            .collect()
    }
}

fn random_strings(count: usize) -> impl Iterator<Item = String> {
    let commands: Vec<String> = tables().collect();
    let mut dice = Dice {
        state: 0x9e37_79b9_7f4a_7c15,
        pieces: PIECES.split('·').collect(),
    };
    (0..count).map(move |turn| match turn % 2 {
        0 => dice.string(),
        _ => dice.changed(&commands),
    })
}

// proves TL-7
#[test]
fn needs_bash_programs_get_the_words_that_the_grammar_reads() {
    let compared = compare_with_bash(tables());
    assert!(compared > 900, "only {compared} commands were compared");

    let compared = compare_with_bash(random_strings(STRINGS));
    assert!(compared > 1_000, "only {compared} strings were compared");
}

#[test]
fn every_posix_shell_here_reads_the_same_words() {
    for shell in ["sh", "dash"].into_iter().filter(|shell| is_there(shell)) {
        assert!(compare_with_posix(shell, tables()) > 500);
        assert!(compare_with_posix(shell, random_strings(STRINGS)) > 500);
    }
}

mod proof {
    use super::{compare_with_bash, random_strings};

    #[test]
    fn needs_bash_programs_get_the_words_that_the_grammar_reads() {
        let compared = compare_with_bash(random_strings(200_000));
        assert!(compared > 40_000, "only {compared} strings were compared");
    }
}
