//! What Chat Completions refuses: its code, `-` for none, and its parameter.

use serde_json::{Value, json};

use super::{changed, check, rows};
use crate::client::OPENAI;

const TABLE: &str = r#"
 -> taken
/tools - -> taken
/temperature 2 -> taken
/temperature null -> taken
/max_tokens 1 -> taken
/tools/0/function/name a-B_9*12 -> taken
/tools/0/function/parameters {} -> taken
/messages/5/content [{"type":"text","text":"x"}] -> taken
/stream false -> taken

/model - -> - -
/model "" -> - -
/model 7 -> invalid_type model
/messages - -> missing_required_parameter messages
/messages [] -> empty_array messages
/messages "x" -> invalid_type messages
/thinking {} -> unknown_parameter thinking
/max_tokens 0 -> integer_below_min_value max_tokens
/max_tokens 1.5 -> invalid_type max_tokens
/n 2 -> integer_above_max_value n
/stream "yes" -> invalid_type stream
/temperature -0.1 -> decimal_below_min_value temperature
/temperature 2.1 -> decimal_above_max_value temperature
/stream_options {"include_usage":true} -> - stream_options
/max_completion_tokens 5 -> invalid_parameter_combination max_tokens
/tools - & /tool_choice "auto" -> - tool_choice

/tools [] -> empty_array tools
/tools/0/type "shell" -> invalid_value tools[0].type
/tools/0/function/name - -> missing_required_parameter tools[0].function.name
/tools/0/function/name "" -> empty_string tools[0].function.name
/tools/0/function/name "a b" -> invalid_value tools[0].function.name
/tools/0/function/name "файл" -> invalid_value tools[0].function.name
/tools/0/function/name a*65 -> string_above_max_length tools[0].function.name
/tools/0/function/parameters {"type":"string"} -> invalid_function_parameters tools[0].function.parameters

/messages/0 "hi" -> invalid_type messages[0]
/messages/0/role - -> missing_required_parameter messages[0].role
/messages/0/role "narrator" -> invalid_value messages[0].role
/messages/1/parts [] -> unknown_parameter messages[1].parts
/messages/1/reasoning_content "mine" -> unknown_parameter messages[1].reasoning_content
/messages/1/content/0 {"type":"smell"} -> invalid_value messages[1].content[0].type
/messages/5/content - -> - messages.[5].content
/messages/6/content null -> - messages.[6].content
/messages/6/content [] -> empty_array messages[6].content

/messages/2/tool_calls [] -> empty_array messages[2].tool_calls
/messages/2/tool_calls/0/id "" -> empty_string messages[2].tool_calls[0].id
/messages/2/tool_calls/0/id x*41 -> string_above_max_length messages[2].tool_calls[0].id
/messages/2/tool_calls/0/type "tool" -> invalid_value messages[2].tool_calls[0].type
/messages/2/tool_calls/0/function/arguments {} -> invalid_type messages[2].tool_calls[0].function.arguments
/messages/2/tool_calls/0/function/name "read file" -> invalid_value messages[2].tool_calls[0].function.name
/messages/2/tool_calls/0/function/extra 1 -> unknown_parameter messages[2].tool_calls[0].function.extra

/messages/3/tool_call_id "c9" -> - messages.[3].tool_call_id 'c9' not found
/messages/4/tool_call_id "c2" -> - messages.[4].tool_call_id Duplicate
/messages/2 - -> - messages.[2].role must be a response
/messages/4 - -> - messages.[2].role no response: c1
/messages/6 - & /messages/5 - & /messages/4 - -> - messages.[2].role no response: c1
"#;

/// A good prompt with a tool, calls and their results.
fn good() -> Value {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "read_file", "arguments": "{}"}});
    json!({
        "model": "m",
        "temperature": 0.7,
        "max_tokens": 100,
        "tools": [{"type": "function", "function": {
            "name": "read_file",
            "description": "Reads.",
            "parameters": {"type": "object", "properties": {}},
        }}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "read"}]},
            {"role": "assistant", "content": null, "tool_calls": [call("c1"), call("c2")]},
            {"role": "tool", "tool_call_id": "c2", "content": "two"},
            {"role": "tool", "tool_call_id": "c1", "content": "one"},
            {"role": "assistant", "content": "", "reasoning_content": "hm"},
            {"role": "user", "content": ""},
        ],
    })
}

#[tokio::test]
async fn prompts_are_taken_or_refused_as_by_the_real_service() {
    for (changes, outcome) in rows(TABLE) {
        let body = changed(&good(), changes);
        let error = check(&OPENAI, &body, outcome == "taken").await;
        if outcome != "taken" {
            let mut words = outcome.splitn(3, ' ');
            for field in ["code", "param"] {
                let expected = words.next().filter(|word| *word != "-");
                assert_eq!(error[field].as_str(), expected, "{changes} got {error}");
            }
            let message = error["message"].as_str().unwrap();
            assert!(
                message.contains(words.next().unwrap_or_default()),
                "{message}"
            );
        }
    }
    let mut body = good();
    body["tools"] = vec![good()["tools"][0].clone(); 129].into();
    let error = check(&OPENAI, &body, false).await;
    assert_eq!(error["code"], "array_above_max_length");
    assert_eq!(error["param"], "tools");
}
