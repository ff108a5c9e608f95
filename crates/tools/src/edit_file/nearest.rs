//! Where a text that is not in a file could have been meant.

use std::collections::HashMap;

use strsim::sorensen_dice;

use crate::text::visible;

/// Candidates that are shown.
const MAX_CANDIDATES: usize = 3;
/// Lines that are shown of one candidate.
const MAX_CANDIDATE_LINES: usize = 5;
/// Different lines that are compared.
const MAX_COMPARED: usize = 10_000;
/// Bytes of a line that are compared and shown.
const MAX_LINE_BYTES: usize = 200;
/// How alike two lines have to be; 1 is the same, but for white space.
const MIN_LIKENESS: f64 = 0.6;

/// Says that `old` is not in `text`, with the places that are most like its first line.
pub(super) fn not_found(path: &str, text: &str, old: &str) -> String {
    let candidates = candidates(text, old);
    if candidates.is_empty() {
        return format!(
            "old is not in {path:?}, nor is a line like its first one; read the file again"
        );
    }
    format!(
        "old is not in {path:?}; the nearest places are:\n{}\n\
         give the text exactly as it is there",
        candidates.join("\n[..]\n")
    )
}

fn candidates(text: &str, old: &str) -> Vec<String> {
    let Some((above, wanted)) = first_line(old) else {
        return Vec::new();
    };
    let lines: Vec<&str> = text.lines().collect();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut compared = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let line = head(line.trim());
        if numbers.len() < MAX_COMPARED && !line.is_empty() && !numbers.contains_key(line) {
            numbers.insert(line, number);
            compared.push(line);
        }
    }
    let height = old.lines().count().min(MAX_CANDIDATE_LINES);
    let mut alike: Vec<_> = compared
        .into_iter()
        .map(|line| (sorensen_dice(head(wanted), line), line))
        .filter(|(likeness, _)| *likeness >= MIN_LIKENESS)
        .collect();
    alike.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    alike
        .into_iter()
        .take(MAX_CANDIDATES)
        .filter_map(|(_, line)| numbers.get(line))
        .map(|number| excerpt(&lines, number.saturating_sub(above), height))
        .collect()
}

/// The first line that is not blank, and how many are above it.
fn first_line(old: &str) -> Option<(usize, &str)> {
    let mut lines = old.lines().map(str::trim).enumerate();
    lines.find(|(_, line)| !line.is_empty())
}

fn excerpt(lines: &[&str], first: usize, height: usize) -> String {
    let numbered = lines.iter().enumerate().skip(first).take(height);
    let rows = numbered.map(|(at, line)| format!("{:>6}\t{}", at + 1, visible(head(line))));
    rows.collect::<Vec<_>>().join("\n")
}

fn head(line: &str) -> &str {
    &line[..line.floor_char_boundary(MAX_LINE_BYTES)]
}
