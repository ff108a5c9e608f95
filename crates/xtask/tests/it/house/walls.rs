//! The walls of a single Rust file: its length, its functions, `unsafe`, what is not finished.

use super::Violation;
use super::source::Source;

const FILE_LINES: usize = 450;
const FUNCTION_LINES: usize = 70;
const UNSAFE_CRATES: [&str; 2] = ["crates/sandbox/", "crates/stores/"];

pub(super) fn long_file(path: &str, source: &Source) -> Vec<Violation> {
    let count = source.code.len();
    let breach = format!("{count} code lines; the wall is {FILE_LINES}");
    (count > FILE_LINES)
        .then(|| Violation::new(path, breach))
        .into_iter()
        .collect()
}

pub(super) fn long_functions(path: &str, source: &Source) -> Vec<Violation> {
    let mut violations = Vec::new();
    for function in &source.functions {
        let count = source.count(&function.lines);
        if count > FUNCTION_LINES {
            let breach = format!(
                "{} has {count} code lines; the wall is {FUNCTION_LINES}",
                function.name
            );
            violations.push(Violation::at(path, *function.lines.start(), breach));
        }
    }
    violations
}

pub(super) fn unsafe_code(path: &str, source: &Source) -> Vec<Violation> {
    if UNSAFE_CRATES.iter().any(|home| path.starts_with(home)) {
        return Vec::new();
    }
    let breach = "`unsafe` outside sandbox and stores";
    source
        .unsafe_lines
        .iter()
        .map(|line| Violation::at(path, *line, breach))
        .collect()
}

pub(super) fn unfinished(path: &str, source: &Source) -> Vec<Violation> {
    let unwritten = source
        .unwritten_lines
        .iter()
        .map(|line| Violation::at(path, *line, "a macro stands where code should"));
    let ignored = source
        .functions
        .iter()
        .filter(|function| function.is_ignored)
        .map(|function| {
            let breach = format!("the test {} is ignored; fix it or delete it", function.name);
            Violation::at(path, *function.lines.start(), breach)
        });
    unwritten.chain(ignored).collect()
}

mod tests {
    use super::*;

    fn read(text: &str) -> Source {
        Source::read(text).expect("the test's text is Rust")
    }

    /// A function of so many code lines, with a comment and a blank line that do not count.
    fn function(lines: usize) -> String {
        format!("fn f() {{\n// why\n\n{}}}\n", "x();\n".repeat(lines - 2))
    }

    #[test]
    fn a_file_of_451_code_lines_is_above_the_wall() {
        let at = |lines: usize| read(&"const A: u8 = 1; // one\n// two\n\n".repeat(lines));

        assert_eq!(long_file("a.rs", &at(450)), []);
        assert_eq!(
            long_file("a.rs", &at(451)),
            [Violation::new("a.rs", "451 code lines; the wall is 450")]
        );
    }

    #[test]
    fn a_function_of_71_code_lines_is_above_the_wall() {
        assert_eq!(long_functions("a.rs", &read(&function(70))), []);
        assert_eq!(
            long_functions("a.rs", &read(&format!("\n{}", function(71)))),
            [Violation::new(
                "a.rs:2",
                "f has 71 code lines; the wall is 70"
            )]
        );
    }

    #[test]
    fn unsafe_code_is_a_violation_outside_two_crates() {
        let source = read("fn f() {\n    unsafe { g() }\n}\n");

        assert_eq!(
            unsafe_code("crates/core/src/a.rs", &source),
            [Violation::new(
                "crates/core/src/a.rs:2",
                "`unsafe` outside sandbox and stores"
            )]
        );
        assert_eq!(unsafe_code("crates/sandbox/src/a.rs", &source), []);
        assert_eq!(unsafe_code("crates/stores/src/a.rs", &source), []);
    }

    #[test]
    fn a_placeholder_and_an_ignored_test_are_violations() {
        let source = read("fn f() { todo !() }\n#[test]\n# [ignore]\nfn g() {}\nfn h() {}\n");

        let found = unfinished("a.rs", &source);

        assert_eq!(
            found,
            [
                Violation::new("a.rs:1", "a macro stands where code should"),
                Violation::new("a.rs:4", "the test g is ignored; fix it or delete it"),
            ]
        );
    }
}
