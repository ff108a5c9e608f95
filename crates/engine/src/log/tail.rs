//! The end of a log in memory: what is not kept yet, and as much of the rest as the bound allows.

use std::collections::VecDeque;
use std::sync::Arc;

use samovar_core::event::Fragment;
use samovar_core::{Event, Kind, Seq};

/// Consecutive events up to the head.
pub(super) struct Tail {
    entries: VecDeque<Entry>,
    bytes: usize,
    max_bytes: usize,
    /// The last position that was given out.
    head: Seq,
    /// The last position that readers can see.
    published: Seq,
    /// Live events up to here are in the journal, or in a commit on its way there.
    taken: Seq,
    /// Where those of the commit on its way begin.
    under_way: Option<Seq>,
}

struct Entry {
    event: Arc<Event>,
    bytes: usize,
    is_kept: bool,
}

impl Tail {
    pub(super) fn new(head: Seq, max_bytes: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            bytes: 0,
            max_bytes,
            head,
            published: head,
            taken: head,
            under_way: None,
        }
    }

    pub(super) fn head(&self) -> Seq {
        self.head
    }

    pub(super) fn push(&mut self, event: Arc<Event>) {
        let bytes = weigh(&event);
        self.bytes += bytes;
        self.head = event.seq;
        self.entries.push_back(Entry {
            event,
            bytes,
            is_kept: false,
        });
    }

    /// Hands out the live events that the journal does not have yet, in order, for one commit at a
    /// time; with them the position to go back to when that fails.
    pub(super) fn fold(&mut self) -> (Vec<Arc<Event>>, Seq) {
        let before = self.taken;
        let from = self.place(before.next());
        let newer = self.entries.iter().skip(from).map(|entry| &entry.event);
        let live = newer.filter(|event| !event.kind.is_durable());
        let live: Vec<_> = live.cloned().collect();
        self.under_way = live.first().map(|event| event.seq);
        self.taken = live.last().map_or(before, |event| event.seq);
        (live, before)
    }

    /// Notes that the journal has what was handed out.
    pub(super) fn folded(&mut self) {
        self.under_way = None;
    }

    /// Takes back what was handed out.
    pub(super) fn unfold(&mut self, before: Seq) {
        self.under_way = None;
        self.taken = before;
    }

    /// Live events up to here can be read from the journal.
    fn in_journal(&self) -> Seq {
        self.under_way.map_or(self.taken, |first| Seq(first.0 - 1))
    }

    /// Notes that events are kept.
    pub(super) fn kept(&mut self, events: &[Arc<Event>]) {
        for event in events {
            let place = self.place(event.seq);
            if let Some(entry) = self.entries.get_mut(place) {
                entry.is_kept = true;
            }
        }
    }

    /// Moves on to the end of the gapless run of kept events, and lets go of old ones.
    pub(super) fn advance(&mut self) -> Seq {
        let from = self.place(self.published.next());
        for entry in self.entries.iter().skip(from) {
            if !entry.is_kept {
                break;
            }
            self.published = entry.event.seq;
        }
        self.evict();
        self.published
    }

    fn evict(&mut self) {
        while self.bytes > self.max_bytes {
            let Some(oldest) = self.entries.front() else {
                break;
            };
            let seq = oldest.event.seq;
            let in_journal = oldest.event.kind.is_durable() || seq <= self.in_journal();
            if seq > self.published || !in_journal {
                break;
            }
            self.bytes -= oldest.bytes;
            self.entries.pop_front();
        }
    }

    /// Whether the bound is passed and only folding can help.
    pub(super) fn is_over_full(&self) -> bool {
        self.bytes > self.max_bytes
    }

    /// About how much memory the events take, in bytes.
    #[cfg(test)]
    pub(super) fn weight(&self) -> usize {
        self.bytes
    }

    /// Takes back the last events; false when others were numbered behind them.
    pub(super) fn take_back(&mut self, events: &[Arc<Event>]) -> bool {
        let (Some(first), Some(last)) = (events.first(), events.last()) else {
            return true;
        };
        if last.seq != self.head {
            return false;
        }
        let keep = self.place(first.seq);
        self.bytes -= self
            .entries
            .iter()
            .skip(keep)
            .map(|entry| entry.bytes)
            .sum::<usize>();
        self.entries.truncate(keep);
        self.head = Seq(first.seq.0 - 1);
        true
    }

    /// Puts other events in the places of those that cannot be kept.
    pub(super) fn replace(&mut self, events: &[Arc<Event>]) {
        for event in events {
            let place = self.place(event.seq);
            if let Some(entry) = self.entries.get_mut(place) {
                let bytes = weigh(event);
                self.bytes = self.bytes + bytes - entry.bytes;
                (entry.event, entry.bytes) = (event.clone(), bytes);
            }
        }
    }

    /// The published events behind a position, up to about `max_bytes`; none when memory no longer
    /// has the first of them.
    pub(super) fn read(&self, after: Seq, max_bytes: usize) -> Option<Vec<Arc<Event>>> {
        let first = self.entries.front()?.event.seq;
        if after.next() < first {
            return None;
        }
        let mut bytes = 0;
        let visible = self.entries.iter().skip(self.place(after.next()));
        let visible = visible.take_while(|entry| entry.event.seq <= self.published);
        let fitting = visible.take_while(|entry| {
            let fits = bytes < max_bytes;
            bytes += entry.bytes;
            fits
        });
        Some(fitting.map(|entry| entry.event.clone()).collect())
    }

    fn place(&self, seq: Seq) -> usize {
        let first = self
            .entries
            .front()
            .map_or(self.head.next(), |entry| entry.event.seq);
        usize::try_from(seq.0.saturating_sub(first.0)).unwrap_or(usize::MAX)
    }
}

/// About how much memory an event takes, in bytes.
fn weigh(event: &Event) -> usize {
    let text = match &event.kind {
        Kind::Delta { fragment, .. } => match fragment {
            Fragment::Text(text) | Fragment::Reasoning(text) | Fragment::Args(text) => text.len(),
            Fragment::Call { name, .. } => name.len(),
        },
        Kind::MessageFinished { message, .. } => message.parts.iter().map(weigh_part).sum(),
        Kind::PartAdded { part, .. } => weigh_part(part),
        Kind::CallClosed { outcome, .. } => {
            outcome.text.len() + outcome.data.as_ref().map_or(0, weigh_value)
        }
        Kind::StateChanged { state } => weigh_value(state),
        Kind::SessionOpened { .. }
        | Kind::SessionChanged { .. }
        | Kind::TurnUndone { .. }
        | Kind::SessionClosed
        | Kind::TurnStarted { .. }
        | Kind::StepStarted { .. }
        | Kind::StepReset { .. }
        | Kind::TurnContinued { .. }
        | Kind::EventsLost { .. }
        | Kind::MessageStarted { .. }
        | Kind::CallApproved { .. }
        | Kind::CallStarted { .. }
        | Kind::TurnFinished { .. } => 0,
    };
    size_of::<Event>() + text
}

fn weigh_part(part: &samovar_core::Part) -> usize {
    use samovar_core::Part;
    let inside = match part {
        Part::Text { text } => text.len(),
        Part::Reasoning {
            text,
            provider_state,
        } => text.len() + provider_state.as_ref().map_or(0, weigh_value),
        Part::Call(call) => call.name.len() + weigh_value(&call.args),
        Part::Outcome { outcome, .. } => outcome.text.len(),
        Part::Data { data, .. } => weigh_value(data),
    };
    size_of::<Part>() + inside
}

fn weigh_value(value: &serde_json::Value) -> usize {
    use serde_json::Value;
    let inside = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weigh_value).sum(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| key.len() + weigh_value(value))
            .sum(),
    };
    size_of::<Value>() + inside
}
