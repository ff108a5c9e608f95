//! The bench as a person meets it: what it prints, what it keeps, its exit code.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A binary that cannot serve.
const FAKE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fake-samovar.sh");

/// A workspace with the bench in its target folder, removed at the end of the test.
struct Built {
    root: PathBuf,
}

impl Built {
    fn new(name: &str) -> Built {
        let process = std::process::id().to_string();
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(process + name);
        for folder in ["lab/bench", "target/release"] {
            fs::create_dir_all(root.join(folder)).expect("the folder is ours");
        }
        let built = Built { root };
        // The bench finds the binary from where it lies itself, so a symbolic link would not do.
        let bench = env!("CARGO_BIN_EXE_samovar-bench");
        fs::hard_link(bench, built.binary("samovar-bench")).expect("the folder is ours");
        built
    }

    fn binary(&self, name: &str) -> PathBuf {
        self.root.join("target/release").join(name)
    }

    fn has_samovar(&self) {
        symlink(FAKE, self.binary("samovar")).expect("the folder is ours");
    }

    fn bench(&self) -> Output {
        Command::new(self.binary("samovar-bench"))
            .env("CARGO_MANIFEST_DIR", self.root.join("lab/bench"))
            .env("PATH", "")
            .output()
            .expect("the binary under test was just built")
    }

    /// The names in a folder; none if it does not exist.
    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(folder)).into_iter().flatten();
        let names = entries.map(|entry| entry.expect("the folder is ours").file_name());
        let mut names: Vec<_> = names
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Built {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.root).expect("the folder is ours");
    }
}

fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn table_line<'a>(page: &'a str, row: &str) -> &'a str {
    let mut lines = page.lines();
    let line = lines.find(|line| line.starts_with(&format!("| {row}")));
    line.unwrap_or_else(|| unreachable!("no row {row:?} in {page}"))
}

// proves PF-1
#[test]
fn the_bench_keeps_the_table_that_it_prints() {
    let built = Built::new("bench");
    built.has_samovar();

    let output = built.bench();

    assert_eq!(built.names("lab/bench/results"), ["no-commit.md"]);
    let kept = fs::read_to_string(built.root.join("lab/bench/results/no-commit.md"));
    let kept = kept.expect("the page is text");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.ends_with(&kept), "{printed}\n{kept}");
    assert!(kept.contains("\nOf an unknown commit.\nOn "), "{kept}");
    let help = table_line(&kept, "CPU of `samovar --help`");
    assert!(!help.contains(" not measured "), "{help}");
    assert!(kept.contains(", Linux "), "{kept}");
    assert_eq!(built.names("target"), ["release"]);
}

#[test]
fn a_row_that_cannot_be_measured_fails_the_bench_after_all_others() {
    let built = Built::new("bench-unmeasured");
    built.has_samovar();

    let output = built.bench();

    assert_eq!(output.status.code(), Some(1));
    let page = String::from_utf8_lossy(&output.stdout);
    let memory = "memory of an idle server, no session";
    assert!(
        table_line(&page, memory).contains(" not measured "),
        "{page}"
    );
    let why = "serve --port 0 ended with exit status: 4: samovar: this port is taken";
    assert!(
        page.contains(&format!("\nNot measured: {memory}: {why}\n")),
        "{page}"
    );
    let said = complaint(&output);
    let rows = page
        .lines()
        .filter(|line| line.contains(" not measured "))
        .count();
    assert!(said.contains(&format!("bench: {rows} of ")), "{said}");
}

#[test]
fn without_the_binary_nothing_is_measured() {
    let built = Built::new("bench-unbuilt");

    let missing = built.bench();

    assert_eq!(missing.status.code(), Some(1));
    assert!(complaint(&missing).contains("/release/samovar was not built"));
    assert_eq!(built.names("lab/bench/results"), [""; 0]);
}

#[test]
fn the_page_on_performance_shows_the_table_of_the_results_that_it_links_to() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |file: &str| fs::read_to_string(root.join(file)).expect("the tree has it");
    let page = read("docs/performance.md");
    let link = page.split("(../lab/bench/results/").nth(1);
    let name = link.and_then(|rest| rest.split(')').next());
    let results = read(&format!(
        "lab/bench/results/{}",
        name.expect("it links to results")
    ));

    let table: Vec<&str> = results
        .lines()
        .filter(|line| line.starts_with('|'))
        .collect();

    assert!(table.len() > 2, "{results}");
    assert!(page.contains(&table.join("\n")), "{page}");
}
