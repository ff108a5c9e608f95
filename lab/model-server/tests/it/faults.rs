//! The ways in which model servers fail.

use std::time::Duration;

use samovar_model_server::{
    Ended, Ending, Failure, Gate, ModelServer, Part, Point, Reply, Terminal, fail, hang_up, page,
    reset, say, silent,
};
use serde_json::{Value, json};

use crate::client::{Client, End, ask, plain, prompt};

async fn start(reply: Reply) -> ModelServer {
    ModelServer::start([reply]).await.unwrap()
}

#[tokio::test]
async fn errors_have_their_status_and_the_dialects_body() {
    let after = Duration::from_millis(1500);
    let table = [
        (
            Failure::refused_key(),
            401,
            "invalid_request_error",
            json!("invalid_api_key"),
            None,
        ),
        (
            Failure::unknown_model("m"),
            404,
            "invalid_request_error",
            json!("model_not_found"),
            None,
        ),
        (
            Failure::rate_limited(after),
            429,
            "requests",
            json!("rate_limit_exceeded"),
            Some("2"),
        ),
        (
            Failure::quota_exceeded(),
            429,
            "insufficient_quota",
            json!("insufficient_quota"),
            None,
        ),
        (
            Failure::server_error(),
            500,
            "server_error",
            Value::Null,
            None,
        ),
        (
            Failure::overloaded(),
            503,
            "server_error",
            Value::Null,
            None,
        ),
        (
            Failure::new(529, "x").kind("busy").param("p"),
            529,
            "busy",
            Value::Null,
            None,
        ),
    ];
    for (failure, status, kind, code, retry_after) in table {
        let message = failure.message.clone();
        let param = failure.param.clone();
        let server = start(fail(failure)).await;
        let response = ask(&server, &prompt("hi")).await;

        assert_eq!(response.head.status, status);
        assert_eq!(
            response.head.header("content-type"),
            Some("application/json")
        );
        assert_eq!(response.head.header("retry-after"), retry_after);
        let error = json!({"message": message, "type": kind, "param": param, "code": code});
        assert_eq!(response.json(), json!({"error": error}));
        assert_eq!(server.requests()[0].end().await, Ended::Complete);
    }
}

#[tokio::test]
async fn an_error_inside_a_stream_is_the_last_that_is_said() {
    let reply = say("Hel")
        .and(Part::Failure(Failure::overloaded()))
        .and_say("lo");
    let server = start(reply.clone()).await;
    let response = ask(&server, &prompt("hi")).await;

    assert_eq!(response.head.status, 200);
    assert_eq!(response.said(), "Hel");
    let data = response.data();
    assert_eq!(data.len(), 4);
    let error: Value = serde_json::from_str(data[2]).unwrap();
    assert_eq!(error["error"]["type"], "server_error");
    assert_eq!(data[3], "[DONE]");

    let server = start(reply).await;
    let response = ask(&server, &plain("hi")).await;
    assert_eq!(response.head.status, 200);
    assert_eq!(response.json()["error"]["type"], "server_error");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_is_cut_behind_so_many_deltas() {
    let table = [
        (Ending::Body, End::Whole),
        (Ending::Close, End::Closed),
        (Ending::Reset, End::Reset),
    ];
    for (how, end) in table {
        for deltas in 0..=3 {
            let server = start(say("abc").deltas_of(1).cut_after(deltas, how)).await;
            let response = ask(&server, &prompt("hi")).await;

            assert_eq!(response.head.status, 200);
            assert_eq!(response.said(), "abc"[..deltas]);
            assert!(!response.text().contains("stop"));
            assert_eq!(response.end, end);
            let request = &server.requests()[0];
            assert_eq!(request.end().await, Ended::Cut);
            assert_eq!(request.deltas(), deltas);
        }
    }
}

#[tokio::test]
async fn a_body_is_cut_in_mid_word_and_in_mid_character() {
    let table = [
        (Point::Bytes(0), ""),
        (Point::Bytes(9), "data: {\"i"),
        (
            Point::IntoDelta {
                deltas: 0,
                bytes: 13,
            },
            "data: {\"id\":\"",
        ),
    ];
    for (at, expected) in table {
        let server = start(say("žluť").cut_at(at, Ending::Close)).await;
        let response = ask(&server, &prompt("hi")).await;
        assert!(response.text().ends_with(expected), "{}", response.text());
        assert_eq!(response.end, End::Closed);
        assert_eq!(server.requests()[0].deltas(), 0);
    }

    let server = start(say("žluť").cut_at(Point::InsideCharacter(1), Ending::Close)).await;
    let response = ask(&server, &prompt("hi")).await;
    assert!(response.body.ends_with(&"žluť".as_bytes()[..5]));
    assert!(std::str::from_utf8(&response.body).is_err());

    let reply = say("žlutý").deltas_of(1);
    let server = start(reply.cut_at(Point::InsideCharacter(1), Ending::Close)).await;
    let response = ask(&server, &prompt("hi")).await;
    assert_eq!(response.body.last(), Some(&0xc3));
    assert_eq!(server.requests()[0].deltas(), 4);

    let server = start(say("whole").cut_at(Point::Bytes(20), Ending::Reset)).await;
    let response = ask(&server, &plain("hi")).await;
    assert_eq!(response.body.len(), 20);
    assert_eq!(response.end, End::Reset);
}

#[tokio::test]
async fn a_body_that_is_not_a_stream_is_over_with_its_last_byte() {
    let server = start(say("whole").cut_after(1, Ending::Close)).await;
    let response = ask(&server, &plain("hi")).await;

    assert_eq!(response.end, End::Whole);
    assert_eq!(server.requests()[0].end().await, Ended::Complete);
}

#[tokio::test]
async fn a_connection_ends_in_place_of_a_reply() {
    for (reply, end) in [(hang_up(), End::Closed), (reset(), End::Reset)] {
        let server = start(reply).await;
        let mut client = Client::connect(&server).await;
        client.ask(&prompt("hi")).await;

        assert_eq!(client.rest().await, (Vec::new(), end));
        assert_eq!(server.requests()[0].end().await, Ended::Cut);
    }
}

#[tokio::test]
async fn a_silent_server_says_nothing_and_notices_that_the_client_leaves() {
    let server = start(silent()).await;
    let mut client = Client::connect(&server).await;
    client.ask(&prompt("hi")).await;

    let request = server.prompt(0).await.unwrap();
    assert_eq!(request.ended(), None);
    drop(client);
    assert_eq!(request.end().await, Ended::ClientLeft);
    assert_eq!(request.deltas(), 0);
}

#[tokio::test]
async fn a_stream_stands_still_until_its_gate_is_opened() {
    let (head, middle, last) = (Gate::new("head"), Gate::new("middle"), Gate::new("last"));
    let reply = say("žabc")
        .deltas_of(1)
        .hold_head(&head)
        .hold_at(Point::InsideCharacter(0), &middle)
        .hold_after(4, &last);
    let server = start(reply).await;
    let mut client = Client::connect(&server).await;
    client.ask(&prompt("hi")).await;

    let request = server.prompt(0).await.unwrap();
    server.open(&head).unwrap();
    assert_eq!(client.head().await.status, 200);
    assert!(client.chunk().await.unwrap().starts_with(b"data: {"));
    assert_eq!(client.chunk().await.unwrap().last(), Some(&0xc5));
    assert_eq!(request.deltas(), 0);
    server.open(&middle).unwrap();
    assert_eq!(request.written(4).await, 4);
    assert_eq!(request.ended(), None);
    server.open(&last).unwrap();
    assert_eq!(request.end().await, Ended::Complete);
}

#[tokio::test]
async fn a_gate_holds_until_it_is_opened() {
    let gate = Gate::new("g");
    for reply in [
        say("held").hold_after(0, &gate),
        say("held").hold_head(&gate),
    ] {
        let server = ModelServer::start([reply, say("free")]).await.unwrap();
        let mut held = Client::connect(&server).await;
        held.ask(&prompt("first")).await;
        let first = server.prompt(0).await.unwrap();

        // A whole other exchange goes by without the first one moving.
        assert_eq!(ask(&server, &prompt("second")).await.said(), "free");
        assert_eq!((first.deltas(), first.ended()), (0, None));

        server.open(&gate).unwrap();
        assert_eq!(held.response().await.said(), "held");
    }
}

#[tokio::test]
async fn an_unknown_gate_cannot_be_opened() {
    let server = start(say("x")).await;
    let error = server.open(&Gate::new("typo")).unwrap_err();
    assert!(error.to_string().contains("typo"));
}

#[tokio::test]
async fn a_page_comes_word_for_word() {
    let server = start(page(200, "text/html", "<h1>Sign in</h1>")).await;
    let response = ask(&server, &prompt("hi")).await;
    assert_eq!(response.head.status, 200);
    assert_eq!(response.head.header("content-type"), Some("text/html"));
    assert_eq!(response.text(), "<h1>Sign in</h1>");

    let server = start(page(204, "text/plain", "")).await;
    let mut client = Client::connect(&server).await;
    client.ask(&prompt("hi")).await;
    assert_eq!(client.head().await.status, 204);
    assert_eq!(server.requests()[0].end().await, Ended::Complete);
}

#[tokio::test]
async fn a_stream_may_claim_another_type_and_more_headers() {
    let reply = say("Hi")
        .content_type("application/json")
        .header("x-flavour", "mint");
    let server = start(reply).await;
    let response = ask(&server, &prompt("hi")).await;

    assert_eq!(
        response.head.header("content-type"),
        Some("application/json")
    );
    assert_eq!(response.head.header("x-flavour"), Some("mint"));
    assert_eq!(response.said(), "Hi");
}

#[tokio::test]
async fn a_stream_may_end_well_without_its_terminal_event() {
    let reply = say("Hi").without_terminal();
    assert_eq!(reply.delivery.terminal, Terminal::Withheld);
    let server = start(reply).await;
    let response = ask(&server, &prompt("hi")).await;

    assert_eq!(response.end, End::Whole);
    assert!(!response.text().contains("[DONE]"));
    assert!(response.text().contains("\"finish_reason\":\"stop\""));
    assert_eq!(server.requests()[0].end().await, Ended::Complete);
}

#[tokio::test]
async fn bytes_come_one_at_a_time_and_mean_the_same() {
    let whole = ask(&start(say("žluť")).await, &prompt("hi")).await;
    let server = start(say("žluť").byte_by_byte()).await;
    let single = ask(&server, &prompt("hi")).await;

    assert_eq!(single.text(), whole.text());
    assert_eq!(server.requests()[0].end().await, Ended::Complete);
}

#[tokio::test]
async fn a_frame_is_split_wherever_the_script_says() {
    let reply = say("ab")
        .deltas_of(1)
        .split_at(Point::Bytes(3))
        .split_at(Point::IntoDelta {
            deltas: 1,
            bytes: 5,
        });
    let server = start(reply).await;
    let mut client = Client::connect(&server).await;
    client.ask(&prompt("hi")).await;

    client.head().await;
    assert_eq!(client.chunk().await.unwrap(), b"dat");
    assert!(client.chunk().await.unwrap().starts_with(b"a: {\"id"));
    assert!(client.chunk().await.unwrap().ends_with(b"}\n\n"));
    assert_eq!(client.chunk().await.unwrap(), b"data:");
    assert!(client.chunk().await.unwrap().starts_with(b" {\"id"));
}

#[tokio::test]
async fn an_event_may_be_huge() {
    const HUGE: usize = 2 << 20;
    let server = start(say("x".repeat(HUGE)).deltas_of(0)).await;
    let response = ask(&server, &prompt("hi")).await;

    assert_eq!(response.deltas().len(), 3);
    assert_eq!(response.said().len(), HUGE);
}

#[tokio::test]
async fn a_script_that_http_cannot_carry_says_so() {
    let table = [
        say("x").header("bad name", "x"),
        say("x").content_type("a\nb"),
        page(99, "text/plain", "x"),
    ];
    for reply in table {
        let server = start(reply).await;
        let response = ask(&server, &prompt("hi")).await;
        assert_eq!(response.head.status, 500);
        assert!(response.text().contains("the script cannot be sent"));
    }
}
