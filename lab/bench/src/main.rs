//! `cargo xtask bench`: measures the release binary, row by row, and holds each row against its
//! budget.
//!
//! Here: one run from the first row to the page with the results.
//! What is measured is the table in [`mod@figures`]; how a row is measured stands there too, or in a file
//! named after what becomes of its turns, with [`program`] for the binary in folders of its own,
//! [`children`] for what the system knows about it, [`chat`], [`global_chat`] and [`socket`] for asking
//! it and [`model`] for whom it asks.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the bench speaks to the person at the terminal"
)]

mod cancelled;
mod chat;
mod children;
mod commits;
mod events;
mod figures;
mod global_chat;
mod http;
mod killed;
mod local;
mod machine;
mod model;
mod page;
mod posted;
mod program;
mod relayed;
mod repeated;
mod running;
mod sample;
mod socket;
mod stalled;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use crate::figures::{EXPERIMENTS, Experiment};
use crate::machine::{Commit, Machine};
use crate::page::{Page, Row};
use crate::program::Bench;

/// Where the pages with the results are kept, from the root.
const RESULTS: &str = "lab/bench/results";

fn main() -> ExitCode {
    match run(&root()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("bench: {failure}");
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

/// Measures every row, prints the page with their table and keeps it in `lab/bench/results`.
///
/// A row above its budget is said and fails nothing: another machine, or a busy one, is slower.
///
/// # Errors
///
/// A row that could not be measured, after all others; or that the page cannot be kept.
fn run(root: &Path) -> Result<(), String> {
    let bench = Bench::prepare()?;
    let commit = Commit::read(root);
    let began = Machine::read();
    let rows: Vec<Row> = EXPERIMENTS
        .iter()
        .flat_map(|experiment| measure(experiment, &bench))
        .collect();
    let page = Page {
        commit,
        began,
        ended: Machine::read(),
        rows,
    };
    let text = page.to_string();
    println!("{text}");
    let file = keep(root, &page.name(), &text)?;
    eprintln!("bench: kept in {file}");
    match page.unmeasured() {
        0 => Ok(()),
        count => Err(format!("{count} of {} rows not measured", page.rows.len())),
    }
}

fn measure(experiment: &'static Experiment, bench: &Bench) -> Vec<Row> {
    let figures = experiment.figures;
    for figure in figures {
        eprintln!("... {}", figure.name);
    }
    let name = figures
        .first()
        .map_or_else(String::new, |figure| figure.name.to_owned());
    let measured = bench
        .program(&name)
        .and_then(|program| (experiment.measure)(&program));
    let mut samples = measured.map(Vec::into_iter);
    let rows = figures.iter().map(|figure| Row {
        figure,
        measured: match &mut samples {
            Ok(samples) => samples
                .next()
                .ok_or_else(|| "nothing was told of it".to_owned()),
            Err(why) => Err(why.clone()),
        },
    });
    rows.collect()
}

/// Says where it is, from the root.
fn keep(root: &Path, name: &str, text: &str) -> Result<String, String> {
    let file = format!("{RESULTS}/{name}");
    let folder = fs::create_dir_all(root.join(RESULTS));
    let kept = folder.and_then(|()| fs::write(root.join(&file), format!("{text}\n")));
    kept.map_err(|cause| format!("the results cannot be kept in {file}: {cause}"))?;
    Ok(file)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the bench measures how long others take"
)]
/// The time, to compare with a later one.
pub(crate) fn now() -> Instant {
    Instant::now()
}
