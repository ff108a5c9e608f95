use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use samovar_core::provider::Layer;
use samovar_core::{Message, Outcome, Part, Role, Status};
use samovar_doubles::talk::{self, assistant, message, tool, user};
use serde_json::{Value, json};

use super::*;
use crate::endpoint::Clients;
use crate::specs::{ProviderSpec, spec};
use crate::timeouts::Timeouts;

mod thoughts;

fn call(id: &str, args: Value) -> Part {
    talk::call(id, "look", args)
}

fn result(id: &str, status: Status, said: &str) -> Message {
    talk::result(id, "look", &Outcome::new(status, said))
}

fn prompt(messages: Vec<Message>) -> Prompt {
    talk::prompt("claude-sonnet-4", messages)
}

fn row() -> &'static ProviderSpec {
    spec("anthropic").unwrap()
}

fn endpoint(base: &str) -> Endpoint {
    let clients = Arc::new(Clients::new(Duration::from_secs(1), 1));
    let base = Url::parse(base).unwrap();
    Endpoint::new(row(), base, Timeouts::default(), clients)
}

fn ask(prompt: &Prompt) -> Written {
    let endpoint = endpoint("https://api.anthropic.com");
    write(&endpoint, prompt, &Habits::default()).unwrap()
}

fn sent(prompt: &Prompt) -> Value {
    serde_json::from_slice(&ask(prompt).body).unwrap()
}

/// The messages as they are sent, without the marks.
fn messages(said: Vec<Message>) -> Value {
    let mut messages = sent(&prompt(said))["messages"].take();
    for message in messages.as_array_mut().unwrap() {
        for block in message["content"].as_array_mut().unwrap() {
            block.as_object_mut().unwrap().shift_remove("cache_control");
        }
    }
    messages
}

#[track_caller]
fn check(said: Vec<Message>, wanted: &Value) {
    assert_eq!(messages(said), *wanted);
}

fn said(role: &str, blocks: &Value) -> Value {
    json!({"role": role, "content": blocks})
}

fn block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn layer(text: &str) -> Layer {
    Layer {
        name: "soul",
        text: text.into(),
    }
}

// proves MD-20
#[test]
fn a_prompt_is_written_as_the_dialect_wants_it() {
    let mut prompt = prompt(vec![
        user("How many?"),
        assistant(vec![
            Part::text("I look."),
            call("c1", json!({"path": "a \"b\".txt"})),
        ]),
        result("c1", Status::Done, "three"),
        assistant(vec![Part::text("Three.")]),
        user("Sure?"),
    ]);
    prompt.layers = vec![layer("Be kind."), layer(" \n"), layer("Be brief.")];
    prompt.tools = vec![tool("look"), tool("see")].into();
    let mark = json!({"type": "ephemeral"});
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let input = json!({"path": "a \"b\".txt"});
    let wanted = json!({
        "model": "claude-sonnet-4",
        "max_tokens": 4096,
        "temperature": 0.7,
        "stream": true,
        "tools": [
            {"name": "look", "description": "Looks.", "input_schema": schema},
            {"name": "see", "description": "Looks.", "input_schema": schema},
        ],
        "system": [
            {"type": "text", "text": "Be kind."},
            {"type": "text", "text": "\n\n---\n\nBe brief.", "cache_control": mark},
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "How many?"}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "look", "input": input},
            ]},
            {"role": "user", "content": [{
                "type": "tool_result",
                "tool_use_id": "c1",
                "content": "three",
                "cache_control": mark,
            }]},
            {"role": "assistant", "content": [{"type": "text", "text": "Three."}]},
            {"role": "user", "content": [
                {"type": "text", "text": "Sure?", "cache_control": mark},
            ]},
        ],
    });
    assert_eq!(sent(&prompt).to_string(), wanted.to_string());
}

// proves AS-15
#[test]
fn without_a_system_prompt_the_last_tool_is_marked() {
    let mut prompt = prompt(vec![user("Hi")]);
    prompt.tools = vec![tool("look"), tool("see")].into();
    let sent = sent(&prompt);
    assert_eq!(sent.get("system"), None);
    assert_eq!(sent["tools"][0].get("cache_control"), None);
    assert_eq!(
        sent["tools"][1]["cache_control"],
        json!({"type": "ephemeral"})
    );
}

#[test]
fn parameters_that_a_model_does_not_take_are_not_sent() {
    let asked = |model: &str, temperature| {
        let prompt = talk::prompt(model, [user("Hi")]);
        sent(&Prompt {
            temperature,
            ..prompt
        })
    };
    assert_eq!(asked("claude-sonnet-4", 1.8)["temperature"], 1.0);
    assert_eq!(asked("claude-opus-5", 0.5).get("temperature"), None);
    for name in ["tools", "system", "thinking"] {
        assert_eq!(asked("claude-sonnet-4", 0.5).get(name), None, "{name}");
    }
}

#[test]
fn every_call_is_followed_by_its_result_and_only_then_by_words() {
    let missing = "there is no result: the call was stopped, or what came of it was lost";
    check(
        vec![
            user("Go"),
            assistant(vec![
                call("c1", json!({})),
                call("c2", json!({})),
                call("c3", json!({})),
                call("c4", json!({})),
            ]),
            result("c3", Status::Failed, "third"),
            result("lost", Status::Done, "of a call that the window cut off"),
            user("And?"),
            result("c1", Status::Done, "first, late"),
            result("c4", Status::Denied, " "),
        ],
        &json!([
            said("user", &json!([block("Go")])),
            said(
                "assistant",
                &json!([
                    {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
                    {"type": "tool_use", "id": "c2", "name": "look", "input": {}},
                    {"type": "tool_use", "id": "c3", "name": "look", "input": {}},
                    {"type": "tool_use", "id": "c4", "name": "look", "input": {}},
                ])
            ),
            said(
                "user",
                &json!([
                    {"type": "tool_result", "tool_use_id": "c1", "content": "first, late"},
                    {"type": "tool_result", "tool_use_id": "c2", "content": missing, "is_error": true},
                    {"type": "tool_result", "tool_use_id": "c3", "content": "third", "is_error": true},
                    {
                        "type": "tool_result",
                        "tool_use_id": "c4",
                        "content": "the call failed without a word",
                        "is_error": true,
                    },
                    block("And?"),
                ])
            ),
        ]),
    );
}

#[test]
fn a_result_without_words_has_no_content() {
    let sent = messages(vec![
        user("Go"),
        assistant(vec![call("c1", json!({}))]),
        result("c1", Status::Done, "\n"),
    ]);
    let wanted = json!({"type": "tool_result", "tool_use_id": "c1"});
    assert_eq!(sent[2]["content"][0], wanted);
}

#[test]
fn what_the_service_refuses_is_not_sent() {
    let data = Part::Data {
        name: "plan".to_owned(),
        data: json!({}),
    };
    check(
        vec![
            assistant(vec![Part::text("Behind the window's edge.")]),
            user("One"),
            assistant(vec![thoughts::thought("Hm", None), Part::text(" \n")]),
            message(Role::User, vec![data]),
            user("Two"),
            message(Role::System, vec![Part::text("A child is done.")]),
            assistant(vec![Part::text("a"), Part::text(""), Part::text("b")]),
            assistant(vec![Part::text("c \n")]),
        ],
        &json!([
            said(
                "user",
                &json!([block("(What was said before this is left out.)")])
            ),
            said("assistant", &json!([block("Behind the window's edge.")])),
            said(
                "user",
                &json!([block("One"), block("Two"), block("A child is done.")])
            ),
            said("assistant", &json!([block("a"), block("b"), block("c")])),
        ]),
    );
}

#[test]
fn ids_names_and_arguments_that_the_service_does_not_take_are_made_so_that_it_does() {
    let long = "x".repeat(200);
    let calls = vec![
        talk::call("call one!", "read file/2", json!(r#"{"path": "#)),
        talk::call("call_2-B", "читай", json!([1])),
        talk::call("c3", "", json!({"a": 1})),
        talk::call("c4", &long, json!({})),
    ];
    let sent = messages(vec![user("Go"), assistant(calls)]);
    let calls = sent[1]["content"].as_array().unwrap();
    let results = sent[2]["content"].as_array().unwrap();
    let is_plain = |text: &Value| {
        let text = text.as_str().unwrap();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        (1..=128).contains(&text.len()) && text.bytes().all(is_plain)
    };
    for (call, result) in calls.iter().zip(results) {
        assert!(is_plain(&call["id"]) && is_plain(&call["name"]), "{call}");
        assert_eq!(call["id"], result["tool_use_id"]);
    }
    let names: Vec<_> = calls.iter().map(|call| &call["name"]).collect();
    assert_eq!(names[..3], ["read_file_2", "_____", "_"]);
    assert_eq!(calls[1]["id"], "call_2-B");
    let inputs: Vec<_> = calls.iter().map(|call| call["input"].clone()).collect();
    let wanted = [
        json!({"text": r#"{"path": "#}),
        json!({"text": "[1]"}),
        json!({"a": 1}),
        json!({}),
    ];
    assert_eq!(inputs, wanted);
}

// proves AS-15
#[test]
fn what_was_said_before_stands_unchanged_at_the_beginning_of_what_is_said_next() {
    let talk = vec![
        user("Hello"),
        assistant(vec![
            Part::text("Hi."),
            call("c1", json!({})),
            call("c2", json!({})),
        ]),
        result("c1", Status::Done, "one"),
        result("c2", Status::Failed, "two"),
        assistant(vec![Part::text("So. ")]),
        user("And?"),
        user("Well?"),
        assistant(vec![Part::text("Yes.")]),
        user("Good."),
    ];
    let blocks = |count: usize| {
        let messages = messages(talk[..count].to_vec());
        let blocks = messages.as_array().unwrap().iter().flat_map(|message| {
            let content = message["content"].as_array().unwrap();
            content
                .iter()
                .map(|block| format!("{} {block}", message["role"]))
        });
        blocks.collect::<Vec<_>>()
    };
    // The prompts that a model gets: behind a user's words, or behind all results.
    let prompts = [1, 4, 6, 7, 9].map(blocks);
    for pair in prompts.windows(2) {
        assert!(pair[1].starts_with(&pair[0]), "{pair:#?}");
    }
}
