//! Absolute paths of a developer's machine, which say nothing to anyone else.

use super::Violation;

/// Folders that hold someone's own files, written apart so that this file names none.
const HOMES: [&str; 4] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
];

pub(super) fn named(path: &str, text: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (at, line) in text.lines().enumerate() {
        for home in HOMES {
            if line
                .match_indices(home)
                .any(|(start, _)| is_place(line, start, home))
            {
                let breach = format!("names a place under {home}");
                violations.push(Violation::at(path, at + 1, breach));
            }
        }
    }
    violations
}

/// Whether the match begins a path, and a name follows it: `src/x/` and `/x/<name>` are no places.
fn is_place(line: &str, start: usize, home: &str) -> bool {
    let is_inside_a_path =
        |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '~' | '}' | '>' | '*');
    let begins = !line[..start]
        .chars()
        .next_back()
        .is_some_and(is_inside_a_path);
    let next = line[start + home.len()..].chars().next();
    begins && next.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

mod tests {
    use super::*;

    #[test]
    fn a_path_of_someones_machine_is_a_violation_and_a_placeholder_is_none() {
        for home in HOMES {
            let breach = Violation::new("a.md:2", format!("names a place under {home}"));
            for (before, after, is_place) in [
                ("run ", "main/x", true),
                ("", "x", true),
                ("\"", "x\"", true),
                ("`", ".cache`", true),
                ("PATH=", "a:b", true),
                ("src", "x", false),
                ("", "<name>", false),
                ("~", "x", false),
            ] {
                let line = format!("{before}{home}{after}");
                let expected: Vec<_> = is_place.then(|| breach.clone()).into_iter().collect();
                assert_eq!(
                    named("a.md", &format!("first\n{line}\n")),
                    expected,
                    "{line}"
                );
            }
        }
    }
}
