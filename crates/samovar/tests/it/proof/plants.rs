//! Every fault that can be planted, against the proof that has to find it.

use std::time::Duration;

use samovar_core::plant::{Detection, FAULTS, Fault};
use samovar_testkit::Finished;

use crate::setup::program;

/// Proofs that one fault may take, of so many kills each: a short one judges sooner.
const ROUNDS: u32 = 12;
const KILLS: &str = "16";
/// How long one may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_mins(2);

/// Runs a short proof.
async fn proof(fault: &Fault, seed: u32) -> Finished {
    let program = program();
    let seed = seed.to_string();
    let mut args = vec![
        "prove",
        "--fail-fast",
        "--stuck-after",
        "10",
        "--seed",
        &seed,
    ];
    args.extend(["--kills", KILLS, "--plant", fault.name]);
    match fault.seen {
        Detection::ByKills => {}
        Detection::At(point) => args.extend(["--points", point]),
        Detection::ByCuts => args.push("--cut"),
    }
    let folder = program.home().join("tmp");
    std::fs::create_dir(&folder).unwrap();
    let mut command = program.command(&args);
    // What a proof keeps of a broken promise goes with the folder.
    command.env("TMPDIR", folder);
    let output = tokio::time::timeout(PATIENCE, command.output()).await;
    let output = output.unwrap_or_else(|_| panic!("{fault:?} hangs"));
    let output = output.unwrap();
    Finished {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Whether the proof finds a fault.
pub(crate) async fn is_found(fault: &Fault) -> bool {
    for seed in 1..=ROUNDS {
        let said = proof(fault, seed).await;
        match said.code {
            Some(0) => {}
            Some(1) if said.stderr.contains("[promise_broken]") => return true,
            _ => panic!("{fault:?}: {said:#?}"),
        }
    }
    false
}

async fn all_are_found(is_wanted: impl Fn(&Fault) -> bool) {
    let faults = FAULTS.iter().filter(|fault| is_wanted(fault));
    for fault in faults {
        assert!(is_found(fault).await, "{fault:?}");
    }
}

// proves DU-14
#[tokio::test]
async fn the_proof_finds_the_faults_of_turns_that_kills_at_any_time_show() {
    let is_other = |fault: &Fault| {
        let is_other = is_of_reader(fault) || is_of_question(fault);
        is_other || is_of_tree(fault) || is_of_relay(fault)
    };
    all_are_found(|fault| fault.seen == Detection::ByKills && !is_other(fault)).await;
}

// proves DU-14
#[tokio::test]
async fn the_proof_finds_the_faults_of_readers_that_kills_at_any_time_show() {
    all_are_found(|fault| fault.seen == Detection::ByKills && is_of_reader(fault)).await;
}

fn is_of_reader(fault: &Fault) -> bool {
    ["double-publish", "resume-skips", "resume-repeats"].contains(&fault.name)
}

// proves DU-14, CH-10
#[tokio::test]
async fn the_proof_finds_the_faults_of_questions_that_kills_at_any_time_show() {
    all_are_found(|fault| fault.seen == Detection::ByKills && is_of_question(fault)).await;
}

fn is_of_question(fault: &Fault) -> bool {
    let words = ["question", "answer", "approval", "denial", "decision"];
    words.iter().any(|word| fault.name.contains(word)) && !is_of_tree(fault)
}

// proves DU-14, SA-7, SA-11
#[tokio::test]
async fn the_proof_finds_the_faults_of_called_agents() {
    all_are_found(is_of_tree).await;
}

fn is_of_tree(fault: &Fault) -> bool {
    ["child-", "background-"]
        .iter()
        .any(|beginning| fault.name.starts_with(beginning))
}

// proves DU-14, RL-7, RL-12
#[tokio::test]
async fn the_proof_finds_the_faults_of_what_the_relay_passes_on() {
    let is_of_talk = |fault: &Fault| is_of_relay(fault) && !is_of_log(fault);
    all_are_found(|fault| fault.seen == Detection::ByKills && is_of_talk(fault)).await;
}

// proves DU-14, RL-14, RL-15, RL-28
#[tokio::test]
async fn the_proof_finds_the_faults_of_the_logs_of_studies() {
    let is_of_study = |fault: &Fault| is_of_relay(fault) && is_of_log(fault);
    all_are_found(|fault| fault.seen == Detection::ByKills && is_of_study(fault)).await;
}

fn is_of_relay(fault: &Fault) -> bool {
    fault.name.starts_with("relay-")
}

fn is_of_log(fault: &Fault) -> bool {
    let words = ["row", "index", "check", "restart", "study", "log"];
    words.iter().any(|word| fault.name.contains(word))
}

// proves DU-14
#[tokio::test]
async fn the_proof_finds_the_faults_that_a_kill_beside_a_call_shows() {
    all_are_found(|fault| matches!(fault.seen, Detection::At(point) if is_of_call(point))).await;
}

// proves DU-14
#[tokio::test]
async fn the_proof_finds_the_faults_that_a_kill_at_another_point_shows() {
    all_are_found(|fault| {
        matches!(fault.seen, Detection::At(point) if !is_of_call(point)) && !is_of_tree(fault)
    })
    .await;
}

fn is_of_call(point: &str) -> bool {
    let edges = ["tool.", "intent.", "result."];
    edges.iter().any(|edge| point.starts_with(edge))
}

// proves DU-14
#[tokio::test]
async fn the_proof_finds_the_faults_that_a_power_cut_shows() {
    all_are_found(|fault| fault.seen == Detection::ByCuts).await;
}
