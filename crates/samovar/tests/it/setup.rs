//! What every test starts from.

use samovar_model_server::{ModelServer, Script};
use samovar_testkit::{Finished, Frame, MODEL, Program, Serving};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::process::Child;

/// The program in fresh folders, without any model but `demo`.
pub(crate) fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_samovar"))
}

/// The program in front of a model server that follows a script.
pub(crate) async fn with_model(script: impl Into<Script>) -> (Program, ModelServer) {
    in_front_of_model(program(), script).await
}

/// A program in front of a model server that follows a script.
pub(crate) async fn in_front_of_model(
    program: Program,
    script: impl Into<Script>,
) -> (Program, ModelServer) {
    let model = ModelServer::start(script).await.unwrap();
    let program = program
        .set("CUSTOM_BASE_URL", &model.base_url())
        .set("AGENT_MODEL", MODEL)
        // What it does wrong is seen at its first failure.
        .set("SAMOVAR__MODELS__RETRIES", "0");
    (program, model)
}

/// Holds an ended program against its exit code and the code of its last line, which is an error as
/// FC-6 wants it.
#[track_caller]
pub(crate) fn ended_with(said: &Finished, exit: i32, code: &str) {
    assert_eq!(said.code, Some(exit), "{said:?}");
    let last = said.stderr.lines().next_back().unwrap_or_default();
    assert!(last.starts_with("samovar: "), "{said:?}");
    assert!(last.ends_with(&format!(" [{code}]")), "{said:?}");
}

/// Waits until a program that runs has said this on stderr.
pub(crate) async fn says(run: &mut Child, words: &str) {
    let mut said = Vec::new();
    let stderr = run.stderr.as_mut().unwrap();
    while !String::from_utf8_lossy(&said).contains(words) {
        let read = stderr.read_buf(&mut said).await.unwrap();
        assert!(
            read > 0,
            "it ended early: {}",
            String::from_utf8_lossy(&said)
        );
    }
}

/// The messages of a session as `role: content`, oldest first.
pub(crate) async fn messages(server: &Serving, session: &str) -> Vec<String> {
    let rows = server.ok("getMessages", json!({"sessionId": session}));
    let rows: Vec<Value> = serde_json::from_value(rows.await).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    rows.iter()
        .map(|row| format!("{}: {}", text(&row["role"]), text(&row["content"])))
        .collect()
}

/// The text that frames show.
pub(crate) fn text(frames: &[Frame]) -> String {
    let deltas = frames.iter().filter(|frame| frame.kind() == "text_delta");
    deltas
        .filter_map(|frame| frame.data["content"].as_str())
        .collect()
}

/// The last event of a stream that came to its end.
#[track_caller]
pub(crate) fn last(frames: &[Frame]) -> &Value {
    let [.., last, done] = frames else {
        panic!("too few frames: {frames:?}");
    };
    assert!(done.is_done(), "{frames:?}");
    &last.data
}
