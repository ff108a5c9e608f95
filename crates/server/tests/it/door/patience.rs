//! How much is taken, from how many, and how long it may last.

use std::time::Duration;

use samovar_model_server::Rule;
use samovar_testkit::{App, AppBuilder};
use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::{STATS, app};
use crate::raw::{HANG, Request, Response, connect, rest};

/// A server that does not wait long for slow clients.
async fn hurried() -> App {
    let short = Duration::from_millis(150);
    AppBuilder::new()
        .with(|config| config.server.slow_client = short)
        .start(Vec::<Rule>::new())
        .await
}

// proves TL-13
#[tokio::test]
async fn a_head_above_64_kib_is_not_taken() {
    let app = app().await;
    let good = Request::new(&app, "GET", STATS);
    let fits = good.clone().with("x-long", "x".repeat(63 * 1024));
    assert_eq!(fits.send().await.status, 200);
    let over = good.clone().with("x-long", "x".repeat(64 * 1024));
    let over = over.send().await;
    assert_eq!(
        (over.status, over.code().as_str()),
        (431, "headers_too_large")
    );

    let line = good.clone().with("x-long", "x".repeat(300 * 1024));
    let many = (0..700).fold(good, |good, at| {
        good.with(&format!("x-{at}"), "x".repeat(100))
    });
    let long = format!("{STATS}?x={}", "x".repeat(70 * 1024));
    let target = Request::new(&app, "GET", &long);
    for request in [line, many, target] {
        let mut stream = connect(app.address()).await;
        // The server may have closed before it has read all.
        let _was_closed = stream.write_all(&request.bytes()).await.is_err();
        let answer = Response::read(&rest(&mut stream).await);
        let status = answer.map(|response| response.status);
        assert!(matches!(status, None | Some(414 | 431)), "{status:?}");
    }
}

// proves TL-13
#[tokio::test]
async fn a_client_that_is_slow_with_its_headers_is_cut_off() {
    let app = hurried().await;
    let head = Request::new(&app, "GET", STATS).bytes();
    let head = &head[..head.len() - 2];

    let mut silent = connect(app.address()).await;
    silent.write_all(head).await.unwrap();
    let said = rest(&mut silent).await;
    assert!(Response::read(&said).is_none_or(|response| response.status == 408));

    // A byte now and then does not help.
    let (mut reader, writer) = connect(app.address()).await.into_split();
    tokio::select! {
        said = rest(&mut reader) => {
            assert!(Response::read(&said).is_none_or(|response| response.status == 408));
        }
        () = drip(writer, b"GET / HTTP/1.1\r\nx-slow: ") => panic!("the server waits on"),
    }
}

// proves TL-13
#[tokio::test]
async fn a_body_that_never_ends_is_answered_with_408() {
    let app = hurried().await;
    let path = "/services/agent/createSession";
    let whole = Request::new(&app, "POST", path)
        .json(" ".repeat(1000))
        .bytes();
    let begun = &whole[..whole.len() - 990];

    let mut silent = connect(app.address()).await;
    silent.write_all(begun).await.unwrap();
    let response = Response::read(&rest(&mut silent).await).unwrap();
    assert_eq!(
        (response.status, response.code().as_str()),
        (408, "request_timeout")
    );

    let (mut reader, writer) = connect(app.address()).await.into_split();
    tokio::select! {
        said = rest(&mut reader) => {
            let response = Response::read(&said).unwrap();
            assert_eq!((response.status, response.code().as_str()), (408, "request_timeout"));
        }
        () = drip(writer, begun) => panic!("the server waits on"),
    }
    assert_eq!(app.ok("getStats", json!({})).await["sessions"], 0);
}

/// Writes a beginning, then a byte every few milliseconds for as long as somebody takes them.
async fn drip(mut writer: impl AsyncWriteExt + Unpin, beginning: &[u8]) {
    writer.write_all(beginning).await.unwrap();
    let pause = Duration::from_millis(20);
    let drops = u32::try_from(HANG.as_millis() / pause.as_millis()).unwrap();
    for _ in 0..drops {
        tokio::time::sleep(pause).await;
        if writer.write_all(b" ").await.is_err() {
            // Closed: what the reader finds is the answer.
            return std::future::pending().await;
        }
    }
}
