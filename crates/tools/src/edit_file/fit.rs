//! Where an edit fits: as it was given, or without the slips that models make.

use super::document::Document;

/// Places of an ambiguous text that are told.
const MAX_PLACES: usize = 10;

/// An edit that fits: what it replaces, by what, and where.
pub(super) struct Fit {
    pub(super) old: String,
    pub(super) new: String,
    pub(super) at: Vec<usize>,
}

/// Why an edit does not fit.
pub(super) enum Misfit {
    /// The text is not there. It comes back as it was looked for last.
    Missing(String),
    /// More than one place fits.
    Ambiguous(String),
}

/// Finds where `old` is to be replaced: at its one place, or at all of them.
///
/// The text has to be there exactly; else without the line numbers of `read_file`; else, as whole
/// lines, with another indentation, by which `new` is shifted too.
pub(super) fn fit(document: &Document, old: &str, new: &str, all: bool) -> Result<Fit, Misfit> {
    let at = places(document, old, all);
    if !at.is_empty() {
        return one(document, Fit::new(old, new, at), all);
    }
    let plain = without_numbers(old).map(|plain| (plain, unnumbered(new, old)));
    if let Some((old, new)) = &plain {
        let mut at = places(document, old, all);
        // What was copied with its number began at the beginning of a line.
        at.retain(|at| *at == 0 || document.text().as_bytes()[at - 1] == b'\n');
        if !at.is_empty() {
            return one(document, Fit::new(old, new, at), all);
        }
    }
    let (old, new) = plain.unwrap_or_else(|| (old.to_owned(), new.to_owned()));
    let mut shifted = shifted(document.text(), &old, &new);
    match shifted.len() {
        0 => Err(Misfit::Missing(old)),
        1 => Ok(shifted.remove(0)),
        _ => {
            let at: Vec<_> = shifted.iter().flat_map(|fit| fit.at.clone()).collect();
            Err(ambiguous(document, &at))
        }
    }
}

impl Fit {
    fn new(old: &str, new: &str, at: Vec<usize>) -> Self {
        let (old, new) = (old.to_owned(), new.to_owned());
        Self { old, new, at }
    }
}

fn places(document: &Document, old: &str, all: bool) -> Vec<usize> {
    if old.is_empty() {
        return Vec::new();
    }
    if all {
        document.occurrences(old)
    } else {
        document.overlapping(old, MAX_PLACES + 1)
    }
}

fn one(document: &Document, fit: Fit, all: bool) -> Result<Fit, Misfit> {
    if all || fit.at.len() == 1 {
        return Ok(fit);
    }
    Err(ambiguous(document, &fit.at))
}

fn ambiguous(document: &Document, at: &[usize]) -> Misfit {
    let shown = at.iter().take(MAX_PLACES);
    let mut lines: Vec<_> = shown.map(|at| document.line(*at).to_string()).collect();
    lines.dedup();
    let more = if at.len() > MAX_PLACES {
        " and more"
    } else {
        ""
    };
    Misfit::Ambiguous(lines.join(", ") + more)
}

/// The text without the numbers that `read_file` shows before its lines; `None` unless each line
/// has one, and they count up by one.
fn without_numbers(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut last = None;
    for line in text.split_inclusive('\n') {
        let (number, rest) = numbered(line)?;
        if last.is_some_and(|last: u64| last.checked_add(1) != Some(number)) {
            return None;
        }
        last = Some(number);
        plain.push_str(rest);
    }
    last.map(|_| plain)
}

/// The text that replaces the numbered text `old`, without the numbers of its lines, which skip or
/// repeat where lines go or come. Where no line has a number of `old`, numbers are data.
fn unnumbered(text: &str, old: &str) -> String {
    let known: Vec<_> = old.lines().filter_map(numbered).map(|(at, _)| at).collect();
    let has_known = |line: &str| numbered(line).is_some_and(|(at, _)| known.contains(&at));
    if !text.lines().any(has_known) {
        return text.to_owned();
    }
    let lines = text.split_inclusive('\n');
    lines
        .map(|line| numbered(line).map_or(line, |(_, rest)| rest))
        .collect()
}

/// The number before a line of `read_file`, and the line.
fn numbered(line: &str) -> Option<(u64, &str)> {
    let (number, rest) = line.split_once('\t')?;
    Some((number.trim_start_matches(' ').parse().ok()?, rest))
}

/// Each run of whole lines that is `old` but for one difference in indentation, with the text that
/// is there and `new` shifted alike.
fn shifted(text: &str, old: &str, new: &str) -> Vec<Fit> {
    let wanted: Vec<&str> = old.split_inclusive('\n').collect();
    if wanted.iter().all(|line| line.trim().is_empty()) {
        return Vec::new();
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let ends_inside = !old.ends_with('\n');
    let mut fits = Vec::new();
    let mut at = 0;
    for (first, line) in lines.iter().enumerate() {
        let here = lines.get(first..first + wanted.len()).unwrap_or_default();
        if let Some(shift) = Shift::between(&wanted, here)
            && let Some(new) = shift.apply(new)
        {
            let mut old = here.concat();
            // Text without an end of its own leaves the line's end where it is.
            if ends_inside && old.ends_with('\n') {
                old.pop();
            }
            fits.push(Fit {
                old,
                new,
                at: vec![at],
            });
        }
        at += line.len();
    }
    fits
}

/// White space that all lines of a text have more, or less, before them than those of another.
enum Shift<'a> {
    More(&'a str),
    Less(&'a str),
}

impl<'a> Shift<'a> {
    /// From `wanted` to `here`; `None` if they differ in more.
    fn between(wanted: &[&'a str], here: &[&'a str]) -> Option<Self> {
        if wanted.len() != here.len() {
            return None;
        }
        let pairs = || {
            let pairs = wanted.iter().zip(here);
            pairs.filter(|(one, other)| !is_blank(one) || !is_blank(other))
        };
        let (one, other) = pairs().next()?;
        let (one, other) = (indentation(one), indentation(other));
        let shift = match (other.strip_suffix(one), one.strip_suffix(other)) {
            (Some(more), _) => Self::More(more),
            (None, Some(less)) => Self::Less(less),
            (None, None) => return None,
        };
        let last = wanted.len() - 1;
        let ends_inside = !wanted[last].ends_with('\n');
        let fits = |(at, (one, other)): (usize, (&&str, &&str))| {
            let mut other = *other;
            if at == last && ends_inside {
                other = other.strip_suffix('\n').unwrap_or(other);
            }
            if is_blank(one) && is_blank(other) {
                return one.ends_with('\n') == other.ends_with('\n');
            }
            shift.line(one).as_deref() == Some(other)
        };
        let mut all = wanted.iter().zip(here).enumerate();
        all.all(fits).then_some(shift)
    }

    fn apply(&self, text: &str) -> Option<String> {
        text.split_inclusive('\n')
            .map(|line| self.line(line))
            .collect()
    }

    fn line(&self, line: &str) -> Option<String> {
        if is_blank(line) {
            return Some(line.to_owned());
        }
        match self {
            Self::More(more) => Some(format!("{more}{line}")),
            Self::Less(less) => line.strip_prefix(less).map(str::to_owned),
        }
    }
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}
