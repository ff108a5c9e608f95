//! The list of requirements and the tests that prove them say the same.

use std::collections::BTreeMap;

use super::Violation;
use super::source::Source;
use super::tree::RustFile;

mod tests;

/// Where each requirement that is met has its line.
pub(super) const LIST: &str = "docs/requirements.md";

/// An id, and the place that names it.
type Places = BTreeMap<String, String>;

/// Requirements that are listed but not proven, proven but not listed, or named wrongly.
pub(super) fn mismatches(list: Option<&str>, files: &[RustFile]) -> Vec<Violation> {
    let Some(list) = list else {
        return vec![Violation::new(LIST, "does not exist")];
    };
    let (listed, mut violations) = read_list(list);
    let mut proven = Places::new();
    for file in files {
        violations.extend(read_proofs(file, &mut proven));
    }
    let unproven = listed.iter().filter(|(id, _)| !proven.contains_key(*id));
    violations
        .extend(unproven.map(|(id, place)| Violation::new(place, format!("no test proves {id}"))));
    let unlisted = proven.iter().filter(|(id, _)| !listed.contains_key(*id));
    violations.extend(
        unlisted.map(|(id, place)| Violation::new(place, format!("{LIST} does not list {id}"))),
    );
    violations
}

/// Reads lines of the form `- **ID** sentence`; other lines are prose.
fn read_list(list: &str) -> (Places, Vec<Violation>) {
    let mut listed = Places::new();
    let mut violations = Vec::new();
    for (at, line) in list.lines().enumerate() {
        let Some(entry) = line.trim_start().strip_prefix("- **") else {
            continue;
        };
        match entry.split_once("** ") {
            Some((id, sentence)) if is_id(id) && !sentence.trim().is_empty() => {
                if listed
                    .insert(id.to_owned(), format!("{LIST}:{}", at + 1))
                    .is_some()
                {
                    violations.push(Violation::at(LIST, at + 1, format!("{id} is listed twice")));
                }
            }
            _ => violations.push(Violation::at(LIST, at + 1, "is not `- **ID** sentence`")),
        }
    }
    (listed, violations)
}

/// Adds what the tests of this file prove.
fn read_proofs(file: &RustFile, proven: &mut Places) -> Vec<Violation> {
    let path = &file.path;
    let lines = (1..).zip(file.text.lines());
    let claims = lines.filter_map(|(line, text)| Some((line, claim(text)?)));
    let mut violations = Vec::new();
    for (line, ids) in claims {
        if !stands_at_a_test(line, &file.source) {
            violations.push(Violation::at(path, line, "this proof stands at no test"));
        }
        for id in ids.split(", ") {
            if is_id(id) {
                proven
                    .entry(id.to_owned())
                    .or_insert_with(|| format!("{path}:{line}"));
            } else {
                let breach = format!("{id:?} is no id; write `// proves ID` or `// proves ID, ID`");
                violations.push(Violation::at(path, line, breach));
            }
        }
    }
    violations
}

/// What a comment says it proves; a sentence that only begins with the word is no claim.
fn claim(line: &str) -> Option<&str> {
    let comment = line
        .trim()
        .strip_prefix("//")?
        .trim_start_matches('/')
        .trim_start();
    let ids = comment
        .strip_prefix("proves")?
        .trim_start_matches(':')
        .trim_start();
    let first = ids.split([',', ' ']).next()?;
    is_id(first).then_some(ids)
}

/// Two or more capitals, a hyphen, a number.
fn is_id(word: &str) -> bool {
    word.split_once('-').is_some_and(|(area, number)| {
        area.len() >= 2
            && area.chars().all(|c| c.is_ascii_uppercase())
            && !number.is_empty()
            && number.chars().all(|c| c.is_ascii_digit())
    })
}

/// Whether the first code after this comment is the head of a test.
fn stands_at_a_test(line: usize, source: &Source) -> bool {
    let next = source.code.range(line..).next();
    let mut tests = source.functions.iter().filter(|function| function.is_test);
    next.is_some_and(|next| tests.any(|test| test.head.contains(next)))
}
