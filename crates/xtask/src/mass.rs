//! How large the project is: code and test lines by crate, rings of files, long files and
//! functions, and how long the gate took.
//!
//! A line counts when it is neither blank nor a comment, as rustfmt leaves it. Data in a crate
//! counts as the code that it replaces. Test lines are those of `tests` folders, of `tests.rs`,
//! of `lab/testkit` and `lab/doubles`, and of `#[cfg(test)]` items.

mod ratchet;
mod rings;
mod spread;
mod tokens;
mod words;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Where the tasks note how long they took, below the root.
const TIMES: &str = "target/xtask-times";
const LONG_FILE: usize = 300;
const LONG_FUNCTION: usize = 50;
/// Data that stands for code.
const DATA: [&str; 4] = ["json", "toml", "txt", "tsv"];
/// Folders of a crate whose data stands for no code.
const NO_CODE: [&str; 2] = ["tests", "results"];
/// Crates that are neither product nor demo, wherever they lie.
const LABORATORY: [&str; 4] = ["prove", "model-server", "testkit", "xtask"];
/// Folders of what was built or downloaded.
const MADE: [&str; 2] = ["node_modules", "target"];
/// The types of the stores, which only `stores` should name.
const STORES: [&str; 2] = ["LmdbJournal", "SqliteHistory"];
/// Crates whose every line serves tests.
const TEST_CRATES: [&str; 2] = ["testkit", "doubles"];

#[derive(Clone, Copy, Default)]
struct Lines {
    code: usize,
    tests: usize,
}

/// A crate: its lines, and its files without tests by their paths from `src`.
#[derive(Default)]
struct Crate {
    lines: Lines,
    sources: BTreeMap<String, String>,
}

/// What is found in one tree.
#[derive(Default)]
struct Mass {
    crates: BTreeMap<(&'static str, String), Crate>,
    translated: usize,
    files: usize,
    long_files: Vec<(usize, String)>,
    long_functions: Vec<(usize, String)>,
}

/// Prints the table of this tree, or of the one whose root is named; with `--rings` also the files
/// of each crate's largest ring, and what these name in it. `--check` compares the tree with the page
/// that holds its figures, and `--write` writes that page.
///
/// # Errors
/// The tree cannot be read, or a figure is not that of the page.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let (flags, roots): (Vec<&str>, Vec<&str>) = words
        .iter()
        .map(String::as_str)
        .partition(|word| word.starts_with("--"));
    let root = roots.first().map_or(root, Path::new);
    let mass = Mass::of(root)?;
    match flags[..] {
        [] => print!("{}", mass.table()),
        ["--rings"] => print!("{}", mass.rings()),
        ["--check"] => return ratchet::check(root, &mass.figures()),
        ["--write"] => return ratchet::write(root, &mass.figures()),
        _ => return Err(format!("mass takes no {}", flags.join(" "))),
    }
    match fs::read_to_string(root.join(TIMES)) {
        Ok(times) => print!("\nlast run of each task:\n{times}"),
        Err(_) => println!("\nno task has been timed here"),
    }
    Ok(())
}

/// Keeps how long a task took. A time that cannot be kept is no reason to fail.
pub(crate) fn note_time(root: &Path, task: &str, took: &str) {
    let file = root.join(TIMES);
    let times = fs::read_to_string(&file).unwrap_or_default();
    let others = times.lines().filter(|line| !line.starts_with(task));
    let mut times: Vec<String> = others.map(str::to_owned).collect();
    times.push(format!("{task} {took}"));
    let folder = file.parent().unwrap_or(root);
    let kept = fs::create_dir_all(folder).and_then(|()| fs::write(&file, times.join("\n") + "\n"));
    if let Err(error) = kept {
        eprintln!("xtask: the time is not kept in {}: {error}", file.display());
    }
}

impl Crate {
    /// How many files its largest ring has.
    fn ring(&self) -> usize {
        rings::largest(&rings::graph(&self.sources)).len()
    }
}

impl Mass {
    fn of(root: &Path) -> Result<Mass, String> {
        let mut mass = Mass::default();
        for home in ["crates", "lab"] {
            let folder = root.join(home);
            if folder.is_dir() {
                let read = mass.walk(root, &folder);
                read.map_err(|error| format!("{}: {error}", folder.display()))?;
            }
        }
        if mass.crates.is_empty() {
            return Err(format!("{} has no crates", root.display()));
        }
        Ok(mass)
    }

    fn walk(&mut self, root: &Path, folder: &Path) -> std::io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path
                .file_name()
                .is_some_and(|name| MADE.iter().any(|made| name == *made))
            {
                continue;
            }
            if path.is_dir() {
                self.walk(root, &path)?;
            } else if let Ok(text) = fs::read_to_string(&path) {
                let path = path.strip_prefix(root).unwrap_or(&path);
                self.file(&path.to_string_lossy(), &text);
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &str, text: &str) {
        let parts: Vec<&str> = path.split('/').collect();
        let [home, name, place, ..] = parts[..] else {
            return;
        };
        let (_, ending) = path.rsplit_once('.').unwrap_or_default();
        if ending != "rs"
            && !(DATA.contains(&ending) && parts.len() > 3 && !NO_CODE.contains(&place))
        {
            return;
        }
        let is_test = TEST_CRATES.contains(&name)
            || parts[2..]
                .iter()
                .any(|part| matches!(*part, "tests" | "tests.rs"));
        let lines = match (is_test, ending) {
            (true, _) => Lines {
                code: 0,
                tests: code_lines(text),
            },
            (false, "rs") => split(text),
            (false, _) => Lines {
                code: text.lines().filter(|line| !line.trim().is_empty()).count(),
                tests: 0,
            },
        };
        let group = if name == "demo" || path.starts_with("crates/providers/src/demo") {
            "demo"
        } else if home == "lab" || LABORATORY.contains(&name) {
            "laboratory"
        } else {
            "product"
        };
        let entry = self.crates.entry((group, name.to_owned())).or_default();
        entry.lines = Lines {
            code: entry.lines.code + lines.code,
            tests: entry.lines.tests + lines.tests,
        };
        if ending == "rs" {
            self.translated += words::translated(text);
        }
        if ending == "rs" && !is_test {
            if place == "src" {
                entry.sources.insert(parts[3..].join("/"), text.to_owned());
            }
            self.files += 1;
            if lines.code > LONG_FILE {
                self.long_files.push((lines.code, path.to_owned()));
            }
            let long = functions(text).filter(|(_, lines)| *lines > LONG_FUNCTION);
            self.long_functions
                .extend(long.map(|(name, lines)| (lines, format!("{path} {name}"))));
        }
    }

    /// The figures that may only fall.
    fn figures(&self) -> [ratchet::Table; 2] {
        let mut crates: Vec<(String, Vec<usize>)> = Vec::new();
        for ((_, name), one) in &self.crates {
            let Lines { code, tests } = one.lines;
            let (files, _) = spread::widest_impl(&one.sources);
            crates.push((name.clone(), vec![code, tests, one.ring(), files]));
        }
        crates.sort();
        let all = self.figures_of_all().into_iter();
        [
            ratchet::Table {
                columns: &[
                    "crate",
                    "code lines",
                    "test lines",
                    "largest ring",
                    "files of one `impl`",
                ],
                rows: crates,
            },
            ratchet::Table {
                columns: &["in the whole tree", "number"],
                rows: all
                    .map(|(name, number)| (name.to_owned(), vec![number]))
                    .collect(),
            },
        ]
    }

    fn figures_of_all(&self) -> [(&'static str, usize); 3] {
        let server = self.crates.get(&("product", "server".to_owned()));
        let naming = |names: &[&str]| server.map_or(0, |one| spread::naming(&one.sources, names));
        [
            (
                "files of `server` that name `samovar_stores`",
                naming(&["samovar_stores"]),
            ),
            (
                "files of `server` that name one of the stores",
                naming(&STORES),
            ),
            (
                "translated words in comments and names of tests",
                self.translated,
            ),
        ]
    }

    fn rings(&self) -> String {
        let mut text = String::new();
        for ((_, name), one) in &self.crates {
            let graph = rings::graph(&one.sources);
            let ring = rings::largest(&graph);
            if ring.is_empty() {
                continue;
            }
            let _infallible = writeln!(text, "{name}: {} files", ring.len());
            for file in &ring {
                let named = graph[*file]
                    .iter()
                    .filter(|other| ring.contains(&other.as_str()));
                let named: Vec<&str> = named.map(String::as_str).collect();
                let _infallible = writeln!(text, "  {file} -> {}", named.join(" "));
            }
        }
        text
    }

    fn table(mut self) -> String {
        let mut text = String::new();
        let mut all = Lines::default();
        for group in ["product", "demo", "laboratory"] {
            let mut sum = Lines::default();
            for ((_, name), one) in self.crates.iter().filter(|((of, _), _)| *of == group) {
                let (files, owner) = spread::widest_impl(&one.sources);
                let ring = one.ring();
                let more = format!("{ring:>4} in a ring{files:>4} of impl {owner}");
                row(&mut text, name, one.lines, &more);
                sum = Lines {
                    code: sum.code + one.lines.code,
                    tests: sum.tests + one.lines.tests,
                };
            }
            row(&mut text, &format!("= {group}"), sum, "");
            all = Lines {
                code: all.code + sum.code,
                tests: all.tests + sum.tests,
            };
        }
        row(&mut text, "= all", all, "");
        text.push('\n');
        for (figure, number) in self.figures_of_all() {
            let _infallible = writeln!(text, "{figure}: {number}");
        }
        let files = [
            (
                format!("files above {LONG_FILE} code lines, of {}", self.files),
                &mut self.long_files,
            ),
            (
                format!("functions above {LONG_FUNCTION} code lines"),
                &mut self.long_functions,
            ),
        ];
        for (what, list) in files {
            list.sort_by(|one, other| other.cmp(one));
            let _infallible = writeln!(text, "\n{what}: {}", list.len());
            for (lines, place) in list {
                let _infallible = writeln!(text, "  {lines:>4}  {place}");
            }
        }
        text
    }
}

fn row(text: &mut String, name: &str, Lines { code, tests }: Lines, more: &str) {
    let row = format!("{name:<16}{code:>8} code{tests:>8} tests{more}");
    let _infallible = writeln!(text, "{}", row.trim_end());
}

fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with("//")
}

fn code_lines(text: &str) -> usize {
    text.lines().filter(|line| is_code(line)).count()
}

/// Tells the items under `#[cfg(test)]` from the rest. rustfmt closes an item of several lines at
/// the indentation at which it opened it.
fn split(text: &str) -> Lines {
    let mut lines = Lines::default();
    // Of the item that is being read: what closes it.
    let mut closing: Option<String> = None;
    for line in text.lines().filter(|line| is_code(line)) {
        if closing.is_none() && line.trim_start().starts_with("#[cfg(test)]") {
            let indent = line.len() - line.trim_start().len();
            closing = Some(format!("{}}}", &line[..indent]));
        }
        let Some(close) = &closing else {
            lines.code += 1;
            continue;
        };
        lines.tests += 1;
        let is_one_line = line.ends_with(';') && !line.starts_with(&close.replace('}', " "));
        if line == close || is_one_line {
            closing = None;
        }
    }
    lines
}

/// The functions with a body over several lines, and their code lines.
fn functions(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let starts: Vec<usize> = (0..lines.len())
        .filter(|at| name(lines[*at]).is_some())
        .collect();
    starts.into_iter().filter_map(move |at| {
        let indent = lines[at].len() - lines[at].trim_start().len();
        let close = format!("{}}}", &lines[at][..indent]);
        let length = lines[at..].iter().position(|line| *line == close)?;
        let body = &lines[at..=at + length];
        Some((
            name(lines[at])?,
            body.iter().filter(|line| is_code(line)).count(),
        ))
    })
}

/// The name of the function that begins on a line.
fn name(line: &str) -> Option<&str> {
    let (head, rest) = line.trim_start().split_once("fn ")?;
    let is_head = head.split_whitespace().all(|word| {
        matches!(word, "async" | "const" | "unsafe" | "extern") || word.starts_with("pub")
    });
    let is_open = !line.ends_with('}') && !line.ends_with(';');
    (is_head && is_open).then(|| rest.split(['(', '<']).next().unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "//! Doc.\n\nuse a::b;\n#[cfg(test)]\nmod far;\n\npub(crate) fn f(\n    a: u8,\n) {\n    // why\n    g();\n}\n\n#[cfg(test)]\nmod tests {\n    fn h() {\n        1;\n    }\n}\n";

    #[test]
    fn comments_and_blank_lines_are_free_and_tests_count_apart() {
        let lines = split(TEXT);
        assert_eq!((lines.code, lines.tests), (6, 8));
        assert_eq!(code_lines(TEXT), 14);
    }

    #[test]
    fn a_function_is_as_long_as_its_code() {
        let found: Vec<_> = functions(TEXT).collect();
        assert_eq!(found, [("f", 5), ("h", 3)]);
    }

    #[test]
    fn what_lies_where_decides_the_group() {
        let mut mass = Mass::default();
        for path in [
            "crates/core/src/a.rs",
            "crates/core/src/a/tests.rs",
            "crates/core/tests/it/main.rs",
            "crates/providers/src/demo/words.rs",
            "lab/prove/src/lib.rs",
            "lab/testkit/src/lib.rs",
            "lab/model-server/src/openai.json",
            "lab/model-server/Cargo.toml",
            "lab/bench/results/a.json",
        ] {
            mass.file(path, TEXT);
        }
        let found: Vec<_> = mass
            .crates
            .iter()
            .map(|((group, name), one)| (*group, name.as_str(), one.lines.code, one.lines.tests))
            .collect();
        assert_eq!(
            found,
            [
                ("demo", "providers", 6, 8),
                ("laboratory", "model-server", 16, 0),
                ("laboratory", "prove", 6, 8),
                ("laboratory", "testkit", 0, 14),
                ("product", "core", 6, 36),
            ]
        );
    }
}
