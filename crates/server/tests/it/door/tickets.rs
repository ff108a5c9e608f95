//! Tickets, which stand for a token where a browser can set no header.

use reqwest::Method;
use samovar_testkit::{Api, App, Socket};
use serde_json::json;
use tokio::time::timeout;

use super::app;
use super::named::{client, make};
use crate::raw::HANG;

const STREAM: &str = "/chat/stream";

pub(super) async fn ticket(api: &Api) -> String {
    let request = api.request(Method::POST, "/api/tickets").json(&json!({}));
    let made = api.answer(request).await;
    assert_eq!(made.status, 200, "{}", made.body);
    assert_eq!(made.body["expiresInMs"], 30_000);
    made.body["ticket"].as_str().unwrap().to_owned()
}

/// Whether a ticket opens a WebSocket; the status of the refusal, when it does not.
async fn opens(app: &App, ticket: &str) -> Result<Socket, u16> {
    let path = format!("{STREAM}?after=0&ticket={ticket}");
    let opened = Socket::by_ticket(app.address(), &path);
    timeout(HANG, opened).await.unwrap()
}

// proves TL-11
#[tokio::test]
async fn a_ticket_opens_one_stream_or_one_socket_in_place_of_its_token() {
    let app = app().await;
    let posted = app.server().home().chat().post_user("hello").await;
    posted.unwrap();

    let first = ticket(&app).await;
    let mut socket = opens(&app, &first).await.unwrap();
    assert_eq!(
        timeout(HANG, socket.json()).await.unwrap().unwrap()["id"],
        1
    );
    assert_eq!(opens(&app, &first).await.err(), Some(401));

    let second = ticket(&app).await;
    let url = format!("http://{}{STREAM}?ticket={second}", app.address());
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let stream = client.get(&url).send().await.unwrap();
    assert_eq!(stream.status(), 200);
    assert_eq!(client.get(&url).send().await.unwrap().status(), 401);
    assert_eq!(opens(&app, &second).await.err(), Some(401));
}

// proves TL-11
#[tokio::test]
async fn a_ticket_may_what_its_token_may_when_it_is_used() {
    let app = app().await;
    let relay = client(&app, "relay:default:agent").await;
    let ticket_of_relay = ticket(&relay).await;
    assert_eq!(opens(&app, &ticket_of_relay).await.err(), Some(403));

    let reader = client(&app, "read").await;
    let (used, left) = (ticket(&reader).await, ticket(&reader).await);
    opens(&app, &used).await.unwrap();
    let revoke = app.request(Method::DELETE, "/api/tokens/for-read");
    assert_eq!(app.answer(revoke).await.status, 200);
    // Nor does a new token of the same name bring it back.
    assert_eq!(make(&app, "for-read", "admin").await.status, 200);
    assert_eq!(opens(&app, &left).await.err(), Some(401));
}

// proves TL-11
#[tokio::test]
async fn of_two_who_use_a_ticket_at_once_one_is_let_in() {
    let app = app().await;
    for _ in 0..8 {
        let ticket = ticket(&app).await;
        let (first, second) = tokio::join!(opens(&app, &ticket), opens(&app, &ticket));
        let let_in = [&first, &second]
            .iter()
            .filter(|opened| opened.is_ok())
            .count();
        assert_eq!(let_in, 1);
        assert_eq!(first.err().or(second.err()), Some(401));
    }
}

// proves TL-11, TL-13
#[tokio::test]
async fn one_token_has_no_more_than_so_many_tickets_and_leaves_others_theirs() {
    let app = app().await;
    let reader = client(&app, "read").await;
    for _ in 0..64 {
        ticket(&reader).await;
    }
    let request = reader
        .request(Method::POST, "/api/tickets")
        .json(&json!({}));
    let refused = reader.answer(request).await;
    assert_eq!((refused.status, refused.code()), (429, "busy"));
    assert!(refused.headers.contains_key("retry-after"));
    ticket(&app).await;
}
