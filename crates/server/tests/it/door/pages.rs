//! A page of another origin that the configuration allows: it reads answers as a browser lets it, and
//! opens streams and sockets with a ticket.

use samovar_model_server::Rule;
use samovar_testkit::{App, AppBuilder, Socket};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::STATS;
use super::tickets::ticket;
use crate::raw::{HANG, Request, Response};

const PAGE: &str = "http://localhost:5173";

async fn app() -> App {
    let builder = AppBuilder::new().with(|config| config.origins = vec![PAGE.parse().unwrap()]);
    builder.start(Vec::<Rule>::new()).await
}

/// A request as a browser sends it for a page.
fn of_page(app: &App, verb: &str, path: &str) -> Request {
    let request = Request::new(app, verb, path);
    request
        .with("origin", PAGE)
        .with("sec-fetch-site", "same-site")
}

fn may_read(response: &Response) -> bool {
    response.header("access-control-allow-origin") == Some(PAGE)
}

// proves TL-12
#[tokio::test]
async fn an_allowed_page_reads_every_answer_and_a_refusal_too() {
    let app = app().await;
    let chat = app.server().home().chat();
    chat.post_user("hello").await.unwrap();
    for (status, request) in [
        (200, of_page(&app, "GET", STATS)),
        (200, of_page(&app, "POST", STATS)),
        (200, of_page(&app, "GET", "/healthz")),
        (200, of_page(&app, "GET", "/chat/history")),
        (401, of_page(&app, "GET", STATS).without("authorization")),
        (403, of_page(&app, "GET", STATS).set("host", "evil.example")),
        (404, of_page(&app, "GET", "/nothing")),
        (405, of_page(&app, "PUT", STATS)),
    ] {
        let response = request.send().await;
        assert_eq!(response.status, status, "{}", response.body);
        assert!(may_read(&response), "{status}");
        assert_eq!(response.header("vary"), Some("origin"));
        let exposed = response.header("access-control-expose-headers").unwrap();
        for name in [
            "x-chat-boot",
            "x-chat-truncated",
            "retry-after",
            "www-authenticate",
        ] {
            assert!(exposed.split(", ").any(|other| other == name), "{name}");
        }
    }
}

// proves TL-12
#[tokio::test]
async fn a_preflight_of_an_allowed_page_needs_no_token() {
    let app = app().await;
    let asks = |path: &str| {
        let request = of_page(&app, "OPTIONS", path).without("authorization");
        request.with("access-control-request-method", "POST").with(
            "access-control-request-headers",
            "authorization,last-event-id",
        )
    };
    for path in [
        STATS,
        "/chat/user_message",
        "/agent/ws",
        "/healthz",
        "/api/tickets",
    ] {
        let response = asks(path).send().await;
        assert_eq!(
            (response.status, response.body.as_str()),
            (204, ""),
            "{path}"
        );
        assert!(may_read(&response), "{path}");
        for (name, value) in [
            ("access-control-allow-methods", "GET, POST, PUT, DELETE"),
            (
                "access-control-allow-headers",
                "authorization,last-event-id",
            ),
            ("access-control-max-age", "600"),
        ] {
            assert_eq!(response.header(name), Some(value), "{path}");
        }
    }
    let foreign = asks(STATS)
        .set("origin", "http://evil.example")
        .send()
        .await;
    assert_eq!(foreign.status, 403);
    assert_eq!(foreign.header("access-control-allow-origin"), None);
    let rebound = asks(STATS).set("host", "evil.example").send().await;
    assert_eq!(
        (rebound.status, rebound.code().as_str()),
        (403, "host_refused")
    );
}

// proves TL-11, TL-12, RL-27
#[tokio::test]
async fn an_allowed_page_is_a_host_and_a_chat_window() {
    let app = app().await;
    let open = async |path: &str, origin| {
        let path = format!("{path}ticket={}", ticket(&app).await);
        let opened = Socket::of_page(app.address(), origin, &path);
        timeout(HANG, opened).await.unwrap()
    };
    let next = async |socket: &mut Socket| timeout(HANG, socket.json()).await.unwrap().unwrap();

    let mut host = open("/agent/ws?", PAGE).await.unwrap();
    let join = json!({"type": "relay.join", "payload": {"role": "frontend"}});
    host.say(join.to_string()).await;
    assert_eq!(next(&mut host).await["type"], "relay.joined");

    let posted = of_page(&app, "POST", "/chat/user_message").json(r#"{"text": "hello"}"#);
    assert_eq!(posted.send().await.status, 200);
    let mut window = open("/chat/stream?after=0&", PAGE).await.unwrap();
    assert_eq!(next(&mut window).await["text"], Value::from("hello"));

    let foreign = open("/agent/ws?", "http://localhost:5174").await;
    assert_eq!(foreign.err(), Some(403));
    let ticketless = Socket::of_page(app.address(), PAGE, "/agent/ws").await;
    assert_eq!(ticketless.err(), Some(401));
}
