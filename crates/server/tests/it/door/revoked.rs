//! What a token has opened when it is revoked, and what it has begun.

use reqwest::Method;
use samovar_model_server::{Gate, say};
use samovar_testkit::{Api, App, Socket, SocketMessage};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::named::client;
use super::tickets::ticket;
use super::{STATS, app};
use crate::raw::HANG;

async fn revoke(api: &Api, name: &str) -> u16 {
    let request = api.request(Method::DELETE, &format!("/api/tokens/{name}"));
    api.answer(request).await.status
}

async fn end(socket: &mut Socket) -> SocketMessage {
    loop {
        match timeout(HANG, socket.next()).await.unwrap() {
            SocketMessage::Json(_) | SocketMessage::Ping => {}
            end => return end,
        }
    }
}

// proves TL-11
#[tokio::test]
async fn all_that_a_revoked_token_has_opened_ends_and_its_turn_continues() {
    let gate = Gate::new("answer");
    let app = App::start([say("first and last").deltas_of(5).hold_after(1, &gate)]).await;
    let guest = client(&app, "use").await;
    let session = guest.session().await;
    let message = json!({"sessionId": session, "content": "go", "messageId": "m"});
    let of_session = format!("/services/agent/sendMessage/stream?sessionId={session}");

    let mut streams = [
        guest.stream(message.clone()).await,
        guest.follow(&of_session).await,
    ];
    for stream in &mut streams {
        stream.until("text_delta").await;
    }
    let mut feed = guest.follow("/chat/stream").await;
    let mut sockets = [
        guest.socket("/chat/stream").await,
        guest.socket("/agent/ws").await,
    ];
    let path = format!("/chat/stream?ticket={}", ticket(&guest).await);
    let mut by_ticket = Socket::by_ticket(app.address(), &path).await.unwrap();
    let mut owners = app.follow(&of_session).await;
    let mut owners_socket = app.socket("/chat/stream").await;

    let waits = guest.call("sendMessage", message);
    let revoked = async {
        // Its request has come when it is the only one that a limit would count.
        app.get(STATS).await;
        revoke(&app, "for-use").await
    };
    let (waited, revoked) = tokio::join!(timeout(HANG, waits), revoked);

    assert_eq!(revoked, 200);
    let waited = waited.unwrap();
    assert_eq!((waited.status, waited.code()), (401, "unauthorized"));
    for stream in &mut streams {
        let rest = timeout(HANG, stream.rest()).await.unwrap();
        assert!(
            !rest.iter().any(samovar_testkit::Frame::is_done),
            "{rest:?}"
        );
    }
    assert_eq!(timeout(HANG, feed.next()).await.unwrap(), None);
    for socket in sockets.iter_mut().chain([&mut by_ticket]) {
        let told = SocketMessage::Close(1008, "unauthorized".to_owned());
        assert_eq!(end(socket).await, told);
    }
    assert_eq!(guest.get(STATS).await.status, 401);

    app.model.open(&gate).unwrap();
    let rest = timeout(HANG, owners.rest()).await.unwrap();
    assert!(rest.last().unwrap().is_done(), "{rest:?}");
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    assert_eq!(rows[1]["content"], "first and last");
    app.server().home().chat().post_user("hi").await.unwrap();
    let shown = timeout(HANG, owners_socket.json()).await.unwrap();
    assert_eq!(shown.unwrap()["text"], "hi");
}

// proves TL-11
#[tokio::test]
async fn a_token_that_revokes_itself_gets_its_answer_and_no_other() {
    let app = app().await;
    let admin = client(&app, "admin").await;
    let request = admin.request(Method::DELETE, "/api/tokens/for-admin");
    let answer = admin.answer(request).await;
    assert_eq!((answer.status, answer.body), (200, Value::Null));
    assert_eq!(admin.get(STATS).await.status, 401);
}
