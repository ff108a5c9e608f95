//! The definitions of agents over their routes.

use std::fs;

use reqwest::Method;
use samovar_model_server::Rule;
use samovar_testkit::{Answer, App};
use serde_json::{Value, json};

async fn start() -> App {
    App::start(Vec::<Rule>::new()).await
}

async fn send(app: &App, verb: Method, path: &str, body: Value) -> Answer {
    let request = app.request(verb, &format!("/api/agents{path}"));
    app.answer(request.json(&body)).await
}

async fn get(app: &App, path: &str) -> Answer {
    app.answer(app.request(Method::GET, &format!("/api/agents{path}")))
        .await
}

async fn remove(app: &App, name: &str, version: u64) -> Answer {
    let path = format!("/api/agents/{name}?version={version}");
    app.answer(app.request(Method::DELETE, &path)).await
}

/// What a refusal is: its status and code.
fn refused(answer: &Answer) -> (u16, &str) {
    (answer.status, answer.code())
}

fn helper() -> Value {
    json!({
        "name": "helper", "displayName": "The helper", "systemPrompt": "It is {{date}}.",
        "model": {"provider": "openai", "modelId": "gpt-5", "params": {"temperature": 0.5}},
        "toolKeys": ["open-url", "read_file", "web_fetch"], "allowedSubAgents": ["browser"],
        "maxDepth": 2, "maxSteps": 5, "approval": "supervised", "pageIds": ["home"],
        "workspaceId": "w1",
    })
}

// proves SA-2, SA-4, SA-20
#[tokio::test]
async fn an_agent_is_added_changed_and_removed_and_outlives_a_restart() {
    let app = start().await;
    let made = send(&app, Method::POST, "", helper()).await;
    assert_eq!(made.status, 200, "{}", made.body);
    let mut shown = helper();
    shown["toolKeys"] = json!(["open_url", "read_file", "web_fetch"]);
    for (key, value) in [
        ("version", json!(1)),
        ("origin", json!("row")),
        ("enabled", json!(true)),
    ] {
        shown[key] = value;
    }
    shown["updatedAt"] = made.body["updatedAt"].clone();
    assert_eq!(made.body, shown);
    assert!(shown["updatedAt"].as_i64().unwrap() > 0);

    let app = app.restart().await;
    assert_eq!(get(&app, "/helper").await.body, shown);
    shown["maxSteps"] = json!(6);
    shown["enabled"] = json!(false);
    let changed = send(&app, Method::PUT, "/helper", shown.clone()).await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    assert_eq!(
        (&changed.body["version"], &changed.body["maxSteps"]),
        (&json!(2), &json!(6))
    );
    assert_eq!(changed.body["enabled"], false);

    let versions = get(&app, "/helper/versions").await.body;
    let steps = |versions: &Value| {
        let items = versions["items"].as_array().unwrap();
        items
            .iter()
            .map(|one| one["maxSteps"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (steps(&versions), &versions["totalCount"]),
        (vec![json!(6), json!(5)], &json!(2))
    );
    let before = get(&app, "/helper/versions?before=2").await.body;
    assert_eq!(steps(&before), [5]);

    assert_eq!(
        refused(&remove(&app, "helper", 1).await),
        (409, "agent_conflict")
    );
    assert_eq!(remove(&app, "helper", 2).await.body, Value::Null);
    assert_eq!(refused(&get(&app, "/helper").await), (404, "unknown_agent"));
    assert_eq!(steps(&get(&app, "/helper/versions").await.body), [6, 5]);
    let again = send(&app, Method::POST, "", helper()).await;
    assert_eq!(
        again.body["version"], 3,
        "a version never stands for two definitions"
    );
}

// proves SA-4
#[tokio::test]
async fn of_two_changes_of_one_version_the_second_is_refused() {
    let app = start().await;
    send(&app, Method::POST, "", helper()).await;
    let mut change = helper();
    change["version"] = json!(1);
    let both = tokio::join!(
        send(&app, Method::PUT, "/helper", change.clone()),
        send(&app, Method::PUT, "/helper", change.clone()),
    );
    let (first, second) = if both.0.status == 200 {
        both
    } else {
        (both.1, both.0)
    };
    assert_eq!(first.body["version"], 2, "{}", first.body);
    assert_eq!(refused(&second), (409, "agent_conflict"));
    assert_eq!(second.body["details"]["version"], 2);
    assert_eq!(get(&app, "/helper").await.body["version"], 2);
}

// proves SA-2, SA-3, SA-4, SA-17
#[tokio::test]
async fn what_cannot_be_a_definition_is_refused_with_its_reason() {
    let app = start().await;
    let with = |key: &str, value: Value| {
        let mut body = helper();
        body[key] = value;
        body
    };
    let rows = [
        (json!({}), 400, "missing parameter"),
        (with("name", json!("a/b")), 400, "ASCII"),
        (with("name", json!("master")), 409, "already"),
        (with("name", json!("browser")), 409, "already"),
        (
            with("toolKeys", json!(["raed_file"])),
            400,
            "did you mean read_file?",
        ),
        (with("allowedSubAgents", json!(["helper"])), 400, "itself"),
        (
            with("systemPrompt", json!("x".repeat(70_000))),
            400,
            "65536",
        ),
        (
            with("systemPrompt", json!("x".repeat(1 << 20))),
            413,
            "1048576",
        ),
        (
            with("systemPrompt", json!("{{password}}")),
            400,
            "\"password\"",
        ),
        (with("maxSteps", json!(0)), 400, "maxSteps"),
        (with("maxDepth", json!(-1)), 400, "maxDepth"),
        (
            with("model", json!({"modelId": "m", "params": {"topP": 1}})),
            400,
            "topP",
        ),
    ];
    for (body, status, part) in rows {
        let answer = send(&app, Method::POST, "", body).await;
        let sentence = answer.body["error"].to_string().replace("\\\"", "\"");
        assert_eq!(answer.status, status, "{part}: {sentence}");
        assert!(sentence.contains(part), "{part}: {sentence}");
    }
}

// proves SA-2, SA-4
#[tokio::test]
async fn only_what_a_client_added_can_be_changed() {
    let app = start().await;
    let mut body = helper();
    body["version"] = json!(1);
    let put = async |name: &str, body: Value| send(&app, Method::PUT, name, body).await;
    assert_eq!(
        refused(&put("/other", body.clone()).await),
        (400, "invalid_params")
    );
    assert_eq!(
        refused(&put("/helper", body.clone()).await),
        (404, "unknown_agent")
    );
    assert_eq!(
        refused(&put("/a%2Fb", json!({"version": 1})).await),
        (404, "unknown_agent")
    );
    assert_eq!(
        refused(&put("/browser", json!({"version": 0})).await),
        (409, "agent_conflict")
    );
    body["version"] = Value::Null;
    assert_eq!(
        refused(&put("/helper", body).await),
        (400, "invalid_params")
    );
    assert_eq!(
        refused(&remove(&app, "master", 0).await),
        (409, "agent_conflict")
    );
    assert_eq!(
        refused(&remove(&app, "nothing", 1).await),
        (404, "unknown_agent")
    );
    assert_eq!(
        refused(&get(&app, "/nothing/versions").await),
        (404, "unknown_agent")
    );
}

// proves SA-2
#[tokio::test]
async fn files_are_listed_with_what_is_part_of_the_program_and_hide_rows() {
    let app = start().await;
    send(&app, Method::POST, "", helper()).await;
    let folder = app.data_dir().join("agents");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("tester.md"), "---\ndisplayName: T\n---\nTest.").unwrap();
    fs::write(folder.join("broken.md"), "Test.").unwrap();
    fs::write(folder.join("helper.md"), "---\nmaxSteps: 3\n---\n").unwrap();

    let rows = [
        ("adaptive", "code", true),
        ("broken", "file", false),
        ("browser", "code", true),
        ("helper", "file", true),
        ("helper", "row", false),
        ("master", "code", true),
        ("tester", "file", true),
    ];
    // The folder is looked at once a second.
    let list = loop {
        let list = get(&app, "").await.body.as_array().unwrap().clone();
        if list.len() == rows.len() {
            break list;
        }
        tokio::task::yield_now().await;
    };
    for (one, (name, origin, is_valid)) in list.iter().zip(rows) {
        let is_shown = (
            one["name"] == name,
            one["origin"] == origin,
            one["invalid"].is_null(),
        );
        assert_eq!(is_shown, (true, true, is_valid), "{name}: {one}");
        assert!(one.get("systemPrompt").is_none(), "{one}");
    }
    assert_eq!(get(&app, "/tester").await.body["systemPrompt"], "Test.");
    assert_eq!(get(&app, "/master").await.body["toolKeys"], json!(["*"]));
    let taken = send(&app, Method::POST, "", json!({"name": "tester"})).await;
    assert_eq!(refused(&taken), (409, "agent_conflict"));
    assert_eq!(
        remove(&app, "helper", 1).await.status,
        200,
        "a hidden row can be removed"
    );
    assert_eq!(get(&app, "/helper").await.body["origin"], "file");
}

// proves SA-4
#[tokio::test]
async fn a_token_that_may_read_reads_and_changes_nothing() {
    let app = start().await;
    send(&app, Method::POST, "", helper()).await;
    for (scope, is_read) in [("read", true), ("use", true)] {
        let body = json!({"name": format!("for-{scope}"), "scope": scope});
        let made = app
            .answer(app.request(Method::POST, "/api/tokens").json(&body))
            .await;
        let bearer = format!("Bearer {}", made.body["token"].as_str().unwrap());
        let rows = [
            (Method::GET, "/api/agents", is_read),
            (Method::GET, "/api/agents/helper/versions", is_read),
            (Method::POST, "/api/agents", false),
            (Method::PUT, "/api/agents/helper", false),
            (Method::DELETE, "/api/agents/helper?version=1", false),
        ];
        for (verb, path, is_allowed) in rows {
            let request = reqwest::Client::new()
                .request(verb.clone(), format!("http://{}{path}", app.address()))
                .header("authorization", &bearer);
            let request = if verb == Method::GET {
                request
            } else {
                request.json(&helper())
            };
            let status = request.send().await.unwrap().status().as_u16();
            let wanted = if is_allowed { 200 } else { 403 };
            assert_eq!(status, wanted, "{scope} {verb} {path}");
        }
    }
    assert_eq!(get(&app, "/helper").await.body["version"], 1);
}
