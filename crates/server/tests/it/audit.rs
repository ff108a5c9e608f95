//! What the audit has of changes that are in no session's log.

use reqwest::Method;
use samovar_model_server::say;
use samovar_testkit::{Api, App};
use serde_json::{Value, json};

async fn records(app: &App) -> Vec<Value> {
    let page = app.get("/api/audit?limit=500").await;
    page.body["items"].as_array().unwrap().clone()
}

async fn send(app: &App, verb: Method, path: &str, body: Value) {
    let answer = app.answer(app.request(verb, path).json(&body)).await;
    assert!(answer.status < 300, "{path}: {answer:?}");
}

// proves TL-15
#[tokio::test]
async fn tokens_tools_agents_starts_and_calls_outside_sessions_are_recorded_with_who_changed_them()
{
    let app = App::start([say("an answer").forever()]).await;
    let webhook = json!({"name": "lamp", "description": "a lamp", "client": true});
    let agent = json!({"name": "helper", "systemPrompt": "help"});
    let write = json!({"args": {"path": "a.txt", "content": "x"}, "approval": "auto"});
    let read = json!({"args": {"path": "."}});
    for (verb, path, body) in [
        (
            Method::POST,
            "/api/tokens",
            json!({"name": "phone", "scope": "use"}),
        ),
        (Method::DELETE, "/api/tokens/phone", json!({})),
        (Method::POST, "/api/tools", webhook),
        (Method::DELETE, "/api/tools/lamp", json!({})),
        (Method::POST, "/api/agents", agent.clone()),
        (
            Method::PUT,
            "/api/agents/helper",
            json!({"systemPrompt": "x", "version": 1}),
        ),
        (Method::DELETE, "/api/agents/helper?version=2", json!({})),
        (Method::POST, "/api/tools/write_file/call", write),
        (Method::POST, "/api/tools/list_dir/call", read),
    ] {
        send(&app, verb, path, body).await;
    }
    let refused = app.request(Method::POST, "/api/tokens");
    let refused = app
        .answer(refused.json(&json!({"name": "owner", "scope": "use"})))
        .await;
    assert!(refused.status >= 400);

    let found = records(&app).await;

    let told = found.iter().map(|record| {
        let text = |name: &str| record[name].as_str().unwrap_or("-").to_owned();
        assert_eq!(
            record["who"],
            if record["record"] == 1 {
                "command line"
            } else {
                "owner"
            }
        );
        ["event", "about", "tool", "rule", "result"]
            .map(text)
            .join(" ")
    });
    let level = app.config().settings.approval.as_str();
    let version = env!("CARGO_PKG_VERSION");
    let expected = [
        &format!("server_started {version} - level:{level} -"),
        "token_made phone - use -",
        "token_revoked phone - - -",
        "tool_registered - lamp - -",
        "tool_removed - lamp - -",
        "agent_changed helper - - -",
        "agent_changed helper - - -",
        "agent_removed helper - - -",
        "call_started - write_file level:auto -",
        "call_closed - write_file - done",
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    assert_eq!(found[8]["callId"], found[9]["callId"]);
    let verdict = app.get("/api/audit/verify").await;
    assert_eq!(verdict.body["ok"], true, "{verdict:?}");
    app.stop().await;
}

// proves TL-15
#[tokio::test]
async fn many_requests_without_a_valid_token_are_one_record() {
    let app = App::start([say("an answer").forever()]).await;
    let stranger = Api::new(
        &app.address().to_string(),
        "a-wrong-token-of-thirty-two-characters",
    );
    for _ in 0..50 {
        assert_eq!(stranger.get("/api/tools").await.status, 401);
    }

    let found = records(&app).await;

    let failed: Vec<_> = found
        .iter()
        .filter(|one| one["event"] == "logins_failed")
        .collect();
    let counts: Vec<_> = failed
        .iter()
        .map(|one| one["about"].as_str().unwrap())
        .collect();
    assert_eq!(
        counts,
        ["1", "49"],
        "the first at once, the others summed up"
    );
    app.stop().await;
}

// proves TL-15
#[tokio::test]
async fn the_audit_is_read_page_by_page_and_by_the_owner_alone() {
    let app = App::start([say("an answer").forever()]).await;
    let body = json!({"name": "reader", "scope": "use"});
    let made = app
        .answer(app.request(Method::POST, "/api/tokens").json(&body))
        .await;
    let reader = Api::new(
        &app.address().to_string(),
        made.body["token"].as_str().unwrap(),
    );
    for path in ["/api/audit", "/api/audit/verify"] {
        assert_eq!(reader.get(path).await.status, 403, "{path}");
    }
    let first = app.get("/api/audit?after=0&limit=1").await;
    let items = first.body["items"].as_array().unwrap();
    assert_eq!(items.len(), 1);
    assert_eq!(items[0]["event"], "server_started");
    let second = app.get("/api/audit?after=1&limit=9").await;
    assert_eq!(second.body["items"][0]["event"], "token_made");
    assert_eq!(second.body["head"]["hash"], second.body["items"][0]["hash"]);
    let app = app.restart().await;
    let told = records(&app).await;
    let told: Vec<_> = told
        .iter()
        .map(|one| one["event"].as_str().unwrap())
        .collect();
    let expected = [
        "server_started",
        "token_made",
        "server_stopping",
        "server_started",
    ];
    assert_eq!(told, expected);
    let verdict = app.get("/api/audit/verify").await;
    assert_eq!(verdict.body["head"]["record"], 4, "{verdict:?}");
    app.stop().await;
}
