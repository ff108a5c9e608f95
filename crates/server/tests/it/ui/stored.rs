//! The stored conversation, compared with what was live.

use reqwest::Method;
use samovar_model_server::{Ending, call, say};
use samovar_testkit::App;
use serde_json::{Map, Value, json};

use super::{approved, frames, messages, of, post_as, quiet, say_to, supervised, user, write};

fn types(message: &Value) -> Vec<&str> {
    let parts = message["parts"].as_array().unwrap().iter();
    parts.map(|part| part["type"].as_str().unwrap()).collect()
}

fn ids(messages: &Value) -> Vec<&Value> {
    let messages = messages.as_array().unwrap().iter();
    messages.map(|message| &message["id"]).collect()
}

/// What the chunks of a message say of it, as a client merges that.
fn metadata<'a>(chunks: impl Iterator<Item = &'a Value>) -> Value {
    let said = chunks.filter_map(|chunk| chunk["messageMetadata"].as_object());
    let mut all = Map::new();
    said.for_each(|said| all.extend(said.clone()));
    all.into()
}

async fn before(app: &App, id: &Value) -> Value {
    let path = format!("/api/chat/c/messages?before={}", id.as_str().unwrap());
    app.get(&path).await.body
}

// proves UI-5, UI-11, UI-12
#[tokio::test]
async fn a_called_agent_is_stored_as_it_was_live_and_pages_begin_at_any_message() {
    let order = json!({"name": "browser", "task": "look up tea"});
    let asks = say("I ask. ").and_call("subAgent", order);
    let list = call("list_dir", json!({"path": "."}));
    let app = quiet()
        .start([
            say("hello"),
            asks,
            list,
            say("tea is a leaf"),
            say("a leaf"),
        ])
        .await;
    say_to(&app, "c", user("m1", "hi")).await;
    let live = say_to(&app, "c", user("m2", "tea?")).await;

    let kept = messages(&app, "c").await;
    let [_, first, _, answer, child] = &kept.as_array().unwrap()[..] else {
        panic!("{kept:#}")
    };
    let parts = [
        "step-start",
        "text",
        "tool-subAgent",
        "data-subagent",
        "step-start",
        "text",
    ];
    assert_eq!(types(answer), parts);
    let part = &answer["parts"][3];
    let shown = *of(&live, "data-subagent").last().unwrap();
    assert_eq!((&part["id"], &part["data"]), (&shown["id"], &shown["data"]));
    assert_eq!(shown["data"]["summary"], "tea is a leaf");
    assert_eq!(answer["metadata"], metadata(live.iter()));
    assert_eq!(answer["metadata"]["reason"], "stop");
    let chunks = live.iter().map(|frame| &frame["data"]["chunk"]);
    assert_eq!(child["metadata"], metadata(chunks));

    let (first, answer, child) = (&first["id"], &answer["id"], &child["id"]);
    assert_eq!(
        ids(&before(&app, &json!("m2")).await),
        ["m1", first.as_str().unwrap()]
    );
    let page = before(&app, answer).await;
    assert_eq!(ids(&page), [&json!("m1"), first, &json!("m2")]);
    // A called agent's message stands for the answer that called it.
    assert_eq!(before(&app, child).await, page);
    assert_eq!(before(&app, &json!("nobody")).await, json!([]));
}

// proves UI-9, UI-12
#[tokio::test]
async fn a_denied_call_is_stored_as_denied_for_versions_that_know_that() {
    let app = supervised().start([write(), say("then not")]).await;
    let first = say_to(&app, "c", user("m1", "write")).await;
    let mut answer = approved(&first, false);
    answer["parts"][1]["approval"]["reason"] = "not today".into();
    let body = json!({"id": "c", "messages": [answer]});
    let second = frames(post_as(&app, "", &body).await).await;
    assert_eq!(of(&second, "tool-output-denied").len(), 1);

    let kept = messages(&app, "c").await;
    let call = &kept[1]["parts"][1];
    let approval = json!({"id": of(&first, "tool-approval-request")[0]["approvalId"],
        "approved": false, "reason": "not today"});
    assert_eq!(
        (&call["state"], &call["approval"]),
        (&json!("output-denied"), &approval)
    );
    let old = app.get("/api/chat/c/messages?protocol=v5").await.body;
    assert_eq!(old[1]["parts"][1]["state"], "output-error");
}

// proves UI-12, FC-6
#[tokio::test]
async fn why_an_answer_failed_is_stored_with_it() {
    let quiet = quiet().with(|config| config.settings.retry.count = 0);
    let cut = say("half an answer").cut_after(2, Ending::Reset);
    let app = quiet.start([cut]).await;
    let live = say_to(&app, "c", user("m1", "hi")).await;
    let why = &of(&live, "error")[0]["errorText"];

    let app = app.restart().await;
    let kept = messages(&app, "c").await;
    assert_eq!(kept[1]["metadata"]["reason"], "error");
    assert_eq!(&kept[1]["metadata"]["error"], why);
    let turns = app.get("/api/turns?sessionId=c").await.body;
    let fault = json!({"code": "stream_cut", "message": why});
    assert_eq!(turns[0]["fault"], fault);
}

// proves UI-1, UI-9
#[tokio::test]
async fn a_late_output_is_refused_in_words_that_say_what_became_of_its_call() {
    let asks = call("ask_user", json!({"question": "which colour?"}));
    let app = quiet().start([asks, say("noted")]).await;
    let first = say_to(&app, "c", user("m1", "ask me")).await;
    let asked = &of(&first, "tool-input-available")[0]["toolCallId"];
    let posted = |call: &Value, output: &str| {
        let part = json!({"type": "tool-ask_user", "toolCallId": call,
            "state": "output-available", "input": {}, "output": output});
        json!({"id": "c", "messages": [{"id": first[0]["messageId"], "role": "assistant",
            "parts": [part]}]})
    };
    let elsewhere = format!("/api/calls/{}", asked.as_str().unwrap());
    let elsewhere = app.request(Method::POST, &elsewhere);
    let settled = app.answer(elsewhere.json(&json!({"result": "blue"}))).await;
    assert_eq!(settled.status, 200, "{}", settled.body);

    for (call, why) in [
        (asked, "done, \"blue\""),
        (&json!("c0"), "the session has no call \"c0\""),
    ] {
        let late = post_as(&app, "", &posted(call, "red")).await;
        assert_eq!(late.headers()["x-samovar-code"], "unknown_call");
        let said = late.text().await.unwrap();
        assert!(said.contains(why), "{said}");
    }
}
