//! A data directory of format 1 that was left in the middle of its work: see `format/README.md`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use reqwest::Method;
use samovar_model_server::{ModelServer, When, say};
use samovar_testkit::{Program, Serving};
use serde_json::{Value, json};

use crate::setup::{last, messages, text, with_model};

const TOLD: [&str; 6] = [
    "user: hello",
    "assistant: an old answer",
    "user: look around",
    "assistant: ",
    "tool: 0 entries in this folder",
    "assistant: an old answer",
];

/// The program with the data directory, and a model for what is left to do.
async fn left(resume: &str) -> (Program, ModelServer) {
    let (program, model) = with_model([
        say("the whole story").when(When::user("tell me a story")),
        say("nothing more").when(When::user("and then?")),
        say("see you").when(When::user("ask me")),
        say("something new").when(When::user("more")).forever(),
    ])
    .await;
    let program = program.set("SAMOVAR__RECOVERY__RESUME", resume);
    let archive = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let archive = archive.join("tests/it/format/1.tgz");
    let data = program.folder().join("left");
    fs::create_dir(&data).unwrap();
    let mut unpack = Command::new("tar");
    unpack.arg("-C").arg(&data).arg("-xzf").arg(archive);
    assert!(unpack.status().unwrap().success());
    (program, model)
}

async fn serve(program: &Program) -> Serving {
    let args = ["--data-dir", "left", "--approval", "auto"];
    program.serve(&args).await
}

async fn get(server: &Serving, path: &str) -> Value {
    let answer = server.get(path).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

/// Waits until a session has nothing left to do.
async fn over(server: &Serving, session: &str) -> Value {
    loop {
        let turns = get(server, &format!("/api/turns?sessionId={session}")).await;
        let mut states = turns.as_array().unwrap().iter().map(|turn| &turn["state"]);
        if states.all(|state| state == "finished") {
            return turns;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// Stops the server and reads every row of both stores.
async fn verified(program: &Program, server: Serving) {
    server.send(samovar_testkit::Signal::TERM);
    server.end().await.exits(0);
    program
        .run(["doctor", "--deep", "--data-dir", "left"])
        .await
        .exits(0);
    assert!(!program.folder().join("left/damaged").exists());
}

// proves DU-1, DU-6, DU-13
#[tokio::test]
async fn continues_the_work_in_a_data_directory_of_format_1() {
    let (program, model) = left("auto").await;
    let server = serve(&program).await;

    assert_eq!(messages(&server, "finished").await, TOLD);
    let calls = get(&server, "/api/calls").await;
    let [call] = &calls["items"].as_array().unwrap()[..] else {
        panic!("{calls}");
    };
    assert_eq!(call["args"], json!({"q": "when?"}));
    let path = format!("/api/calls/{}", call["id"].as_str().unwrap());
    let settled = server.request(Method::POST, &path);
    let settled = server.answer(settled.json(&json!({"result": "at noon"})));
    assert_eq!(settled.await.status, 200);
    over(&server, "asks").await;
    assert_eq!(
        messages(&server, "asks").await[2..],
        ["tool: at noon", "assistant: see you"]
    );
    let turns = over(&server, "streams").await;
    let paths = turns.as_array().unwrap().iter().map(|turn| &turn["path"]);
    assert!(paths.eq([&json!(["master"]); 3]), "{turns}");
    let story = [
        "user: hello",
        "assistant: an old answer",
        "user: tell me a story",
        "assistant: the whole story",
        "user: and then?",
        "assistant: nothing more",
    ];
    assert_eq!(messages(&server, "streams").await, story);
    for session in ["finished", "asks", "streams"] {
        let said = server.turn(session, "more").await;
        assert_eq!(text(&said), "something new");
        assert_eq!(last(&said)["type"], "completed");
    }
    assert!(model.left_over().is_empty());
    verified(&program, server).await;
}

// proves AS-27
#[tokio::test]
async fn messages_of_format_1_are_found_although_their_indexing_was_killed() {
    let (program, _model) = left("ask").await;
    let armed = program.set("SAMOVAR_FAILPOINT", "history.index.before:1");
    match armed.try_serve(&["--data-dir", "left"]).await {
        Ok(server) => assert_eq!(server.end().await.code, None, "it was killed"),
        Err(ended) => assert_eq!(ended.code, None, "{ended:?}"),
    }
    let program = armed.set("SAMOVAR_FAILPOINT", "");
    let server = serve(&program).await;

    let found = loop {
        let found = get(&server, "/api/search?query=LOOK%20around").await;
        if found["indexed"] == true {
            break found;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };

    let [hit] = &found["items"].as_array().unwrap()[..] else {
        panic!("{found}");
    };
    assert_eq!(
        (&hit["sessionId"], &hit["role"]),
        (&json!("finished"), &json!("user"))
    );
    verified(&program, server).await;
}

// proves DU-6
#[tokio::test]
async fn ends_what_is_unfinished_in_format_1_where_turns_are_not_resumed() {
    let (program, _model) = left("off").await;
    let server = serve(&program).await;

    let turns = over(&server, "streams").await;

    let reason = |turn: &Value| turn["finishReason"].as_str().unwrap_or_default().to_owned();
    let ends: Vec<_> = turns.as_array().unwrap().iter().map(reason).collect();
    assert_eq!(ends[..2], ["stop", "error"], "{turns}");
    let told = messages(&server, "streams").await;
    assert_eq!(told[2], "user: tell me a story");
    assert!(told[3].starts_with("assistant: Once upon"), "{told:?}");
    let said = server.turn("streams", "more").await;
    assert_eq!(text(&said), "something new");
    verified(&program, server).await;
}
