//! Calls that cannot be made, and what was done before a fault.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use samovar_core::{Outcome, ToolReply};
use samovar_model_server::{Ending, Reply, ToolCall, call, say};
use samovar_testkit::{App, AppBuilder, TestTool};
use serde_json::{Value, json};

use super::check_messages;
use crate::shown::{kinds, last, results, text};

/// The messages of role `tool` in the prompt of this number: the call's id and the content.
async fn told(app: &App, number: u64) -> Vec<(String, String)> {
    let prompt = app.model.prompt(number).await.unwrap();
    let messages = prompt.body()["messages"].as_array().unwrap().iter();
    let results = messages.filter(|message| message["role"] == "tool");
    let texts = results.map(|message| {
        let text = |name: &str| message[name].as_str().unwrap().to_owned();
        (text("tool_call_id"), text("content"))
    });
    texts.collect()
}

/// Calls of `echo` that are wrong, each in its way, and what the model is to read of each.
fn mistakes() -> (Reply, Vec<&'static str>) {
    let raw = |text: &str| ToolCall::new("echo", Value::Null).raw_arguments(text);
    let reply = call("echo", json!({"word": 7}))
        .and(raw("{\"word\": \"te"))
        .and(raw("[1]"))
        .and(raw("word=tea"))
        .and(raw(""))
        .and_call("ecko", json!({"word": "tea"}));
    let no_json = "not a JSON object";
    let unknown = "unknown tool \"ecko\"";
    (
        reply,
        vec![
            "word must be of type string, not 7",
            "cut at its token limit",
            no_json,
            no_json,
            "word is missing; echo takes word",
            unknown,
        ],
    )
}

/// A server with the tool `echo`, whose model makes all mistakes and then a good call.
async fn mistaken() -> App {
    let echo = TestTool::new("echo", |args, _| async move {
        ToolReply::Closed(Outcome::done(format!("echo of {}", args["word"])))
    });
    let word = json!({"word": {"type": "string"}});
    let schema = json!({"type": "object", "required": ["word"], "properties": word});
    let good = mistakes().0.and_call("echo", json!({"word": "tea"}));
    AppBuilder::new()
        .tools(echo.takes(schema).build())
        .start([good, say("I see")])
        .await
}

// proves AS-12
#[tokio::test]
async fn arguments_that_are_no_json_and_tools_that_are_none_go_back_to_the_model() {
    let app = mistaken().await;
    let session = app.session().await;

    let frames = app.turn(&session, "go").await;

    assert_eq!(last(&frames)["finishReason"], "stop");
    assert_eq!(text(&frames), "I see");
    let told = told(&app, 1).await;
    let mut words = mistakes().1;
    words.push("echo of \"tea\"");
    assert_eq!(told.len(), words.len());
    for ((_, content), word) in told.iter().zip(&words) {
        assert!(content.contains(word), "{word}: {content}");
    }
    let results = frames
        .iter()
        .filter(|frame| frame.kind() == "tool_call_result");
    let shown = results.map(|frame| frame.data["result"].as_str().unwrap());
    assert!(shown.eq(told.iter().map(|(_, content)| content.as_str())));
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    let rows = rows.as_array().unwrap().iter();
    let rows = rows.filter(|row| row["role"] == "tool");
    let errors: Vec<_> = rows.map(|row| (&row["content"], &row["isError"])).collect();
    assert_eq!(errors.len(), words.len());
    for (content, is_error) in errors {
        let is_good = content == "echo of \"tea\"";
        assert_eq!(*is_error, !is_good, "{content}");
    }
}

// proves AS-12
#[tokio::test]
async fn a_provider_gets_its_models_mistakes_back_in_a_form_that_it_takes() {
    let app = mistaken().await;
    app.turn(&app.session().await, "go").await;

    let second = app.model.prompt(1).await.unwrap();
    let messages = second.body()["messages"].as_array().unwrap();
    let mut asking = messages
        .iter()
        .filter(|message| message["tool_calls"].is_array());
    let calls = asking.next().unwrap()["tool_calls"].as_array().unwrap();
    let told = told(&app, 1).await;
    assert!(
        calls
            .iter()
            .map(|call| &call["id"])
            .eq(told.iter().map(|(id, _)| id))
    );
    for call in calls {
        let arguments = call["function"]["arguments"].as_str().unwrap();
        let arguments: Value = serde_json::from_str(arguments).expect("JSON");
        assert!(arguments.is_object(), "{arguments}");
    }
}

// proves AS-12
#[tokio::test]
async fn a_call_that_was_cut_off_is_not_made() {
    let touch = TestTool::new("touch", |_, _| async { panic!("it was half a call") });
    let asked = say("I will").and_call("touch", json!({"path": "a long name of a file"}));
    let cut = asked.cut_after(6, Ending::Close);
    let app = AppBuilder::new()
        .tools(touch.build())
        .start([cut, say("fine")])
        .await;
    let session = app.session().await;

    let frames = app.turn(&session, "go").await;

    assert_eq!(last(&frames)["code"], "stream_cut");
    assert!(!kinds(&frames).contains(&"tool_call_start"), "{frames:?}");
    check_messages(&app, &session, &["go", "I will"]).await;
    assert_eq!(text(&app.turn(&session, "again").await), "fine");
    assert!(told(&app, 1).await.is_empty());
}

// proves MD-5
#[tokio::test]
async fn a_call_that_was_written_as_text_is_made_and_no_reader_sees_its_text() {
    for (row, model) in [("anthropic", "claude-x"), ("openai", "gpt-x")] {
        let echo = TestTool::new("echo", |args, _| async move {
            ToolReply::Closed(Outcome::done(format!("echo of {}", args["word"])))
        });
        let word = json!({"type": "object", "properties": {"word": {"type": "string"}}});
        let asked =
            "I look.\n```json\n{\"name\": \"echo\", \"arguments\": {\"word\": \"tea\"}}\n```";
        let app = AppBuilder::new()
            .provider(row, model)
            .tools(echo.takes(word).build())
            .start([say(asked), say("done")])
            .await;
        let session = app.session().await;

        let frames = app.turn(&session, "go").await;

        assert_eq!(text(&frames), "I look.\ndone", "{row}");
        assert_eq!(results(&frames), ["echo of \"tea\""], "{row}");
        check_messages(
            &app,
            &session,
            &["go", "I look.\n", "echo of \"tea\"", "done"],
        )
        .await;
    }
}

// proves AS-13
#[tokio::test]
async fn of_three_hundred_calls_in_one_answer_eight_run_at_once_and_all_are_answered() {
    for (row, model) in [("anthropic", "claude-x"), ("openai", "gpt-x")] {
        three_hundred_calls(row, model).await;
    }
}

async fn three_hundred_calls(row: &'static str, model: &str) {
    let running = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let counted = running.clone();
    let tool = TestTool::new("count", move |_, _| {
        let counted = counted.clone();
        async move {
            let now = counted.0.fetch_add(1, Ordering::SeqCst) + 1;
            counted.1.fetch_max(now, Ordering::SeqCst);
            tokio::task::yield_now().await;
            counted.0.fetch_sub(1, Ordering::SeqCst);
            ToolReply::Closed(Outcome::done("counted"))
        }
    });
    let many = (1..300).fold(call("count", json!({})), |reply, _| {
        reply.and_call("count", json!({}))
    });
    let app = AppBuilder::new()
        .provider(row, model)
        .tools(tool.build())
        .start([many, say("done")])
        .await;

    let frames = app.turn(&app.session().await, "go").await;

    assert_eq!(text(&frames), "done", "{}", last(&frames));
    assert_eq!(results(&frames), ["counted"; 300]);
    assert_eq!(running.1.load(Ordering::SeqCst), 8);
}
