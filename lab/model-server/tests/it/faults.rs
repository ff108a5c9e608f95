//! The ways in which model servers fail, in every dialect.

use std::time::Duration;

use samovar_model_server::{
    Ending, ExchangeEnd, Failure, Gate, ModelServer, Part, Point, Reply, fail, hang_up, page,
    reset, say, silent,
};
use serde_json::json;

use crate::client::{ANTHROPIC, BodyEnd, Client, DIALECTS, Dialect, OPENAI, Response};

async fn start(reply: Reply) -> ModelServer {
    ModelServer::start([reply]).await.unwrap()
}

/// The whole answer to a prompt that asks for a stream.
async fn stream(dialect: &Dialect, server: &ModelServer) -> Response {
    dialect.ask(server, &dialect.prompt("hi")).await
}

async fn streaming(dialect: &Dialect, server: &ModelServer) -> Client {
    dialect.asking(server, &dialect.prompt("hi")).await
}

#[tokio::test]
async fn errors_have_their_status_and_the_dialects_body() {
    let limited = Failure::rate_limited(Duration::from_millis(1500));
    let (invalid, busy) = ("invalid_request_error", "overloaded_error");
    let table = [
        (
            Failure::refused_key(),
            invalid,
            "authentication_error",
            None,
        ),
        (
            Failure::unknown_model("m"),
            invalid,
            "not_found_error",
            None,
        ),
        (limited, "requests", "rate_limit_error", Some("2")),
        (
            Failure::quota_exceeded(),
            "insufficient_quota",
            "rate_limit_error",
            None,
        ),
        (Failure::server_error(), "server_error", "api_error", None),
        (Failure::overloaded(), "server_error", busy, None),
        (Failure::new(400, "x"), invalid, invalid, None),
        (Failure::new(402, "x"), invalid, "billing_error", None),
        (Failure::new(403, "x"), invalid, "permission_error", None),
        (Failure::new(418, "x").param("p"), invalid, invalid, None),
        (Failure::new(502, "x"), "server_error", "api_error", None),
        (
            Failure::new(504, "x"),
            "server_error",
            "timeout_error",
            None,
        ),
        (Failure::new(529, "Overloaded"), "server_error", busy, None),
        (Failure::new(529, "x").kind("busy"), "busy", "busy", None),
    ];
    for (failure, openai, anthropic, retry_after) in table {
        let (message, code, param) = (&failure.message, &failure.code, &failure.param);
        let error = json!({"message": message, "type": openai, "param": param, "code": code});
        let openai = json!({"error": error});
        let error = json!({"type": anthropic, "message": message});
        let anthropic = json!({"type": "error", "error": error, "request_id": "req_0"});
        for (dialect, body) in [(&OPENAI, openai), (&ANTHROPIC, anthropic)] {
            let server = start(fail(failure.clone())).await;
            let response = stream(dialect, &server).await;
            let head = &response.head;
            assert_eq!(head.status, failure.status);
            assert_eq!(head.header("content-type"), Some("application/json"));
            assert_eq!(head.header("retry-after"), retry_after);
            assert_eq!(response.json(), body);
            assert_eq!(server.requests()[0].end().await, ExchangeEnd::Complete);
        }
    }
}

#[tokio::test]
async fn error_inside_a_stream_ends_it() {
    let reply = say("Hel")
        .and(Part::Failure(Failure::overloaded()))
        .and_say("lo");
    let table = [(&OPENAI, "server_error"), (&ANTHROPIC, "overloaded_error")];
    for (dialect, kind) in table {
        let response = stream(dialect, &start(reply.clone()).await).await;
        assert_eq!((response.head.status, response.end), (200, BodyEnd::Whole));
        assert_eq!(response.said(), "Hel");
        assert_eq!(response.data().last().unwrap()["error"]["type"], kind);
        let is_marked = response.text().ends_with("[DONE]\n\n");
        assert_eq!(is_marked, dialect.path == OPENAI.path);

        let response = dialect
            .ask(&start(reply.clone()).await, &dialect.plain("hi"))
            .await;
        assert_eq!(response.head.status, 200);
        assert_eq!(response.json()["error"]["type"], kind);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stream_is_cut_after_so_many_deltas() {
    let table = [
        (Ending::Body, BodyEnd::Whole),
        (Ending::Close, BodyEnd::Closed),
        (Ending::Reset, BodyEnd::Reset),
    ];
    for dialect in DIALECTS {
        for (how, end) in table {
            for deltas in 0..=3 {
                let server = start(say("abc").deltas_of(1).cut_after(deltas, how)).await;
                let response = stream(dialect, &server).await;
                assert_eq!(response.head.status, 200);
                assert_eq!(response.said(), "abc"[..deltas]);
                assert!(!response.text().contains(dialect.finish));
                assert_eq!(response.end, end);
                let request = &server.requests()[0];
                assert_eq!(request.end().await, ExchangeEnd::Cut);
                assert_eq!(request.deltas(), deltas);
            }
        }
    }
}

#[tokio::test]
async fn stream_is_cut_at_every_byte() {
    let reply = || {
        say("žlutý čaj")
            .and_call("t", json!({"a": "ř"}))
            .deltas_of(2)
    };
    for dialect in DIALECTS {
        let server = start(reply()).await;
        let whole = stream(dialect, &server).await.body;
        // Later replies are no shorter: their ids are longer.
        for at in 0..whole.len() {
            server.push(reply().cut_at(Point::Bytes(at), Ending::Close));
            let response = stream(dialect, &server).await;
            assert_eq!((response.body.len(), response.end), (at, BodyEnd::Closed));
        }
    }
}

#[tokio::test]
async fn body_is_cut_in_mid_word_and_in_mid_character() {
    let into = Point::IntoDelta {
        deltas: 0,
        bytes: 13,
    };
    let character = |character| Point::InsideCharacter(character);
    let table = [
        (say("žluť"), Point::Bytes(9), &b"data: {\"i"[..], 0),
        (say("žluť"), into, b"data: {\"id\":\"", 0),
        (say("žluť"), character(1), &"žluť".as_bytes()[..5], 0),
        (say("žlutý").deltas_of(1), character(1), b"\xc3", 4),
    ];
    for (reply, at, end, deltas) in table {
        let server = start(reply.cut_at(at, Ending::Close)).await;
        let response = stream(&OPENAI, &server).await;
        assert!(response.body.ends_with(end), "{at:?}");
        assert_eq!(response.end, BodyEnd::Closed);
        assert_eq!(server.requests()[0].deltas(), deltas);
    }
    let server = start(say("whole").cut_at(Point::Bytes(20), Ending::Reset)).await;
    let response = OPENAI.ask(&server, &OPENAI.plain("hi")).await;
    assert_eq!((response.body.len(), response.end), (20, BodyEnd::Reset));
}

#[tokio::test]
async fn body_that_is_not_a_stream_is_over_with_its_last_byte() {
    for dialect in DIALECTS {
        let server = start(say("whole").cut_after(1, Ending::Close)).await;
        let response = dialect.ask(&server, &dialect.plain("hi")).await;
        assert_eq!(response.end, BodyEnd::Whole);
        assert_eq!(server.requests()[0].end().await, ExchangeEnd::Complete);
    }
}

#[tokio::test]
async fn connection_ends_in_place_of_a_reply_or_stays_silent() {
    for dialect in DIALECTS {
        for (reply, end) in [(hang_up(), BodyEnd::Closed), (reset(), BodyEnd::Reset)] {
            let server = start(reply).await;
            let mut client = streaming(dialect, &server).await;
            assert_eq!(client.rest().await, (Vec::new(), end));
            assert_eq!(server.requests()[0].end().await, ExchangeEnd::Cut);
        }
        let server = start(silent()).await;
        let client = streaming(dialect, &server).await;
        let request = server.prompt(0).await.unwrap();
        assert_eq!(request.ended(), None);
        drop(client);
        assert_eq!(request.end().await, ExchangeEnd::ClientLeft);
        assert_eq!(request.deltas(), 0);
    }
}

#[tokio::test]
async fn stream_stands_still_until_its_gate_is_opened() {
    let (head, middle, last) = (Gate::new("head"), Gate::new("middle"), Gate::new("last"));
    for dialect in DIALECTS {
        let reply = say("žabc")
            .deltas_of(1)
            .hold_head(&head)
            .hold_at(Point::InsideCharacter(0), &middle)
            .hold_after(4, &last);
        let server = start(reply).await;
        let mut client = streaming(dialect, &server).await;

        let request = server.prompt(0).await.unwrap();
        server.open(&head).unwrap();
        assert_eq!(client.head().await.status, 200);
        while client.chunk().await.unwrap().last() != Some(&0xc5) {}
        assert_eq!(request.deltas(), 0);
        server.open(&middle).unwrap();
        assert_eq!(request.written(4).await, 4);
        assert_eq!(request.ended(), None);
        server.open(&last).unwrap();
        assert_eq!(request.end().await, ExchangeEnd::Complete);
    }
}

#[tokio::test]
async fn held_stream_is_cut_inside_its_next_delta() {
    let gate = Gate::new("g");
    let into = Point::IntoDelta {
        deltas: 2,
        bytes: 9,
    };
    for (dialect, rest) in [(&OPENAI, b"data: {\"i"), (&ANTHROPIC, b"event: co")] {
        let reply = say("abc").deltas_of(1).hold_after(2, &gate);
        let server = start(reply.cut_at(into, Ending::Reset)).await;
        let mut client = streaming(dialect, &server).await;
        let request = server.prompt(0).await.unwrap();
        assert_eq!(request.written(2).await, 2);
        assert_eq!(request.ended(), None);

        server.open(&gate).unwrap();

        let response = client.response().await;
        assert!(response.body.ends_with(rest));
        assert_eq!(response.end, BodyEnd::Reset);
        assert_eq!(
            (request.end().await, request.deltas()),
            (ExchangeEnd::Cut, 2)
        );
    }
}

#[tokio::test]
async fn gate_holds_its_reply_alone() {
    let gate = Gate::new("g");
    let replies = [
        say("held").hold_after(0, &gate),
        say("held").hold_head(&gate),
    ];
    for reply in replies {
        let server = ModelServer::start([reply, say("free")]).await.unwrap();
        let mut held = streaming(&OPENAI, &server).await;
        let first = server.prompt(0).await.unwrap();

        // A whole other exchange goes by without the first one moving.
        assert_eq!(stream(&OPENAI, &server).await.said(), "free");
        assert_eq!((first.deltas(), first.ended()), (0, None));

        server.open(&gate).unwrap();
        assert_eq!(held.response().await.said(), "held");
    }
    let error = start(say("x")).await.open(&Gate::new("typo")).unwrap_err();
    assert!(error.to_string().contains("typo"));
}

#[tokio::test]
async fn page_comes_word_for_word() {
    for dialect in DIALECTS {
        let server = start(page(200, "text/html", "<h1>Sign in</h1>")).await;
        let response = stream(dialect, &server).await;
        assert_eq!(response.head.status, 200);
        assert_eq!(response.head.header("content-type"), Some("text/html"));
        assert_eq!(response.text(), "<h1>Sign in</h1>");

        let server = start(page(204, "text/plain", "")).await;
        let mut client = streaming(dialect, &server).await;
        assert_eq!(client.head().await.status, 204);
        assert_eq!(server.requests()[0].end().await, ExchangeEnd::Complete);
    }
}

#[tokio::test]
async fn stream_may_claim_another_type_more_headers_and_no_end() {
    for dialect in DIALECTS {
        let reply = say("Hi")
            .content_type("application/json")
            .header("x-flavour", "mint");
        let server = start(reply.without_terminal()).await;
        let response = stream(dialect, &server).await;
        let head = &response.head;
        assert_eq!(head.header("content-type"), Some("application/json"));
        assert_eq!(head.header("x-flavour"), Some("mint"));
        assert_eq!(
            (response.said(), response.end),
            ("Hi".to_owned(), BodyEnd::Whole)
        );
        assert!(response.text().contains(dialect.finish));
        assert!(!response.text().contains(dialect.terminal));
        assert_eq!(server.requests()[0].end().await, ExchangeEnd::Complete);
    }
}

#[tokio::test]
async fn bytes_come_one_at_a_time_and_mean_the_same() {
    for dialect in DIALECTS {
        let whole = stream(dialect, &start(say("žluť")).await).await;
        let server = start(say("žluť").byte_by_byte()).await;
        assert_eq!(stream(dialect, &server).await.text(), whole.text());
        assert_eq!(server.requests()[0].end().await, ExchangeEnd::Complete);
    }
}

#[tokio::test]
async fn frame_is_split_wherever_the_script_says() {
    let into = Point::IntoDelta {
        deltas: 1,
        bytes: 5,
    };
    let reply = say("ab")
        .deltas_of(1)
        .split_at(Point::Bytes(3))
        .split_at(into);
    let server = start(reply).await;
    let mut client = streaming(&OPENAI, &server).await;

    client.head().await;
    assert_eq!(client.chunk().await.unwrap(), b"dat");
    assert!(client.chunk().await.unwrap().starts_with(b"a: {\"id"));
    assert!(client.chunk().await.unwrap().ends_with(b"}\n\n"));
    assert_eq!(client.chunk().await.unwrap(), b"data:");
    assert!(client.chunk().await.unwrap().starts_with(b" {\"id"));
}

#[tokio::test]
async fn event_may_be_huge() {
    const HUGE: usize = 2 << 20;
    for dialect in DIALECTS {
        let server = start(say("x".repeat(HUGE)).deltas_of(0)).await;
        assert_eq!(stream(dialect, &server).await.said().len(), HUGE);
        assert_eq!(server.requests()[0].deltas(), 1);
    }
}

#[tokio::test]
async fn script_that_http_cannot_carry_says_so() {
    let table = [
        say("x").header("bad name", "x"),
        say("x").content_type("a\nb"),
        page(99, "text/plain", "x"),
    ];
    for reply in table {
        let response = stream(&OPENAI, &start(reply).await).await;
        assert_eq!(response.head.status, 500);
        assert!(response.text().contains("the script cannot be sent"));
    }
}
