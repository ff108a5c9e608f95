//! `cargo xtask bench`: measures the release binary, row by row, and compares each row with its budget.
//!
//! Here: one run from the first row to the page with the results.
//! What is measured are the tables in [`mod@figures`] and [`cost`]; how a row is measured is there too, or in a file
//! named after what happens to its turns or messages. [`program`] starts the binary in its own
//! folders, [`children`] reads what the system knows about it, [`client`] sends it requests, and
//! [`model`] is the model server that it asks; [`floor`] has what turns are compared with.
//! Not here: the build of the binary, which is a step of the task.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the bench speaks to the person at the terminal"
)]

mod after;
mod burst;
mod caged;
mod called;
mod cancelled;
mod children;
mod client;
mod commits;
mod copied;
mod cost;
mod crowded;
mod figures;
mod floor;
mod killed;
mod machine;
mod memory;
mod model;
mod page;
mod pieces;
mod posted;
mod program;
mod readers;
mod relayed;
mod repeated;
mod sample;
mod soak;
mod stalled;
mod started;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, ensure};

use crate::after::AFTER;
use crate::cost::{COSTS, TO_THE_LOOP};
use crate::figures::{EXPERIMENTS, Experiment, LONG, QUICK_ROWS};
use crate::floor::FLOOR;
use crate::machine::{Commit, Machine};
use crate::page::{Page, Row};
use crate::program::Bench;

/// The directory of the results, from the root.
const RESULTS: &str = "lab/bench/results";

/// The word for the rows that matter most, most of them measured once.
const QUICK: &str = "--quick";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match start(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("bench: {failure:#}");
            ExitCode::FAILURE
        }
    }
}

/// What the bench says of itself.
const USAGE: &str = "\
Measures the release binary, row by row, and compares each row with its budget.

cargo xtask bench            all rows but the soak; writes a page to lab/bench/results
cargo xtask bench --quick    the rows that matter most, in two minutes
cargo xtask bench WORD ...   the rows with one of these words in their names, also the soak";

fn start(words: &[String]) -> Result<()> {
    if let [AFTER, folder] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return after::run(Path::new(folder));
    }
    let runtime = tokio::runtime::Runtime::new()?;
    match words.split_first() {
        Some((first, rest)) if first == FLOOR => {
            let _floor = runtime.block_on(floor::run(rest))?;
            Ok(after::wait_for_parent()?)
        }
        Some((help, _)) if help == "--help" || help == "-h" => {
            println!("{USAGE}");
            Ok(())
        }
        Some((option, _)) if option.starts_with('-') && option != QUICK => {
            Err(anyhow!("there is no option {option}\n\n{USAGE}"))
        }
        _ => runtime.block_on(run(&root(), words)),
    }
}

/// The workspace: `cargo run` names the directory of this package.
fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR");
    let package = package.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    PathBuf::from(package).join("../..")
}

/// Measures every row, prints the page with their table and writes it to `lab/bench/results`.
///
/// A row above its budget is named and fails nothing: another machine, or a busy one, is slower.
/// A row that cannot be measured fails the bench after all others.
/// Words choose the rows whose experiments have one of them in a name, or a few, measured once; their
/// table is printed and not written.
async fn run(root: &Path, words: &[String]) -> Result<()> {
    // The bench is the client and the model server of thousands of streams.
    samovar_descriptors::raise().context("cannot raise the limit of file descriptors")?;
    let bench = Bench::prepare(words == [QUICK]).await?;
    let commit = Commit::read(root);
    let doubts = bench.doubts().await?;
    for doubt in &doubts {
        eprintln!("bench: {doubt}");
    }
    let began = Machine::read();
    let mut rows = Vec::new();
    let is_chosen = |experiment: &&Experiment| {
        let mut names = experiment.figures.iter().map(|figure| figure.name);
        names.any(|name| match words {
            [] => true,
            [word] if word == QUICK => name.ends_with(TO_THE_LOOP) || QUICK_ROWS.contains(&name),
            words => words.iter().any(|word| name.contains(word)),
        })
    };
    let long = LONG.iter().filter(|_| !words.is_empty());
    for experiment in COSTS
        .iter()
        .chain(EXPERIMENTS)
        .chain(long)
        .filter(is_chosen)
    {
        rows.extend(measure(experiment, &bench).await);
    }
    ensure!(!rows.is_empty(), "no row has one of {words:?} in its name");
    let page = Page {
        commit,
        doubts,
        began,
        ended: Machine::read(),
        rows,
    };
    let text = page.to_string();
    println!("{text}");
    if words.is_empty() {
        let file = format!("{RESULTS}/{}", page.name());
        let kept = keep(&root.join(RESULTS), &page.name(), &format!("{text}\n"));
        kept.with_context(|| format!("cannot write {file}"))?;
        eprintln!("bench: kept in {file}");
    }
    let (unmeasured, all) = (page.unmeasured(), page.rows.len());
    ensure!(unmeasured == 0, "{unmeasured} of {all} rows not measured");
    Ok(())
}

/// Keeps a page whole or not at all.
fn keep(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let unfinished = folder.join(".unfinished");
    fs::write(&unfinished, text)?;
    fs::rename(unfinished, folder.join(name))
}

async fn measure(experiment: &'static Experiment, bench: &Bench) -> Vec<Row> {
    let figures = experiment.figures;
    for figure in figures {
        eprintln!("... {}", figure.name);
    }
    let measured = async {
        let program = bench.program(figures[0].name)?;
        (experiment.measure)(&program).await
    };
    let mut samples = measured.await.map(Vec::into_iter);
    let rows = figures.iter().map(|figure| Row {
        figure,
        measured: match &mut samples {
            Ok(samples) => samples.next().context("its experiment has no value for it"),
            Err(why) => Err(anyhow!("{why:#}")),
        },
    });
    rows.collect()
}
