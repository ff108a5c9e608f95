//! The bench as a person meets it: what it prints, what it keeps, its exit code.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

/// A binary that cannot serve.
const FAKE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fake-samovar.sh");

const RESULTS: &str = "lab/bench/results";

/// A workspace with the bench in its target folder.
fn workspace() -> TempDir {
    let root = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("the folder is ours");
    fs::create_dir_all(root.path().join("target/release")).expect("the folder is ours");
    fs::create_dir_all(root.path().join("lab/bench")).expect("the folder is ours");
    // The bench finds the binary from where it lies itself, so a symbolic link would not do.
    let bench = root.path().join("target/release/samovar-bench");
    fs::hard_link(env!("CARGO_BIN_EXE_samovar-bench"), bench).expect("the folder is ours");
    root
}

fn command(root: &Path) -> Command {
    let mut command = Command::new(root.join("target/release/samovar-bench"));
    command
        .env("CARGO_MANIFEST_DIR", root.join("lab/bench"))
        .env("PATH", "");
    command
}

fn bench(root: &Path) -> Output {
    command(root).output().expect("the bench was just built")
}

/// How many processes have a text in their command line or environment.
fn processes_with(text: &str) -> usize {
    let entries = fs::read_dir("/proc").expect("the system has it");
    let says = |path: PathBuf, file: &str| {
        let said = fs::read(path.join(file)).unwrap_or_default();
        String::from_utf8_lossy(&said).contains(text)
    };
    let paths = entries.flatten().map(|entry| entry.path());
    paths
        .filter(|path| says(path.clone(), "cmdline") || says(path.clone(), "environ"))
        .count()
}

fn wait_until(is_so: impl Fn() -> bool) {
    let seen = (0..1_000).any(|_| {
        let so = is_so();
        thread::sleep(Duration::from_millis(if so { 0 } else { 20 }));
        so
    });
    assert!(seen, "it never was so");
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder)
        .expect("the folder is ours")
        .map(|entry| entry.expect("the folder is ours").file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

fn table_line<'a>(page: &'a str, row: &str) -> &'a str {
    let row = format!("| {row}");
    page.lines()
        .find(|line| line.starts_with(&row))
        .expect("a line for each row")
}

// proves PF-1
#[test]
fn the_bench_keeps_the_table_that_it_prints_and_fails_after_all_rows() {
    let workspace = workspace();
    let root = workspace.path();
    symlink(FAKE, root.join("target/release/samovar")).unwrap();

    let output = bench(root);

    assert_eq!(names(&root.join(RESULTS)), ["no-commit.md"]);
    let page = fs::read_to_string(root.join(RESULTS).join("no-commit.md")).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), page);
    assert!(page.contains("\nOf an unknown commit.\nOn "), "{page}");
    assert!(page.contains(", Linux "), "{page}");
    let doubt = "\nThe bench was built without optimization, ";
    assert_eq!(page.contains(doubt), cfg!(debug_assertions), "{page}");
    let help = table_line(&page, "CPU of `samovar --help`");
    assert!(!help.contains(" not measured "), "{help}");
    let row = "memory of an idle server, no session";
    assert!(table_line(&page, row).contains(" not measured "), "{page}");
    let why = "serve --port 0 ended with exit status: 4: samovar: this port is taken";
    let why = format!("\nNot measured: {row}: {why}\n");
    assert!(page.contains(&why), "{page}");
    let unmeasured = page.matches(" not measured ").count();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        complaint.contains(&format!("bench: {unmeasured} of ")),
        "{complaint}"
    );
    assert_eq!(output.status.code(), Some(1));
    let mut left = names(&root.join("target/release"));
    left.sort();
    assert_eq!(
        (names(&root.join("target")).len(), left),
        (1, vec!["samovar".into(), "samovar-bench".into()])
    );
}

// proves PF-1
#[test]
fn a_killed_bench_leaves_no_process_no_folder_and_no_result() {
    let workspace = workspace();
    let root = workspace.path();
    let binary = root.join("target/release/samovar");
    fs::write(&binary, "#!/bin/sh\nexec sleep 600\n").unwrap();
    fs::set_permissions(&binary, Permissions::from_mode(0o755)).unwrap();
    let scratch = root.join("target/bench-").to_string_lossy().into_owned();

    let mut bench = command(root).spawn().unwrap();
    // Two floors, the server, and the process that waits for the end.
    wait_until(|| processes_with(&scratch) == 4);
    bench.kill().unwrap();
    bench.wait().unwrap();

    wait_until(|| processes_with(&scratch) == 0);
    assert_eq!(names(&root.join("target")), ["release"]);
    assert!(!root.join(RESULTS).exists());
}

#[test]
fn without_the_binary_nothing_is_measured() {
    let root = workspace();

    let output = bench(root.path());

    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        complaint.contains("/release/samovar was not built"),
        "{complaint}"
    );
    assert!(!root.path().join(RESULTS).exists());
}

#[test]
fn the_page_on_performance_shows_the_results_that_it_links_to() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/performance.md")).unwrap();
    let link = page.split("(../lab/bench/results/").nth(1).unwrap();
    let (name, _) = link.split_once(')').unwrap();
    let results = fs::read_to_string(root.join(RESULTS).join(name)).unwrap();

    let table: Vec<&str> = results
        .lines()
        .filter(|line| line.starts_with('|'))
        .collect();

    assert!(table.len() > 2, "{results}");
    assert!(page.contains(&table.join("\n")), "{page}");
}

mod proof {
    use super::*;

    // proves PF-4
    #[test]
    fn the_hot_paths_take_the_instructions_that_are_kept() {
        let built = Path::new(env!("CARGO_BIN_EXE_samovar-bench"));
        let example = built.with_file_name("examples/instructions");

        let counted = Command::new(&example).output();

        let counted = counted.unwrap_or_else(|error| panic!("{}: {error}", example.display()));
        print!("{}", String::from_utf8_lossy(&counted.stdout));
        let complaint = String::from_utf8_lossy(&counted.stderr);
        assert!(counted.status.success(), "{complaint}");
    }
}
