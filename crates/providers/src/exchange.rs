//! One call of a model over HTTP, as a stream of events.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt as _, stream};
use reqwest::Response;
use samovar_core::provider::Answer;
use samovar_core::{Prompt, ProviderEvent};

use crate::asking;
use crate::decoder::Decoder;
use crate::dialect::{Dialect, Progress};
use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::http;
use crate::timeouts::Watch;

/// How many events are gathered, about, before they are handed on though more are there.
const BATCH: usize = 256;

/// How many pieces of a body are taken, before the clock is looked at though more are there.
const PIECES: usize = 256;

/// How long the end of the body is waited for behind the end of the answer. It comes at once from
/// nearly every server, and a connection that was read to its end can be used again.
const GRACE: Duration = Duration::from_millis(10);

/// A call of a model.
pub(crate) struct ModelCall {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) dialect: &'static Dialect,
    pub(crate) prompt: Prompt,
}

/// Sends the request and streams the answer. Nothing happens before it is polled.
pub(crate) fn answer(call: ModelCall) -> Answer {
    Box::pin(stream::unfold(Phase::Ask(call), next))
}

/// How far a call has got.
enum Phase {
    Ask(ModelCall),
    Read(Box<AnswerStream>),
    /// The answer is complete, the body maybe not quite.
    Drain(Response),
    Over,
}

async fn next(mut phase: Phase) -> Option<(Vec<ProviderEvent>, Phase)> {
    loop {
        phase = match phase {
            Phase::Ask(call) => match AnswerStream::begin(call).await {
                AnswerStart::Stream(reading) => Phase::Read(reading),
                AnswerStart::Failed(failed) => return Some((vec![failed], Phase::Over)),
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
    let rest = async {
        for _ in 0..PIECES {
            let Ok(Some(_)) = response.chunk().await else {
                return;
            };
        }
    };
    // Whether the connection can be used again is all that depends on it.
    tokio::time::timeout(GRACE, rest).await.ok();
}

/// An answer that is being received.
struct AnswerStream {
    endpoint: Arc<Endpoint>,
    model: String,
    watch: Watch,
    response: Response,
    decoder: Decoder,
}

/// The start of an answer.
enum AnswerStart {
    Stream(Box<AnswerStream>),
    Failed(ProviderEvent),
}

impl AnswerStream {
    async fn begin(call: ModelCall) -> AnswerStart {
        let mut watch = Watch::start(call.endpoint.timeouts);
        let endpoint = Arc::clone(&call.endpoint);
        let model = call.prompt.model.clone();
        match asking::ask(&call, &mut watch).await {
            Ok((response, reader)) => AnswerStart::Stream(Box::new(Self {
                endpoint,
                model,
                watch,
                response,
                decoder: Decoder::new(reader),
            })),
            Err(fault) => AnswerStart::Failed(endpoint.failed(&fault, &model)),
        }
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
        let phase = if self.decoder.progress() == Progress::Over {
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
        samovar_wake::pass().await;
        self.response.chunk().now_or_never()
    }

    /// Waits for one read of the socket, and takes what is there besides.
    async fn read(&mut self, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        let (heard, told) = (self.decoder.heard(), events.len());
        let chunk = self.watch.wait(self.response.chunk()).await;
        let mut came = Some(chunk.map_err(|limit| self.endpoint.late(limit))?);
        let mut pieces = 0;
        while let Some(chunk) = came {
            pieces += 1;
            match chunk {
                Ok(Some(bytes)) => self.decoder.read(bytes, events)?,
                Ok(None) => self.decoder.end(events)?,
                Err(_) if self.decoder.progress() != Progress::Speaking => {
                    self.decoder.end(events)?;
                }
                Err(error) => return Err(http::cut(&error)),
            }
            let is_enough = events.len() >= BATCH || pieces >= PIECES;
            if self.decoder.progress() == Progress::Over || is_enough {
                break;
            }
            came = self.what_is_there().await;
        }
        let of_prompt =
            |event: &ProviderEvent| matches!(event, ProviderEvent::PromptProgress { .. });
        let mut new = events[told..].iter().peekable();
        // A server that still reads the prompt has not begun to answer.
        let reads_on = new.peek().is_some() && new.all(of_prompt);
        if self.decoder.heard() > heard && !reads_on {
            self.watch.hear();
        } else {
            self.watch.prolong();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod transcript;
