//! What is Samovar's own in messages, and what that costs.

use samovar_model_server::{call, say};
use samovar_wire::ui::{
    ApprovalData, CallProgressData, PromptProgressData, QuestionData, RetryData, SubagentChunkData,
    SubagentData, UiEventData, UiMetadata,
};
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::{frames, of, post_as, quiet, read, user};

/// What is Samovar's own in a chunk or a message is as the contract file says.
pub(super) fn declared(shown: &Value) {
    let is = |fits: serde_json::Result<()>| fits.unwrap_or_else(|why| panic!("{why}: {shown:#}"));
    for name in ["messageMetadata", "metadata"] {
        if let Some(said) = shown.get(name) {
            is(UiMetadata::deserialize(said).map(drop));
        }
    }
    for part in shown["parts"].as_array().into_iter().flatten() {
        declared(part);
    }
    let Some(name) = shown["type"]
        .as_str()
        .and_then(|kind| kind.strip_prefix("data-"))
    else {
        return;
    };
    let data = &shown["data"];
    is(match name {
        "subagent" => SubagentData::deserialize(data).map(drop),
        "subagent-chunk" => SubagentChunkData::deserialize(data).map(drop),
        "approval" => ApprovalData::deserialize(data).map(drop),
        "question" => QuestionData::deserialize(data).map(drop),
        "retry" => RetryData::deserialize(data).map(drop),
        "ui-event" => UiEventData::deserialize(data).map(drop),
        "call-progress" => CallProgressData::deserialize(data).map(drop),
        "prompt-progress" => PromptProgressData::deserialize(data).map(drop),
        other => panic!("data-{other} is not declared"),
    });
    for inner in ["chunk", "message"] {
        declared(&data[inner]);
    }
}

// proves UI-4, TL-10
#[tokio::test]
async fn text_from_outside_is_said_once_in_the_metadata() {
    let app = quiet().start([say("one"), say("two")]).await;
    let mut told = Vec::new();
    for id in ["m1", "m2"] {
        let tab = json!({"url": "https://example.org/", "title": "A page"});
        let body = json!({"id": "c", "messages": [user(id, "look")], "context": {"tabs": [tab]}});
        let frames = frames(post_as(&app, "", &body).await).await;
        let tainted = of(&frames, "message-metadata");
        told.push(
            tainted
                .iter()
                .filter(|it| it["messageMetadata"]["tainted"] == true)
                .count(),
        );
    }
    assert_eq!(told, [1, 0]);
}

// proves UI-13
#[tokio::test]
async fn a_called_agents_long_answer_is_replaced_in_place_at_a_bounded_cost() {
    let order = json!({"name": "browser", "task": "tell all"});
    let all = "some words ".repeat(4000);
    let tells = say(all.as_str()).deltas_of(11);
    let app = quiet()
        .start([call("subAgent", order), tells, say("told")])
        .await;
    let body = json!({"id": "c", "messages": [user("m1", "ask")]});
    let response = post_as(&app, "?subagents=messages", &body).await;
    let text = response.text().await.unwrap();
    let shown = of(&read(&text), "data-subagent").len();
    assert!(
        shown > 1 && text.len() <= 20 * all.len(),
        "{shown} times, {} bytes",
        text.len()
    );
}
