//! A memory whose writing or deletion a kill cut: it is there whole or not at all, and what was deleted
//! stays so.

use std::fs;

use samovar_model_server::{call, say};
use samovar_testkit::{Finished, Program};
use serde_json::{Value, json};

use crate::setup::{program, with_model};

fn items(said: &Finished) -> Vec<Value> {
    assert_eq!(said.code, Some(0), "{said:?}");
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    document["items"].as_array().unwrap().clone()
}

async fn remembered(program: &Program) -> Vec<Value> {
    items(&program.run(["memory", "list", "--json"]).await)
}

async fn file(program: &Program) -> String {
    let path = program.run(["memory", "path"]).await.stdout;
    fs::read_to_string(path.lines().next().unwrap()).unwrap_or_default()
}

// proves MD-13
#[tokio::test]
async fn a_deletion_that_a_kill_cut_is_finished_and_a_memory_is_never_half_there() {
    let remember = [
        "tools",
        "call",
        "remember",
        r#"{"text": "The person likes tea."}"#,
    ];
    for (point, is_written) in [("memory.write.before", false), ("memory.write.after", true)] {
        let program = program().set("SAMOVAR_FAILPOINT", point);
        let killed = program.run(remember).await;
        let program = program.set("SAMOVAR_FAILPOINT", "");
        assert_ne!(killed.code, Some(0), "{point} is never reached: {killed:?}");
        assert_eq!(
            remembered(&program).await.len(),
            usize::from(is_written),
            "{point}"
        );
    }
    for (point, is_gone) in [
        ("memory.forget.before", false),
        ("memory.forget.marked", true),
        ("memory.forget.after", true),
    ] {
        let program = program();
        assert_eq!(program.run(remember).await.code, Some(0));
        let id = remembered(&program).await[0]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let forget = ["memory", "forget", id.as_str()];
        let program = program.set("SAMOVAR_FAILPOINT", point);
        let killed = program.run(forget).await;
        let program = program.set("SAMOVAR_FAILPOINT", "");
        assert_ne!(killed.code, Some(0), "{point} is never reached: {killed:?}");
        assert_eq!(remembered(&program).await.is_empty(), is_gone, "{point}");
        assert_eq!(file(&program).await.contains("tea"), !is_gone, "{point}");
        if !is_gone {
            assert_eq!(program.run(forget).await.code, Some(0), "{point}");
        }
    }
}

// proves MD-10
#[tokio::test]
async fn a_time_zone_that_is_unknown_is_said() {
    let program = program().set("TZ", "Nowhere/Bad");
    let said = program.run(["memory", "list"]).await;
    assert!(
        said.stderr
            .contains("the time zone Nowhere/Bad of the variable TZ is unknown"),
        "{said:?}"
    );
    let program = program.set("TZ", "Europe/Kyiv");
    let said = program.run(["memory", "list"]).await;
    assert!(!said.stderr.contains("time zone"), "{said:?}");
}

// proves MD-13
#[tokio::test]
async fn an_undo_that_a_kill_cut_before_or_after_the_forgetting_can_be_asked_for_again() {
    for point in ["memory.forget.before", "memory.forget.marked"] {
        let remember = call("remember", json!({"text": "The person likes tea."}));
        let (program, _model) = with_model([remember, say("done")]).await;
        let ran = program.run(["run", "hello"]).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let listed = items(&program.run(["sessions", "list", "--json"]).await);
        let session = listed[0]["id"].as_str().unwrap();
        let undo = ["sessions", "undo", session];
        let program = program.set("SAMOVAR_FAILPOINT", point);
        let killed = program.run(undo).await;
        let program = program.set("SAMOVAR_FAILPOINT", "");
        assert_ne!(killed.code, Some(0), "{point} is never reached: {killed:?}");
        let again = program.run(undo).await;
        assert_eq!(again.code, Some(0), "{point}: {again:?}");
        assert!(remembered(&program).await.is_empty(), "{point}");
        assert!(!file(&program).await.contains("tea"), "{point}");
    }
}
