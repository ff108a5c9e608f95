//! The verdicts on commands that people type, and on tricks.

use samovar_shell::{ReadOnly, Verdict};

use crate::table::rows;

/// Of 1,000 commands that only read, those that may be asked about.
const FALSE_REFUSALS: usize = 10;

fn reads(command: &str) -> bool {
    ReadOnly::built_in().judge(command) == Verdict::Reads
}

// proves TL-7
#[test]
fn ordinary_commands_that_read_need_no_question_and_all_others_ask() {
    let rows: Vec<_> = rows(include_str!("ordinary.tsv")).collect();
    let held_open = rows
        .iter()
        .filter(|(kind, command)| *kind != "reads" && reads(command));
    let held_open: Vec<_> = held_open.collect();
    let of_reading: Vec<_> = rows.iter().filter(|(kind, _)| *kind == "reads").collect();
    let refused: Vec<_> = of_reading
        .iter()
        .filter(|(_, command)| !reads(command))
        .collect();

    assert!(held_open.is_empty(), "{held_open:#?}");
    assert!(rows.len() >= 1_000, "only {} commands", rows.len());

    let share = refused.len() * 1_000;
    assert!(share <= FALSE_REFUSALS * of_reading.len(), "{refused:#?}");
}

// proves TL-7
#[test]
fn every_trick_asks() {
    let tricks: Vec<_> = rows(include_str!("tricks.tsv")).collect();
    let held_open = tricks.iter().filter(|(_, command)| reads(command));
    let held_open: Vec<_> = held_open.collect();

    assert!(held_open.is_empty(), "{held_open:#?}");
    assert!(tricks.len() >= 120, "only {} tricks", tricks.len());
}

/// A trick that no string policy would fall for proves nothing.
#[test]
fn a_string_policy_lets_every_trick_through() {
    let rows = rows(include_str!("tricks.tsv")).map(|(_, command)| command);
    let is_fooled = |command: &String| {
        looks_harmless(command) || begins_harmlessly(command) || asks_for_version(command)
    };
    let useless: Vec<_> = rows.filter(|command| !is_fooled(command)).collect();

    assert!(useless.is_empty(), "{useless:#?}");
}

/// A policy that forbids words.
fn looks_harmless(command: &str) -> bool {
    const FORBIDDEN: &str = "rm curl wget push sudo bash sh > >> -exec -delete --output -i tee";
    let mut words = command.split_whitespace();
    !words.any(|word| FORBIDDEN.split(' ').any(|known| known == word))
}

/// A policy that knows the programs that read, and looks at the first word.
fn begins_harmlessly(command: &str) -> bool {
    const KNOWN: &str = "ls cat echo git find sort uniq sed awk xargs rg fd tree date hostname file \
        diff xxd shuf iconv jq tar unzip ip ss dpkg printf test [ env cd tail node python make";
    let first = command
        .split(|c: char| c.is_whitespace() || ";&|<>".contains(c))
        .next();
    let name: String = first.unwrap_or_default().replace(['"', '\'', '\\'], "");
    let name = name.rsplit('/').next().unwrap_or_default();
    KNOWN.split_whitespace().any(|known| known == name)
}

/// A policy that lets each program show its version.
fn asks_for_version(command: &str) -> bool {
    let mut words = command.split_whitespace();
    words.any(|word| matches!(word, "--version" | "-v" | "-V"))
}
