//! Which rule answers which prompt: conditions read a prompt as in the other dialect.

use samovar_model_server::{Answered, ModelServer, When, say};
use serde_json::{Value, json};

use super::ask;

/// A conversation whose second turn has called two tools and got both results, and a word with
/// the last one if `word` is some.
fn conversation(word: Option<&str>) -> Value {
    let mut last = json!([
        {"type": "tool_result", "tool_use_id": "2", "content": "two"},
        {"type": "tool_result", "tool_use_id": "3", "content": [
            {"type": "text", "text": "thr"},
            {"type": "text", "text": "ee"},
        ]},
    ]);
    if let (Some(word), Value::Array(blocks)) = (word, &mut last) {
        blocks.push(json!({"type": "text", "text": word}));
    }
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "t", "input": {}});
    json!({
        "model": "m",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "Be "}, {"type": "text", "text": "brief."}],
        "tools": [{"name": "t", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "first"},
            {"role": "assistant", "content": [call("1")]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": "one"},
            ]},
            {"role": "assistant", "content": "So."},
            {"role": "user", "content": [
                {"type": "text", "text": "sec"},
                {"type": "image", "source": {}},
                {"type": "text", "text": "ond"},
            ]},
            {"role": "assistant", "content": [call("2"), call("3")]},
            {"role": "user", "content": last},
        ],
    })
}

async fn holds(when: When, body: &Value) -> bool {
    let server = ModelServer::start([say("yes").when(when)]).await.unwrap();
    let status = ask(&server, body).await.head.status;
    let requests = server.requests();
    match requests[0].answered() {
        Answered::Rule(0) => status == 200,
        Answered::Unmatched => false,
        other => panic!("{body} got {other:?}"),
    }
}

#[tokio::test]
async fn conditions_find_what_the_prompt_says() {
    let body = conversation(None);
    let hold = [
        When::model("m"),
        When::user("second"),
        When::SystemContains("Be brief.".to_owned()),
        When::LastToolResultContains("three".to_owned()),
        When::ToolResults(3),
        When::ToolResultsSinceUser(2),
        When::OffersTool("t".to_owned()),
    ];
    for when in hold {
        assert!(holds(when.clone(), &body).await, "{when:?}");
    }
    let fail = [
        When::user("first"),
        When::user("three"),
        When::LastToolResultContains("two".to_owned()),
        When::ToolResultsSinceUser(3),
        When::OffersTool("read_file".to_owned()),
    ];
    for when in fail {
        assert!(!holds(when.clone(), &body).await, "{when:?}");
    }
}

#[tokio::test]
async fn a_word_behind_the_results_is_the_last_that_the_user_said() {
    let body = conversation(Some("third"));
    assert!(holds(When::user("third"), &body).await);
    assert!(!holds(When::user("second"), &body).await);
    assert!(holds(When::ToolResultsSinceUser(0), &body).await);
    assert!(holds(When::ToolResults(3), &body).await);
}

#[tokio::test]
async fn one_script_serves_both_dialects_in_the_order_of_the_prompts() {
    let server = ModelServer::start([say("one"), say("two")]).await.unwrap();
    let first = crate::client::ask(&server, &crate::client::prompt("hi")).await;
    assert_eq!(first.said(), "one");
    let second = ask(&server, &super::plain("hi")).await.json();
    assert_eq!(second["content"][0]["text"], "two");
    assert!(server.left_over().is_empty());
}
