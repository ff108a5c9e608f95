//! Reads the body of a request: bytes are permitted before they are read, and a client that is too
//! slow, or too much at once, gets an answer.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use samovar_core::{Code, Error};
use samovar_engine::Admission;
use samovar_locale as locale;
use samovar_wire::ui::Skimmer;
use tokio::sync::Semaphore;

use crate::at_work::{AT_WORK, Place};
use crate::endpoint::Route;
use crate::engine_cell::EngineCell;
use crate::pace::Patience;

/// The bytes that a body may have without a permit: a cancel or an approval gets through to a server
/// whose memory is used up.
const SHORT: usize = 16 * 1024;

/// Long bodies that are read at once, at most.
const LONG_BODIES: usize = 4;

/// What bodies are held against.
pub(crate) struct Bodies {
    engine: EngineCell,
    max_bytes: usize,
    /// Held while a body is read that is longer than that.
    long: Semaphore,
    /// Held while a long body is parsed, and while the log takes a message.
    at_work: Arc<Semaphore>,
    /// How long a client may take to send one.
    slow_client: Duration,
}

impl Bodies {
    pub(crate) fn new(engine: EngineCell, set: &samovar_config::Server) -> Self {
        Self {
            engine,
            max_bytes: set.max_body_bytes,
            long: Semaphore::new(LONG_BODIES),
            at_work: Arc::new(Semaphore::new(AT_WORK)),
            slow_client: set.slow_client,
        }
    }
}

/// A body that was read, with what a long one takes.
pub(crate) struct Read {
    pub(crate) bytes: Bytes,
    /// Of the budget for memory.
    pub(crate) admission: Option<Admission>,
    pub(crate) place: Option<Place>,
}

/// Reads the body of a request to a route.
///
/// # Errors
/// It is too long, too slow or broken, or there is no memory for it now; the rest of it is not read
/// then.
pub(crate) async fn read(
    bodies: &Bodies,
    route: &Route,
    headers: &HeaderMap,
    body: Body,
) -> Result<Read, Error> {
    let usual = bodies.max_bytes;
    let max = usual + route.more_body_bytes;
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let announced = usize::try_from(announced.unwrap_or(0)).unwrap_or(usize::MAX);
    if announced > max {
        return Err(too_large(max));
    }
    let is_short = headers.contains_key(header::CONTENT_LENGTH) && announced <= usual;
    // It is never closed.
    let _place = if is_short || route.more_body_bytes == 0 {
        None
    } else {
        bodies.long.acquire().await.ok()
    };
    let mut reading = Reading {
        bodies,
        body: Limited::new(body, max),
        max,
        patience: Patience::new(bodies.slow_client),
        admission: None,
    };
    let bytes = match route.kept_body_bytes {
        0 => reading.whole(announced).await?,
        kept => reading.last_message(usual + kept).await?,
    };
    if bytes.len() > usual && bytes.len() - (route.more_in_body)(&bytes) > usual {
        return Err(too_large(usual));
    }
    let bytes = Bytes::from(bytes);
    let admission = reading.admission;
    let is_message = route.more_body_bytes > 0;
    let place = admission
        .as_ref()
        .map(|_| Place::new(bodies.at_work.clone(), is_message));
    Ok(Read {
        bytes,
        admission,
        place,
    })
}

/// A body that is being read.
struct Reading<'a> {
    bodies: &'a Bodies,
    body: Limited<Body>,
    max: usize,
    patience: Patience,
    admission: Option<Admission>,
}

impl Reading<'_> {
    async fn whole(&mut self, announced: usize) -> Result<Vec<u8>, Error> {
        self.admit(announced).await?;
        let mut whole = Vec::with_capacity(announced);
        while let Some(piece) = self.next().await? {
            self.admit(whole.len() + piece.len()).await?;
            whole.extend_from_slice(&piece);
        }
        Ok(whole)
    }

    /// Reads a post in pieces, and keeps its last message alone.
    async fn last_message(&mut self, most: usize) -> Result<Vec<u8>, Error> {
        let mut skimmer = Skimmer::default();
        while let Some(piece) = self.next().await? {
            self.admit(skimmer.len() + piece.len()).await?;
            skimmer.push(&piece);
            if skimmer.len() > most {
                return Err(too_large(self.bodies.max_bytes));
            }
        }
        Ok(skimmer.finish())
    }

    /// Asks the budget for as many bytes as there are to be in memory.
    async fn admit(&mut self, bytes: usize) -> Result<(), Error> {
        if bytes <= SHORT {
            return Ok(());
        }
        let admission = match &mut self.admission {
            Some(admission) => admission,
            none => none.insert(self.bodies.engine.wait().await?.admission()),
        };
        admission.grow(bytes)
    }

    /// The next piece; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let frame = self.patience.wait(self.body.frame()).await;
            let late = || Error::new(Code::RequestTimeout, locale::request::body_late());
            match frame.ok_or_else(late)? {
                None => return Ok(None),
                // Trailers say nothing that is used.
                Some(Ok(frame)) => {
                    if let Ok(piece) = frame.into_data() {
                        return Ok(Some(piece));
                    }
                }
                Some(Err(error)) if error.is::<LengthLimitError>() => {
                    return Err(too_large(self.max));
                }
                Some(Err(error)) => {
                    let why = locale::request::body_broken(error);
                    return Err(Error::new(Code::InvalidJson, why));
                }
            }
        }
    }
}

fn too_large(max: usize) -> Error {
    let why = locale::request::body_too_large(max as u64);
    Error::new(Code::BodyTooLarge, why)
}
