//! A file tool that a kill cut: the write is there once, and what a person wrote meanwhile stays.

use std::time::Duration;

use reqwest::Method;
use samovar_model_server::{When, call, say};
use samovar_testkit::Program;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::setup::with_model;

/// Every point from the intent to the result.
const POINTS: [&str; 9] = [
    "intent.after",
    "tool.verifiable.before",
    "file.write.before",
    "file.sync.before",
    "file.rename.before",
    "file.rename.after",
    "file.write.after",
    "tool.verifiable.after",
    // The first result is that of the look at the file.
    "result.before:2",
];
const PATIENCE: Duration = Duration::from_mins(2);
const FILE: &str = "tea.txt";
const BEFORE: &str = "one tea\nand one more\n";
const PERSONS: &str = "a person was here\n";

/// What a kill at this point leaves.
struct CutWrite {
    program: Program,
    /// What the file held when the server was gone.
    left: String,
}

/// A server that was killed at a point while a turn called a file tool.
async fn cut(
    point: &str,
    tool: &str,
    args: Value,
) -> (CutWrite, samovar_model_server::ModelServer) {
    let last = || When::Not(Box::new(When::user("the last")));
    let (program, model) = with_model([
        call("read_file", json!({"path": FILE}))
            .when(last().and(When::ToolResultsSinceUser(0)))
            .forever(),
        call(tool, args)
            .when(last().and(When::ToolResultsSinceUser(1)))
            .forever(),
        say("it is done").when(last()).forever(),
        say("the last answer").forever(),
    ])
    .await;
    program.file(FILE, BEFORE);
    let armed = program.set("SAMOVAR_FAILPOINT", point);
    let server = armed.serve(&["--approval", "auto"]).await;
    server.ok("createSession", json!({"sessionId": "s"})).await;
    let message = json!({"sessionId": "s", "messageId": "m", "content": "change it"});
    let path = "/services/agent/sendMessage";
    let sent = server.request(Method::POST, path).json(&message).send();
    assert!(sent.await.is_err(), "{point} is not reached");
    assert_eq!(server.end().await.code, None, "{point}");
    let program = armed.set("SAMOVAR_FAILPOINT", "");
    let left = std::fs::read_to_string(program.folder().join(FILE)).unwrap();
    (CutWrite { program, left }, model)
}

impl CutWrite {
    fn content(&self) -> String {
        std::fs::read_to_string(self.program.folder().join(FILE)).unwrap()
    }

    /// Starts again, and gives what the model was told of the call.
    async fn told(&self) -> String {
        let server = self.program.serve(&["--approval", "auto"]).await;
        // It waits for the turn that continues.
        let message = json!({"sessionId": "s", "content": "say the last"});
        server.ok("sendMessage", message).await;
        let rows = server.ok("getMessages", json!({"sessionId": "s"})).await;
        let rows = rows.as_array().unwrap();
        let is_write = |row: &&Value| row["role"] == "tool" && row["name"] != "read_file";
        let results: Vec<_> = rows.iter().filter(is_write).collect();
        let [result] = results.as_slice() else {
            panic!("{rows:#?}");
        };
        assert!(
            rows.iter().any(|row| row["content"] == "it is done"),
            "{rows:#?}"
        );
        result["content"].as_str().unwrap().to_owned()
    }
}

async fn check(point: &'static str) {
    // Twice would be another text than once.
    let edit = json!({"path": FILE, "old": "one", "new": "one and one", "all": true});
    let edited = BEFORE.replace("one", "one and one");
    let write = json!({"path": FILE, "content": "coffee\n"});
    for (tool, args, after) in [
        ("edit_file", edit, edited.as_str()),
        ("write_file", write, "coffee\n"),
    ] {
        let (done, _model) = cut(point, tool, args.clone()).await;
        assert!(
            [BEFORE, after].contains(&done.left.as_str()),
            "{point} {}",
            done.left
        );
        let told = done.told().await;
        assert_eq!(done.content(), after, "{point} {told}");
        let as_ever = told.starts_with("edited tea.txt: 2 replacements")
            && told.contains("+one and")
            || told == "wrote tea.txt (7 bytes)";
        assert!(as_ever, "{point} {told}");

        let (edited, _model) = cut(point, tool, args).await;
        edited.program.file(FILE, PERSONS);
        let told = edited.told().await;
        assert_eq!(edited.content(), PERSONS, "{point} {told}");
        assert!(told.contains("outcome unknown"), "{point} {told}");
    }
}

// proves DU-5
#[tokio::test]
async fn a_write_that_was_cut_happens_once_and_never_over_what_a_person_wrote() {
    let mut tasks = JoinSet::new();
    for point in POINTS {
        // Two at a time: each has two processes.
        if tasks.len() > 1
            && let Some(checked) = tasks.join_next().await
        {
            checked.unwrap();
        }
        tasks.spawn(async move {
            let checked = tokio::time::timeout(PATIENCE, check(point)).await;
            checked.unwrap_or_else(|_| panic!("{point} hangs"));
        });
    }
    while let Some(checked) = tasks.join_next().await {
        checked.unwrap();
    }
}
