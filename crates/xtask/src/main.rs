//! The tasks of the project: `cargo xtask check`, `test`, `contract`, `bench`, `instructions`,
//! `prove`, `fuzz`, `mutants`, `dist` and `mass`.
//!
//! Here: the command line of the tasks, in [`task`] the table of tasks with the commands each one
//! is made of, in [`fuzz`] how that one runs its targets, in [`mutants`] what that one breaks, in
//! [`dist`] what that one packs, and in [`mass`] what that one counts.
//! Not here: the rules of the house, which are tests (`tests/it/house.rs`), and what a new machine
//! lacks, which `.ci/run` installs.
//! It depends on no crate, so that it is built in a second.
//! To add a task, add a row to [`task::TASKS`].

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task speaks to the person at the terminal"
)]

mod dist;
mod fuzz;
mod mass;
mod mutants;
mod packages;
mod task;

use std::process::ExitCode;

use crate::task::{TASKS, Task};

/// The exit code for a command line that names no task.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    match read(&words) {
        Ok(Request::Help) => {
            println!("{}", help());
            ExitCode::SUCCESS
        }
        Ok(Request::Run(task, words)) => match task.run(words) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                eprintln!("xtask: {failure}");
                ExitCode::FAILURE
            }
        },
        Err(mistake) => {
            eprintln!("xtask: {mistake}\n\n{}", help());
            ExitCode::from(USAGE)
        }
    }
}

/// What the command line asks for.
enum Request<'w> {
    Help,
    Run(&'static Task, &'w [String]),
}

fn read(words: &[String]) -> Result<Request<'_>, String> {
    let (name, rest) = words.split_first().ok_or("no task given")?;
    let task = TASKS.iter().find(|task| task.name == name);
    match (task, rest.first()) {
        (Some(task), Some(_)) if task.takes_words() => Ok(Request::Run(task, rest)),
        (_, Some(extra)) => Err(format!("unexpected argument {extra:?}; this takes none")),
        (Some(task), None) => Ok(Request::Run(task, rest)),
        (None, None) if matches!(name.as_str(), "help" | "--help" | "-h") => Ok(Request::Help),
        (None, None) => Err(format!("unknown task {name:?}")),
    }
}

fn help() -> String {
    let rows = TASKS
        .iter()
        .map(|task| format!("\n  {:<14}{}", task.name, task.purpose));
    format!(
        "usage: cargo xtask <task>\n\ntasks:{}",
        rows.collect::<String>()
    )
}
