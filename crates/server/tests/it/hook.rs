//! A webhook of a test: it remembers how it was called, and answers what the test says.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use samovar_server::egress::Range;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

type Answers = dyn Fn(&HookCall) -> Response<Body> + Send + Sync;

/// How it was called.
#[derive(Clone, Debug)]
pub(crate) struct HookCall {
    pub(crate) key: String,
    pub(crate) body: Value,
}

pub(crate) struct Hook {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<HookCall>>>,
    _serving: JoinSet<()>,
}

#[derive(Clone)]
struct Desk {
    asked: Arc<Mutex<Vec<HookCall>>>,
    answers: Arc<Answers>,
}

impl Hook {
    pub(crate) async fn open(
        answers: impl Fn(&HookCall) -> Response<Body> + Send + Sync + 'static,
    ) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let desk = Desk {
            asked: asked.clone(),
            answers: Arc::new(answers),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(serve).with_state(desk);
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            address,
            asked,
            _serving: serving,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook?key=s3cret", self.address)
    }

    pub(crate) fn range(&self) -> Range {
        self.address.to_string().parse().unwrap()
    }

    pub(crate) fn asked(&self) -> Vec<HookCall> {
        self.asked.lock().unwrap().clone()
    }
}

async fn serve(State(desk): State<Desk>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let key = headers.get("idempotency-key");
    let asked = HookCall {
        key: key.map_or("", |key| key.to_str().unwrap()).to_owned(),
        body: serde_json::from_slice(&body).unwrap(),
    };
    let answer = (desk.answers)(&asked);
    desk.asked.lock().unwrap().push(asked);
    answer
}

/// An answer with a body of a type.
pub(crate) fn answer(status: u16, kind: &str, body: impl Into<Body>) -> Response<Body> {
    let answer = Response::builder().status(status);
    let answer = if kind.is_empty() {
        answer
    } else {
        answer.header("content-type", kind)
    };
    answer.body(body.into()).unwrap()
}
