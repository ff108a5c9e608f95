//! The stream of the agent service for one reader: from the start, or from where it was (DU-7).

use std::sync::Arc;

use axum::body::Body;
use axum::http::Response;
use samovar_core::{Error, Event, Seq, SessionId, TurnId, planted};
use samovar_engine::{Follower, ReaderPosition, ResumeFrom, Resumption};
use samovar_wire::Spelling;
use samovar_wire::agent::{Encoder, Profile, Snapshot, SnapshotFold, TurnState, Waiting};
use samovar_wire::sse::{self, FrameId};

use crate::stream::{Liveliness, response, with_headers};

/// What a client says that it has of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cursor {
    /// Nothing was said.
    None,
    /// All up to this frame.
    Frame(FrameId),
    /// What was said is no id.
    Garbage,
}

impl Cursor {
    /// What the header `Last-Event-ID` says, which a client updates with every frame, else the
    /// parameter `after`. An empty one says nothing.
    pub(crate) fn read(header: Option<&str>, after: Option<&str>) -> Self {
        let mut said = [header, after].into_iter().flatten();
        match said.find(|id| !id.is_empty()).map(FrameId::read) {
            None => Self::None,
            Some(None) => Self::Garbage,
            Some(Some(id)) => Self::Frame(id),
        }
    }

    /// The same without the place inside an event, which the log does not know.
    pub(crate) fn since(self) -> ReaderPosition {
        match self {
            Self::None => ReaderPosition::Start,
            Self::Frame(id) => ReaderPosition::Event(id.event),
            Self::Garbage => ReaderPosition::Unknown,
        }
    }

    fn frame(self) -> Option<FrameId> {
        match self {
            Self::Frame(id) => Some(id),
            Self::None | Self::Garbage => None,
        }
    }
}

/// The settings of a stream.
#[derive(Clone, Debug)]
pub(crate) struct StreamSettings {
    pub(crate) profile: Profile,
    /// Whether the default profile also shows what waits.
    pub(crate) approvals: bool,
    pub(crate) liveliness: Liveliness,
}

/// The stream of one turn from its start.
pub(crate) fn of_turn(turn: TurnId, reader: Follower, settings: StreamSettings) -> Response<Body> {
    let reading = AgentStream::new(turn, &settings, None, Playback::Live);
    response(reading, reader, settings.liveliness)
}

/// The stream of one turn for a returning client.
pub(crate) fn resumed(
    session: SessionId,
    resumption: Resumption,
    cursor: Cursor,
    settings: StreamSettings,
) -> Response<Body> {
    let Resumption {
        turn,
        reader,
        from,
        settled,
        finished,
    } = resumption;
    let replay = || SnapshotReplay {
        fold: SnapshotFold::new(session, turn.clone()),
        settled,
        is_over: finished.is_some(),
    };
    let (playback, at) = match (from, cursor.frame()) {
        (ResumeFrom::After(_), Some(id)) => (Playback::After(id, replay()), Some(id)),
        (ResumeFrom::Start, None | Some(FrameId { part: None, .. })) => (Playback::Live, None),
        // An event of no turn, or of another one, makes no frames here, so it has no places inside.
        (ResumeFrom::Start, Some(_)) | (ResumeFrom::After(_), None) | (ResumeFrom::Snapshot, _) => {
            (Playback::Snapshot(replay()), None)
        }
    };
    let mut reading = AgentStream::new(turn, &settings, at, playback);
    reading.caught_up_at = settled;
    if finished.is_some() {
        reading.waiting = None;
    }
    response(reading, reader, settings.liveliness)
}

/// The stream for a client that returns to a session of which no turn is kept any longer.
pub(crate) fn nothing_left(session: SessionId) -> Response<Body> {
    let mut out = Vec::new();
    sse::frame(None, &Snapshot::idle(session).as_event(), &mut out);
    sse::done(None, &mut out);
    with_headers(Body::from(out))
}

/// Whether a returning reader has all frames of its turn, which is over.
pub(crate) fn has_all(resumption: &Resumption, cursor: Cursor) -> bool {
    let Cursor::Frame(FrameId { event, part: None }) = cursor else {
        return false;
    };
    resumption.from == ResumeFrom::After(event) && resumption.finished == Some(event.seq)
}

struct AgentStream {
    encoder: Encoder,
    /// Whose waits comments name; `None` in the full profile, which shows the events, and for a turn
    /// that is over.
    waiting: Option<Waiting>,
    /// Whether a wait began or ended since comments named them.
    is_news: bool,
    /// Before this position the stream tells what happened earlier, and names no waits.
    caught_up_at: Seq,
    /// The last frame that the client has, or that stands for what it need not have.
    at: Option<FrameId>,
    playback: Playback,
}

/// What happens to the events that are read. Events that were shown before are read again from the
/// turn's start, because the later frames depend on them.
enum Playback {
    /// Everything up to this frame was shown before.
    After(FrameId, SnapshotReplay),
    /// It is not known what was shown before; a snapshot replaces it.
    Snapshot(SnapshotReplay),
    /// Every event is shown.
    Live,
}

struct SnapshotReplay {
    fold: SnapshotFold,
    settled: Seq,
    is_over: bool,
}

impl AgentStream {
    fn new(
        turn: TurnId,
        settings: &StreamSettings,
        at: Option<FrameId>,
        playback: Playback,
    ) -> Self {
        let waiting = match settings.profile {
            Profile::Default => Some(Waiting::new(turn.clone())),
            Profile::Full => None,
        };
        let encoder = Encoder::new(turn.clone(), settings.profile);
        Self {
            encoder: if settings.approvals {
                encoder.with_approvals(turn)
            } else {
                encoder
            },
            waiting,
            is_news: false,
            caught_up_at: Seq::default(),
            at,
            playback,
        }
    }

    /// Says in comments what the turn waits for (AS-26).
    fn name_waits(&mut self, out: &mut Vec<u8>) {
        self.is_news = false;
        for awaited in self.waiting.iter().flat_map(Waiting::awaited) {
            sse::comment(format_args!("waits for {awaited}"), out);
        }
    }

    fn play(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.playback = match std::mem::replace(&mut self.playback, Playback::Live) {
            Playback::Live => self.show(event, 0, out),
            Playback::After(id, replay) => self.pass_by(event, id, replay, out),
            Playback::Snapshot(replay) => self.retell(event, replay, out),
        };
    }

    fn show(&mut self, event: &Event, shown: usize, out: &mut Vec<u8>) -> Playback {
        self.encoder.encode_behind(event, shown, out);
        self.at = Some(FrameId::whole(event));
        Playback::Live
    }

    /// Skips what was shown before. A part number that this event does not have was never given
    /// out.
    fn pass_by(
        &mut self,
        event: &Event,
        id: FrameId,
        mut replay: SnapshotReplay,
        out: &mut Vec<u8>,
    ) -> Playback {
        planted!("resume-skips", {
            if event.seq == id.event.seq.next() {
                self.encoder.pass(event, out);
                return Playback::After(id, replay);
            }
        });
        planted!("resume-repeats", {
            if event.seq == id.event.seq {
                return self.show(event, 0, out);
            }
        });
        let part = id.part.filter(|_| event.seq == id.event.seq);
        match part {
            _ if event.seq > id.event.seq => self.show(event, 0, out),
            Some(part) if part < self.encoder.count(event) => self.show(event, part, out),
            Some(_) => {
                self.at = None;
                self.retell(event, replay, out)
            }
            None => {
                self.encoder.pass(event, out);
                if id.part.is_some() {
                    replay.fold.take(event);
                }
                Playback::After(id, replay)
            }
        }
    }

    /// Collects what a snapshot covers, and writes the snapshot when it is complete.
    fn retell(&mut self, event: &Event, mut replay: SnapshotReplay, out: &mut Vec<u8>) -> Playback {
        if event.seq > replay.settled {
            self.reset(replay, out);
            return self.show(event, 0, out);
        }
        self.encoder.pass(event, out);
        replay.fold.take(event);
        if event.seq < replay.settled {
            return Playback::Snapshot(replay);
        }
        self.reset(replay, out);
        self.at = Some(FrameId::whole(event));
        Playback::Live
    }

    fn reset(&mut self, replay: SnapshotReplay, out: &mut Vec<u8>) {
        let mut snapshot = replay.fold.snapshot();
        if replay.is_over {
            snapshot.state = TurnState::Finished;
        }
        planted!("no-reset-after-loss", {
            return;
        });
        self.encoder.reset(&snapshot, out);
    }
}

impl Spelling for AgentStream {
    type Item = Arc<Event>;

    fn take(&mut self, event: &Arc<Event>, out: &mut Vec<u8>) {
        let waiting = self.waiting.as_mut();
        self.is_news |= waiting.is_some_and(|waiting| waiting.take(event));
        self.play(event, out);
    }

    fn settle(&mut self, last: &Arc<Event>, out: &mut Vec<u8>) {
        if self.is_news && last.seq >= self.caught_up_at {
            self.name_waits(out);
        }
    }

    fn idle(&mut self, out: &mut Vec<u8>) {
        self.name_waits(out);
    }

    fn at(&self) -> Option<FrameId> {
        self.at
    }

    fn abort(&mut self, error: &Error, out: &mut Vec<u8>) {
        self.encoder.abort(error, self.at, out);
    }

    fn leave(&mut self, error: &Error, out: &mut Vec<u8>) {
        self.encoder.leave(error, self.at, out);
    }

    fn is_over(&self) -> bool {
        self.encoder.is_over()
    }
}
