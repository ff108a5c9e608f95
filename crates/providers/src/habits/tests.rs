use std::sync::Arc;

use samovar_doubles::talk;
use serde_json::json;

use super::*;

const BODY: &str = r#"{"temperature":0.7,"max_tokens":10,"stream_options":{}}"#;

fn prompt() -> Prompt {
    let tool = |name: &str, parameters: Value| {
        Arc::new(ToolSpec {
            parameters,
            ..Arc::unwrap_or_clone(talk::tool(name))
        })
    };
    let mut prompt = talk::prompt("m", Vec::new());
    prompt.tools = vec![
        tool("look", json!({"properties": {"path": {"type": "string"}}})),
        tool(
            "order",
            json!({"properties": {"Dish": {"anyOf": [{}, {}]}}}),
        ),
    ]
    .into();
    prompt
}

/// What a server says, and what is sent otherwise after that.
const REFUSALS: &[(&str, &str)] = &[
    (
        "unsupported value: 'temperature' does not support 0.7 with this model",
        "temperature",
    ),
    (
        "unsupported parameter: 'max_tokens' is not supported with this model. use 'max_completion_tokens' instead.",
        "max_tokens",
    ),
    (
        "stream_options: extra inputs are not permitted",
        "stream_options",
    ),
    ("unknown parameter: top_k", "-"),
    ("max_completion_tokens was not sent", "-"),
    ("bad request", "-"),
    (
        "registry.ollama.ai/library/x:latest does not support tools",
        "tools",
    ),
    (
        "\"auto\" tool choice requires --enable-auto-tool-choice",
        "tools",
    ),
    ("no endpoints found that support tool use", "tools"),
    (
        "invalid schema for function 'order': in context=('properties', 'dish')",
        "the tool order",
    ),
    ("tools[1].function.parameters: invalid", "the tool order"),
    (
        "json schema error at #/properties/dish/anyof/1: schema must be an object",
        "the tool order",
    ),
    (
        "json schema error at #/properties/nothing: schema must be an object",
        "-",
    ),
    (
        "the `reasoning_content` in the thinking mode must be passed back to the api.",
        "reasoning_content",
    ),
    (
        "messages.1.reasoning_content: extra inputs are not permitted",
        "reasoning_content",
    ),
];

// proves MD-20
#[test]
fn a_refusal_that_names_a_part_of_the_request_leaves_it_out() {
    for (refusal, wanted) in REFUSALS {
        let change = Habits::default().change(refusal, &prompt(), BODY.as_bytes());
        let named = change.map_or("-".to_owned(), |change| change.to_string());
        assert_eq!(named, *wanted, "{refusal}");
    }
}

// proves MD-20
#[test]
fn what_is_refused_a_second_time_changes_nothing_more() {
    for (refusal, _) in REFUSALS {
        let mut habits = Habits::default();
        let mut changes = 0;
        while let Some(change) = habits.change(refusal, &prompt(), BODY.as_bytes()) {
            habits.learn(change);
            changes += 1;
            assert!(changes <= 2, "{refusal}");
        }
    }
}

#[test]
fn only_the_tools_that_were_refused_are_left_out() {
    let prompt = prompt();
    let names = |habits: &Habits| -> Vec<String> {
        habits
            .tools(&prompt)
            .map(|tool| tool.name.clone())
            .collect()
    };
    let mut habits = Habits::default();
    habits.learn(Change::WithoutTool("look".to_owned()));
    assert_eq!(names(&habits), ["order"]);
    habits.learn(Change::Without(Sent::Tools));
    assert!(names(&habits).is_empty());
}
