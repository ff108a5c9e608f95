//! One call of a model over HTTP, as a stream of events.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt as _, stream};
use reqwest::{Response, Url};
use samovar_core::ProviderEvent;
use samovar_core::error::FaultCode;
use samovar_core::provider::Answer;
use samovar_locale as locale;

use crate::bounds::MAX_ANSWER_BYTES;
use crate::dialect::{Progress, Reader};
use crate::endpoint::Endpoint;
use crate::fault::Fault;
use crate::frames::Frames;
use crate::http::{self, Form, Headers};
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
    /// The model, under the endpoint's name.
    pub(crate) model: String,
    /// The request's address.
    pub(crate) url: Url,
    /// The dialect's headers, without the key.
    pub(crate) headers: Headers,
    /// The request, or why it could not be written.
    pub(crate) body: serde_json::Result<Vec<u8>>,
    /// Reads the answer.
    pub(crate) reader: Box<dyn Reader>,
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
                AnswerStart::Done(events) => return Some((events, Phase::Over)),
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
    /// The answer or failure is complete.
    Done(Vec<ProviderEvent>),
}

impl AnswerStream {
    async fn begin(call: ModelCall) -> AnswerStart {
        let mut watch = Watch::start(call.endpoint.timeouts);
        let mut events = Vec::new();
        let endpoint = Arc::clone(&call.endpoint);
        let model = call.model.clone();
        match begin(call, &mut watch, &mut events).await {
            Ok(Some((response, decoder))) => AnswerStart::Stream(Box::new(Self {
                endpoint,
                model,
                watch,
                response,
                decoder,
            })),
            Ok(None) => AnswerStart::Done(events),
            Err(fault) => {
                events.push(endpoint.failed(&fault, &model));
                AnswerStart::Done(events)
            }
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
        step_aside().await;
        self.response.chunk().now_or_never()
    }

    /// Waits for one read of the socket, and takes what is there besides.
    async fn read(&mut self, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        let heard = self.decoder.heard();
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

/// Sends the request. Returns the response to read events from; `None` if the answer was whole and
/// is in `events`.
async fn begin(
    call: ModelCall,
    watch: &mut Watch,
    events: &mut Vec<ProviderEvent>,
) -> Result<Option<(Response, Decoder)>, Fault> {
    let endpoint = &call.endpoint;
    let body = call.body.map_err(|error| {
        let why = locale::provider::request_unwritable(error);
        Fault::new(FaultCode::Internal, why)
    })?;
    let (mut response, form) = http::ask(endpoint, call.url, call.headers, body, watch).await?;
    let mut decoder = Decoder::new(call.reader);
    match form {
        Form::Events => Ok(Some((response, decoder))),
        Form::Whole => {
            let body = http::whole(endpoint, &mut response, MAX_ANSWER_BYTES, watch).await?;
            decoder.whole(&body, events)?;
            Ok(None)
        }
    }
}

/// Reads one answer in any dialect: bytes in, events out, without waiting.
pub(crate) struct Decoder {
    frames: Frames,
    reader: Box<dyn Reader>,
    /// Events of the stream so far, those that say nothing too; comments are none.
    heard: u64,
}

impl Decoder {
    pub(crate) fn new(reader: Box<dyn Reader>) -> Self {
        Self {
            frames: Frames::new(),
            reader,
            heard: 0,
        }
    }

    /// How far the answer has come.
    pub(crate) fn progress(&self) -> Progress {
        self.reader.progress()
    }

    /// How many events of the stream came.
    pub(crate) fn heard(&self) -> u64 {
        self.heard
    }

    /// Takes what one read brought, and adds all that it says.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub(crate) fn read(
        &mut self,
        bytes: Bytes,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        self.frames.feed(bytes);
        while let Some(frame) = self.frames.take()? {
            self.heard += 1;
            let data = frame.data.as_deref().unwrap_or_default().trim();
            self.reader.take(frame.event.as_deref(), data, events)?;
            if self.progress() == Progress::Over {
                break;
            }
        }
        Ok(())
    }

    /// The stream has ended, well or by a cut.
    ///
    /// # Errors
    /// The answer is not whole.
    pub(crate) fn end(&mut self, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        match self.progress() {
            Progress::Over => Ok(()),
            Progress::Speaking | Progress::Stopped => self.reader.end(events),
        }
    }

    /// Takes an answer that came in one piece.
    ///
    /// # Errors
    /// As [`Reader::whole`], or it is not UTF-8.
    pub(crate) fn whole(
        &mut self,
        body: &[u8],
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        let body = std::str::from_utf8(body)
            .map_err(|error| Fault::bad(locale::provider::not_text(error)))?;
        self.reader.whole(body, events)
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod transcript;
