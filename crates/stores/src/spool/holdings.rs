//! Which segments still hold bytes of open messages.

use std::collections::{BTreeMap, HashMap};

use samovar_core::event::Group;
use samovar_core::journal::{Batch, LogNo};
use samovar_core::{Event, Kind, MessageId, Seq, TurnId};

/// What a commit makes superfluous in the spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// A message up to a position: folded so far, or finished.
    Message(MessageId, Seq),
    /// Every message of a turn up to a position: its step started over, or it is over.
    Turn(TurnId, Seq),
    /// Everything: the session is deleted.
    Log,
}

impl Release {
    /// What a batch makes superfluous once it is kept.
    pub(crate) fn by(batch: &Batch) -> Vec<Self> {
        let mut releases = Vec::new();
        for event in &batch.folded {
            if let Group::Live(message) = event.kind.group() {
                fold(&mut releases, message, event.seq);
            }
        }
        for event in &batch.events {
            match (&event.kind, &event.turn) {
                (Kind::MessageFinished { message, .. }, _) => {
                    releases.push(Self::Message(message.id.clone(), event.seq));
                }
                (Kind::StepReset { .. } | Kind::TurnFinished { .. }, Some(turn)) => {
                    releases.push(Self::Turn(turn.clone(), event.seq));
                }
                (Kind::SessionClosed, _) => releases.push(Self::Log),
                _ => {}
            }
        }
        releases
    }

    fn covers(&self, stretch: &Stretch) -> bool {
        match self {
            Self::Message(message, up_to) => stretch.message == *message && stretch.last <= *up_to,
            Self::Turn(turn, up_to) => {
                stretch.turn.as_ref() == Some(turn) && stretch.last <= *up_to
            }
            Self::Log => true,
        }
    }
}

/// Moves the end of what is folded of a message; a batch folds few messages, so a search is cheap.
fn fold(releases: &mut Vec<Release>, message: &MessageId, seq: Seq) {
    let known = releases.iter_mut().rev().find_map(|release| match release {
        Release::Message(known, up_to) if known == message => Some(up_to),
        _ => None,
    });
    match known {
        Some(up_to) => *up_to = seq.max(*up_to),
        None => releases.push(Release::Message(message.clone(), seq)),
    }
}

/// What one message has in one segment.
struct Stretch {
    segment: u64,
    message: MessageId,
    turn: Option<TurnId>,
    last: Seq,
}

/// The stretches of open messages by log, and how many of them each segment has.
#[derive(Default)]
pub(super) struct Holdings {
    logs: HashMap<LogNo, Vec<Stretch>>,
    segments: BTreeMap<u64, usize>,
}

impl Holdings {
    /// A segment exists from here on.
    pub(super) fn begin(&mut self, segment: u64) {
        self.segments.insert(segment, 0);
    }

    /// A segment in which nothing came to lie exists no longer.
    pub(super) fn end(&mut self, segment: u64) {
        self.segments.remove(&segment);
    }

    /// A live event was appended to a segment.
    pub(super) fn hold(&mut self, segment: u64, log: LogNo, event: &Event) {
        let Group::Live(message) = event.kind.group() else {
            return;
        };
        let stretches = self.logs.entry(log).or_default();
        let known = stretches
            .iter_mut()
            .rev()
            .find(|stretch| stretch.segment == segment && stretch.message == *message);
        if let Some(stretch) = known {
            stretch.last = stretch.last.max(event.seq);
            return;
        }
        stretches.push(Stretch {
            segment,
            message: message.clone(),
            turn: event.turn.clone(),
            last: event.seq,
        });
        *self.segments.entry(segment).or_default() += 1;
    }

    /// Lets go of what is superfluous in a log.
    pub(super) fn release(&mut self, log: LogNo, releases: &[Release]) {
        let Some(stretches) = self.logs.get_mut(&log) else {
            return;
        };
        let covered =
            |stretch: &mut Stretch| releases.iter().any(|release| release.covers(stretch));
        for stretch in stretches.extract_if(.., covered) {
            if let Some(holders) = self.segments.get_mut(&stretch.segment) {
                *holders -= 1;
            }
        }
        if stretches.is_empty() {
            self.logs.remove(&log);
        }
    }

    /// Takes out the segments that nobody holds, but for the one that is being written.
    pub(super) fn take_idle(&mut self, current: Option<u64>) -> Vec<u64> {
        let is_idle =
            |segment: &u64, holders: &mut usize| *holders == 0 && Some(*segment) != current;
        let idle = self.segments.extract_if(.., is_idle);
        idle.map(|(segment, _)| segment).collect()
    }
}
