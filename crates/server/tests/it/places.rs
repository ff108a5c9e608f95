//! Who is served when connections are short, and how connections end.

use std::time::Duration;

use samovar_model_server::{Gate, Rule, say};
use samovar_testkit::{App, AppBuilder};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::raw::{HANG, Request, Response, connect, rest};

/// A server with so many places.
async fn app_with(places: usize) -> App {
    let builder = AppBuilder::new().with(|config| config.server.max_connections = places);
    builder.start(Vec::<Rule>::new()).await
}

/// A connection that has been answered and is kept.
async fn kept(app: &App) -> TcpStream {
    let mut stream = connect(app.address()).await;
    let request = Request::new(app, "GET", "/healthz").set("connection", "keep-alive");
    stream.write_all(&request.bytes()).await.unwrap();
    let mut read = Vec::new();
    while !read.ends_with(br#"{"status":"ok"}"#) {
        let more = timeout(HANG, stream.read_buf(&mut read)).await;
        assert_ne!(more.unwrap().unwrap(), 0, "the connection stays open");
    }
    stream
}

/// Whether the server has closed a connection; waits for that.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let read = timeout(HANG, stream.read(&mut [0; 1])).await;
    matches!(read, Ok(Ok(0) | Err(_)))
}

// proves TL-13
#[tokio::test]
async fn without_a_place_probes_are_answered_and_others_are_told_to_come_again() {
    let app = app_with(2).await;
    let (first, second) = (kept(&app).await, kept(&app).await);
    let stats = Request::new(&app, "POST", "/services/agent/getStats");
    for path in ["/healthz", "/readyz"] {
        let probed = Request::new(&app, "GET", path).send().await;
        assert_eq!(probed.status, 200, "{path}");
    }
    // However much of it follows the head.
    for body in ["{}".to_owned(), " ".repeat(1024 * 1024)] {
        let refused = stats.clone().json(&body).send().await;
        assert_eq!((refused.status, &*refused.code()), (503, "unavailable"));
        assert_eq!(refused.header("retry-after"), Some("1"));
        assert_eq!(refused.header("connection"), Some("close"));
    }
    let mut late = connect(app.address()).await;
    late.write_all(b"POST /services").await.unwrap();
    assert!(is_closed(&mut late).await, "a first head has a second");

    // One that begins without a place gets the one that becomes free meanwhile, and keeps it.
    let mut third = connect(app.address()).await;
    let bytes = stats.set("connection", "keep-alive").bytes();
    let (begin, end) = bytes.split_at(9);
    third.write_all(begin).await.unwrap();
    drop(first);
    timeout(HANG, served_when_free(&app)).await.unwrap();
    third.write_all(end).await.unwrap();
    for _ in 0..2 {
        let mut answer = [0; 12];
        let read = timeout(HANG, third.read_exact(&mut answer)).await;
        read.unwrap().unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200");
        let mut more = vec![0; 64 * 1024];
        let read = timeout(HANG, third.read(&mut more)).await;
        assert_ne!(read.unwrap().unwrap(), 0);
        third.write_all(&bytes).await.unwrap();
    }
    drop(second);
}

// proves TL-13
#[tokio::test]
async fn the_oldest_connection_that_has_sent_nothing_gives_its_place_up() {
    let builder = AppBuilder::new().with(|config| {
        config.server.max_connections = 3;
        config.server.slow_client = Duration::from_secs(5);
    });
    let app = builder.start(Vec::<Rule>::new()).await;
    let mut kept = kept(&app).await;
    let mut silent = [
        connect(app.address()).await,
        connect(app.address()).await,
        connect(app.address()).await,
        connect(app.address()).await,
    ];

    assert!(is_closed(&mut silent[0]).await);
    assert!(is_closed(&mut silent[1]).await);

    let stats = Request::new(&app, "POST", "/services/agent/getStats");
    for stream in &mut silent[2..] {
        stream.write_all(&stats.bytes()).await.unwrap();
        assert_eq!(Response::read(&rest(stream).await).unwrap().status, 200);
    }
    let probe = Request::new(&app, "GET", "/healthz").bytes();
    kept.write_all(&probe).await.unwrap();
    assert_eq!(Response::read(&rest(&mut kept).await).unwrap().status, 200);
    // One that has been silent for long enough goes while there are places, too.
    let mut late = connect(app.address()).await;
    assert!(is_closed(&mut late).await);
}

// proves AS-9
#[tokio::test]
async fn a_client_that_only_stops_sending_gets_its_whole_answer() {
    let app = App::start([say("the whole answer").deltas_of(1)]).await;
    let session = app.session().await;
    let message = json!({"sessionId": session, "content": "go"}).to_string();
    let message = Request::new(&app, "POST", "/services/agent/sendMessage/stream").json(message);
    let mut stream = connect(app.address()).await;
    stream.write_all(&message.bytes()).await.unwrap();
    stream.shutdown().await.unwrap();

    let answer = Response::read(&rest(&mut stream).await).unwrap();

    assert_eq!(answer.status, 200);
    assert!(answer.body.contains("completed"), "{}", answer.body);
    assert!(answer.body.contains("data: [DONE]\n"), "{}", answer.body);
}

// proves AS-9
#[tokio::test]
async fn a_reader_that_is_gone_gives_its_place_up_within_two_pings() {
    let never = Gate::new("never");
    let app = AppBuilder::new()
        .with(|config| {
            config.server.max_connections = 2;
            config.server.ping_every = Duration::from_millis(50);
        })
        .start([say("half of it").deltas_of(4).hold_after(1, &never)])
        .await;
    let session = app.session().await;
    let message = json!({"sessionId": session, "content": "go"}).to_string();
    let message = Request::new(&app, "POST", "/services/agent/sendMessage/stream").json(message);
    let mut gone = connect(app.address()).await;
    gone.write_all(&message.bytes()).await.unwrap();
    let read = timeout(HANG, gone.read(&mut [0; 1024])).await;
    assert_ne!(read.unwrap().unwrap(), 0);
    drop(gone);

    // The test's own client, which made the session, keeps the other one.
    timeout(HANG, served_when_free(&app)).await.unwrap();
}

// proves AS-9
#[tokio::test]
async fn a_client_that_waits_for_a_turn_and_is_gone_gives_its_place_up() {
    let never = Gate::new("never");
    let builder = AppBuilder::new().with(|config| config.server.max_connections = 2);
    let script = [say("half of it").deltas_of(4).hold_after(1, &never)];
    let app = builder.start(script).await;
    let session = app.session().await;
    let message = json!({"sessionId": session, "content": "go"}).to_string();
    let message = Request::new(&app, "POST", "/services/agent/sendMessage").json(message);
    let mut gone = connect(app.address()).await;
    gone.write_all(&message.bytes()).await.unwrap();
    drop(gone);

    // The test's own client, which made the session, keeps the other one.
    timeout(HANG, served_when_free(&app)).await.unwrap();
}

// proves TL-13
#[tokio::test]
async fn a_probe_without_its_body_keeps_no_other_from_its_answer() {
    let app = app_with(1).await;
    let _kept = kept(&app).await;
    let half = Request::new(&app, "GET", "/healthz").with("content-length", "1");
    let mut strangers = Vec::new();
    // More than there are last places.
    for _ in 0..40 {
        let mut stranger = connect(app.address()).await;
        stranger.write_all(&half.bytes()).await.unwrap();
        strangers.push(stranger);
    }

    let probe = Request::new(&app, "GET", "/readyz");
    let probed = timeout(Duration::from_secs(5), probe.send()).await;

    assert_eq!(probed.unwrap().status, 200);
}

// proves TL-13
#[tokio::test]
async fn one_byte_keeps_no_place() {
    let app = app_with(1).await;
    let mut first = connect(app.address()).await;
    first.write_all(b"G").await.unwrap();
    let stats = Request::new(&app, "POST", "/services/agent/getStats");

    assert_eq!(stats.send().await.status, 200);
    assert!(is_closed(&mut first).await);
}

/// Asks until there is a place.
async fn served_when_free(app: &App) {
    let stats = Request::new(app, "POST", "/services/agent/getStats");
    while stats.send().await.status == 503 {}
}

// proves TL-13
#[tokio::test]
async fn a_client_that_writes_all_before_it_reads_finds_that_it_was_too_much() {
    let app = app_with(9).await;
    let body = " ".repeat(2 * 1024 * 1024);
    let whole = Request::new(&app, "POST", "/services/agent/getStats").json(&body);
    for request in [whole.clone(), whole.chunks_of(64 * 1024)] {
        let bytes = request.bytes();
        let head = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap()
            + 4;
        let mut stream = connect(app.address()).await;
        // The head alone arrives first, as clients send it that write it before the body.
        stream.write_all(&bytes[..head]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        stream.write_all(&bytes[head..]).await.unwrap();

        let mut answer = Vec::new();
        let read = timeout(HANG, stream.read_to_end(&mut answer)).await;

        read.unwrap().unwrap();
        let answer = Response::read(&answer).unwrap();
        assert_eq!((answer.status, &*answer.code()), (413, "body_too_large"));
    }
}
