//! The verification list that the project began with.

use samovar_core::{Outcome, ToolReply, Toolset};
use samovar_model_server::{call, say};
use samovar_server::{Config, Server};
use samovar_testkit::{App, TestTool};
use serde_json::{Value, json};

use crate::raw::Request;
use crate::shown::{kinds, text};

// proves AS-24
#[tokio::test]
async fn a_client_makes_a_session_streams_sees_a_tool_at_work_and_reads_it_all_back() {
    let app = App::start([
        say("hello there"),
        call("clock", json!({})),
        say("it is noon"),
    ])
    .await;

    let made = app.ok("createSession", json!({})).await;
    let session = made["sessionId"].as_str().unwrap();
    let frames = app.turn(session, "hello").await;
    assert!(kinds(&frames).contains(&"text_delta"));
    assert_eq!(text(&frames), "hello there");

    let clock = TestTool::new("clock", |_, _| async {
        ToolReply::Closed(Outcome::done("12:00"))
    });
    let clock: std::sync::Arc<dyn Toolset> = clock.build();
    app.server().home().engine().toolbox().add(&clock).unwrap();
    let frames = app.turn(session, "what time is it?").await;
    let mut kinds = kinds(&frames);
    kinds.dedup();
    let expected = [
        "iteration",
        "tool_call_start",
        "tool_call_result",
        "iteration",
        "text_delta",
        "completed",
        "[DONE]",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(frames[2].data["result"], "12:00");
    assert_eq!(text(&frames), "it is noon");

    let list = Request::new(&app, "GET", "/services/agent/listSessions")
        .send()
        .await;
    let list = list.json();
    assert_eq!(
        (&list["totalCount"], &list["items"][0]["id"]),
        (&json!(1), &json!(session))
    );
    assert_eq!(list["items"][0]["messageCount"], 6);
    let stats = Request::new(&app, "GET", "/services/agent/getStats")
        .send()
        .await;
    let stats = stats.json();
    assert_eq!(
        (&stats["sessions"], &stats["messages"]),
        (&json!(1), &json!(6))
    );
    assert!(stats["tokens"]["total"].as_u64() > Some(0), "{stats}");
}

// proves AS-24
#[tokio::test]
async fn a_server_that_was_told_nothing_starts_and_answers() {
    let folder = tempfile::tempdir().unwrap();
    let (data, workspace) = (folder.path().join("data"), folder.path().join("work"));
    std::fs::create_dir(&workspace).unwrap();
    let mut config = Config::new(data, workspace);
    // The one thing that tests must not leave as it is.
    config.server.port = 0;
    let server = Server::start(config).await.unwrap();
    let ask = async |method: &str, params: Value| {
        let target = format!("/services/agent/{method}");
        let token = server.home().token().expose();
        let request = Request::to(server.address(), token, "POST", &target);
        let response = request.json(params.to_string()).send().await;
        assert_eq!(response.status, 200, "{}", response.body);
        response
    };

    let session = ask("createSession", json!({})).await.json();
    assert_eq!(session["model"], "demo");
    let message = json!({"sessionId": session["id"], "content": "hello"});
    let stream = ask("sendMessage/stream", message).await.body;

    assert!(stream.contains(r#""type":"text_delta""#), "{stream}");
    assert!(stream.contains(r#""type":"completed""#), "{stream}");
    assert!(stream.contains("data: [DONE]\n"), "{stream}");
    server.stop().await;
}

// proves AS-23
#[test]
fn the_routes_are_those_of_agents_and_of_the_server_and_no_other_service_hides_among_them() {
    let first_words: std::collections::BTreeSet<String> = samovar_server::route::table()
        .iter()
        .map(|route| {
            let parts: Vec<_> = route.path.trim_start_matches('/').split('/').collect();
            let depth = if matches!(parts[0], "" | "healthz" | "metrics" | "readyz" | "ui") {
                1
            } else {
                2
            };
            parts[..depth].join("/")
        })
        .collect();
    let known = [
        "",
        "agent/ws",
        "api/agents",
        "api/approvals",
        "api/audit",
        "api/backup",
        "api/blobs",
        "api/calls",
        "api/chat",
        "api/damage",
        "api/doctor",
        "api/events",
        "api/login",
        "api/login-links",
        "api/logout",
        "api/me",
        "api/memory",
        "api/models",
        "api/recovery",
        "api/relay",
        "api/restore",
        "api/rules",
        "api/search",
        "api/server",
        "api/sessions",
        "api/tickets",
        "api/tokens",
        "api/tools",
        "api/turns",
        "chat/history",
        "chat/state",
        "chat/stream",
        "chat/user_message",
        "healthz",
        "metrics",
        "readyz",
        "services/agent",
        "ui",
    ];
    assert_eq!(first_words.iter().collect::<Vec<_>>(), known);
}
