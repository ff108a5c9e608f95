//! The program is replaced while it serves.

use std::fs;
use std::process::Command;

use samovar_model_server::{Rule, call, say};
use samovar_testkit::Program;
use serde_json::json;

use super::{SERVE, is_provable, results, turn};
use crate::setup::in_front_of_model;

// proves FC-11
#[tokio::test]
async fn a_tarball_unpacked_over_a_running_server_takes_nothing_from_it() {
    if !is_provable("a_tarball_unpacked_over_a_running_server_takes_nothing_from_it").await {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let binary = place.path().join("bin/samovar");
    fs::create_dir(place.path().join("bin")).unwrap();
    let built = env!("CARGO_BIN_EXE_samovar");
    let linked = fs::hard_link(built, &binary);
    linked
        .or_else(|_| fs::copy(built, &binary).map(drop))
        .unwrap();
    let runs = Rule::from(call("exec", json!({"command": "echo hello"})));
    let script = [runs, Rule::from(say("done"))];
    let (program, model) = in_front_of_model(Program::new(binary.to_str().unwrap()), script).await;
    let server = program
        .serve(&[&SERVE[..], &["--approval", "auto"]].concat())
        .await;
    let new = tempfile::tempdir().unwrap();
    fs::create_dir(new.path().join("bin")).unwrap();
    fs::write(new.path().join("bin/samovar"), "a newer one").unwrap();
    let unpack = format!(
        "tar -C {} -czf - bin | tar -C {} -xz",
        new.path().display(),
        place.path().display()
    );
    let unpacked = Command::new("sh").args(["-c", &unpack]).status();
    assert!(unpacked.unwrap().success());

    assert_eq!(turn(&server).await["type"], "completed");
    let found = &results(model.prompts()[1].body())[0];
    assert!(found.contains("stdout:\nhello"), "{found}");
    assert_eq!(fs::read(&binary).unwrap(), b"a newer one");
}
