//! The lines about a result: what became of the call, and below it what a command wrote or an edit
//! changed.

use std::io::{self, IsTerminal};

use samovar_core::Outcome;
use samovar_locale as text;
use serde_json::Value;

use super::EDIT;
use crate::calls::{Extent, SHOWN, result};
use crate::screen::{beginning, say_in, visible};
use crate::style::{Tone, columns, cut};

/// Lines of a diff that are shown, at most.
const DIFF_LINES: usize = 40;

/// Where a result is shown.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// How many agents below the session's own.
    pub(super) depth: usize,
    /// Whether the person has seen the change already.
    pub(super) is_previewed: bool,
    pub(super) extent: Extent,
}

/// Shows a result, whose text may be shortened.
pub(super) fn say_result(tool: &str, said: &str, outcome: &Outcome, place: Place) {
    let told = result(tool, said, outcome.data.as_ref(), place.extent);
    let indent = "  ".repeat(place.depth);
    if outcome.is_error() {
        let line = text::view::outcome_failed(tool, beginning(said, SHOWN));
        say_in(Tone::Bad, &format!("{indent}{line}"));
    } else {
        let line = text::view::outcome(&told.subject, &told.what);
        say_in(Tone::Quiet, &format!("{indent}{line}"));
    }
    for line in &told.below {
        say_in(Tone::Quiet, &fitted(&format!("{indent}    {line}")));
    }
    if tool == EDIT && !outcome.is_error() && place.depth == 0 && !place.is_previewed {
        say_diff(said);
    }
}

/// Shows what a task in the background has left, without the JSON around it.
pub(super) fn say_background(message: &str) {
    let results = message.match_indices(": {");
    let told = results
        .filter_map(|(at, _)| Some((&message[..at], message.get(at + 2..)?)))
        .find_map(|(head, json)| Some((head, serde_json::from_str::<Value>(json).ok()?)));
    let line = match &told {
        Some((head, told)) => {
            let said = told["error"].as_str().or_else(|| told["summary"].as_str());
            format!("{head}: {}", said.unwrap_or_default())
        }
        None => message.to_owned(),
    };
    say_in(
        Tone::Quiet,
        &text::view::background(beginning(&line, SHOWN)),
    );
}

/// As much of a line as the terminal shows on one.
fn fitted(line: &str) -> String {
    let line = visible(line).replace('\t', "    ");
    match columns(&io::stderr()) {
        Some(columns) => cut(&line, columns),
        None => line,
    }
}

/// Shows what an edit changed, as the tool says it: lines that went, and lines that came.
fn say_diff(outcome: &str) {
    if !io::stderr().is_terminal() {
        return;
    }
    let lines = outcome.lines().skip_while(|line| !line.starts_with("@@"));
    for line in lines.take(DIFF_LINES) {
        let tone = match line.as_bytes().first() {
            Some(b'-') => Tone::Bad,
            Some(b'+') => Tone::Good,
            _ => Tone::Quiet,
        };
        say_in(tone, &format!("  {line}"));
    }
}
