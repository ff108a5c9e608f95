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
    let left = terminal.leaves().await.exits(0);
    assert!(left.screen.ends_with("done"), "{}", left.screen);
}

// proves FC-1, TL-2
#[tokio::test]
async fn below_a_command_stands_what_it_wrote_last_or_all_of_it() {
    let name = "below_a_command_stands_what_it_wrote_last_or_all_of_it";
    if !is_provable(name).await {
        return;
    }
    for (flag, is_all) in [("--no-input", false), ("-v", true)] {
        let calls = call("exec", json!({"command": "seq 1 25; echo bad >&2; exit 1"}));
        let (program, _model) = with_model([Rule::from(calls), Rule::from(say("done"))]).await;
        let said = program.run(["run", flag, "go"]).await;
        assert!(
            said.stderr
                .contains("\n• $ seq 1 25; echo bad >&2; exit 1\n  exec: exit code 1\n"),
            "{said:?}"
        );
        assert!(said.stderr.contains("\n    25\n    bad\n"), "{said:?}");
        assert_eq!(said.stderr.contains("\n    1\n    2\n"), is_all, "{said:?}");
        assert_eq!(
            said.stderr.contains("\n    … 6 more lines"),
            !is_all,
            "{said:?}"
        );

        let listed = program.run(["sessions", "list", "--json"]).await.stdout;
        let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
        let id = listed["items"][0]["id"].as_str().unwrap();
        let shown = program.run(["sessions", "show", id]).await.stdout;
        assert!(
            shown.contains("[exec] exit code 1\n    1\n    2\n"),
            "{shown}"
        );
    }
}
