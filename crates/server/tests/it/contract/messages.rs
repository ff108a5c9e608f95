//! Messages as they are stored and counted, and a turn as one answer.

use samovar_core::{Outcome, ToolReply};
use samovar_model_server::{Failure, Reply, TokenCounts, call, fail, say};
use samovar_testkit::{App, AppBuilder, TestTool};
use serde_json::{Value, json};

fn counts(input: u64, output: u64) -> TokenCounts {
    TokenCounts {
        input,
        output,
        ..TokenCounts::default()
    }
}

/// A server with one tool that works and one that does not, and a model that calls both.
async fn with_tools() -> App {
    let echo = TestTool::new("echo", |args, _| async move {
        let text = format!("echo of {}", args["word"]);
        ToolReply::Closed(Outcome::done(text).with_data(json!({"letters": 3})))
    });
    let broken = TestTool::new("broken", |_, _| async {
        ToolReply::Closed(Outcome::failed("it is broken"))
    });
    let asked = || {
        say("let me see")
            .and_call("echo", json!({"word": "tea"}))
            .and_call("broken", json!({}))
            .usage(counts(10, 5))
    };
    let answer = || say("it is tea").usage(counts(20, 3));
    AppBuilder::new()
        .tools(echo.build())
        .tools(broken.build())
        .start([asked(), answer(), asked(), answer()])
        .await
}

fn row<'a>(rows: &'a Value, name: &str, value: &str) -> &'a Value {
    let mut rows = rows.as_array().expect("an array").iter();
    rows.find(|row| row[name] == value).expect("a row")
}

/// A row without what differs from run to run, which is checked here.
fn fixed(row: &Value) -> Value {
    let mut row = row.clone();
    let row = row.as_object_mut().expect("an object");
    let (id, at) = (row.remove("id").unwrap(), row.remove("createdAt").unwrap());
    assert!(id.as_str().is_some_and(|id| !id.is_empty()), "{id}");
    assert!(at.as_i64().is_some_and(|at| at > 1_577_836_800_000), "{at}");
    assert_eq!(row.remove("sessionId").unwrap(), "s");
    Value::Object(row.clone())
}

// proves AS-17
#[tokio::test]
async fn a_message_is_shown_with_its_calls_its_results_and_what_it_cost() {
    let app = with_tools().await;
    app.ok("createSession", json!({"sessionId": "s"})).await;
    let sent = app
        .ok(
            "sendMessage",
            json!({"sessionId": "s", "messageId": "m1", "content": "tea?"}),
        )
        .await;
    let metadata = of_master(&sent["turnId"]);

    let rows = app.ok("getMessages", json!({"sessionId": "s"})).await;

    let roles: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["role"])
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "assistant"]);
    assert_eq!(rows[0]["id"], "m1");
    let said = |text: &str| json!({"type": "text", "text": text});
    let user = json!({
        "role": "user", "content": "tea?", "tokenUsage": 0,
        "parts": [said("tea?")], "metadata": metadata,
    });
    assert_eq!(fixed(&rows[0]), user);

    let calls = &rows[1]["toolCalls"];
    let (first, second) = (&calls[0]["id"], &calls[1]["id"]);
    assert_ne!(first, second);
    let asked = [
        json!({"id": first, "name": "echo", "args": {"word": "tea"}}),
        json!({"id": second, "name": "broken", "args": {}}),
    ];
    let part = |call: &Value| {
        let mut part = call.clone();
        part["type"] = json!("call");
        part
    };
    let asking = json!({
        "role": "assistant", "content": "let me see", "tokenUsage": 15, "toolCalls": asked,
        "parts": [said("let me see"), part(&asked[0]), part(&asked[1])], "metadata": metadata,
    });
    assert_eq!(fixed(&rows[1]), asking);

    let good = json!({
        "role": "tool", "content": "echo of \"tea\"", "toolCallId": first, "name": "echo",
        "isError": false, "tokenUsage": 0, "metadata": metadata,
        "parts": [{
            "type": "outcome", "call": first, "name": "echo", "status": "done",
            "text": "echo of \"tea\"", "data": {"letters": 3},
        }],
    });
    assert_eq!(fixed(row(&rows, "name", "echo")), good);
    let failed = json!({
        "role": "tool", "content": "it is broken", "toolCallId": second, "name": "broken",
        "isError": true, "tokenUsage": 0, "metadata": metadata,
        "parts": [{
            "type": "outcome", "call": second, "name": "broken", "status": "failed",
            "text": "it is broken",
        }],
    });
    assert_eq!(fixed(row(&rows, "name", "broken")), failed);
    assert_eq!(
        (&rows[4]["content"], &rows[4]["tokenUsage"]),
        (&json!("it is tea"), &json!(23))
    );
}

// proves AS-18
#[tokio::test]
async fn messages_of_every_role_and_the_tokens_of_every_call_are_counted() {
    let app = with_tools().await;
    let nothing = json!({
        "sessions": 0, "messages": 0, "tokens": {"total": 0, "input": 0, "output": 0},
    });
    assert_eq!(app.ok("getStats", json!({})).await, nothing);
    for (sessions, session) in [(1, "a"), (2, "b")] {
        app.ok("createSession", json!({"sessionId": session})).await;
        app.turn(session, "tea?").await;
        let stats = json!({
            "sessions": sessions, "messages": 5 * sessions,
            "tokens": {"total": 38 * sessions, "input": 30 * sessions, "output": 8 * sessions},
        });
        assert_eq!(app.ok("getStats", json!({})).await, stats);
        let info = app.ok("getSession", json!({"sessionId": session})).await;
        assert_eq!(info["messageCount"], 5);
    }
}

/// The events without the ids of calls, which no two turns share.
fn without_ids(events: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let events = events.into_iter().map(|mut event| {
        if let Some(event) = event.as_object_mut() {
            event.remove("id");
        }
        event
    });
    events.collect()
}

// proves AS-2, AS-5
#[tokio::test]
async fn a_turn_as_one_answer_says_what_its_stream_would_have_said() {
    let app = with_tools().await;
    let (streamed, collected) = (app.session().await, app.session().await);
    let frames = app.turn(&streamed, "tea?").await;
    let message = json!({"sessionId": collected, "content": "tea?"});
    let result = app.ok("sendMessage", message).await;

    let (done, frames) = frames.split_last().unwrap();
    assert!(done.is_done());
    let events = result["events"].as_array().unwrap().clone();
    let shown = frames.iter().map(|frame| frame.data.clone());
    let joined = |events: Vec<Value>| {
        let text: String = events
            .iter()
            .filter_map(|event| event["content"].as_str())
            .collect();
        let others = events
            .into_iter()
            .filter(|event| event["type"] != "text_delta");
        (text, others.collect::<Vec<_>>())
    };
    assert_eq!(joined(without_ids(events)), joined(without_ids(shown)));
    assert_eq!(
        (&result["text"], &result["finishReason"]),
        (&json!("it is tea"), &json!("stop"))
    );
    assert_eq!(
        result["usage"],
        json!({"total": 38, "input": 30, "output": 8})
    );
    let rows = app.ok("getMessages", json!({"sessionId": collected})).await;
    assert_eq!(result["messageId"], rows[4]["id"]);
}

// proves AS-2
#[tokio::test]
async fn a_turn_that_fails_is_an_answer_with_the_reason() {
    let cut = || say("so far").usage(counts(1, 1));
    let script: [Reply; 2] = [
        fail(Failure::server_error()),
        cut().and(samovar_model_server::Part::Failure(Failure::overloaded())),
    ];
    let app = App::start(script).await;
    let message = json!({"sessionId": app.session().await, "content": "hello"});

    let result = app.ok("sendMessage", message.clone()).await;
    assert_eq!(
        (&result["text"], &result["messageId"]),
        (&json!(""), &Value::Null)
    );
    assert_eq!(result["finishReason"], "error");
    let last = result["events"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["type"], &last["code"]),
        (&json!("error"), &json!("provider_error"))
    );

    let result = app.ok("sendMessage", message).await;
    assert_eq!(
        (&result["text"], &result["finishReason"]),
        (&json!("so far"), &json!("error"))
    );
}

// proves AS-2
#[tokio::test]
async fn the_tools_are_listed_with_their_schemas_as_the_model_is_told_of_them() {
    let weigh = TestTool::new("weigh", |_, _| async {
        ToolReply::Closed(Outcome::done("1 kg"))
    });
    let schema = json!({"type": "object", "properties": {"what": {"type": "string"}}});
    let app = AppBuilder::new()
        .tools(weigh.takes(schema.clone()).build())
        .start([call("weigh", json!({"what": "tea"})), say("done")])
        .await;

    let tools = app.ok("listTools", json!({})).await;

    let own = json!({"name": "weigh", "description": "A tool for tests.", "parameters": schema});
    assert_eq!(*row(&tools, "name", "weigh"), own);
    let names: Vec<_> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    for name in [
        "read_file",
        "write_file",
        "edit_file",
        "list_dir",
        "search_files",
        "web_search",
        "web_fetch",
    ] {
        assert!(names.contains(&&json!(name)), "{name}: {names:?}");
    }
    app.turn(&app.session().await, "weigh it").await;
    let prompt = app.model.prompt(0).await.unwrap();
    let told = prompt.body()["tools"].as_array().unwrap().iter();
    let told: Vec<_> = told.map(|tool| &tool["function"]["name"]).collect();
    // No client shows pages in this turn, and there are no skills and nothing to recall.
    let of_pages = ["open_url", "get_current_tab", "get_tabs"];
    let unusable = [&of_pages[..], &["read_skill", "recall", "forget"]].concat();
    let unusable: Vec<_> = unusable.into_iter().map(Value::from).collect();
    let offered = names.into_iter().filter(|name| !unusable.contains(name));
    assert_eq!(told, offered.collect::<Vec<_>>());
}

/// The metadata of a message of a turn of the session's own agent.
fn of_master(turn: &Value) -> Value {
    let agent = json!({
        "kind": "master", "name": "master", "displayName": "Master", "depth": 0, "path": ["master"],
    });
    json!({ "agent": agent, "turnId": turn })
}
