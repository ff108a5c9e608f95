//! Commands find the programs of the shell in which the owner typed.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use samovar_model_server::{Rule, call, say};
use serde_json::json;

use super::{SERVE, is_provable, results};
use crate::setup::with_model;

// proves TL-6
#[tokio::test]
async fn a_command_finds_the_programs_of_the_shell_in_which_its_message_was_typed() {
    if !is_provable("a_command_finds_the_programs_of_the_shell_in_which_its_message_was_typed")
        .await
    {
        return;
    }
    let command = |command: &str| call("exec", json!({ "command": command }));
    // The second only reads, and runs the server's own programs.
    let (program, model) = with_model([
        Rule::from(command("greet; echo $TZ; date +%Z > zone")),
        Rule::from(command("ls zone; which greet")),
        Rule::from(say("done")),
        Rule::from(command("greet; true > zone")),
        Rule::from(say("done")),
    ])
    .await;
    let bin = program.home().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("greet"), "#!/bin/sh\necho hello from the shell\n").unwrap();
    fs::set_permissions(bin.join("greet"), Permissions::from_mode(0o755)).unwrap();
    let server = program
        .serve(&[&SERVE[..], &["--approval", "auto"]].concat())
        .await;
    let path = format!("{}:/usr/bin:/bin", bin.display());

    let mut run = program.command(["run", "--data-dir", "data", "go"]);
    let ended = run.env("PATH", &path).env("TZ", "XYZ-3").output().await;
    assert!(ended.unwrap().status.success());
    let mut run = program.command(["run", "--data-dir", "data", "again"]);
    assert!(run.output().await.unwrap().status.success());

    let prompts = model.prompts();
    let (found, later) = (results(prompts[2].body()), results(prompts[4].body()));
    let hello = "exit code 0\nstdout:\nhello from the shell\nXYZ-3";
    assert_eq!(found[0], hello);
    assert_eq!(
        fs::read_to_string(program.folder().join("zone")).unwrap(),
        ""
    );
    assert!(
        found[1].starts_with("exit code 1\nstdout:\nzone"),
        "{found:?}"
    );
    assert!(later[0].contains("greet: command not found"), "{later:?}");
    drop(server);
}
