//! Connections that go on as a WebSocket: that they count, are bounded, and end with the socket.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use axum::routing::get;
use samovar_core::Code;
use samovar_testkit::{Socket as Client, SocketMessage};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::*;
use crate::pace::Stalled;
use crate::reply;
use crate::upgrade::{Channel, ClientMessage, CloseReason, Pace, Upgrade};

/// A test that waits longer than this has hung.
const HANG: Duration = Duration::from_secs(10);
/// Longer than a test takes.
const LONG: Duration = Duration::from_mins(1);
const MAX_BYTES: usize = 1000;

#[derive(Clone, Copy)]
struct Patience {
    ping_every: Duration,
    patience: Duration,
}

const PATIENT: Patience = Patience {
    ping_every: LONG,
    patience: LONG,
};

/// A socket whose only path says back what it hears, and what it hears as bytes a hundred times.
fn open(max_connections: usize, patience: Patience) -> (Socket, SocketAddr) {
    let root = tempfile::tempdir().unwrap();
    let mut config = Config::new(root.path().join("data"), root.path().to_owned());
    config.stream.patience = patience.patience;
    let router = Router::new().route("/", get(move |request| echo(request, patience)));
    let listener = pace::listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = listener.local_addr().unwrap();
    let places = Places::new(max_connections, 0);
    (
        Socket::open([(listener, router, places)].into_iter(), &config),
        address,
    )
}

async fn echo(request: Request, patience: Patience) -> Response<Body> {
    let mut parts = request.into_parts().0;
    let pace = Pace {
        ping_every: patience.ping_every,
        patience: patience.patience,
        stalled: parts.extensions.remove::<Stalled>().unwrap(),
    };
    let upgrade = Upgrade::asked(&mut parts, pace).await;
    let accepted = upgrade.map(|upgrade| {
        upgrade.accept(MAX_BYTES, |mut line| async move {
            let why = echoes(&mut line).await.unwrap_err();
            line.end(why).await;
        })
    });
    match accepted {
        None => reply::json(&"no upgrade"),
        Some(accepted) => accepted.unwrap_or_else(|error| reply::refusal(&error)),
    }
}

async fn echoes(line: &mut Channel) -> Result<(), CloseReason> {
    loop {
        match line.hear().await? {
            ClientMessage::Text(text) if text.as_str() == "flood" => {
                line.say((0..1_000_000).map(|_| "x".repeat(1000))).await?;
            }
            ClientMessage::Text(text) => line.say([text.to_string()]).await?,
            ClientMessage::Binary(_) => return Err(CloseReason::Refused(Code::InvalidParams)),
        }
    }
}

async fn client(address: SocketAddr) -> Client {
    Client::open(address, "", "/").await.unwrap()
}

async fn end(client: &mut Client) -> SocketMessage {
    timeout(HANG, client.end()).await.unwrap()
}

fn closed(code: u16, reason: &str) -> SocketMessage {
    SocketMessage::Close(code, reason.to_owned())
}

/// A frame of a client that hides nothing: its mask is zero.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    if let Ok(length @ 0..=125) = u8::try_from(payload.len()) {
        frame.push(0x80 | length);
    } else {
        frame.push(0xfe);
        frame.extend(u16::try_from(payload.len()).unwrap().to_be_bytes());
    }
    frame.extend([0; 4]);
    frame.extend(payload);
    frame
}

/// The code of the close that comes after these bytes.
async fn close_after(address: SocketAddr, bytes: &[u8]) -> u16 {
    let mut raw = client(address).await.into_inner();
    raw.write_all(bytes).await.unwrap();
    let mut head = [0; 4];
    timeout(HANG, raw.read_exact(&mut head))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(head[0], 0x88, "a close");
    u16::from_be_bytes([head[2], head[3]])
}

#[tokio::test]
async fn an_upgraded_connection_keeps_its_place_until_it_ends() {
    let (socket, address) = open(1, PATIENT);
    let mut first = client(address).await;
    first.say("hello").await;
    assert_eq!(first.json().await, Some(json!("hello")));

    let mut second = TcpStream::connect(address).await.unwrap();
    let request = format!("GET / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    second.write_all(request.as_bytes()).await.unwrap();
    for _ in 0..50 {
        first.say("still").await;
        assert_eq!(first.json().await, Some(json!("still")));
    }
    let early = second.try_read(&mut [0; 1]);
    assert_eq!(early.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);

    let answered = timeout(HANG, first.leave()).await.unwrap();
    assert_eq!(answered, closed(1000, ""));
    let mut answer = String::new();
    let read = timeout(HANG, second.read_to_string(&mut answer)).await;
    read.unwrap().unwrap();
    assert!(answer.ends_with("\"no upgrade\""), "{answer}");
    socket.close().await;
}

#[tokio::test]
async fn the_end_of_the_socket_is_told_to_who_listens_and_cuts_who_does_not() {
    let (socket, address) = open(9, PATIENT);
    let (mut polite, deaf) = (client(address).await, client(address).await);
    let mut full = client(address).await;
    full.say("flood").await;
    // It is being flooded, and takes no more.
    assert_eq!(full.json().await, Some(json!("x".repeat(1000))));

    let (told, ()) = tokio::join!(end(&mut polite), async {
        timeout(HANG, socket.close()).await.unwrap();
    });

    assert_eq!(told, closed(1001, "server_restart"));
    for rest in [full.into_inner(), deaf.into_inner()] {
        let mut rest = rest;
        let read = timeout(HANG, rest.read_to_end(&mut Vec::new())).await;
        // With or without ceremony, but it is over.
        let _how = read.unwrap().is_ok();
    }
}

#[tokio::test]
async fn what_is_no_message_closes_the_line_with_its_own_code() {
    let (socket, address) = open(9, PATIENT);
    let fits = "x".repeat(MAX_BYTES);
    let mut good = client(address).await;
    good.say(fits.as_str()).await;
    assert_eq!(good.json().await, Some(json!(fits)));
    good.say(vec![0_u8; 3]).await;
    assert_eq!(end(&mut good).await, closed(1008, "invalid_params"));

    let too_large = frame(0x81, &[b'x'; MAX_BYTES + 1]);
    let half = [b'x'; MAX_BYTES / 2 + 1];
    let in_parts = [frame(0x01, &half), frame(0x80, &half)].concat();
    let unmasked = [0x81, 1, b'x'];
    for (bytes, code) in [
        (too_large, 1009),
        (in_parts, 1009),
        (frame(0x81, b"\xff"), 1007),
        (unmasked.to_vec(), 1002),
        (frame(0xf1, b"reserved bits"), 1002),
        (frame(0x83, b"no such frame"), 1002),
        (frame(0x80, b"goes on with nothing"), 1002),
    ] {
        assert_eq!(close_after(address, &bytes).await, code, "{bytes:x?}");
    }
    socket.close().await;
}

#[tokio::test]
async fn a_request_that_is_no_handshake_is_told_so() {
    let (socket, address) = open(9, PATIENT);
    let good = [
        "connection: Upgrade",
        "upgrade: WebSocket",
        "sec-websocket-version: 13",
        "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    let answer = async |lines: &[&str]| {
        let head = format!(
            "GET / HTTP/1.1\r\nhost: x\r\n{}\r\n\r\n",
            lines.join("\r\n")
        );
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = vec![0; 500];
        let read = timeout(HANG, stream.read(&mut answer)).await;
        answer.truncate(read.unwrap().unwrap());
        String::from_utf8(answer).unwrap()
    };

    let upgraded = answer(&good).await;
    assert!(upgraded.starts_with("HTTP/1.1 101 "), "{upgraded}");
    assert!(
        upgraded.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
        "{upgraded}"
    );
    for left_out in [0, 2, 3] {
        let mut lines = good.to_vec();
        lines.remove(left_out);
        let refused = answer(&lines).await;
        assert!(refused.starts_with("HTTP/1.1 400 "), "{refused}");
        assert!(refused.contains("invalid_params"), "{refused}");
    }
    for key in [
        "",
        "dGhlIHNhbXBsZSBub25j",
        "dGhlIHNhbXBsZSBub25jZWQ=",
        "dGhlIHNhbXBsZSBub25j!Q==",
        "dGhlIHNhbXBsZSBub25jZR==",
        "dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    ] {
        let key = format!("sec-websocket-key: {key}");
        let refused = answer(&[good[0], good[1], good[2], key.as_str()]).await;
        assert!(refused.starts_with("HTTP/1.1 400 "), "{key}: {refused}");
        assert!(refused.contains("16 bytes"), "{key}: {refused}");
    }
    let other = answer(&["connection: Upgrade", "upgrade: h2c"]).await;
    assert!(other.ends_with("\"no upgrade\""), "{other}");
    socket.close().await;
}

#[tokio::test]
async fn a_silent_client_is_asked_and_stays_while_it_answers() {
    let quick = Patience {
        ping_every: Duration::from_millis(20),
        patience: Duration::from_secs(1),
    };
    let (socket, address) = open(9, quick);
    let mut there = client(address).await;
    // For longer than it may owe an answer.
    for _ in 0..75 {
        assert_eq!(
            timeout(HANG, there.next()).await.unwrap(),
            SocketMessage::Ping
        );
    }
    there.say("here").await;
    assert_eq!(there.json().await, Some(json!("here")));
    drop(there);
    socket.close().await;
}

#[tokio::test]
async fn a_client_that_does_not_answer_is_taken_for_gone() {
    let quick = Patience {
        ping_every: Duration::from_millis(5),
        patience: Duration::from_millis(100),
    };
    let (socket, address) = open(9, quick);
    let mut half_open = client(address).await.into_inner();

    let mut pings = Vec::new();
    let read = timeout(HANG, half_open.read_to_end(&mut pings)).await;

    read.unwrap().unwrap();
    assert!(pings.starts_with(&[0x89, 0]), "{pings:x?}");
    socket.close().await;
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_cut_off() {
    let quick = Patience {
        ping_every: LONG,
        patience: Duration::from_millis(100),
    };
    let (socket, address) = open(1, quick);
    let mut full = client(address).await;
    full.say("flood").await;

    // There is one place, and it is free once the first is cut.
    let next = timeout(HANG, Client::open(address, "", "/")).await;
    assert!(next.unwrap().is_ok());
    drop(full);
    socket.close().await;
}
