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

async fn proposed(program: &Program) -> Vec<Value> {
    items(&program.run(["memory", "proposals", "--json"]).await)
}

// proves MD-14, FC-10
#[tokio::test]
async fn a_proposal_and_its_acceptance_that_a_kill_cut_are_there_once_or_not_at_all() {
    let propose = [
        "tools",
        "call",
        "remember",
        r#"{"text": "Likes tea.", "about": "person"}"#,
    ];
    for (point, is_written) in [("memory.write.before", false), ("memory.write.after", true)] {
        let program = program().set("SAMOVAR_FAILPOINT", point);
        let killed = program.run(propose).await;
        assert_ne!(killed.code, Some(0), "{point} is never reached: {killed:?}");
        let program = program.set("SAMOVAR_FAILPOINT", "");
        let count = proposed(&program).await.len();
        assert_eq!(count, usize::from(is_written), "{point}");
        program.run(propose).await.exits(0);
        let id = proposed(&program).await[0]["id"].clone();
        let accept = ["memory", "accept", id.as_str().unwrap()];

        let program = program.set("SAMOVAR_FAILPOINT", point);
        let killed = program.run(accept).await;
        assert_ne!(killed.code, Some(0), "{point} is never reached: {killed:?}");
        let program = program.set("SAMOVAR_FAILPOINT", "");

        let (waiting, kept) = (proposed(&program).await, remembered(&program).await);
        assert_eq!(
            (waiting.is_empty(), kept.len()),
            (is_written, usize::from(is_written))
        );
        let again = program.run(accept).await;
        assert_eq!(
            again.code,
            Some(if is_written { 2 } else { 0 }),
            "{again:?}"
        );
        let kept = remembered(&program).await;
        assert_eq!(kept.len(), 1, "{kept:?}");
        assert_eq!(
            (&kept[0]["id"], &kept[0]["source"]),
            (&id, &"person's facts".into())
        );
    }
}

// proves FC-1, MD-14
#[tokio::test]
async fn proposals_are_answered_at_the_command_line_and_in_a_chat() {
    let remember = |text: &str| call("remember", json!({"text": text, "about": "person"}));
    let script = [
        remember("Likes tea."),
        remember("Is 42."),
        remember("Is 43."),
        say("done"),
    ];
    let (program, _model) = with_model(script).await;
    program.run(["run", "hello"]).await.exits(0);
    let waiting = proposed(&program).await;
    let ids: Vec<_> = waiting
        .iter()
        .map(|it| it["id"].as_str().unwrap())
        .collect();
    let listed = program.run(["memory", "proposals"]).await.exits(0).stdout;
    assert!(listed.contains(&format!("{}  person", ids[0])), "{listed}");
    let said = program.run(["memory", "list"]).await.exits(0);
    assert!(
        said.stderr.contains("proposals that wait for you: 3"),
        "{said:?}"
    );

    let kept = program.run(["memory", "accept", ids[0], "--text", "Likes green tea."]);
    let kept = kept.await.exits(0).stdout;
    assert!(kept.starts_with("Likes green tea.\n"), "{kept}");
    let lines = format!(
        "/memory\n/memory refuse {}\n/memory accept {}\n",
        ids[1], ids[2]
    );
    let chat = program
        .run_with_stdin(["chat"], Some(lines.into_bytes()))
        .await;
    assert!(
        chat.stdout.contains(&format!("{}  person", ids[1])),
        "{chat:?}"
    );
    for said in [
        "answer with /memory accept ID",
        &format!("refused {}", ids[1]),
        "remembered: Is 43.",
    ] {
        assert!(chat.stderr.contains(said), "{said}: {chat:?}");
    }
    let said = program.run(["memory", "proposals"]).await.exits(0);
    assert!(said.stderr.contains("nothing is proposed"), "{said:?}");
    let refused = program.run(["memory", "refuse", ids[1]]).await;
    assert!(refused.stderr.contains("no proposal"), "{refused:?}");
    assert_eq!(remembered(&program).await.len(), 2);
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
