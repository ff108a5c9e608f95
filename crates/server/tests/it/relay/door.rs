//! Who is let onto the relay's socket, and into which room.

use reqwest::Method;
use samovar_testkit::{Api, App, Socket};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{PATH, Peer, app, envelope};
use crate::handshake::{bad_ones_are_refused, handshake};
use crate::raw::{HANG, Request};

async fn token(app: &App, name: &str, scope: &str) -> String {
    let params = json!({"name": name, "scope": scope});
    let request = app.request(Method::POST, "/api/tokens").json(&params);
    let made = app.answer(request).await;
    assert_eq!(made.status, 200, "{}", made.body);
    assert_eq!(made.body["scope"], scope);
    made.body["token"].as_str().unwrap().to_owned()
}

async fn with(app: &App, token: &str) -> Result<Peer, u16> {
    let opened = timeout(HANG, Socket::open(app.address(), token, PATH)).await;
    opened.unwrap().map(|socket| Peer { socket })
}

// proves RL-2, RL-5, TL-11, TL-12
#[tokio::test]
async fn the_relays_socket_passes_the_same_door_as_every_request() {
    let app = app().await;
    bad_ones_are_refused(&app, PATH).await;
    let plain = handshake(&app, PATH).without("upgrade").send().await;
    assert_eq!(
        (plain.status, plain.code().as_str()),
        (400, "invalid_params")
    );
    let by_post = Request::new(&app, "POST", PATH).send().await;
    assert_eq!(
        (by_post.status, by_post.code().as_str()),
        (405, "wrong_verb")
    );
    let query = format!("{PATH}?token={}", app.token());
    assert_eq!(
        Socket::by_ticket(app.address(), &query).await.err(),
        Some(401)
    );
    // Nor is it let in by what it says first.
    Peer::host(&app).await.leave().await;
}

// proves RL-5, TL-11
#[tokio::test]
async fn a_token_that_drives_nothing_is_not_let_onto_the_relay() {
    let app = app().await;
    for (scope, is_in) in [("read", false), ("use", true), ("admin", true)] {
        let token = token(&app, &format!("for-{scope}"), scope).await;
        match with(&app, &token).await {
            Ok(mut peer) => {
                assert!(is_in, "{scope}");
                peer.join("host", "any room").await;
            }
            Err(status) => assert_eq!((is_in, status), (false, 403), "{scope}"),
        }
    }
}

// proves RL-5, TL-11
#[tokio::test]
async fn a_token_for_a_room_and_a_role_joins_no_other() {
    let app = app().await;
    let agents = token(&app, "agent", "relay:lab: 1:agent").await;
    let hosts = token(&app, "host", "relay:lab: 1:host").await;

    let mut agent = with(&app, &agents).await.unwrap();
    for (role, room) in [
        ("host", "lab: 1"),
        ("frontend", "lab: 1"),
        ("agent", "lab"),
        ("agent", "lab: 1x"),
        ("agent", "LAB: 1"),
        ("agent", ""),
        ("host", "default"),
    ] {
        let refused = agent.join(role, room).await;
        assert_eq!(
            refused["payload"]["code"], "SESSION_NOT_ACTIVE",
            "{role} {room}: {refused}"
        );
        assert_eq!(refused["replyTo"], "join");
    }
    // What it says of rights in the message counts for nothing.
    let forged =
        json!({"role": "host", "sessionId": "lab: 1", "token": app.token(), "admin": true});
    let forged = agent.asks("relay.join", "f", forged).await;
    assert_eq!(forged["payload"]["code"], "SESSION_NOT_ACTIVE");
    assert_eq!(
        agent.join("agent", " lab: 1 ").await["type"],
        "relay.joined"
    );
    // Once it is in, it moves nowhere else and stays.
    assert_eq!(agent.join("agent", "other").await["type"], "error");

    let mut host = with(&app, &hosts).await.unwrap();
    assert_eq!(host.join("agent", "lab: 1").await["type"], "error");
    assert_eq!(
        host.join("frontend", "lab: 1").await["type"],
        "relay.joined"
    );
    agent.say(envelope("snapshot.get", "s", json!({}))).await;
    assert_eq!(host.hears_a("snapshot.get").await["id"], "s");
}

// proves RL-5, TL-11
#[tokio::test]
async fn a_page_comes_in_by_a_ticket_of_its_own_token_once() {
    let app = app().await;
    let agents = token(&app, "agent", "relay:lab:agent").await;
    let api = Api::new(&app.address().to_string(), &agents);
    let ticket = async || {
        let request = api.request(Method::POST, "/api/tickets").json(&json!({}));
        let made = api.answer(request).await;
        made.body["ticket"].as_str().unwrap().to_owned()
    };
    let open = async |ticket: &str| {
        let path = format!("{PATH}?ticket={ticket}");
        let opened = timeout(HANG, Socket::by_ticket(app.address(), &path)).await;
        opened.unwrap().map(|socket| Peer { socket })
    };

    let (first, second) = (ticket().await, ticket().await);
    let (one, other) = tokio::join!(open(&first), open(&first));
    assert_eq!(
        [&one, &other]
            .iter()
            .filter(|opened| opened.is_ok())
            .count(),
        1
    );
    assert_eq!(open(&first).await.err(), Some(401));
    let mut page = one.or(other).ok().unwrap();
    assert_eq!(
        page.join("host", "lab").await["payload"]["code"],
        "SESSION_NOT_ACTIVE"
    );
    assert_eq!(page.join("agent", "lab").await["type"], "relay.joined");

    let revoke = app.request(Method::DELETE, "/api/tokens/agent");
    assert_eq!(app.answer(revoke).await.status, 200);
    assert_eq!(open(&second).await.err(), Some(401));
    assert_eq!(with(&app, &agents).await.err(), Some(401));
}

// proves RL-5
#[tokio::test]
async fn a_relay_token_sees_and_does_nothing_beside_its_room() {
    let app = app().await;
    let agents = token(&app, "agent", "relay:lab:agent").await;
    let api = Api::new(&app.address().to_string(), &agents);
    for path in [
        "/api/relay/rooms",
        "/api/relay/logs",
        "/api/tokens",
        "/chat/history",
    ] {
        let refused = api.get(path).await;
        assert_eq!(
            (refused.status, refused.code()),
            (403, "forbidden"),
            "{path}"
        );
        assert_eq!(refused.body["details"], Value::Null);
    }
}
