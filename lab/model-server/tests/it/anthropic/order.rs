//! Messages that do not follow from one another, and thinking that comes back.

use samovar_model_server::{ModelServer, Part, Reply, call, think};
use serde_json::{Value, json};

use super::{
    ask, gathered, plain, prompt,
    refusals::{check, check_taken},
};

fn said(messages: &Value) -> Value {
    json!({"model": "m", "max_tokens": 4096, "messages": messages})
}

fn called(ids: &[&str]) -> Value {
    let calls = ids
        .iter()
        .map(|id| json!({"type": "tool_use", "id": id, "name": "t", "input": {}}));
    json!({"role": "assistant", "content": calls.collect::<Vec<_>>()})
}

fn answered(ids: &[&str]) -> Value {
    let results = ids
        .iter()
        .map(|id| json!({"type": "tool_result", "tool_use_id": id, "content": "r"}));
    json!({"role": "user", "content": results.collect::<Vec<_>>()})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

#[tokio::test]
async fn messages_of_one_role_may_follow_one_another() {
    let table = [
        json!([user("a"), user("b")]),
        json!([user("a"), assistant("b"), assistant("c"), user("d")]),
        json!([user("a"), assistant("b")]),
        json!([user("a"), assistant("")]),
        json!([
            user("a"),
            called(&["1"]),
            called(&["2"]),
            answered(&["1", "2"])
        ]),
        json!([
            user("a"),
            called(&["1", "2"]),
            answered(&["2"]),
            answered(&["1"]),
            user("b")
        ]),
        json!([
            user("a"),
            called(&["1"]),
            answered(&["1"]),
            called(&["2"]),
            answered(&["2"])
        ]),
    ];
    for messages in table {
        check_taken(&said(&messages)).await;
    }
}

#[tokio::test]
async fn the_user_begins_and_everybody_says_something() {
    let empty = "all messages must have non-empty content except for the optional final assistant \
                 message";
    let white = json!([{"type": "text", "text": "  \n"}]);
    let nothing = json!([{"type": "text", "text": ""}]);
    let table = [
        (json!([]), "messages: at least one message is required"),
        (
            json!([assistant("a"), user("b")]),
            "messages: first message must use the \"user\" role",
        ),
        (json!([user("")]), &format!("messages.0: {empty}")),
        (
            json!([user("a"), assistant(""), user("b")]),
            &format!("messages.1: {empty}"),
        ),
        (
            json!([user("a"), {"role": "assistant", "content": []}, user("b")]),
            &format!("messages.1: {empty}"),
        ),
        (
            json!([{"role": "user", "content": nothing}]),
            "messages: text content blocks must be non-empty",
        ),
        (
            json!([{"role": "user", "content": white}]),
            "messages: text content blocks must contain non-whitespace text",
        ),
        (
            json!([user(" ")]),
            "messages: text content blocks must contain non-whitespace text",
        ),
        (
            json!([user("a"), assistant("So ")]),
            "messages: final assistant content cannot end with trailing whitespace",
        ),
        (
            json!([{"role": "system", "content": "x"}, user("a")]),
            "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` \
             parameter, not \"system\" as an input message role.",
        ),
        (
            json!([user("a"), {"role": "tool", "content": "x"}]),
            "messages.1.role: Input should be 'user' or 'assistant'",
        ),
        (json!([{"content": "x"}]), "messages.0.role: Field required"),
        (
            json!([{"role": "user"}]),
            "messages.0.content: Field required",
        ),
    ];
    for (messages, why) in table {
        check(&said(&messages), why).await;
    }
}

fn unanswered(index: usize, ids: &str) -> String {
    format!(
        "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately \
         after: {ids}. Each `tool_use` block must have a corresponding `tool_result` block in the \
         next message."
    )
}

fn unexpected(at: &str, id: &str) -> String {
    format!(
        "messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
         `tool_result` block must have a corresponding `tool_use` block in the previous message."
    )
}

#[tokio::test]
async fn calls_and_results_that_do_not_fit_are_refused() {
    let mut late = answered(&["1"]);
    let words = json!({"type": "text", "text": "first this"});
    late["content"].as_array_mut().unwrap().insert(0, words);
    let table = [
        (json!([user("a"), called(&["1"])]), unanswered(1, "1")),
        (
            json!([user("a"), called(&["1"]), user("b")]),
            unanswered(1, "1"),
        ),
        (
            json!([user("a"), called(&["1", "2", "3"]), answered(&["2"])]),
            unanswered(1, "1, 3"),
        ),
        (json!([user("a"), called(&["1"]), late]), unanswered(1, "1")),
        (
            json!([user("a"), called(&["1"]), user("b"), answered(&["1"])]),
            unanswered(1, "1"),
        ),
        (
            json!([user("a"), called(&["1"]), answered(&["2"])]),
            unanswered(1, "1"),
        ),
        (
            json!([user("a"), called(&["1"]), answered(&["1", "2"])]),
            unexpected("2.content.1", "2"),
        ),
        (json!([answered(&["1"])]), unexpected("0.content.0", "1")),
        (
            json!([user("a"), assistant("b"), answered(&["1"])]),
            unexpected("2.content.0", "1"),
        ),
        (
            json!([
                user("a"),
                called(&["1"]),
                answered(&["1"]),
                assistant("b"),
                answered(&["1"])
            ]),
            unexpected("4.content.0", "1"),
        ),
    ];
    for (messages, why) in table {
        check(&said(&messages), &why).await;
    }
}

#[tokio::test]
async fn calls_and_results_that_come_twice_or_from_the_wrong_side_are_refused() {
    let table = [
        (
            json!([user("a"), called(&["1"]), answered(&["1", "1"])]),
            "messages.2.content.1: each tool_use must have a single result. Found multiple \
             `tool_result` blocks with id: 1"
                .to_owned(),
        ),
        (
            json!([user("a"), called(&["1", "1"]), answered(&["1"])]),
            "messages.1.content.1: `tool_use` ids must be unique".to_owned(),
        ),
        (
            json!([
                user("a"),
                called(&["1"]),
                answered(&["1"]),
                called(&["1"]),
                answered(&["1"])
            ]),
            "messages.3.content.0: `tool_use` ids must be unique".to_owned(),
        ),
    ];
    for (messages, why) in table {
        check(&said(&messages), &why).await;
    }
    let mut swapped = called(&["1"]);
    swapped["role"] = "user".into();
    let why = "messages.0: `tool_use` blocks can only be in `assistant` messages";
    check(&said(&json!([swapped])), why).await;
    let mut swapped = answered(&["1"]);
    swapped["role"] = "assistant".into();
    let why = "messages.1: `tool_result` blocks can only be in `user` messages";
    check(&said(&json!([user("a"), swapped])), why).await;
}

/// The content of a reply, as a client has gathered it.
async fn content(reply: Reply) -> Vec<Value> {
    let server = ModelServer::start([reply]).await.unwrap();
    gathered(&ask(&server, &prompt("hi")).await)
}

/// A prompt with thinking switched on that sends `content` back.
fn thoughtful(content: &[Value]) -> Value {
    let calls = content.iter().filter(|block| block["type"] == "tool_use");
    let ids: Vec<_> = calls.map(|block| block["id"].as_str().unwrap()).collect();
    let content = json!({"role": "assistant", "content": content});
    let mut body = said(&json!([user("a"), content, answered(&ids)]));
    body["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
    body
}

#[tokio::test]
async fn thinking_comes_back_as_it_was() {
    let reply = think("Let me see")
        .and(Part::RedactedReasoning("hidden".to_owned()))
        .and_say("Looking.")
        .and_call("t", json!({}));
    let content = content(reply).await;
    check_taken(&thoughtful(&content)).await;

    let signature = "messages.1.content.0: Invalid `signature` in `thinking` block";
    let rows = [
        (0, "thinking", json!("Let me seE"), signature),
        (0, "thinking", json!(""), signature),
        (0, "signature", json!("sig"), signature),
        (0, "signature", json!(""), signature),
        (
            1,
            "data",
            content[0]["signature"].clone(),
            "messages.1.content.1: Invalid `data` in `redacted_thinking` block",
        ),
        (
            0,
            "cache_control",
            json!({"type": "ephemeral"}),
            "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
        ),
    ];
    for (block, field, value, why) in rows {
        let mut changed = content.clone();
        changed[block][field] = value;
        check(&thoughtful(&changed), why).await;
    }
    let mut unsigned = content.clone();
    unsigned[0]
        .as_object_mut()
        .unwrap()
        .shift_remove("signature");
    let why = "messages.1.content.0.thinking.signature: Field required";
    check(&thoughtful(&unsigned), why).await;
    let stolen = json!({"role": "user", "content": [content[0]]});
    let why = "messages.0: `thinking` blocks can only be in `assistant` messages";
    check(&said(&json!([stolen])), why).await;
}

#[tokio::test]
async fn thinking_that_is_left_out_is_missed_while_it_is_switched_on() {
    let expected = |found: &str| {
        format!(
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found \
             `{found}`. When `thinking` is enabled, a final `assistant` message must start with a \
             thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
        )
    };
    let bare = content(think("Hm").and_call("t", json!({}))).await;
    check(&thoughtful(&bare[1..]), &expected("tool_use")).await;
    let words = content(think("Hm").and_say("So").and_call("t", json!({}))).await;
    check(&thoughtful(&words[1..]), &expected("text")).await;
    let mut prefilled = said(&json!([user("a"), assistant("So")]));
    prefilled["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
    check(&prefilled, &expected("text")).await;

    for kind in ["adaptive", "disabled"] {
        let mut body = thoughtful(&bare[1..]);
        body["thinking"] = json!({"type": kind});
        check_taken(&body).await;
    }
    let thoughtless = content(call("t", json!({}))).await;
    check_taken(&thoughtful(&thoughtless)).await;
    let mut over = thoughtful(&bare);
    let messages = over["messages"].as_array_mut().unwrap();
    messages.extend([assistant("Done."), user("and?")]);
    check_taken(&over).await;
}

#[tokio::test]
async fn thinking_forbids_what_does_not_go_with_it() {
    let with = |fields: Value| {
        let mut body = plain("hi");
        body["max_tokens"] = 4096.into();
        body["thinking"] = json!({"type": "enabled", "budget_tokens": 2048});
        body["tools"] = json!([{"name": "t", "input_schema": {"type": "object"}}]);
        for (name, value) in fields.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    check_taken(&with(json!({"temperature": 1, "top_p": 0.95}))).await;
    check_taken(&with(
        json!({"thinking": {"type": "adaptive", "display": "omitted"}}),
    ))
    .await;
    let table = [
        (
            json!({"temperature": 0.5}),
            "`temperature` may only be set to 1 when thinking is enabled.",
        ),
        (
            json!({"thinking": {"type": "adaptive"}, "temperature": 0}),
            "`temperature` may only be set to 1 when thinking is enabled.",
        ),
        (
            json!({"top_k": 5}),
            "`top_k` must be unset when thinking is enabled.",
        ),
        (
            json!({"top_p": 0.9}),
            "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.",
        ),
        (
            json!({"tool_choice": {"type": "any"}}),
            "Thinking may not be enabled when tool_choice forces tool use.",
        ),
        (
            json!({"max_tokens": 2048}),
            "`max_tokens` must be greater than `thinking.budget_tokens`.",
        ),
        (
            json!({"thinking": {"type": "enabled", "budget_tokens": 1023}}),
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        ),
        (
            json!({"thinking": {"type": "enabled"}}),
            "thinking.enabled.budget_tokens: Field required",
        ),
        (
            json!({"thinking": {"type": "adaptive", "budget_tokens": 2048}}),
            "thinking.adaptive.budget_tokens: Extra inputs are not permitted",
        ),
        (
            json!({"thinking": {"type": "adaptive", "display": "loud"}}),
            "thinking.display: Input should be 'omitted' or 'summarized'",
        ),
        (
            json!({"thinking": {"type": "high"}}),
            "thinking: Input tag 'high' found using 'type' does not match any of the expected \
             tags: 'adaptive', 'disabled', 'enabled'",
        ),
    ];
    for (fields, why) in table {
        check(&with(fields), why).await;
    }
}
