//! One call of a model over HTTP, as the stream of events that it is.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt as _, stream};
use reqwest::Response;
use samovar_core::ProviderEvent;
use samovar_core::error::FaultCode;
use samovar_core::provider::Answer;

use super::decoder::{self, Decoder};
use super::reply::MAX_ANSWER_BYTES;
use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::http::{self, Form};
use crate::timeouts::Watch;

/// How many events are gathered, about, before they are handed on though more are there.
const BATCH: usize = 256;

/// How long the end of the body is waited for behind the end of the answer. It comes at once from
/// nearly every server, and a connection that was read to its end can be used again.
const GRACE: Duration = Duration::from_millis(10);

/// What is asked.
pub(super) struct Question {
    pub(super) endpoint: Arc<Endpoint>,
    /// The model, under the endpoint's name.
    pub(super) model: String,
    /// The request, or why there is none.
    pub(super) body: serde_json::Result<Vec<u8>>,
}

/// Asks, and gives the answer as it comes. Nothing happens before it is polled.
pub(super) fn answer(question: Question) -> Answer {
    Box::pin(stream::unfold(Phase::Ask(question), next))
}

/// How far a call has got.
enum Phase {
    Ask(Question),
    Read(Box<Reading>),
    /// The answer is complete, the body maybe not quite.
    Drain(Response),
    Over,
}

async fn next(mut phase: Phase) -> Option<(Vec<ProviderEvent>, Phase)> {
    loop {
        phase = match phase {
            Phase::Ask(question) => match Reading::begin(question).await {
                Begun::Reading(reading) => Phase::Read(reading),
                Begun::Done(events) => return Some((events, Phase::Over)),
            },
            Phase::Read(reading) => return Some(reading.next().await),
            Phase::Drain(response) => {
                drain(response).await;
                return None;
            }
            Phase::Over => return None,
        }
    }
}

async fn drain(mut response: Response) {
    let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
    // Whether the connection can be used again is all that depends on it.
    tokio::time::timeout(GRACE, rest).await.ok();
}

/// A call whose answer is coming.
struct Reading {
    endpoint: Arc<Endpoint>,
    model: String,
    watch: Watch,
    response: Response,
    decoder: Decoder,
}

/// What a question led to.
enum Begun {
    Reading(Box<Reading>),
    /// The answer or the failure is there already.
    Done(Vec<ProviderEvent>),
}

impl Reading {
    async fn begin(question: Question) -> Begun {
        let Question {
            endpoint,
            model,
            body,
        } = question;
        let mut watch = Watch::start(endpoint.timeouts);
        let mut events = Vec::new();
        let begun = match begin(&endpoint, body, &mut watch, &mut events).await {
            Ok(begun) => begun,
            Err(fault) => {
                events.push(endpoint.failed(&fault, &model));
                None
            }
        };
        let Some(response) = begun else {
            return Begun::Done(events);
        };
        Begun::Reading(Box::new(Self {
            decoder: Decoder::new(endpoint.spec),
            endpoint,
            model,
            watch,
            response,
        }))
    }

    /// The next events, at least one, and what comes after them.
    async fn next(mut self: Box<Self>) -> (Vec<ProviderEvent>, Phase) {
        let mut events = Vec::new();
        while events.is_empty() {
            if let Err(fault) = self.read(&mut events).await {
                events.push(self.endpoint.failed(&fault, &self.model));
                return (events, Phase::Over);
            }
        }
        let phase = if self.decoder.is_over() {
            Phase::Drain(self.response)
        } else {
            Phase::Read(self)
        };
        (events, phase)
    }

    /// What came already, if anything. The connection is read by a task of the client's, which
    /// hands on one chunk of HTTP after the other: it has to run for the rest of a read to get here,
    /// and all of that is to be told at once.
    async fn what_is_there(&mut self) -> Option<reqwest::Result<Option<Bytes>>> {
        if let Some(chunk) = self.response.chunk().now_or_never() {
            return Some(chunk);
        }
        step_aside().await;
        self.response.chunk().now_or_never()
    }

    /// Waits for one read of the socket, and takes what is there besides.
    async fn read(&mut self, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        let heard = self.decoder.heard();
        let chunk = self.watch.wait(self.response.chunk()).await;
        let mut came = Some(chunk.map_err(|limit| self.endpoint.late(limit))?);
        while let Some(chunk) = came {
            match chunk {
                Ok(Some(bytes)) => self.decoder.read(bytes, events)?,
                Ok(None) => self.decoder.end(events)?,
                Err(_) if self.decoder.is_finished() => self.decoder.end(events)?,
                Err(error) => return Err(http::cut(&error)),
            }
            if self.decoder.is_over() || events.len() >= BATCH {
                break;
            }
            came = self.what_is_there().await;
        }
        if self.decoder.heard() > heard {
            self.watch.hear();
        }
        Ok(())
    }
}

/// Lets other tasks of this thread run, and goes on without waiting for anything.
async fn step_aside() {
    let mut has_stepped = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_stepped, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Sends the request. Gives the response to read events from; none when the answer was whole, and
/// stands in `events`.
async fn begin(
    endpoint: &Endpoint,
    body: serde_json::Result<Vec<u8>>,
    watch: &mut Watch,
    events: &mut Vec<ProviderEvent>,
) -> Result<Option<Response>, Fault> {
    let body = body.map_err(|error| {
        let why = format!("the request cannot be written: {error}");
        Fault::new(FaultCode::Internal, why)
    })?;
    let (mut response, form) = http::ask(endpoint, &["chat", "completions"], body, watch).await?;
    match form {
        Form::Events => Ok(Some(response)),
        Form::Whole => {
            let body = http::whole(endpoint, &mut response, MAX_ANSWER_BYTES, watch).await?;
            decoder::whole(endpoint.spec, &body, events)?;
            Ok(None)
        }
    }
}
