//! Which reply goes to which prompt.

use samovar_model_server::{Answered, ModelServer, Reply, Rule, Script, When, say};
use serde_json::{Value, json};

use crate::client::{ANTHROPIC, Client, OPENAI};

async fn said(server: &ModelServer, body: &Value) -> String {
    OPENAI.ask(server, body).await.said()
}

fn prompt(user: &str) -> Value {
    OPENAI.prompt(user)
}

#[tokio::test]
async fn replies_are_given_in_order_and_as_often_as_they_say() {
    let server = ModelServer::start([
        Rule::from(say("one")),
        say("two").times(2),
        say("never").times(0),
        say("rest").forever(),
    ])
    .await
    .unwrap();

    for expected in ["one", "two", "two", "rest", "rest"] {
        assert_eq!(said(&server, &prompt("hi")).await, expected);
    }
}

#[tokio::test]
async fn conversations_get_their_own_replies_in_any_order() {
    let rules = |name: &str| {
        let turn = |done| When::user(name).and(When::ToolResults(done));
        [
            say(format!("{name} begins")).when(turn(0)),
            say(format!("{name} ends")).when(turn(1)),
        ]
    };
    let script: Script = [rules("tea"), rules("jam")].into_iter().flatten().collect();
    let server = ModelServer::start(script).await.unwrap();
    let later = |name: &str| {
        let mut body = prompt(name);
        let call = json!({"id": "c", "type": "function",
                          "function": {"name": "t", "arguments": "{}"}});
        let messages = body["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": "assistant", "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": "c", "content": "done"}));
        body
    };

    assert_eq!(said(&server, &prompt("some jam")).await, "jam begins");
    assert_eq!(said(&server, &later("some jam")).await, "jam ends");
    assert_eq!(said(&server, &prompt("some tea")).await, "tea begins");
    assert_eq!(server.left_over(), [1]);
    assert_eq!(said(&server, &later("some tea")).await, "tea ends");
    assert!(server.left_over().is_empty());
}

/// A conversation in Chat Completions: two turns, each with a call and its result.
fn chat() -> Value {
    let call = |id: &str| {
        json!({"role": "assistant", "tool_calls": [
            {"id": id, "type": "function", "function": {"name": "t", "arguments": "{}"}},
        ]})
    };
    let result =
        |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let parts = json!([{"type": "text", "text": "la"}, {"type": "text", "text": "te"}]);
    json!({
        "model": "kettle",
        "tools": [{"type": "function", "function": {"name": "pour"}}],
        "messages": [
            {"role": "system", "content": "You boil."},
            {"role": "user", "content": "early"},
            call("a"), result("a", "first"),
            {"role": "user", "content": parts},
            call("b"), result("b", "second"),
        ],
    })
}

/// The same in Messages, with `word` after the last result.
fn messages(word: Option<&str>) -> Value {
    let call = |id: &str| {
        json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": "t", "input": {}},
        ]})
    };
    let result = |id: &str, text: &str| {
        let text = [&text[..2], &text[2..]].map(|text| json!({"type": "text", "text": text}));
        json!({"type": "tool_result", "tool_use_id": id, "content": text})
    };
    let words = word.map(|word| json!({"type": "text", "text": word}));
    let last: Vec<_> = [result("b", "second")].into_iter().chain(words).collect();
    json!({
        "model": "kettle",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "You "}, {"type": "text", "text": "boil."}],
        "tools": [{"name": "pour", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "early"},
            call("a"),
            {"role": "user", "content": [result("a", "first")]},
            {"role": "assistant", "content": "So."},
            {"role": "user", "content": [
                {"type": "text", "text": "la"},
                {"type": "image", "source": {}},
                {"type": "text", "text": "te"},
            ]},
            call("b"),
            {"role": "user", "content": last},
        ],
    })
}

#[tokio::test]
async fn every_condition_reads_its_own_part_of_the_prompt() {
    let text = str::to_owned;
    let table = [
        (When::default(), true),
        (When::Any(vec![]), false),
        (When::model("kettle"), true),
        (When::model("kett"), false),
        (When::user("late"), true),
        (When::user("early"), false),
        (When::user("second"), false),
        (When::LastUserEndsWith(text("ate")), true),
        (When::LastUserEndsWith(text("la")), false),
        (When::SystemContains(text("You boil")), true),
        (When::SystemContains(text("late")), false),
        (When::LastToolResultContains(text("second")), true),
        (When::LastToolResultContains(text("first")), false),
        (When::ToolResults(2), true),
        (When::ToolResults(1), false),
        (When::ToolResultsSinceUser(1), true),
        (When::ToolResultsSinceUser(2), false),
        (When::OffersTool(text("pour")), true),
        (When::OffersTool(text("drink")), false),
        (When::Not(Box::new(When::model("x"))), true),
        (When::user("late").and(When::model("x")), false),
        (When::Any(vec![When::user("late"), When::model("x")]), true),
    ];
    for (dialect, body) in [(&OPENAI, chat()), (&ANTHROPIC, messages(None))] {
        for (when, fits) in &table {
            let rules = [say("fits").when(when.clone()), say("not").forever()];
            let server = ModelServer::start(rules).await.unwrap();
            let expected = if *fits { "fits" } else { "not" };
            assert_eq!(
                dialect.ask(&server, &body).await.said(),
                expected,
                "{when:?}"
            );
        }
    }
}

#[tokio::test]
async fn word_after_the_results_is_the_last_of_the_user() {
    let when = When::user("third").and(When::All(vec![
        When::ToolResultsSinceUser(0),
        When::ToolResults(2),
        When::Not(Box::new(When::user("late"))),
    ]));
    let server = ModelServer::start([say("fits").when(when)]).await.unwrap();
    let response = ANTHROPIC.ask(&server, &messages(Some("third"))).await;
    assert_eq!(response.said(), "fits");
}

#[tokio::test]
async fn one_script_serves_both_dialects_on_one_connection_in_order() {
    let replies = ["one", "two", "three", "four"].map(say);
    let server = ModelServer::start(replies).await.unwrap();
    let mut client = Client::connect(&server).await;
    let paths = [
        (&OPENAI, OPENAI.path, "one"),
        (&ANTHROPIC, ANTHROPIC.path, "two"),
        (&OPENAI, "/chat/completions", "three"),
        (&ANTHROPIC, ANTHROPIC.path, "four"),
    ];
    for (dialect, path, expected) in paths {
        let body = dialect.plain("hi").to_string();
        client.send("POST", path, dialect.headers, &body).await;
        assert_eq!(client.response().await.said(), expected);
    }
    assert!(server.left_over().is_empty());
}

#[tokio::test]
async fn unmatched_prompt_says_what_it_was() {
    let rules = [say("x").when(When::user("other"))];
    let server = ModelServer::start(rules).await.unwrap();
    let table = [
        (&OPENAI, "code", "unmatched_prompt"),
        (&ANTHROPIC, "type", "api_error"),
    ];
    for (dialect, field, kind) in table {
        let response = dialect
            .ask(&server, &dialect.plain("where is my tea?"))
            .await;
        assert_eq!(response.head.status, 500);
        let error = &response.json()["error"];
        assert_eq!(error[field], kind);
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("where is my tea?") && message.contains("\"m\""),
            "{message}"
        );
    }
    assert_eq!(server.requests()[0].answered(), &Answered::Unmatched);
    assert_eq!(server.left_over(), [0]);
}

#[tokio::test]
async fn refused_prompt_uses_no_reply_up() {
    let server = ModelServer::start([say("x")]).await.unwrap();
    let mut bad = OPENAI.plain("hi");
    bad["max_tokens"] = json!(0);

    assert_eq!(OPENAI.ask(&server, &bad).await.head.status, 400);
    assert_eq!(said(&server, &prompt("hi")).await, "x");
    assert_eq!(server.requests()[1].answered(), &Answered::Rule(0));
}

#[tokio::test]
async fn rules_can_be_added_to_a_running_server() {
    let server = ModelServer::start(Vec::<Reply>::new()).await.unwrap();
    assert_eq!(OPENAI.ask(&server, &prompt("hi")).await.head.status, 500);

    server.push(say("now").when(When::user("hi")));

    assert_eq!(said(&server, &prompt("hi")).await, "now");
}
