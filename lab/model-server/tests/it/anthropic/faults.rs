//! The ways in which it fails.

use std::time::Duration;

use samovar_model_server::{
    Ended, Ending, Failure, Gate, ModelServer, Part, Point, Reply, fail, hang_up, page, reset, say,
    silent,
};
use serde_json::{Value, json};

use super::{HEADERS, MESSAGES, ask, events, plain, prompt};
use crate::client::{Client, End};

async fn start(reply: Reply) -> ModelServer {
    ModelServer::start([reply]).await.unwrap()
}

async fn asking(server: &ModelServer) -> Client {
    let mut client = Client::connect(server).await;
    let body = prompt("hi").to_string();
    client.send("POST", MESSAGES, &HEADERS, &body).await;
    client
}

#[tokio::test]
async fn errors_have_their_status_and_the_dialects_body() {
    let limited = Failure::rate_limited(Duration::from_millis(1500));
    let table = [
        (Failure::refused_key(), 401, "authentication_error", None),
        (Failure::unknown_model("m"), 404, "not_found_error", None),
        (limited, 429, "rate_limit_error", Some("2")),
        (Failure::quota_exceeded(), 429, "rate_limit_error", None),
        (Failure::server_error(), 500, "api_error", None),
        (Failure::overloaded(), 503, "overloaded_error", None),
        (Failure::new(400, "x"), 400, "invalid_request_error", None),
        (Failure::new(402, "x"), 402, "billing_error", None),
        (Failure::new(403, "x"), 403, "permission_error", None),
        (Failure::new(418, "x"), 418, "invalid_request_error", None),
        (Failure::new(502, "x"), 502, "api_error", None),
        (Failure::new(504, "x"), 504, "timeout_error", None),
        (
            Failure::new(529, "Overloaded"),
            529,
            "overloaded_error",
            None,
        ),
        (Failure::new(529, "x").kind("busy"), 529, "busy", None),
    ];
    for (failure, status, kind, retry_after) in table {
        let message = failure.message.clone();
        let server = start(fail(failure)).await;
        let response = ask(&server, &prompt("hi")).await;

        assert_eq!(response.head.status, status);
        let content_type = response.head.header("content-type");
        assert_eq!(content_type, Some("application/json"));
        assert_eq!(response.head.header("retry-after"), retry_after);
        let error = json!({"type": kind, "message": message});
        let body = json!({"type": "error", "error": error, "request_id": "req_0"});
        assert_eq!(response.json(), body);
        assert_eq!(server.requests()[0].end().await, Ended::Complete);
    }
}

#[tokio::test]
async fn an_error_inside_a_stream_is_its_last_event() {
    let reply = say("Hel")
        .and(Part::Failure(Failure::overloaded()))
        .and_say("lo");
    let server = start(reply.clone()).await;
    let response = ask(&server, &prompt("hi")).await;

    assert_eq!(response.head.status, 200);
    assert_eq!(response.end, End::Whole);
    let events = events(&response);
    let names: Vec<_> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "message_start",
            "ping",
            "content_block_start",
            "content_block_delta",
            "error"
        ]
    );
    assert_eq!(events[4].1["error"]["type"], "overloaded_error");

    let server = start(reply).await;
    let response = ask(&server, &plain("hi")).await;
    assert_eq!(response.head.status, 200);
    assert_eq!(response.json()["error"]["type"], "overloaded_error");
}

#[tokio::test]
async fn a_stream_may_end_without_its_last_event() {
    let server = start(say("x").without_terminal()).await;
    let response = ask(&server, &prompt("hi")).await;
    let events = events(&response);
    assert_eq!(events.last().unwrap().0, "message_delta");
    assert_eq!(response.end, End::Whole);
}

#[tokio::test]
async fn a_stream_is_cut_at_every_byte() {
    let reply = || {
        say("žlutý čaj")
            .and_call("t", json!({"a": "ř"}))
            .deltas_of(2)
    };
    let server = ModelServer::start([reply()]).await.unwrap();
    let whole = ask(&server, &prompt("hi")).await.body;
    // Later replies are no shorter: their ids are longer.
    for at in 0..whole.len() {
        server.push(reply().cut_at(Point::Bytes(at), Ending::Close));
        let response = ask(&server, &prompt("hi")).await;
        assert_eq!(response.body.len(), at);
        assert_eq!(response.end, End::Closed);
    }
}

#[tokio::test]
async fn a_stream_is_held_behind_so_many_deltas_and_cut_inside_the_next() {
    let gate = Gate::new("g");
    let reply = say("abc").deltas_of(1).hold_after(2, &gate).cut_at(
        Point::IntoDelta {
            deltas: 2,
            bytes: 9,
        },
        Ending::Reset,
    );
    let server = start(reply).await;
    let mut client = asking(&server).await;
    let request = server.prompt(0).await.unwrap();
    assert_eq!(request.written(2).await, 2);
    assert_eq!(request.ended(), None);

    server.open(&gate).unwrap();

    let head = client.head().await;
    let (body, end) = client.body(&head).await;
    assert!(body.ends_with(b"event: co"));
    assert_eq!(end, End::Reset);
    assert_eq!((request.end().await, request.deltas()), (Ended::Cut, 2));
}

#[tokio::test]
async fn a_page_takes_the_place_of_a_reply() {
    let server = start(page(200, "text/html", "<html>log in</html>")).await;
    let response = ask(&server, &prompt("hi")).await;
    assert_eq!(response.head.status, 200);
    assert_eq!(response.head.header("content-type"), Some("text/html"));
    assert_eq!(response.text(), "<html>log in</html>");
}

#[tokio::test]
async fn a_connection_ends_in_place_of_a_reply_or_says_nothing() {
    for (reply, end) in [(hang_up(), End::Closed), (reset(), End::Reset)] {
        let server = start(reply).await;
        let mut client = asking(&server).await;
        assert_eq!(client.rest().await, (Vec::new(), end));
    }
    let server = start(silent()).await;
    let client = asking(&server).await;
    let request = server.prompt(0).await.unwrap();
    assert_eq!(request.ended(), None);
    drop(client);
    assert_eq!(request.end().await, Ended::ClientLeft);
}

#[tokio::test]
async fn an_unmatched_prompt_fails_loudly() {
    let server = ModelServer::start(Vec::<Reply>::new()).await.unwrap();
    let response = ask(&server, &plain("where is my tea?")).await;
    assert_eq!(response.head.status, 500);
    let error: Value = response.json()["error"].clone();
    assert_eq!(error["type"], "api_error");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("where is my tea?")
    );
}
