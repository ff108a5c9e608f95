//! `samovar tools`.

use serde_json::{Value, json};

use crate::setup::{ended_with, program};

// proves FC-1
#[tokio::test]
async fn a_person_calls_a_tool_through_the_gate_that_a_model_passes_with_and_without_a_server() {
    let program = program();
    program
        .file("notes.txt", "one\ntwo\n")
        .file("data/.keep", "");
    std::fs::remove_file(program.folder().join("data/.keep")).unwrap();
    let alone = program
        .run(["tools", "call", "read_file", r#"{"path": "notes.txt"}"#])
        .await;
    assert_eq!(alone.code, Some(0), "{alone:?}");
    assert_eq!(alone.stdout, "     1\tone\n     2\ttwo\n");

    let server = program.serve(&[]).await;
    let beside = program
        .run(["tools", "call", "read_file", r#"{"path": "notes.txt"}"#])
        .await;
    assert_eq!((beside.code, &beside.stdout), (Some(0), &alone.stdout));
    let stats = server.ok("getStats", json!({})).await;
    assert_eq!(stats["messages"], 0, "it belongs to no session");
}

// proves FC-1, FC-2
#[tokio::test]
async fn a_call_that_fails_or_is_denied_says_so_in_its_exit_code() {
    let program = program();
    let write = r#"{"path": "a.txt", "content": "x"}"#;
    let args = ["tools", "call", "write_file", write, "--json"];
    let denied = program
        .run(args.iter().chain(&["--approval", "read-only"]))
        .await;
    assert_eq!(denied.code, Some(6), "{denied:?}");
    let document: Value = serde_json::from_str(&denied.stdout).unwrap();
    assert_eq!(document["schema"], "samovar.tool_result/1");
    assert_eq!(document["status"], "denied");
    assert!(!program.folder().join("a.txt").exists());

    let missing = program
        .run(["tools", "call", "read_file", r#"{"path": "no.txt"}"#])
        .await;
    assert_eq!(missing.code, Some(1), "{missing:?}");
    let wrong = program.run(["tools", "call", "read_file", "{}"]).await;
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(wrong.stdout.contains("path"), "{wrong:?}");
    let unknown = program.run(["tools", "call", "nothing"]).await;
    ended_with(&unknown, 2, "unknown_tool");
    let garbage = program.run(["tools", "call", "read_file", "["]).await;
    ended_with(&garbage, 2, "invalid_params");
}
