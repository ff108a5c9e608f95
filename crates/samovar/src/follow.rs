//! A turn as its stream tells it, and where it stands, so that another stream can go on there.

use futures_util::StreamExt;
use samovar_core::Code;
use samovar_locale as text;
use samovar_wire::agent::{ShownEvent, Snapshot};
use serde_json::Value;
use tokio::time::Instant;

use crate::client::{Frame, Frames};
use crate::exit::{Exit, Failure, Gone};
use crate::view::{Ending, View};

/// A stream of a turn.
pub(crate) struct Followed {
    frames: Frames,
    at: Option<String>,
    /// When it was lost; none since it has said something.
    lost: Option<Instant>,
}

/// What a stream says.
pub(crate) enum Told {
    /// The next event.
    Event(Box<ShownEvent>, Frame),
    /// What was shown is to be forgotten; the turn stands like this.
    Reset(Box<Snapshot>, Frame),
}

impl Followed {
    /// A stream from behind a frame.
    pub(crate) fn new(frames: Frames, after: Option<&str>) -> Self {
        Self {
            frames,
            at: after.map(str::to_owned),
            lost: None,
        }
    }

    /// The id of the last frame.
    pub(crate) fn at(&self) -> Option<&str> {
        self.at.as_deref()
    }

    /// Since when it is lost. What goes on and breaks off again without a word was never found.
    pub(crate) fn lost(&mut self) -> Instant {
        *self.lost.get_or_insert_with(Instant::now)
    }

    /// Goes on with another stream. It has said nothing yet.
    pub(crate) fn go_on(&mut self, again: Self) {
        self.frames = again.frames;
    }

    /// What comes next.
    ///
    /// # Errors
    /// Why the stream ended before its turn.
    pub(crate) async fn next(&mut self) -> Result<Told, Failure> {
        let frame = self.frames.next().await.unwrap_or_else(|| Err(cut()))?;
        let told = read(frame)?;
        let (Told::Event(_, frame) | Told::Reset(_, frame)) = &told;
        self.at = frame.id.clone().or(self.at.take());
        self.lost = None;
        Ok(told)
    }
}

impl Told {
    /// Shows it; what a turn says last gives the ending.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn show(&self, view: &mut View) -> Result<Option<Ending>, Failure> {
        match self {
            Self::Event(event, frame) => view.show(event, frame),
            Self::Reset(snapshot, frame) => view.begin_anew(snapshot, frame).map(|()| None),
        }
    }
}

fn read(frame: Frame) -> Result<Told, Failure> {
    if let Ok(event) = serde_json::from_str(&frame.data) {
        return Ok(Told::Event(Box::new(event), frame));
    }
    let broken = |error| Failure::broken(&error);
    let mut said: Value = serde_json::from_str(&frame.data).map_err(broken)?;
    let word = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
    match said["type"].as_str() {
        Some("reset") => {
            let snapshot = serde_json::from_value(said["snapshot"].take()).map_err(broken)?;
            Ok(Told::Reset(Box::new(snapshot), frame))
        }
        Some("server-restart") => {
            let code = Code::ServerRestart.as_str();
            let left = Failure::new(Exit::Busy, code, word("message"));
            Err(left.of_gone(Gone::Unsure))
        }
        _ => Err(Failure::new(Exit::Busy, word("code"), word("message"))),
    }
}

fn cut() -> Failure {
    let why = text::client::unreachable(text::client::stream_cut());
    Failure::new(Exit::Busy, "server_unreachable", why).of_gone(Gone::Unsure)
}
