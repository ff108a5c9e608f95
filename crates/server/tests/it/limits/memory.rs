//! Long bodies while the budget for memory is used up.

use std::time::Duration;

use samovar_model_server::{say, silent};
use samovar_testkit::{App, AppBuilder};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::{at, check};
use crate::raw::{Request, Response, connect, rest};

/// Two bodies of a megabyte fit, with all copies of them.
const BUDGET: usize = 8 << 20;
const LONG: usize = 1_000_000;

async fn app(patience: Duration) -> App {
    let app = AppBuilder::new()
        .with(move |config| {
            config.settings.memory = BUDGET;
            config.server.slow_client = patience;
        })
        .start([say("hi").forever()])
        .await;
    app.ok("createSession", json!({"sessionId": "s"})).await;
    app
}

fn long(app: &App) -> Request {
    let message = json!({"sessionId": "s", "content": "x".repeat(LONG)});
    Request::new(app, "POST", &at("sendMessage")).json(message.to_string())
}

async fn used(app: &App) -> u64 {
    let server = Request::new(app, "GET", "/api/server").send().await;
    server.json()["memory"]["usedBytes"].as_u64().unwrap()
}

/// Clients that stop in the middle of a long body, once both are being read.
async fn halves(app: &App) -> [TcpStream; 2] {
    let request = long(app).bytes();
    let mut streams = [connect(app.address()).await, connect(app.address()).await];
    for stream in &mut streams {
        stream.write_all(&request[..LONG / 2]).await.unwrap();
    }
    while used(app).await < 2 * 4 * LONG as u64 {
        sleep(Duration::from_millis(1)).await;
    }
    streams
}

// proves PF-1, TL-13
#[tokio::test]
async fn a_long_body_without_room_in_memory_is_refused_before_it_is_read() {
    let app = app(Duration::from_hours(1)).await;
    let halves = halves(&app).await;

    let (whole, chunked) = (long(&app), long(&app).chunks_of(64 * 1024));
    for request in [&whole, &chunked] {
        let refused = request.send().await;
        check(&refused, 429, "busy", "a long body");
        assert_eq!(refused.header("retry-after"), Some("1"));
    }
    // One that sends a byte now and then hears it at once, too.
    let mut slow = connect(app.address()).await;
    slow.write_all(&whole.bytes()[..1_000]).await.unwrap();
    let refused = Response::read(&rest(&mut slow).await).unwrap();
    check(&refused, 429, "busy", "a slow body");
    // What is short gets through, such as a stop.
    let cancel = json!({"sessionId": "s"}).to_string();
    let cancel = Request::new(&app, "POST", &at("cancel")).json(cancel);
    assert_eq!(cancel.send().await.status, 200);

    drop(halves);
    while used(&app).await > LONG as u64 {
        sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(whole.send().await.json()["text"], "hi");
    assert_eq!(chunked.send().await.json()["text"], "hi");
}

// proves PF-1, TL-13
#[tokio::test]
async fn long_bodies_that_stop_or_are_shorter_than_they_say_get_an_answer_and_leave_no_trace() {
    let app = app(Duration::from_secs(1)).await;
    let [mut silent, mut short] = halves(&app).await;
    short.shutdown().await.unwrap();

    let late = Response::read(&rest(&mut silent).await).unwrap();
    check(&late, 408, "request_timeout", "it stops");
    let broken = Response::read(&rest(&mut short).await).unwrap();
    check(&broken, 408, "request_timeout", "it is too short");
    while used(&app).await > LONG as u64 {
        sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(long(&app).send().await.json()["text"], "hi");
}

// proves PF-1
#[tokio::test]
async fn long_messages_wait_for_each_other_until_the_log_has_them_and_not_for_their_turns() {
    let app = AppBuilder::new().start([silent().forever()]).await;
    let mut open = Vec::new();
    for number in 0..5 {
        let session = format!("s-{number}");
        app.ok("createSession", json!({"sessionId": session})).await;
        let message = json!({"sessionId": session, "content": "x".repeat(LONG)});
        let request = Request::new(&app, "POST", &at("sendMessage")).json(message.to_string());
        let mut stream = connect(app.address()).await;
        stream.write_all(&request.bytes()).await.unwrap();
        open.push(stream);
    }

    while app.model.requests().len() < open.len() {
        sleep(Duration::from_millis(1)).await;
    }
}
