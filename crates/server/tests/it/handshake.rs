//! Requests that go on as a WebSocket, and those that do not.

use samovar_testkit::App;
use tokio::time::timeout;

use crate::raw::{HANG, Request};

/// A request that continues as a WebSocket, until a line of it is changed.
pub(crate) fn handshake(app: &App, path: &str) -> Request {
    Request::new(app, "GET", path)
        .set("connection", "close, Upgrade")
        .with("upgrade", "websocket")
        .with("sec-websocket-version", "13")
        .with("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
}

/// Every handshake that no path takes, with the answer that each gets.
pub(crate) async fn bad_ones_are_refused(app: &App, path: &str) {
    let good = || handshake(app, path);
    let wrong = (400, "invalid_params");
    for (request, answer) in [
        (good().set("connection", "close"), wrong),
        (good().set("sec-websocket-version", "8"), wrong),
        (good().without("sec-websocket-key"), wrong),
        (good().set("sec-websocket-key", "c2hvcnQ="), wrong),
    ] {
        let shown = String::from_utf8_lossy(&request.bytes()).into_owned();
        let response = timeout(HANG, request.send()).await.unwrap();
        let (status, code) = (response.status, response.code());
        assert_eq!((status, code.as_str()), answer, "{shown}");
    }
}
