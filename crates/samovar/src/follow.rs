//! A turn's stream and the position in it, from which another stream can continue.

use futures_util::StreamExt;
use samovar_core::Code;
use samovar_wire::agent::{ShownEvent, Snapshot};
use serde_json::Value;
use tokio::time::Instant;

use crate::client::{Frame, Frames, cut};
use crate::exit::{Exit, Failure, ServerLoss};
use crate::view::{Ending, View};

/// A stream of a turn.
pub(crate) struct TurnStream {
    frames: Frames,
    at: Option<String>,
    /// When it was lost; none since it has said something.
    lost: Option<Instant>,
}

/// What a stream says.
pub(crate) enum StreamEvent {
    /// The next event.
    Event(Box<ShownEvent>, Frame),
    /// What was shown is to be forgotten; the turn stands like this.
    Reset(Box<Snapshot>, Frame),
}

impl TurnStream {
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

    /// Since when it is lost. What comes back and breaks off again without a word was never found.
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
    pub(crate) async fn next(&mut self) -> Result<StreamEvent, Failure> {
        loop {
            let frame = self.frames.next().await.unwrap_or_else(|| Err(cut()))?;
            let id = frame.id.clone();
            let told = read(frame)?;
            self.at = id.or(self.at.take());
            self.lost = None;
            if let Some(told) = told {
                return Ok(told);
            }
        }
    }
}

impl StreamEvent {
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

/// What a frame says; nothing where a newer server says what this program does not know.
fn read(frame: Frame) -> Result<Option<StreamEvent>, Failure> {
    if let Ok(event) = serde_json::from_str(&frame.data) {
        return Ok(Some(StreamEvent::Event(Box::new(event), frame)));
    }
    let broken = |error| Failure::broken(&error);
    let mut said: Value = serde_json::from_str(&frame.data).map_err(broken)?;
    let word = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
    match said["type"].as_str() {
        Some("reset") => {
            let snapshot = serde_json::from_value(said["snapshot"].take()).map_err(broken)?;
            Ok(Some(StreamEvent::Reset(Box::new(snapshot), frame)))
        }
        Some("server-restart") => {
            let code = Code::ServerRestart.as_str();
            let left = Failure::new(Exit::Busy, code, word("message"));
            Err(left.of_gone(ServerLoss::Unsure))
        }
        Some("error") => {
            let ended = Failure::new(Exit::Busy, word("code"), word("message"));
            // Its turn continues, and so does who was held up, such as by a pager.
            let is_stalled = ended.code == Code::ReaderStalled.as_str();
            Err(ended.of_gone(if is_stalled {
                ServerLoss::Unsure
            } else {
                ServerLoss::No
            }))
        }
        _ => {
            tracing::debug!(
                data = frame.data,
                "an event that is not known is passed over"
            );
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use serde_json::json;

    use super::*;

    fn followed(said: &[Value]) -> TurnStream {
        let frames = said.iter().enumerate().map(|(place, said)| {
            let id = Some(format!("1.{}", place + 1));
            let data = said.to_string();
            let event = None;
            Ok(Frame { id, event, data })
        });
        let frames = stream::iter(frames.collect::<Vec<_>>());
        TurnStream::new(Box::pin(frames), None)
    }

    // proves DU-8, FC-1
    #[tokio::test]
    async fn a_stream_that_says_where_to_go_on_is_lost_and_another_end_is_final() {
        for (said, gone) in [
            (
                json!({"type": "error", "code": "reader_stalled", "message": "go on behind 1.2"}),
                ServerLoss::Unsure,
            ),
            (
                json!({"type": "server-restart", "after": "1.2", "message": "go on behind 1.2"}),
                ServerLoss::Unsure,
            ),
            (
                json!({"type": "error", "code": "unknown_turn", "message": "it is gone"}),
                ServerLoss::No,
            ),
        ] {
            let ended = followed(&[said]).next().await.err().unwrap();
            assert_eq!(ended.gone, gone, "{ended:?}");
        }
        let cut = followed(&[]).next().await.err().unwrap();
        assert_eq!(cut.gone, ServerLoss::Unsure, "{cut:?}");
    }

    // proves AS-8
    #[tokio::test]
    async fn what_a_newer_server_says_is_passed_over() {
        let known = json!({
            "type": "turn_continued", "in_a_row": 1, "seq": 2, "at": 0, "turn": "t",
            "agent": "master", "author": "system",
        });
        let mut turn = followed(&[json!({"type": "turn_thought_over", "seq": 1}), known]);
        let told = turn.next().await.ok().unwrap();
        assert!(matches!(told, StreamEvent::Event(..)));
        assert_eq!(turn.at(), Some("1.2"));
    }
}
