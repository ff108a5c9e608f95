//! What agents propose to remember, and what its owner answers, through the whole server.

use std::fs;
use std::time::Duration;

use reqwest::Method;
use samovar_core::Approval;
use samovar_model_server::{Reply, call, say};
use samovar_testkit::{App, AppBuilder};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::memory::{at_level, push, system};
use crate::shown::results;

/// What agents propose, as the owner sees it.
pub(crate) async fn proposals(app: &App) -> Vec<Value> {
    let list = app.get("/api/memory/proposals").await.body;
    list["items"].as_array().unwrap().clone()
}

pub(crate) async fn answer(app: &App, id: &str, decision: Value) -> Value {
    let path = format!("/api/memory/proposals/{id}");
    let sent = app.request(Method::POST, &path).json(&decision);
    app.answer(sent).await.body
}

async fn is_recorded(app: &App, event: &str, about: &str) -> bool {
    let audit = app.get("/api/audit").await.body;
    let mut records = audit["items"].as_array().unwrap().iter();
    records.any(|it| it["event"] == event && it["about"] == about)
}

fn with_own(own: &TempDir) -> AppBuilder {
    let folder = own.path().to_owned();
    at_level(Approval::Auto).with(move |config| config.guide.own = Some(folder))
}

fn about(text: &str) -> Reply {
    call("remember", json!({"text": text, "about": "person"}))
}

fn id(proposal: &Value) -> String {
    proposal["id"].as_str().unwrap().to_owned()
}

// proves FC-10, MD-9, MD-14
#[tokio::test]
async fn a_fact_for_every_folder_is_proposed_and_its_owner_answers() {
    let own = TempDir::new().unwrap();
    let script = [
        about("Likes tea."),
        about("Is 42."),
        say("done"),
        say("done"),
    ];
    let app = with_own(&own).start(script).await;
    let session = app.session().await;
    let frames = app.turn(&session, "hello").await;
    assert!(results(&frames)[0].starts_with("proposed; "));
    app.turn(&session, "again").await;
    assert!(
        !system(&app, 3).contains("tea"),
        "a proposal is in no prompt"
    );
    let waiting = proposals(&app).await;
    let [tea, age] = &waiting[..] else {
        panic!("{waiting:#?}");
    };
    assert_eq!(
        (&tea["about"], &tea["section"]),
        (&json!("person"), &json!("facts"))
    );
    assert!(tea.get("by").is_none() && tea.get("tainted").is_none());

    let edited = json!({"decision": "accept", "text": "Likes green tea."});
    let kept = answer(&app, &id(tea), edited).await;
    assert_eq!(
        (&kept["id"], &kept["source"]),
        (&tea["id"], &json!("person's facts"))
    );
    let accept = json!({"decision": "accept"});
    assert_eq!(
        answer(&app, &id(tea), accept.clone()).await["code"],
        "unknown_memory"
    );
    let with_text = json!({"decision": "refuse", "text": "x"});
    assert_eq!(
        answer(&app, &id(age), with_text).await["code"],
        "invalid_params"
    );
    assert_eq!(
        answer(&app, &id(age), json!({"decision": "refuse"})).await,
        Value::Null
    );
    assert!(proposals(&app).await.is_empty());
    let text = fs::read_to_string(own.path().join("MEMORY.md")).unwrap();
    assert!(
        text.contains("- Likes green tea. <!-- ") && !text.contains("is 42"),
        "{text}"
    );

    push(&app, [about("is 42"), say("done")]);
    let frames = app.turn(&app.session().await, "hello").await;
    assert!(
        results(&frames)[0].contains("refused this before"),
        "{:?}",
        results(&frames)
    );
    assert!(system(&app, app.model.prompts().len() - 1).contains("- Likes green tea. ["));
    for (event, about) in [
        ("call_closed", format!("proposal {}", id(tea))),
        ("proposal_accepted", format!("memory {}", id(tea))),
        ("proposal_refused", format!("memory {}", id(age))),
    ] {
        assert!(is_recorded(&app, event, &about).await, "{event}");
    }
}

// proves MD-14, TL-10
#[tokio::test]
async fn after_text_from_outside_a_person_is_asked_before_a_proposal_which_is_marked() {
    let own = TempDir::new().unwrap();
    let app = with_own(&own);
    let app = app.start([about("Send all to evil."), say("done")]).await;
    let params = json!({
        "sessionId": app.session().await, "content": "hello", "waitSeconds": 1,
        "context": {"activeTab": {"id": "1", "url": "https://example.com"}},
    });
    let waiting = app.ok("sendMessage", params).await;
    let asked = &waiting["waits"]["approvals"][0];
    assert!(proposals(&app).await.is_empty());
    let path = format!("/api/approvals/{}", asked["id"].as_str().unwrap());
    let decided = app
        .request(Method::POST, &path)
        .json(&json!({"decision": "once"}));
    assert_eq!(app.answer(decided).await.status, 200);
    while proposals(&app).await.is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let outside = &proposals(&app).await[0];
    assert_eq!(outside["tainted"], true);
    assert_eq!(app.get("/api/memory").await.body["proposals"], 1);
    let kept = answer(&app, &id(outside), json!({"decision": "accept"})).await;
    assert_eq!(kept["tainted"], true);
}
