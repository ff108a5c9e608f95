//! `cargo xtask bench`: measures the release binary, row by row, and compares each row with its budget.
//!
//! Here: one run from the first row to the page with the results.
//! What is measured is the table in [`mod@figures`]; how a row is measured is there too, or in a file
//! named after what happens to its turns or messages. [`program`] starts the binary in its own
//! folders, [`children`] reads what the system knows about it, [`client`] sends it requests, and
//! [`model`] is the model server that it asks.
//! Not here: the build of the binary, which is a step of the task.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the bench speaks to the person at the terminal"
)]

mod burst;
mod caged;
mod called;
mod cancelled;
mod children;
mod client;
mod commits;
mod copied;
mod crowded;
mod figures;
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
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, ensure};

use crate::figures::{EXPERIMENTS, Experiment, LONG};
use crate::machine::{Commit, Machine};
use crate::page::{Page, Row};
use crate::program::Bench;

/// The directory of the results, from the root.
const RESULTS: &str = "lab/bench/results";

#[tokio::main]
async fn main() -> ExitCode {
    match run(&root(), std::env::args().nth(1).as_deref()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("bench: {failure:#}");
            ExitCode::FAILURE
        }
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
/// A word chooses the rows whose experiment has it in a name; their table is printed and not written.
async fn run(root: &Path, word: Option<&str>) -> Result<()> {
    // The bench is the client and the model server of thousands of streams.
    samovar_descriptors::raise().context("cannot raise the limit of file descriptors")?;
    let bench = Bench::prepare().await?;
    let commit = Commit::read(root);
    let began = Machine::read();
    let mut rows = Vec::new();
    let has_word = |experiment: &&Experiment| {
        let word = word.unwrap_or_default();
        experiment
            .figures
            .iter()
            .any(|figure| figure.name.contains(word))
    };
    let long = LONG.iter().filter(|_| word.is_some());
    for experiment in EXPERIMENTS.iter().chain(long).filter(has_word) {
        rows.extend(measure(experiment, &bench).await);
    }
    ensure!(!rows.is_empty(), "no row has {word:?} in its name");
    let page = Page {
        commit,
        began,
        ended: Machine::read(),
        rows,
    };
    let text = page.to_string();
    println!("{text}");
    if word.is_none() {
        let file = format!("{RESULTS}/{}", page.name());
        let kept = fs::create_dir_all(root.join(RESULTS));
        let kept = kept.and_then(|()| fs::write(root.join(&file), format!("{text}\n")));
        kept.with_context(|| format!("cannot write {file}"))?;
        eprintln!("bench: kept in {file}");
    }
    let (unmeasured, all) = (page.unmeasured(), page.rows.len());
    ensure!(unmeasured == 0, "{unmeasured} of {all} rows not measured");
    Ok(())
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
