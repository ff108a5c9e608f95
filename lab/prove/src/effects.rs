//! The world outside the server: webhooks that count what they are asked to do.

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Collected, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::dice::Dice;
use crate::observed::Effect;
use crate::oracle::class_of;
use crate::ticker::Ticker;

/// Bytes that a request may have.
const MAX_BODY_BYTES: usize = 1 << 20;

/// Webhooks on a free port; dropped, they end.
pub(crate) struct World {
    address: SocketAddr,
    ledger: Arc<Ledger>,
    _tasks: JoinSet<()>,
}

struct Ledger {
    effects: Mutex<Vec<Effect>>,
    dice: Mutex<Dice>,
    ticker: Ticker,
}

impl World {
    pub(crate) async fn start(dice: Dice, ticker: Ticker) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let ledger = Arc::new(Ledger {
            effects: Mutex::default(),
            dice: Mutex::new(dice),
            ticker,
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, ledger.clone()));
        Ok(Self {
            address,
            ledger,
            _tasks: tasks,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// All that happened, in order.
    pub(crate) fn effects(&self) -> Vec<Effect> {
        lock(&self.ledger.effects).clone()
    }
}

async fn accept(listener: TcpListener, ledger: Arc<Ledger>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    connections.spawn(serve(stream, ledger.clone()));
                }
            }
        }
    }
}

async fn serve(stream: TcpStream, ledger: Arc<Ledger>) {
    stream.set_nodelay(true).ok();
    let answer = service_fn(|request| answer(ledger.clone(), request));
    let served = http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
    // A server that is killed breaks its connections off, which is what this is for.
    served.await.ok();
}

async fn answer(
    ledger: Arc<Ledger>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let tool = request.uri().path().trim_start_matches('/').to_owned();
    let key = request.headers().get("idempotency-key");
    let key = key.and_then(|key| key.to_str().ok()).unwrap_or_default();
    let key = key.to_owned();
    let body = Limited::new(request.into_body(), MAX_BODY_BYTES).collect();
    let body = body.await.map(Collected::to_bytes).unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let Some(class) = class_of(&tool).filter(|_| body.is_object()) else {
        let mut refused = Response::new(Full::default());
        *refused.status_mut() = http::StatusCode::BAD_REQUEST;
        return Ok(refused);
    };
    let (before, after) = {
        let mut dice = lock(&ledger.dice);
        (dice.millis(0..=15), dice.millis(0..=25))
    };
    tokio::time::sleep(before).await;
    // Here it happens: what comes after is only the news of it.
    let receipt = {
        let mut effects = lock(&ledger.effects);
        let receipt = format!("receipt-{}.", effects.len());
        effects.push(Effect {
            class,
            call: text(&body["callId"]),
            key,
            message: text(&body["args"]["message"]),
            receipt: receipt.clone(),
            at: ledger.ticker.next(),
        });
        receipt
    };
    tokio::time::sleep(after).await;
    Ok(Response::new(Full::new(Bytes::from(receipt))))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
