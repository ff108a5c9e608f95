//! The model that a floor asks, and the answer to a client.

use std::net::SocketAddr;

use anyhow::Result;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// The model, over connections that are kept.
#[derive(Clone)]
pub(super) struct Upstream {
    client: Client<HttpConnector, Body>,
    uri: String,
}

impl Upstream {
    pub(super) fn new(model: SocketAddr) -> Upstream {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Upstream {
            client: Client::builder(TokioExecutor::new()).build(connector),
            uri: format!("http://{model}/v1/chat/completions"),
        }
    }

    pub(super) async fn ask(&self, prompt: Body) -> Result<Incoming> {
        let request = Request::post(&self.uri)
            .header(CONTENT_TYPE, "application/json")
            .body(prompt)?;
        Ok(self.client.request(request).await?.into_body())
    }
}

/// An answer whose body is a stream; without one it says why.
pub(super) fn streamed(body: Result<Body>) -> Response<Body> {
    let (status, body) = match body {
        Ok(body) => (StatusCode::OK, body),
        Err(why) => (StatusCode::BAD_GATEWAY, format!("{why:#}").into()),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = "text/event-stream".parse();
    response
        .headers_mut()
        .extend(kind.map(|kind| (CONTENT_TYPE, kind)));
    response
}
