//! The stream over a WebSocket: how it is opened, and how it closes.

use std::time::Duration;

use samovar_testkit::{Socket, SocketMessage};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::{app, app_with, boot, fill};
use crate::handshake::{bad_ones_are_refused, handshake};
use crate::raw::{HANG, Request, Response, connect};

const STREAM: &str = "/chat/stream";

async fn answer(request: Request) -> (u16, String) {
    let response: Response = timeout(HANG, request.send()).await.unwrap();
    (response.status, response.code())
}

// proves CH-7, TL-11, TL-12
#[tokio::test]
async fn a_socket_passes_the_same_door_as_every_request() {
    let app = app().await;
    bad_ones_are_refused(&app, STREAM).await;
    for (request, status, code) in [
        (
            handshake(&app, "/chat/stream?after=x"),
            400,
            "invalid_params",
        ),
        (
            handshake(&app, "/chat/stream?after=1&boot=other"),
            409,
            "chat_restarted",
        ),
    ] {
        let shown = String::from_utf8_lossy(&request.bytes()).into_owned();
        assert_eq!(answer(request).await, (status, code.to_owned()), "{shown}");
    }
    // A path that cannot go on as one answers as it always does.
    assert_eq!(answer(handshake(&app, "/healthz")).await.0, 200);
    assert_eq!(answer(handshake(&app, "/chat/history")).await.0, 200);

    let wrong = Socket::open(app.address(), "wrong", STREAM).await;
    assert_eq!(wrong.err(), Some(401));
    fill(&app, 1);
    assert_eq!(app.socket(STREAM).await.json().await.unwrap()["id"], 1);
}

// proves CH-7
#[tokio::test]
async fn a_reader_over_a_socket_has_nothing_to_say() {
    let app = app().await;
    fill(&app, 1);
    let closed = |code, reason: &str| SocketMessage::Close(code, reason.to_owned());
    for (bytes, end) in [
        (1, closed(1008, "invalid_params")),
        (4 * 1024, closed(1008, "invalid_params")),
        (4 * 1024 + 1, closed(1009, "body_too_large")),
    ] {
        let mut socket = app.socket(STREAM).await;
        let first = timeout(HANG, socket.json()).await.unwrap();
        assert_eq!(first.unwrap()["id"], 1);
        socket.say("x".repeat(bytes)).await;
        assert_eq!(timeout(HANG, socket.end()).await.unwrap(), end);
    }
    let mut socket = app.socket(STREAM).await;
    socket.say(vec![0_u8, 1, 2]).await;
    assert_eq!(
        timeout(HANG, socket.end()).await.unwrap(),
        closed(1008, "invalid_params")
    );
    assert_eq!(super::texts(&app).await, ["m1"]);
}

// proves CH-7
#[tokio::test]
async fn a_socket_is_told_why_the_server_leaves_it() {
    let app = app().await;
    let mut socket = app.socket(STREAM).await;
    fill(&app, 1);
    let reading = async {
        assert_eq!(socket.json().await.unwrap()["id"], 1);
        let end = socket.end().await;
        assert_eq!(end, SocketMessage::Close(1001, "server_restart".to_owned()));
    };
    let stopped = async { tokio::join!(app.stop(), reading) };
    timeout(HANG, stopped).await.unwrap();
}

// proves CH-7
#[tokio::test]
async fn a_silent_socket_is_asked_with_a_ping_and_goes_on() {
    let app = app_with(|config| config.server.ping_every = Duration::from_millis(5)).await;
    let mut socket = app.socket(STREAM).await;
    for _ in 0..3 {
        assert_eq!(
            timeout(HANG, socket.next()).await.unwrap(),
            SocketMessage::Ping
        );
    }
    fill(&app, 1);
    let id = timeout(HANG, socket.json()).await.unwrap().unwrap()["id"].clone();
    assert_eq!(id, json!(1));
}

// proves CH-5, CH-7
#[tokio::test]
async fn the_answer_to_a_handshake_names_the_boot() {
    let app = app().await;
    let boot = boot(&app).await;
    let request = handshake(&app, STREAM);
    let mut stream = connect(app.address()).await;
    stream.write_all(&request.bytes()).await.unwrap();
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        let more = stream.read_buf(&mut read);
        assert_ne!(timeout(HANG, more).await.unwrap().unwrap(), 0);
    }
    let answer = Response::read(&read).unwrap();
    assert_eq!(answer.status, 101);
    assert_eq!(answer.header("x-chat-boot"), Some(boot.as_str()));
    let accepted = answer.header("sec-websocket-accept");
    assert_eq!(accepted, Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
}
