//! Finds the expression in a question such as `what is 12 * (3+4)` or `сколько будет два плюс два`.

use super::lexicon::Meaning;
use super::reading::Reading;
use super::request::{Sink, Source, Understood};
use super::words::Concept::{
    Calculate, Count, File, Files, Find, Folder, Folders, List, Minus, Names, Over, Plus, Power,
    Times, What,
};

/// The longest run of numbers and operators, when the rest of the text asks for its value.
pub(super) fn sum(reading: &mut Reading<'_>, sink: Option<&Sink>) -> Understood {
    let (first, last) = longest_run(reading)?;
    if reading.has(&[File, Files, Folder, Folders, Find, List, Names]) {
        return None;
    }
    let signs = (first..=last).filter_map(|at| sign(reading, at));
    let expression = signs.collect::<Vec<_>>().join(" ").replace("* *", "^");
    reading.take(first, last);
    let asked = reading.has(&[Calculate]);
    let nothing_else = reading.unused(&[]).is_empty();
    let bare = nothing_else && (sink.is_none() || reading.has(&[What, Count]));
    (asked || bare).then_some(Ok(Source::Sum(expression)))
}

/// The first and the last piece of the longest run that computes something.
fn longest_run(reading: &Reading<'_>) -> Option<(usize, usize)> {
    let count = reading.pieces.len();
    let starts = (0..count).filter(|at| *at == 0 || sign(reading, at - 1).is_none());
    let runs = starts.filter_map(|first| {
        let signs: Vec<_> = (first..count).map_while(|at| sign(reading, at)).collect();
        let from = signs
            .iter()
            .position(|sign| is_number(sign) || matches!(*sign, "(" | "-"))?;
        let to = signs
            .iter()
            .rposition(|sign| is_number(sign) || *sign == ")")?;
        let signs = signs.get(from..=to)?;
        let numbers = signs.iter().filter(|sign| is_number(sign)).count();
        let computes = signs.iter().any(|sign| "+-*/^".contains(sign));
        (numbers > 1 && computes).then_some((first + from, first + to))
    });
    runs.max_by_key(|(first, last)| last - first)
}

fn is_number(sign: &str) -> bool {
    sign.starts_with(|c: char| c.is_ascii_digit())
}

/// What a piece is in an expression.
fn sign<'a>(reading: &'a Reading<'_>, at: usize) -> Option<&'a str> {
    const SIGNS: &str = "+-*/^()";
    if !reading.is_free(at) {
        return None;
    }
    match &reading.pieces[at].meaning {
        Meaning::Number(digits) => Some(digits),
        Meaning::Operator(sign) => SIGNS.find(*sign).map(|at| &SIGNS[at..=at]),
        Meaning::Is(Plus) => Some("+"),
        Meaning::Is(Minus) => Some("-"),
        Meaning::Is(Times) => Some("*"),
        Meaning::Is(Over) => Some("/"),
        Meaning::Is(Power) => Some("^"),
        _ => None,
    }
}
