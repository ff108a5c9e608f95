//! Which reply goes to which prompt.

use samovar_model_server::{Answered, ModelServer, Reply, Rule, Script, When, say};
use serde_json::{Value, json};

use crate::client::{ask, plain, prompt};

async fn said(server: &ModelServer, body: &Value) -> String {
    ask(server, body).await.said()
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

#[tokio::test]
async fn every_condition_looks_at_its_own_part_of_the_prompt() {
    let call = |id: &str| {
        json!({"role": "assistant", "tool_calls": [
            {"id": id, "type": "function", "function": {"name": "t", "arguments": "{}"}}]})
    };
    let result =
        |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let body = json!({
        "model": "kettle",
        "stream": true,
        "tools": [{"type": "function", "function": {"name": "pour"}}],
        "messages": [
            {"role": "system", "content": "You boil."},
            {"role": "user", "content": "early"},
            call("a"), result("a", "first"),
            {"role": "user", "content": [{"type": "text", "text": "la"},
                                         {"type": "text", "text": "te"}]},
            call("b"), result("b", "second"),
        ],
    });
    let text = str::to_owned;
    let table = [
        (When::default(), true),
        (When::Any(vec![]), false),
        (When::model("kettle"), true),
        (When::model("kett"), false),
        (When::user("late"), true),
        (When::user("early"), false),
        (When::SystemContains(text("boil")), true),
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
    for (when, fits) in table {
        let rules = [say("fits").when(when.clone()), say("not").forever()];
        let server = ModelServer::start(rules).await.unwrap();
        let expected = if fits { "fits" } else { "not" };
        assert_eq!(said(&server, &body).await, expected, "{when:?}");
    }
}

#[tokio::test]
async fn an_unmatched_prompt_fails_loudly_and_says_what_it_was() {
    let server = ModelServer::start([say("x").when(When::user("other"))])
        .await
        .unwrap();

    let response = ask(&server, &plain("where is my tea?")).await;

    assert_eq!(response.head.status, 500);
    let error = &response.json()["error"];
    assert_eq!(error["code"], "unmatched_prompt");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("where is my tea?") && message.contains("\"m\""),
        "{message}"
    );
    assert_eq!(server.requests()[0].answered(), &Answered::Unmatched);
    assert_eq!(server.left_over(), [0]);
}

#[tokio::test]
async fn a_refused_prompt_uses_no_reply_up() {
    let server = ModelServer::start([say("x")]).await.unwrap();
    let mut bad = plain("hi");
    bad["max_tokens"] = json!(0);

    assert_eq!(ask(&server, &bad).await.head.status, 400);
    assert_eq!(said(&server, &prompt("hi")).await, "x");
    assert_eq!(server.requests()[1].answered(), &Answered::Rule(0));
}

#[tokio::test]
async fn rules_can_be_added_to_a_running_server() {
    let server = ModelServer::start(Vec::<Reply>::new()).await.unwrap();
    assert_eq!(ask(&server, &prompt("hi")).await.head.status, 500);

    server.push(say("now").when(When::user("hi")));

    assert_eq!(said(&server, &prompt("hi")).await, "now");
}
