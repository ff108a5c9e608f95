use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use samovar_core::provider::Layer;
use samovar_core::{CallId, Message, Outcome, Part, Role, Status, ToolCall};
use samovar_doubles::talk::{self, assistant, message, tool, user};
use serde_json::{Value, json};

use super::details::{EXTRA_CONTENT, REASONING_DETAILS};
use super::*;
use crate::endpoint::Clients;
use crate::specs::spec;
use crate::state;
use crate::timeouts::Timeouts;

fn call(id: &str, args: Value) -> Part {
    talk::call(id, "look", args)
}

fn result(id: &str, said: &str) -> Message {
    talk::result(id, "look", &Outcome::new(Status::Done, said))
}

fn prompt(messages: Vec<Message>) -> Prompt {
    talk::prompt("m", messages)
}

fn endpoint(row: &str, base: &str) -> Endpoint {
    let clients = Arc::new(Clients::new(Duration::from_secs(1), 1));
    let base = Url::parse(base).unwrap();
    Endpoint::new(spec(row).unwrap(), base, Timeouts::default(), clients)
}

fn sent_to(endpoint: &Endpoint, prompt: &Prompt) -> Value {
    let habits = endpoint.habits(&prompt.model);
    let request = write(endpoint, prompt, &habits).unwrap();
    serde_json::from_slice(&request.body).unwrap()
}

fn sent(row: &str, prompt: &Prompt) -> Value {
    let base = spec(row).unwrap().default_api_base;
    let base = base.unwrap_or("https://mine.openai.azure.com/openai/v1");
    sent_to(&endpoint(row, base), prompt)
}

#[track_caller]
fn check(row: &str, messages: Vec<Message>, wanted: &Value) {
    assert_eq!(sent(row, &prompt(messages))["messages"], *wanted);
}

/// A call as it is sent.
fn asked(id: &str, args: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "look", "arguments": args}})
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
        result("c1", "three"),
        assistant(vec![Part::text("Three.")]),
    ]);
    let layer = |name, text: &str| Layer {
        name,
        text: text.into(),
    };
    prompt.layers = vec![layer("soul", "Be kind."), layer("rules", "Be brief.")];
    prompt.tools = vec![tool("look")].into();
    let wanted = json!({
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be kind.\n\n---\n\nBe brief."},
            {"role": "user", "content": "How many?"},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [asked("c1", r#"{"path":"a \"b\".txt"}"#)],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "three"},
            {"role": "assistant", "content": "Three."},
        ],
        "tools": [{
            "type": "function",
            "function": {
                "name": "look",
                "description": "Looks.",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
            },
        }],
        "stream": true,
        "stream_options": {"include_usage": true},
        "temperature": 0.7,
        "max_tokens": 4096,
    });
    assert_eq!(sent("openai", &prompt).to_string(), wanted.to_string());
}

#[test]
fn parameters_that_a_model_does_not_take_are_not_sent() {
    let ask = |row: &str, model: &str| sent(row, &talk::prompt(model, [user("Hi")]));
    let reasoner = ask("openai", "gpt-5-mini");
    assert_eq!(reasoner["max_completion_tokens"], 4096);
    for name in ["max_tokens", "temperature", "tools"] {
        assert_eq!(reasoner.get(name), None, "{name}");
    }
    assert_eq!(ask("moonshot", "kimi-k2.5")["temperature"], 1.0);
    let mistral = ask("mistral", "mistral-large-latest");
    assert_eq!(mistral.get("stream_options"), None);
    assert_eq!(mistral["max_tokens"], 4096);
}

#[test]
fn every_call_is_followed_by_its_result_in_order() {
    check(
        "openai",
        vec![
            user("Go"),
            assistant(vec![
                call("c1", json!({})),
                call("c2", json!({})),
                call("c3", json!({})),
            ]),
            result("c3", "third"),
            result("lost", "of a call that the window cut off"),
            user("And?"),
            result("c1", "first, late"),
            assistant(vec![Part::text("So.")]),
        ],
        &json!([
            {"role": "user", "content": "Go"},
            {
                "role": "assistant",
                "content": null,
                "tool_calls": [asked("c1", "{}"), asked("c2", "{}"), asked("c3", "{}")],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "first, late"},
            {
                "role": "tool",
                "tool_call_id": "c2",
                "content": "there is no result: the call was stopped, or what came of it was lost",
            },
            {"role": "tool", "tool_call_id": "c3", "content": "third"},
            {"role": "user", "content": "And?"},
            {"role": "assistant", "content": "So."},
        ]),
    );
}

#[test]
fn what_a_strict_server_refuses_is_not_sent() {
    let data = Part::Data {
        name: "plan".to_owned(),
        data: json!({}),
    };
    let thought = Part::Reasoning {
        text: "Hm".to_owned(),
        provider_state: None,
    };
    check(
        "openai",
        vec![
            user("One"),
            assistant(vec![thought]),
            message(Role::User, vec![data]),
            user("Two"),
            message(Role::System, vec![Part::text("A child is done.")]),
            assistant(vec![Part::text("a"), Part::text("b")]),
        ],
        &json!([
            {"role": "user", "content": "One\n\nTwo\n\nA child is done."},
            {"role": "assistant", "content": "ab"},
        ]),
    );
}

#[test]
fn malformed_arguments_go_back_as_the_model_wrote_them_or_inside_an_object() {
    for (row, wanted) in [
        ("openai", r#"{"path": "#),
        ("ollama", r#"{"text":"{\"path\": "}"#),
    ] {
        let broken = assistant(vec![call("c1", json!(r#"{"path": "#))]);
        let sent = sent(row, &prompt(vec![user("Go"), broken]));
        let args = &sent["messages"][1]["tool_calls"][0]["function"]["arguments"];
        assert_eq!(args, wanted, "{row}");
    }
}

#[test]
fn mistral_gets_ids_of_nine_letters_and_an_answer_behind_every_result() {
    let long = "call_019a7d3e4b5c7000a1b2c3d4e5f60718";
    let talk = vec![
        user("Go"),
        assistant(vec![call(long, json!({})), call("c2", json!({}))]),
        result(long, "first"),
        result("c2", "second"),
        user("And?"),
    ];
    let sent = sent("mistral", &prompt(talk));
    let said = sent["messages"].as_array().unwrap();
    let roles: Vec<_> = said
        .iter()
        .map(|said| said["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        ["user", "assistant", "tool", "tool", "assistant", "user"]
    );
    let id = |at: usize| said[1]["tool_calls"][at]["id"].as_str().unwrap();
    for at in [0, 1] {
        assert_eq!(id(at).len(), 9);
        assert!(
            id(at).bytes().all(|letter| letter.is_ascii_alphanumeric()),
            "{}",
            id(at)
        );
        assert_eq!(said[at + 2]["tool_call_id"], id(at));
    }
    assert_ne!(id(0), id(1));
}

#[test]
fn reasoning_goes_back_only_to_who_wants_it_and_then_with_every_call() {
    let thought = Part::Reasoning {
        text: "Hm".to_owned(),
        provider_state: None,
    };
    let talk = vec![
        user("Go"),
        assistant(vec![thought.clone(), call("c1", json!({}))]),
        result("c1", "r"),
        assistant(vec![call("c2", json!({}))]),
        result("c2", "r"),
        assistant(vec![thought, Part::text("Done.")]),
    ];
    for (row, wanted) in [
        ("deepseek", [json!("Hm"), json!(""), Value::Null]),
        ("openai", [Value::Null, Value::Null, Value::Null]),
    ] {
        let sent = sent(row, &prompt(talk.clone()));
        let found = [1, 3, 5].map(|at| sent["messages"][at]["reasoning_content"].clone());
        assert_eq!(found, wanted, "{row}");
    }
}

// proves MD-20
#[test]
fn a_thought_goes_back_with_its_call_to_the_server_and_model_that_sent_it() {
    let here = endpoint("openai", "http://127.0.0.1:9/v1");
    let thought = Part::Reasoning {
        text: "Hm".to_owned(),
        provider_state: None,
    };
    let with_call = |field| {
        let mut call = ToolCall::new(CallId::new("c1").unwrap(), "look", json!({}));
        call.provider_state = Thoughts::of(&here, "m").state(field);
        Part::Call(call)
    };
    for (field, host, model, has_call, wanted) in [
        (
            "reasoning_content",
            "http://127.0.0.1:9/v1",
            "m",
            true,
            json!(["Hm", null]),
        ),
        (
            "reasoning",
            "http://127.0.0.1:9/v1",
            "m",
            true,
            json!([null, "Hm"]),
        ),
        (
            "reasoning_content",
            "http://127.0.0.1:9/v1",
            "m",
            false,
            json!([null, null]),
        ),
        (
            "reasoning_content",
            "http://127.0.0.1:9/v1",
            "other",
            true,
            json!([null, null]),
        ),
        (
            "reasoning_content",
            "https://api.openai.com/v1",
            "m",
            true,
            json!([null, null]),
        ),
    ] {
        let mut parts = vec![thought.clone(), Part::text("I look.")];
        parts.extend(has_call.then(|| with_call(field)));
        let mut prompt = prompt(vec![user("Go"), assistant(parts)]);
        model.clone_into(&mut prompt.model);
        let sent = sent_to(&endpoint("openai", host), &prompt);
        let found =
            ["reasoning_content", "reasoning"].map(|name| sent["messages"][1][name].clone());
        assert_eq!(json!(found), wanted, "{field} {host} {model} {has_call}");
    }
}

// proves MD-20
#[test]
fn malformed_arguments_go_back_raw_to_the_makers_own_address_alone() {
    let talk = || vec![user("Go"), assistant(vec![call("c1", json!("{\"pa"))])];
    for (base, wanted) in [
        ("https://api.openai.com/v1", "{\"pa"),
        ("http://127.0.0.1:9/v1", "{\"text\":\"{\\\"pa\"}"),
    ] {
        let sent = sent_to(&endpoint("openai", base), &prompt(talk()));
        let function = &sent["messages"][1]["tool_calls"][0]["function"];
        assert_eq!(function["arguments"], wanted, "{base}");
    }
}

// proves MD-3
#[test]
fn what_a_provider_wants_back_verbatim_goes_back_to_it_and_to_nobody_else() {
    let (gemini, openrouter) = (spec("gemini").unwrap(), spec("openrouter").unwrap());
    let extra = json!({"google": {"thought_signature": "AY8="}});
    let entries = json!([{"type": "reasoning.encrypted", "data": "x"}]);
    let mut signed = ToolCall::new(CallId::new("c1").unwrap(), "look", json!({}));
    signed.provider_state = Some(state::write(gemini, EXTRA_CONTENT, extra.clone()));
    let thought = Part::Reasoning {
        text: String::new(),
        provider_state: Some(state::write(openrouter, REASONING_DETAILS, entries.clone())),
    };
    let talk = prompt(vec![
        user("Go"),
        assistant(vec![thought, Part::Call(signed.clone())]),
    ]);
    let find = |row: &str| {
        let said = sent(row, &talk)["messages"][1].clone();
        (
            said["tool_calls"][0]["extra_content"].clone(),
            said["reasoning_details"].clone(),
        )
    };
    assert_eq!(find("gemini"), (extra, Value::Null));
    assert_eq!(find("openrouter"), (Value::Null, entries));
    assert_eq!(find("openai"), (Value::Null, Value::Null));
    signed.provider_state = Some(json!("of another dialect"));
    let other = prompt(vec![user("Go"), assistant(vec![Part::Call(signed)])]);
    assert_eq!(
        sent("gemini", &other)["messages"][1]["tool_calls"][0].get("extra_content"),
        None
    );
}

/// What a request says of calls: how many each message asks for, and how many results follow it.
fn batches(row: &str, messages: Vec<Message>) -> Vec<(usize, usize)> {
    let sent = sent(row, &prompt(messages));
    let mut batches = Vec::new();
    let mut ids = Vec::new();
    for message in sent["messages"].as_array().unwrap() {
        if let Some(calls) = message["tool_calls"].as_array() {
            ids = calls.iter().map(|call| call["id"].clone()).collect();
            batches.push((calls.len(), 0));
        } else if message["role"] == "tool" {
            let (_, results) = batches.last_mut().unwrap();
            assert_eq!(message["tool_call_id"], ids[*results], "in their order");
            *results += 1;
        }
    }
    batches
}

// proves MD-3
#[test]
fn more_calls_than_a_message_may_have_go_back_in_several_each_with_its_results() {
    let said = |count: usize, state: Option<Value>| {
        let calls = (0..count).map(|n| {
            let Part::Call(mut call) = call(&format!("c{n}"), json!({})) else {
                unreachable!()
            };
            call.provider_state = state.clone().filter(|_| n == 0);
            Part::Call(call)
        });
        let parts = std::iter::once(Part::text("I look."))
            .chain(calls)
            .collect();
        let results = (0..count).map(|n| result(&format!("c{n}"), "seen"));
        [user("How many?"), assistant(parts)]
            .into_iter()
            .chain(results)
            .collect()
    };
    assert_eq!(batches("openai", said(128, None)), [(128, 128)]);
    let three = [(128, 128), (128, 128), (44, 44)];
    for row in ["openai", "mistral", "deepseek"] {
        assert_eq!(batches(row, said(300, None)), three, "{row}");
    }
    // Its first call signs for the others.
    let signed = Some(json!({"signature": "s"}));
    assert_eq!(batches("gemini", said(300, signed)), [(300, 300)]);
    let texts = sent("openai", &prompt(said(300, None))).to_string();
    assert_eq!(texts.matches("I look.").count(), 1, "said once");
}
