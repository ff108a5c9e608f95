//! The proof, run as a person runs it.

use std::path::Path;
use std::time::Duration;

use samovar_core::plant::FAULTS;
use samovar_testkit::{Finished, Program, Signal, send};
use serde_json::Value;

use crate::proof::plants::is_found;
use crate::setup::{ended_with, program};

/// How long a whole run may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_mins(15);

/// The program, whose temporary files are where the test can look for them.
pub(crate) fn prover() -> (Program, std::path::PathBuf) {
    let program = program();
    let temporary = program.home().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let set = temporary.to_str().unwrap().to_owned();
    (program.set("TMPDIR", &set), temporary)
}

pub(crate) async fn run(program: &Program, args: &[&str]) -> Finished {
    let mut command = program.command(["prove"].iter().chain(args));
    let output = tokio::time::timeout(PATIENCE, command.output()).await;
    let output = output.unwrap().unwrap();
    Finished {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

pub(crate) fn is_empty(folder: &Path) -> bool {
    folder.read_dir().unwrap().next().is_none()
}

// proves DU-14
#[tokio::test]
async fn a_few_kills_break_no_promise_and_a_planted_fault_is_found() {
    let (program, temporary) = prover();

    let said = run(&program, &["--kills", "24", "--seed", "1", "--json"]).await;

    assert_eq!(said.code, Some(0), "{said:#?}");
    let report: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(report["is_whole"], true);
    assert!(is_empty(&temporary), "nothing is left behind");
    for name in ["ack-before-fsync", "relay-secret-out"] {
        let fault = FAULTS.iter().find(|fault| fault.name == name).unwrap();
        assert!(is_found(fault).await, "{fault:?}");
    }
}

// proves DU-14
#[tokio::test]
async fn a_proof_that_is_interrupted_says_what_it_has_counted_and_leaves_nothing_behind() {
    let (program, temporary) = prover();
    let mut command = program.command(["prove", "--kills", "1000000", "--seed", "3", "--json"]);
    let child = command.spawn().unwrap();
    // Its first folder is there once it listens to signals.
    let mut looked = tokio::time::interval(Duration::from_millis(20));
    while is_empty(&temporary) {
        looked.tick().await;
    }

    send(Signal::INT, &child);
    let said = Finished::of(child).await.exits(130);
    let report: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(report["schema"], "samovar.prove/1");
    assert_eq!(
        (&report["seed"], &report["is_whole"]),
        (&3.into(), &false.into())
    );
    assert!(is_empty(&temporary));
}

/// The process number that a server of the proof has left for its owner, once it has.
fn server_of(temporary: &Path) -> Option<u64> {
    let folders = temporary.read_dir().unwrap();
    let notes = folders.map(|folder| folder.unwrap().path().join("data/server.json"));
    let mut notes = notes.filter_map(|note| std::fs::read(note).ok());
    let note: Value = serde_json::from_slice(&notes.next()?).ok()?;
    note["pid"].as_u64()
}

/// Whether a process runs; one that has ended and that nobody has asked about yet does not.
fn runs(pid: u64) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    status.is_ok_and(|status| !status.contains(") Z "))
}

// proves DU-14
#[tokio::test]
async fn the_servers_of_a_killed_proof_end_with_it() {
    let (program, temporary) = prover();
    let args = ["prove", "--kills", "1000000", "--points", "none"];
    let mut child = program.command(args).spawn().unwrap();
    let mut looked = tokio::time::interval(Duration::from_millis(2));
    let server = loop {
        looked.tick().await;
        if let Some(server) = server_of(&temporary).filter(|server| runs(*server)) {
            break server;
        }
    };

    child.kill().await.unwrap();

    while runs(server) {
        looked.tick().await;
    }
}

// proves DU-14
#[tokio::test]
async fn what_cannot_be_proved_is_said_before_anything_is_killed() {
    let (program, temporary) = prover();
    for (args, code) in [
        (["--kills", "0"], "invalid_params"),
        (["--kills", "many"], "invalid_params"),
        (["--seconds", "0"], "invalid_params"),
        (["--seed", "-1"], "invalid_params"),
        (["--points", "nowhere"], "unknown_point"),
        (["--plant", "nothing"], "unknown_fault"),
        (
            ["--report", "no/such/folder/report.json"],
            "report_unwritable",
        ),
    ] {
        let said = run(&program, &args).await;
        ended_with(&said, 2, code);
        assert_eq!(said.stdout, "");
    }
    assert!(is_empty(&temporary));
}
