//! What a person sees of a command while it runs.

use samovar_model_server::{Rule, call, say};
use serde_json::json;

use super::is_provable;
use crate::setup::with_model;

// proves TL-2
#[tokio::test]
async fn a_terminal_shows_the_last_line_of_a_command_that_takes_long() {
    if !is_provable("a_terminal_shows_the_last_line_of_a_command_that_takes_long").await {
        return;
    }
    let command = "mkfifo go; echo first; echo 'the second one is too long for forty columns'; \
                   read line < go";
    let calls = call("exec", json!({ "command": command }));
    let (program, _model) = with_model([Rule::from(calls), Rule::from(say("done"))]).await;
    let terminal = program.seat(["run", "go"]).columns(40).start();
    let last_line = |screen: &str| {
        let line = screen.lines().next_back().unwrap_or_default();
        line.contains("  the second one is") && line.chars().count() == 39
    };
    terminal.sees_that("the last line", last_line).await;
    std::fs::write(program.folder().join("go"), "on\n").unwrap();
    let left = terminal.leaves().await;
    assert_eq!(left.code, Some(0), "{left:?}");
    assert!(left.screen.ends_with("done"), "{}", left.screen);
}
