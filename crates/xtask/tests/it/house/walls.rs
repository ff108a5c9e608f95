//! The walls of a single Rust file: its length, its functions, `unsafe`, what is not finished.

use super::Violation;
use super::tree::RustFile;

const FILE_LINES: usize = 450;
const FUNCTION_LINES: usize = 70;
const UNSAFE_CRATES: [&str; 2] = ["crates/sandbox/", "crates/stores/"];

pub(super) fn long_file(file: &RustFile) -> Vec<Violation> {
    let count = file.source.code.len();
    let breach = format!("{count} code lines; the wall is {FILE_LINES}");
    let violation = (count > FILE_LINES).then(|| Violation::new(&file.path, breach));
    violation.into_iter().collect()
}

pub(super) fn long_functions(file: &RustFile) -> Vec<Violation> {
    let mut violations = Vec::new();
    for function in &file.source.functions {
        let (name, count) = (&function.name, file.source.count(&function.lines));
        if count > FUNCTION_LINES {
            let breach = format!("{name} has {count} code lines; the wall is {FUNCTION_LINES}");
            violations.push(Violation::at(&file.path, *function.lines.start(), breach));
        }
    }
    violations
}

pub(super) fn unsafe_code(file: &RustFile) -> Vec<Violation> {
    if UNSAFE_CRATES.iter().any(|home| file.path.starts_with(home)) {
        return Vec::new();
    }
    let breach = "`unsafe` outside sandbox and stores";
    let lines = file.source.unsafe_lines.iter();
    lines
        .map(|line| Violation::at(&file.path, *line, breach))
        .collect()
}

pub(super) fn unfinished(file: &RustFile) -> Vec<Violation> {
    let unwritten = file.source.unwritten_lines.iter();
    let unwritten =
        unwritten.map(|line| Violation::at(&file.path, *line, "a macro stands where code should"));
    let functions = file.source.functions.iter();
    let ignored = functions.filter(|one| one.is_ignored).map(|function| {
        let breach = format!("the test {} is ignored; fix it or delete it", function.name);
        Violation::at(&file.path, *function.lines.start(), breach)
    });
    unwritten.chain(ignored).collect()
}

mod tests {
    use super::*;

    type Wall = fn(&RustFile) -> Vec<Violation>;

    /// A function of so many code lines, with a comment and a blank line that do not count.
    fn function(lines: usize) -> String {
        format!("\nfn f() {{\n// why\n\n{}}}\n", "x();\n".repeat(lines - 2))
    }

    #[test]
    fn what_is_above_a_wall_is_a_violation() {
        let core = "crates/core/src/a.rs";
        let long = |lines| "const A: u8 = 1; // one\n// two\n\n".repeat(lines);
        let is_unsafe = "fn f() {\n    unsafe { g() }\n}\n";
        let (file, functions, unsafe_code) = (
            long_file as Wall,
            long_functions as Wall,
            unsafe_code as Wall,
        );
        for (wall, path, text, breaches) in [
            (file, core, long(450), vec![]),
            (
                file,
                core,
                long(451),
                vec![": 451 code lines; the wall is 450"],
            ),
            (functions, core, function(70), vec![]),
            (
                functions,
                core,
                function(71),
                vec![":2: f has 71 code lines; the wall is 70"],
            ),
            (
                unsafe_code,
                core,
                is_unsafe.to_owned(),
                vec![":2: `unsafe` outside sandbox and stores"],
            ),
            (
                unsafe_code,
                "crates/sandbox/src/a.rs",
                is_unsafe.to_owned(),
                vec![],
            ),
            (
                unsafe_code,
                "crates/stores/src/a.rs",
                is_unsafe.to_owned(),
                vec![],
            ),
            (
                unfinished,
                core,
                "fn f() { todo !() }\n#[test]\n# [ignore]\nfn g() {}\nfn h() {}\n".to_owned(),
                vec![
                    ":1: a macro stands where code should",
                    ":4: the test g is ignored; fix it or delete it",
                ],
            ),
        ] {
            let file = RustFile::read(path, &text).expect("the row's text is Rust");
            let found: Vec<_> = wall(&file).iter().map(ToString::to_string).collect();
            let wanted: Vec<_> = breaches
                .iter()
                .map(|breach| format!("{path}{breach}"))
                .collect();
            assert_eq!(found, wanted, "{text}");
        }
    }
}
