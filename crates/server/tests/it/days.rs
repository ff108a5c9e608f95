//! What a server proposes to remember after a day, through the whole server.

use std::fs;
use std::time::Duration;

use samovar_config::Consolidate;
use samovar_core::{Clock, Millis};
use samovar_model_server::{Reply, say, silent};
use samovar_server::Config;
use samovar_testkit::{App, AppBuilder};
use serde_json::{Value, json};

use crate::memory::push;
use crate::proposals::{answer, proposals};

const DAY: i64 = 24 * 60 * 60 * 1_000;
const ANSWER: &str = "{\"n\": 1, \"section\": \"preferences\", \"text\": \"Likes tea.\"}";

/// A clock that is some days late.
struct Late;

impl Clock for Late {
    fn now(&self) -> Millis {
        let now = jiff::Timestamp::now().as_millisecond();
        Millis(now - 3 * DAY)
    }
}

fn late(config: &mut Config) {
    config.planted = |ports| samovar_engine::Ports {
        clock: std::sync::Arc::new(Late),
        ..ports
    };
}

fn every_moment(config: &mut Config) {
    config.planted = |ports| ports;
    config.memory.day_check = Duration::from_millis(20);
}

/// What was said three days ago.
async fn after_a_day(replies: impl IntoIterator<Item = Reply>) -> App {
    let app = AppBuilder::new().with(late);
    let app = app.start([say("Here it is.")]).await;
    app.turn(&app.session().await, "I always drink tea.").await;
    push(&app, replies);
    app
}

async fn waiting(app: &App) -> Vec<Value> {
    loop {
        let waiting = proposals(app).await;
        if !waiting.is_empty() {
            return waiting;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn looked_at(app: &App) -> String {
    fs::read_to_string(app.data_dir().join("memory/looked_at")).unwrap_or_default()
}

async fn is_looked_at(app: &App) {
    while looked_at(app).split_whitespace().count() != 1 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

// proves MD-14, MD-24
#[tokio::test]
async fn after_a_day_one_turn_without_tools_proposes_what_is_worth_remembering() {
    let app = after_a_day([say(ANSWER)]).await;
    let before = app.ok("getStats", json!({})).await;
    let app = app.restart_with(every_moment).await;

    let waiting = waiting(&app).await;

    let tea = &waiting[0];
    assert_eq!(
        (&tea["text"], &tea["about"]),
        (&json!("Likes tea."), &json!("folder"))
    );
    assert_eq!(tea["section"], "preferences");
    assert!(
        tea["turnId"].is_string() && tea.get("tainted").is_none(),
        "{tea:#}"
    );
    let prompts = app.model.prompts();
    let asked = prompts.last().unwrap();
    let told = asked.last_user().lines().nth(1).unwrap();
    let said = json!({"n": 1, "said": "I always drink tea.", "answer": "Here it is."});
    assert_eq!(serde_json::from_str::<Value>(told).unwrap(), said);
    let body = asked.body();
    assert!(body.get("tools").is_none(), "{body:#}");
    let system = body["messages"][0]["content"].as_str().unwrap();
    assert!(
        system.starts_with("You look after the long-term memory"),
        "{system}"
    );
    is_looked_at(&app).await;
    let after = app.ok("getStats", json!({})).await;
    let used = |stats: &Value| stats["tokens"]["input"].as_u64().unwrap();
    assert!(used(&after) > used(&before), "{after:#}");
    assert_eq!(after["sessions"], before["sessions"]);
    let audit = app.get("/api/audit").await.body;
    let about = format!("proposal {}", tea["id"].as_str().unwrap());
    let mut records = audit["items"].as_array().unwrap().iter();
    assert!(records.any(|it| it["about"] == about.as_str() && it["rule"] == "consolidate"));

    let id = tea["id"].as_str().unwrap().to_owned();
    answer(&app, &id, json!({"decision": "refuse"})).await;
    let asked = prompts.len();
    let app = app.restart().await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(app.model.prompts().len(), asked, "once a day");
    assert!(proposals(&app).await.is_empty());
}

// proves MD-14
#[tokio::test]
async fn a_day_may_be_written_at_once_or_not_looked_at() {
    let app = after_a_day([say(ANSWER)]).await;
    let off = |config: &mut Config| {
        every_moment(config);
        config.memory.consolidate = Consolidate::Off;
    };
    let app = app.restart_with(off).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(
        (looked_at(&app).as_str(), app.model.prompts().len()),
        ("", 1)
    );

    let app = app
        .restart_with(|config| config.memory.consolidate = Consolidate::Auto)
        .await;
    is_looked_at(&app).await;
    let long_term = fs::read_to_string(app.data_dir().join("MEMORY.md")).unwrap();
    assert!(
        long_term.contains("## Preferences\n\n- Likes tea. <!-- "),
        "{long_term}"
    );
    assert!(proposals(&app).await.is_empty());
}

// proves MD-14
#[tokio::test]
async fn a_server_that_stops_does_not_wait_for_a_look_at_a_day_and_the_rules_make_none() {
    let app = after_a_day([silent()]).await;
    let app = app.restart_with(every_moment).await;
    while app.model.prompts().len() < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(
        looked_at(&app).split_whitespace().nth(1),
        Some("1"),
        "it has begun"
    );
    tokio::time::timeout(Duration::from_secs(10), app.stop())
        .await
        .unwrap();

    let demo = |config: &mut Config| {
        late(config);
        config.providers.default_model = Some("demo".to_owned());
    };
    let app = AppBuilder::new()
        .with(demo)
        .start(Vec::<Reply>::new())
        .await;
    app.turn(&app.session().await, "hello").await;
    let app = app.restart_with(every_moment).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(looked_at(&app), "");
}
