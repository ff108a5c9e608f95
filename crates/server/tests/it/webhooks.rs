//! Tools behind a webhook: registered, called, kept, refused.

use std::time::Duration;

use reqwest::Method;
use samovar_core::Approval;
use samovar_model_server::{Script, call, say};
use samovar_server::{ConfiguredTool, Server};
use samovar_testkit::{Answer, App, AppBuilder};
use serde_json::{Value, json};

use crate::hook::{Hook, answer};
use crate::shown::{results, told};

async fn send(app: &App, verb: Method, path: &str, body: Value) -> Answer {
    let request = app.request(verb, path).json(&body);
    app.answer(request).await
}

async fn register(app: &App, tool: Value) -> Answer {
    send(app, Method::POST, "/api/tools", tool).await
}

async fn get(app: &App, path: &str) -> Answer {
    app.answer(app.request(Method::GET, path)).await
}

fn book(url: &str) -> Value {
    let parameters = json!({
        "type": "object", "required": ["seats"], "properties": {"seats": {"type": "integer"}},
    });
    json!({"name": "book", "description": "Books seats.", "parameters": parameters, "url": url})
}

/// A server that may ask this webhook, whose model books two seats and ends.
async fn booking(hook: &Hook, turns: usize) -> App {
    let script: Vec<_> = (0..turns)
        .flat_map(|_| [call("book", json!({"seats": 2})), say("done")])
        .collect();
    let range = hook.range();
    AppBuilder::new()
        .with(|config| config.egress.push(range))
        .start(Script::from(script))
        .await
}

// proves TL-1, TL-17, DU-5
#[tokio::test]
async fn a_registered_webhook_is_called_with_its_key_and_survives_a_restart() {
    let hook = Hook::open(|asked| {
        let seats = &asked.body["args"]["seats"];
        answer(
            200,
            "application/json",
            json!({"booked": seats}).to_string(),
        )
    })
    .await;
    let app = booking(&hook, 2).await;

    let made = register(&app, book(&hook.url())).await;
    assert_eq!(made.status, 200, "{}", made.body);
    let app = app.restart().await;

    let shown = get(&app, "/api/tools/book").await.body;
    assert_eq!(shown, made.body);
    assert_eq!(
        (&shown["origin"], &shown["effect"]),
        (&json!("registered"), &json!("unsafe"))
    );
    assert!(!shown.to_string().contains("s3cret"), "{shown}");
    let session = app.session().await;
    let frames = app.turn(&session, "two seats").await;
    assert_eq!(results(&frames), [r#"{"booked":2}"#]);
    let other = app.session().await;
    app.turn(&other, "two more").await;

    let asked = hook.asked();
    assert_eq!(asked.len(), 2);
    for (one, session) in asked.iter().zip([&session, &other]) {
        assert_eq!(one.body["callId"], one.key);
        assert_eq!(one.body["name"], "book");
        assert_eq!(one.body["args"], json!({"seats": 2}));
        assert_eq!(one.body["sessionId"], *session);
        assert!(one.body["turnId"].is_string());
    }
    assert_ne!(asked[0].key, asked[1].key);
    assert_ne!(asked[0].body["turnId"], asked[1].body["turnId"]);
}

// proves TL-1
#[tokio::test]
async fn the_same_name_again_replaces_a_tool_and_a_removed_one_stays_away() {
    let (old, new) = (
        Hook::open(|_| answer(200, "text/plain", "old")).await,
        Hook::open(|_| answer(200, "text/plain", "new")).await,
    );
    let ranges = [old.range(), new.range()];
    let app = AppBuilder::new()
        .with(|config| config.egress.extend(ranges))
        .start([call("book", json!({"seats": 1})), say("done")])
        .await;
    assert_eq!(register(&app, book(&old.url())).await.status, 200);
    let mut again = book(&new.url());
    again["effect"] = "idempotent".into();
    again["timeout"] = 5.into();
    let again = register(&app, again).await;
    assert_eq!(again.body["timeoutMs"], 5_000);

    let session = app.session().await;
    assert_eq!(results(&app.turn(&session, "go").await), ["new"]);
    assert!(old.asked().is_empty());

    let path = "/api/tools/book";
    assert_eq!(
        send(&app, Method::DELETE, path, Value::Null).await.status,
        200
    );
    assert_eq!(get(&app, path).await.code(), "unknown_tool");
    let app = app.restart().await;
    assert_eq!(get(&app, path).await.code(), "unknown_tool");
    assert_eq!(
        send(&app, Method::DELETE, path, Value::Null).await.code(),
        "unknown_tool"
    );
    let built_in = send(&app, Method::DELETE, "/api/tools/read_file", Value::Null).await;
    assert_eq!(built_in.code(), "invalid_params");
    assert_eq!(get(&app, "/api/tools/read_file").await.status, 200);
}

// proves TL-1, TL-9, TL-17
#[tokio::test]
async fn what_cannot_be_a_tool_is_refused_with_the_reason_and_nothing_is_kept() {
    let hook = Hook::open(|_| answer(200, "text/plain", "fine")).await;
    let app = booking(&hook, 1).await;
    let before = get(&app, "/api/tools").await.body;
    let with = |key: &str, value: Value| {
        let mut tool = book(&hook.url());
        tool[key] = value;
        tool
    };
    let without = |key: &str| {
        let mut tool = book(&hook.url());
        tool.as_object_mut().unwrap().remove(key);
        tool
    };
    let far = "https://user:pw@example.com/";
    for (tool, word) in [
        (without("name"), "name"),
        (with("name", "a b".into()), "a-z"),
        (with("name", "read_file".into()), "already"),
        (with("name", "Read_File".into()), "already"),
        (without("description"), "description"),
        (with("description", " ".into()), "description"),
        (with("parameters", json!({"type": "array"})), "object"),
        (
            with("parameters", json!({"type": "object", "required": 3})),
            "JSON Schema",
        ),
        (
            with(
                "parameters",
                json!({"type": "object", "$ref": "http://a.b/c"}),
            ),
            "JSON Schema",
        ),
        (without("url"), "client"),
        (with("client", true.into()), "client"),
        (with("effect", "verifiable".into()), "effect"),
        (with("timeout", 0.into()), "timeout"),
        (with("timeout", 3_601.into()), "timeout"),
        (with("url", "http://127.0.0.1:1/".into()), "egress.allow"),
        (
            with("url", "http://169.254.169.254/".into()),
            "egress.allow",
        ),
        (with("url", "file:///etc/passwd".into()), "https"),
        (with("url", far.into()), "password"),
    ] {
        let refused = register(&app, tool).await;
        assert_eq!(refused.code(), "invalid_params", "{word}: {}", refused.body);
        let why = refused.body["error"].as_str().unwrap();
        assert!(why.contains(word), "{word}: {why}");
        assert!(!why.contains("s3cret"), "{why}");
    }
    let app = app.restart().await;
    assert_eq!(get(&app, "/api/tools").await.body, before);
    assert!(hook.asked().is_empty());
}

// proves TL-17
#[tokio::test]
async fn sixty_four_tools_can_be_registered_and_one_can_still_be_replaced() {
    let app = App::start([say("never")]).await;
    let tool =
        |number: usize| json!({"name": format!("t{number}"), "description": "d", "client": true});
    for number in 0..64 {
        assert_eq!(register(&app, tool(number)).await.status, 200);
    }
    assert_eq!(register(&app, tool(64)).await.code(), "invalid_params");
    assert_eq!(register(&app, tool(63)).await.status, 200);
    assert_eq!(
        send(&app, Method::DELETE, "/api/tools/t0", Value::Null)
            .await
            .status,
        200
    );
    assert_eq!(register(&app, tool(64)).await.status, 200);
}

/// What a model reads of this answer.
async fn told_of(hook: &Hook, effect: &str, timeout: u32) -> String {
    let app = booking(hook, 1).await;
    let mut tool = book(&hook.url());
    (tool["effect"], tool["timeout"]) = (effect.into(), timeout.into());
    assert_eq!(register(&app, tool).await.status, 200);
    let session = app.session().await;
    app.turn(&session, "go").await;
    told(app.model.prompts()[1].body())[0].to_owned()
}

// proves TL-1, TL-3
#[tokio::test]
async fn a_2xx_body_is_the_result_and_anything_else_an_error_that_a_model_can_read() {
    let long = "a".repeat(70_000);
    for (status, kind, body, words) in [
        (200, "text/plain", "two seats", "two seats"),
        (201, "application/problem+json", "{\"a\":1}", "{\"a\":1}"),
        (
            204,
            "",
            "",
            "[done; the webhook answered 204 and nothing else]",
        ),
        (200, "text/plain", "a\u{1b}[31mb", "a\\u{1b}[31mb"),
        (
            200,
            "text/plain",
            &long,
            "[the answer is longer; its first 65,536 bytes are shown]",
        ),
        (
            200,
            "image/png",
            "\u{89}PNG",
            "[done, but what was answered is not shown",
        ),
        (
            500,
            "text/plain",
            "sold out",
            "the webhook answered 500: sold out",
        ),
        (404, "", "", "the webhook answered 404 and nothing else"),
        (
            302,
            "text/plain",
            "elsewhere",
            "the webhook answered 302: elsewhere",
        ),
    ] {
        let said = body.to_owned();
        let hook = Hook::open(move |_| answer(status, kind, said.clone())).await;
        let told = told_of(&hook, "unsafe", 60).await;
        assert!(told.contains(words), "{status} {words}: {told:.200}");
        assert!(told.len() < 66_000);
        assert_eq!(hook.asked().len(), 1);
    }
}

// proves DU-5
#[tokio::test]
async fn a_call_that_may_have_happened_is_an_unknown_outcome_unless_it_only_reads() {
    let stall = || {
        Hook::open(|_| {
            let never = futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>();
            answer(200, "text/plain", axum::body::Body::from_stream(never))
        })
    };
    let told = told_of(&stall().await, "unsafe", 1).await;
    assert!(
        told.starts_with("outcome unknown: the webhook was called"),
        "{told}"
    );
    let told = told_of(&stall().await, "idempotent", 1).await;
    assert!(
        told.starts_with("outcome unknown: the webhook was called"),
        "{told}"
    );
    let told = told_of(&stall().await, "read", 1).await;
    assert!(told.starts_with("the webhook gave no answer"), "{told}");
}

// proves TL-9
#[tokio::test]
async fn an_address_that_is_no_longer_open_is_not_called() {
    let hook = Hook::open(|_| answer(200, "text/plain", "fine")).await;
    let app = booking(&hook, 1).await;
    assert_eq!(register(&app, book(&hook.url())).await.status, 200);
    let app = app.restart_with(|config| config.egress.clear()).await;

    let session = app.session().await;
    app.turn(&session, "go").await;

    let prompts = app.model.prompts();
    let told = told(prompts[1].body());
    assert!(
        told[0].starts_with("the webhook was not called"),
        "{told:?}"
    );
    assert!(
        told[0].contains("egress.allow") && !told[0].contains("s3cret"),
        "{told:?}"
    );
    assert!(hook.asked().is_empty());
}

// proves TL-4
#[tokio::test]
async fn a_registered_tool_that_reads_runs_at_every_level() {
    for (level, effect, word) in [
        (Approval::Supervised, "read", "fine"),
        (Approval::ReadOnly, "unsafe", "denied"),
        (Approval::ReadOnly, "idempotent", "denied"),
        (Approval::ReadOnly, "read", "fine"),
        (Approval::Auto, "unsafe", "fine"),
    ] {
        let hook = Hook::open(|_| answer(200, "text/plain", "fine")).await;
        let app = booking(&hook, 1).await;
        let app = app
            .restart_with(|config| config.settings.approval = level)
            .await;
        let mut tool = book(&hook.url());
        tool["effect"] = effect.into();
        assert_eq!(register(&app, tool).await.status, 200);
        let session = app.session().await;
        let frames = app.turn(&session, "go").await;
        assert!(
            results(&frames)[0].contains(word),
            "{level:?} {effect}: {frames:?}"
        );
        assert_eq!(hook.asked().len(), usize::from(word == "fine"));
    }
}

// proves TL-17
#[tokio::test]
async fn a_tool_of_the_configuration_is_there_at_start_and_nothing_takes_its_name() {
    let hook = Hook::open(|_| answer(200, "text/plain", "fine")).await;
    let app = booking(&hook, 1).await;
    assert_eq!(
        register(&app, book("http://example.com/mine")).await.status,
        200
    );
    let mut tool = ConfiguredTool::new("book", "Books seats.", &hook.url());
    tool.timeout = Duration::from_secs(7);
    tool.parameters = Some(json!({"type": "object"}));
    let app = app.restart_with(|config| config.tools.push(tool)).await;

    let shown = get(&app, "/api/tools/book").await.body;
    assert_eq!(
        (&shown["origin"], &shown["timeoutMs"]),
        (&json!("configuration"), &json!(7_000))
    );
    let taken = register(&app, book(&hook.url())).await;
    assert_eq!(taken.code(), "invalid_params");
    let session = app.session().await;
    assert_eq!(results(&app.turn(&session, "go").await), ["fine"]);

    // The one that was registered is kept, and back when its name is free.
    let app = app.restart_with(|config| config.tools.clear()).await;
    assert_eq!(
        get(&app, "/api/tools/book").await.body["origin"],
        "registered"
    );
}

// proves TL-17
#[tokio::test]
async fn a_built_in_tool_that_has_taken_the_name_of_a_registered_one_stays() {
    let app = App::start([say("never")]).await;
    let tool = |name: &str| json!({"name": name, "description": "Mine.", "client": true});
    assert_eq!(register(&app, tool("mine")).await.status, 200);
    // As a newer version finds it that has a tool of this name.
    let kept = app.data_dir().join("tools.json");
    let app = app
        .restart_with(|_| {
            let text = std::fs::read_to_string(&kept).unwrap();
            std::fs::write(&kept, text.replace("mine", "read_file")).unwrap();
        })
        .await;
    let path = "/api/tools/read_file";
    let is_built_in = async |app: &App| get(app, path).await.body["origin"] == "built_in";
    assert!(is_built_in(&app).await);

    assert_eq!(
        register(&app, tool("read_file")).await.code(),
        "invalid_params"
    );
    assert!(is_built_in(&app).await, "it was replaced");
    let removed = send(&app, Method::DELETE, path, Value::Null).await;
    assert_eq!(removed.status, 200, "what is kept can be removed");
    assert!(is_built_in(&app).await, "it was removed");
    assert_eq!(
        send(&app, Method::DELETE, path, Value::Null).await.code(),
        "invalid_params"
    );
}

// proves TL-17
#[tokio::test]
async fn a_configuration_with_a_tool_that_cannot_be_one_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (name, description, url, word) in [
        ("read_file", "Reads.", "http://example.com", "already"),
        ("Read_file", "Reads.", "http://example.com", "already"),
        ("a b", "Reads.", "http://example.com", "a-z"),
        ("good", "", "http://example.com", "description"),
        ("good", "Reads.", "ftp://example.com", "https"),
    ] {
        let mut config =
            samovar_server::Config::new(folder.path().join("data"), folder.path().into());
        config.server.port = 0;
        config
            .tools
            .push(ConfiguredTool::new(name, description, url));
        let error = Server::start(config).await.err().unwrap().to_string();
        assert!(error.contains(word), "{word}: {error}");
    }
}
