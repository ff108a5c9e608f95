//! A tool's result, as a client's stream and the model's server see it.

use samovar_core::{Outcome, ToolReply};
use samovar_model_server::{call, say};
use samovar_testkit::{AppBuilder, TestTool};
use serde_json::json;

use crate::shown::{kinds, results, told};

// proves AS-5, AS-10
#[tokio::test]
async fn a_tools_result_reaches_the_model_before_its_next_answer() {
    let echo = TestTool::new("echo", |args, _| async move {
        ToolReply::Closed(Outcome::done(format!("echo of {}", args["word"])))
    });
    let app = AppBuilder::new()
        .tools(echo.build())
        .start([
            call("echo", json!({"word": "tea"})).and_say("let me see"),
            say("done"),
        ])
        .await;
    let session = app.session().await;

    let frames = app.turn(&session, "say tea").await;

    let shown = kinds(&frames);
    let (first, rest) = shown.split_at(1);
    assert_eq!(first, ["iteration"]);
    assert!(rest.ends_with(&["completed", "[DONE]"]), "{shown:?}");
    assert_eq!(results(&frames), ["echo of \"tea\""]);
    assert_eq!(
        frames
            .iter()
            .filter(|frame| frame.kind() == "iteration")
            .count(),
        2
    );
    let prompts = app.model.prompts();
    assert_eq!(told(prompts[1].body()), ["echo of \"tea\""]);
}
