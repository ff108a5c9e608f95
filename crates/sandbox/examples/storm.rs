//! A storm of a person's work during commands, in every variant of the sandbox:
//! `cargo run --release -p samovar-sandbox --example storm -- ROUNDS`.
//!
//! Prints for each variant how many trusted names had something of a command's, how much of the person's
//! work is lost, and whether git ran what a command wrote. For another user, copy the program to a folder
//! of theirs and run it there: `setpriv --reuid 65534 --regid 65534 --clear-groups ./storm 1000`.

#![expect(clippy::print_stdout, reason = "it is a proof that a person reads")]
#![expect(clippy::unwrap_used, reason = "what fails ends the proof")]

use std::fs;
use std::io;
use std::path::PathBuf;

use samovar_sandbox::cage::{CageSettings, Cages, Job, Level, Limits, be_cage_if_asked};

use storm::{KEPT, Storm};

#[path = "../tests/it/cage/storm.rs"]
mod storm;

fn main() -> io::Result<()> {
    be_cage_if_asked();
    let rounds = std::env::args()
        .nth(1)
        .and_then(|it| it.parse().ok())
        .unwrap_or(1_000);
    let mut is_whole = true;
    for level in [Level::Namespaces, Level::Landlock, Level::Off] {
        let top = tempfile::tempdir_in("/var/tmp")?;
        let [workspace, outside] = ["workspace", "outside"].map(|name| top.path().join(name));
        fs::create_dir(&workspace)?;
        fs::create_dir(&outside)?;
        let cages = Cages::new(CageSettings {
            level,
            workspace: workspace.clone(),
            path: ["/usr/bin", "/bin"].map(PathBuf::from).to_vec(),
            home: None,
            variables: Vec::new(),
            read: Vec::new(),
            hidden: Vec::new(),
            kept: KEPT.map(PathBuf::from).to_vec(),
            lock: None,
            note: Some(top.path().join("note")),
            program: None,
        })?;
        if let Err(shortage) = cages.probe() {
            println!("{}: not provable here: {shortage}", level.as_str());
            continue;
        }
        let job = |command: &str| Job {
            program: "/bin/bash".into(),
            args: vec!["-c".to_owned(), command.to_owned()],
            env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
            path: None,
            cwd: workspace.clone(),
            home: None,
            network: false,
            writes: true,
            limits: Limits::default(),
        };
        let storm = Storm {
            workspace: &workspace,
            outside: &outside,
            cages: &cages,
        };
        let tally = storm.rage(rounds, job);
        let (untold, lost) = (tally.untold.len(), tally.lost.len());
        println!(
            "{}: {rounds} rounds, {untold} untold, {lost} lost, ran outside: {}",
            level.as_str(),
            tally.ran
        );
        for wrong in tally.untold.iter().chain(&tally.lost).take(10) {
            println!("  {wrong}");
        }
        is_whole &= untold + lost == 0 && !tally.ran;
    }
    if is_whole {
        return Ok(());
    }
    Err(io::Error::other("the storm did harm"))
}
