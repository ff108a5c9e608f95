//! The agent of a session and what it is told, over the routes.

use std::fs;
use std::os::unix::fs::symlink;

use reqwest::Method;
use samovar_core::SystemPrompt;
use samovar_model_server::{Rule, call, say};
use samovar_testkit::{App, EventStream};
use serde_json::json;

async fn start() -> App {
    App::start(Vec::<Rule>::new()).await
}

// proves SA-1
#[tokio::test]
async fn a_session_has_the_agent_and_the_prompt_that_its_client_asks_for() {
    let app = start().await;
    let asked = json!({"sessionId": "s", "agent": "browser", "systemPrompt": "Speak\n\tFrench."});
    let made = app.ok("createSession", asked.clone()).await;
    assert_eq!(made["agent"], "browser");
    assert_eq!(app.ok("createSession", asked).await["agent"], "browser");
    let plain = app.ok("createSession", json!({"sessionId": "s"})).await;
    assert_eq!(plain["agent"], "browser");

    let megabyte = "x".repeat(1 << 20);
    for (params, status, code) in [
        (json!({"agent": "nobody"}), 404, "unknown_agent"),
        (json!({"agent": "adaptive"}), 404, "unknown_agent"),
        (json!({"agent": "no name"}), 400, "invalid_params"),
        (json!({"agent": 7}), 400, "invalid_params"),
        (json!({"systemPrompt": " \n"}), 400, "invalid_params"),
        (json!({"systemPrompt": "a\u{0}b"}), 400, "invalid_params"),
        (
            json!({"systemPrompt": &megabyte[..70_000]}),
            400,
            "invalid_params",
        ),
        (json!({"systemPrompt": megabyte}), 413, "body_too_large"),
        (
            json!({"sessionId": "s", "agent": "master"}),
            409,
            "session_conflict",
        ),
        (
            json!({"sessionId": "s", "systemPrompt": "Else."}),
            409,
            "session_conflict",
        ),
    ] {
        let refused = app.call("createSession", params).await;
        assert_eq!((refused.status, refused.code()), (status, code));
    }
}

// proves SA-1, SA-2
#[tokio::test]
async fn an_agent_that_is_invalid_or_switched_off_opens_no_session() {
    let app = start().await;
    let folder = app.data_dir().join("agents");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("off.md"), "---\nenabled: false\n---\nWork.").unwrap();
    fs::write(
        folder.join("bad.md"),
        "---\ntoolKeys: [no_such_tool]\n---\nWork.",
    )
    .unwrap();
    let app = app.restart().await;
    for agent in ["off", "bad"] {
        let refused = app.call("createSession", json!({"agent": agent})).await;
        assert_eq!((refused.status, refused.code()), (422, "unusable_agent"));
    }
}

/// What the model was told as its system prompt.
fn told(app: &App) -> String {
    let requests = app.model.requests();
    let last = requests.last().unwrap();
    let texts = last.body()["messages"].as_array().unwrap().iter();
    let system = texts.filter(|message| message["role"] == "system");
    system
        .map(|message| message["content"].to_string())
        .collect()
}

// proves MD-27
#[tokio::test]
async fn the_folders_own_file_instructs_from_the_next_turn_on_and_no_link_leads_out() {
    let app = App::start(vec![say("ok"); 5]).await;
    let app = app
        .restart_with(|config| config.settings.system_prompt = SystemPrompt::new("Be brief.").ok())
        .await;
    let session = app.session().await;
    let at = |name: &str| app.workspace().join(name);
    app.turn(&session, "none").await;
    assert!(told(&app).contains("Be brief.") && !told(&app).contains("CLAUDE"));

    fs::write(at("CLAUDE.md"), "Use spaces.").unwrap();
    app.turn(&session, "the second name").await;
    assert!(told(&app).contains("CLAUDE.md") && told(&app).contains("Use spaces."));

    let secret = app.data_dir().join("secret.md");
    fs::write(&secret, "The secret.").unwrap();
    symlink(&secret, at("AGENTS.md")).unwrap();
    app.turn(&session, "a link").await;
    assert!(!told(&app).contains("secret") && told(&app).contains("Use spaces."));

    fs::remove_file(at("AGENTS.md")).unwrap();
    fs::write(at("AGENTS.md"), "é".repeat(40_000)).unwrap();
    app.turn(&session, "a long one").await;
    let long = told(&app);
    assert!(long.contains("47232 more bytes of AGENTS.md") && !long.contains("Use spaces."));

    fs::write(at("AGENTS.md"), [0xff, 0xfe]).unwrap();
    app.turn(&session, "no text").await;
    assert!(told(&app).contains("Use spaces."));
}

// proves SA-16, SA-17
#[tokio::test]
async fn a_context_is_taken_with_a_message_and_a_wrong_one_is_refused() {
    let app = App::start([say("ok"), say("ok")]).await;
    let session = app.session().await;
    let said = |more: serde_json::Value| {
        let mut params = json!({"sessionId": session, "content": "hello"});
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        params
    };
    let long = "x".repeat(64 * 1024);
    for (more, status) in [
        (json!({"context": {"tabs": [{"title": long}]}}), 400),
        (
            json!({"context": {"tabs": [{"title": long.repeat(16)}]}}),
            413,
        ),
        (json!({"context": 7}), 400),
        (json!({"context": {"tabs": {}}}), 400),
        (json!({"context": {"activeTab": {"id": 7}}}), 400),
        (json!({"agentMode": "gone"}), 400),
        (json!({"agentMode": ["settings"]}), 400),
        (json!({"context": {}, "delivery": "steer"}), 400),
        (json!({"agentMode": "settings", "delivery": "steer"}), 400),
    ] {
        let refused = app.call("sendMessage", said(more)).await;
        assert_eq!(refused.status, status, "{}", refused.body);
    }

    let tab = json!({"id": "1", "url": "https://example.com", "kind": "page", "later": true});
    let context = json!({"workspaceId": "w", "pageId": "p", "activeTab": tab, "tabs": [tab]});
    app.ok(
        "sendMessage",
        said(json!({"context": context, "agentMode": "settings"})),
    )
    .await;
    let prompt = app.model.prompts().pop().unwrap();
    assert!(
        prompt.last_user().contains(r#""pageId":"p""#),
        "{}",
        prompt.last_user()
    );
    assert!(!told(&app).contains("example.com"));
}

// proves SA-14, SA-15
#[tokio::test]
async fn the_browser_agent_opens_a_page_for_a_client_that_shows_pages_unless_its_mode_forbids() {
    let asks = || call("subAgent", json!({"name": "browser", "task": "open tea"}));
    let opens = || call("open_url", json!({"url": "https://example.com/tea"}));
    let script = vec![
        asks(),
        call("get_current_tab", json!({})),
        opens(),
        say("it is open"),
        say("done"),
        asks(),
        opens(),
        say("it is not"),
        say("done"),
    ];
    let app = App::start(script).await;
    let session = app.session().await;
    let mut opened = Vec::new();
    for (kind, is_open) in [("page", true), ("settings", false)] {
        let tab = json!({"id": "1", "url": "https://example.com", "kind": kind});
        let context = json!({"pageId": "home", "activeTab": tab});
        let path = "/services/agent/sendMessage/stream?profile=full";
        // Tabs come from outside, so only what the person gives is opened unasked.
        let body =
            json!({"sessionId": session, "content": "open example.com/tea", "context": context});
        let request = app.request(Method::POST, path).json(&body);
        let frames = EventStream::new(request.send().await.unwrap()).rest().await;
        let events = frames.iter().map(|frame| &frame.data);
        let shown: Vec<_> = events.filter(|event| event["type"] == "ui_event").collect();
        assert_eq!(shown.len(), usize::from(is_open), "{shown:?}");
        opened.extend(shown.into_iter().cloned());
    }
    let prompt = app.model.prompt(1).await.unwrap();
    let offered = prompt.body()["tools"].as_array().unwrap().iter();
    let offered: Vec<_> = offered.map(|tool| &tool["function"]["name"]).collect();
    for name in ["web_search", "web_fetch"] {
        assert!(offered.contains(&&json!(name)), "{offered:?}");
    }
    let event = &opened[0];
    assert_eq!(
        (&event["kind"], &event["agent"]),
        (&json!("open_url"), &json!("master/browser"))
    );
    assert_eq!(event["payload"], json!({"url": "https://example.com/tea"}));
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    let results = rows.as_array().unwrap().iter();
    let of = |name: &str| {
        let rows = results.clone().filter(|row| row["name"] == name);
        rows.map(|row| row["content"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(of("get_current_tab")[0].contains("https://example.com"));
    assert!(
        of("open_url")[1].contains("unknown tool"),
        "{:?}",
        of("open_url")
    );
}
