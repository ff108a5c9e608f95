//! How a server ends, and what it leaves.

use std::time::Duration;

use samovar_model_server::{Gate, say};
use samovar_server::{Address, Server, StartError};
use samovar_testkit::{App, AppBuilder};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::raw::{HANG, Request};

/// A client whose request is being read, and of which nothing more comes.
async fn half_said(app: &App) -> TcpStream {
    let mut stream = TcpStream::connect(app.address()).await.unwrap();
    let head = format!(
        "POST /services/agent/createSession HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: 9\r\nexpect: 100-continue\r\n\r\n",
        app.address(),
        app.token()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut wanted = [0; 12];
    stream.read_exact(&mut wanted).await.unwrap();
    assert_eq!(&wanted, b"HTTP/1.1 100");
    stream
}

// proves DU-18
#[tokio::test]
async fn a_server_that_was_stopped_leaves_nothing_open_however_its_clients_hold_on() {
    let never = Gate::new("never");
    let patient = |config: &mut samovar_server::Config| {
        config.server.slow_client = Duration::from_hours(1);
        config.server.drain = Duration::ZERO;
    };
    let mut app = AppBuilder::new()
        .with(patient)
        .start([say("half").hold_after(1, &never)])
        .await;
    let session = app.session().await;
    let mut stream = app.say(&session, "hello").await;
    stream.until("text_delta").await;
    let half = half_said(&app).await;

    let stopped = timeout(HANG, app.stop_now()).await;

    assert!(stopped.is_ok(), "a client keeps the server from ending");
    let again = Server::start(app.config().clone()).await.unwrap();
    again.stop().await;
    drop((stream, half));
}

// proves DU-18
#[tokio::test]
async fn a_server_that_is_dropped_lets_go_of_its_data_when_it_has_closed_it() {
    let app = App::start([say("done").forever()]).await;
    let config = app.config().clone();
    let other = tempfile::tempdir().unwrap();
    let config = samovar_server::Config {
        data_dir: other.path().join("data"),
        ..config
    };
    let server = Server::start(config.clone()).await.unwrap();
    let address = server.address();

    drop(server);

    assert!(Address::read(&config.data_dir).is_none());
    let again = async {
        loop {
            match Server::start(config.clone()).await {
                Ok(server) => return server,
                Err(error) => assert_eq!(error.code(), "data_dir_busy", "{error}"),
            }
            tokio::task::yield_now().await;
        }
    };
    let again = timeout(HANG, again).await.unwrap();
    assert!(TcpStream::connect(address).await.is_err() || again.address() == address);
    again.stop().await;
}

// proves FC-1
#[tokio::test]
async fn a_start_that_cannot_tell_its_address_leaves_nothing_open() {
    let root = tempfile::tempdir().unwrap();
    let app = App::start([say("done").forever()]).await;
    let config = samovar_server::Config {
        data_dir: root.path().join("data"),
        ..app.config().clone()
    };
    let in_the_way = config.data_dir.join("server.json");
    std::fs::create_dir_all(&in_the_way).unwrap();

    let refused = Server::start(config.clone()).await.err().unwrap();

    assert!(matches!(refused, StartError::Address(_)), "{refused}");
    std::fs::remove_dir(&in_the_way).unwrap();
    let server = Server::start(config.clone()).await.unwrap();
    let told = Address::read(&config.data_dir).unwrap();
    assert_eq!(told.address, server.address());
    server.stop().await;
}

// proves FC-1
#[tokio::test]
async fn nobody_is_sent_to_a_server_that_is_leaving() {
    let gate = Gate::new("mid");
    let root = tempfile::tempdir().unwrap();
    let app = App::start([say("to the end").hold_after(1, &gate).forever()]).await;
    let mut config = samovar_server::Config {
        data_dir: root.path().join("data"),
        ..app.config().clone()
    };
    config.server.drain = Duration::from_hours(1);
    let server = Server::start(config.clone()).await.unwrap();
    let (address, token) = (server.address(), app.token());
    let api = samovar_testkit::Api::new(&address.to_string(), token);
    let asks = async || {
        let request = Request::to(address, token, "GET", "/api/server");
        request.send().await
    };
    assert_eq!(asks().await.status, 200);
    api.ok("createSession", json!({"sessionId": "s"})).await;
    let mut running = api.say("s", "hello").await;
    running.until("text_delta").await;

    let meanwhile = async {
        let asked = asks().await;
        assert_eq!(asked.status, 503, "{asked:?}");
        assert!(asked.body.contains("unavailable"), "{asked:?}");
        assert!(Address::read(&config.data_dir).is_none());
        app.model.open(&gate).unwrap();
        running.rest().await;
    };
    tokio::join!(server.stop(), meanwhile);
}
