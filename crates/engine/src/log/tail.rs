//! The end of a log in memory: the events that the journal does not have yet, and as many of the
//! rest as the bound allows. A log that is in memory alone has all events of its open turns here.

use std::collections::VecDeque;
use std::sync::Arc;

use samovar_core::{Event, Kind, Seq};

use super::run::Run;
use super::{Keeping, weight};

/// How many times its bound a tail may hold while some of it is on its way to the journal.
const FLOOD: usize = 4;

/// Consecutive events up to the head.
pub(super) struct Tail {
    /// Those that readers can see, the fragments of text among them packed.
    shown: VecDeque<Shown>,
    /// Those that have a position and wait for it to be kept, or for one before them.
    coming: VecDeque<Coming>,
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
    keeping: Keeping,
    /// No turn that is open has an event up to here.
    over: Seq,
    /// The reader of a log that memory alone has is here; without one, at the end.
    read: Option<Seq>,
}

enum Shown {
    Event(Arc<Event>, usize),
    Run(Run),
}

struct Coming {
    event: Arc<Event>,
    bytes: usize,
    is_kept: bool,
}

impl Coming {
    fn new(event: Arc<Event>) -> Self {
        Self {
            bytes: weight::of_event(&event),
            event,
            is_kept: false,
        }
    }
}

impl Shown {
    fn first(&self) -> Seq {
        match self {
            Self::Event(event, _) => event.seq,
            Self::Run(run) => run.first(),
        }
    }

    fn last(&self) -> Seq {
        match self {
            Self::Event(event, _) => event.seq,
            Self::Run(run) => run.last(),
        }
    }

    fn is_durable(&self) -> bool {
        match self {
            Self::Event(event, _) => event.kind.is_durable(),
            Self::Run(_) => false,
        }
    }

    fn bytes(&self) -> usize {
        let inside = match self {
            Self::Event(_, bytes) => *bytes,
            Self::Run(run) => run.bytes(),
        };
        size_of::<Self>() + inside
    }

    /// Its events after a position.
    fn after(&self, seq: Seq) -> impl Iterator<Item = Arc<Event>> {
        let (event, run) = match self {
            Self::Event(event, _) => (Some(event).filter(|event| event.seq > seq), None),
            Self::Run(run) => (None, Some(run)),
        };
        let run = run.into_iter().flat_map(move |run| run.after(seq));
        event.cloned().into_iter().chain(run)
    }
}

impl Tail {
    pub(super) fn new(head: Seq, max_bytes: usize, keeping: Keeping) -> Self {
        Self {
            shown: VecDeque::new(),
            coming: VecDeque::new(),
            bytes: 0,
            max_bytes,
            head,
            published: head,
            taken: head,
            under_way: None,
            keeping,
            over: head,
            read: None,
        }
    }

    pub(super) fn head(&self) -> Seq {
        self.head
    }

    /// The last position that readers can see.
    pub(super) fn published(&self) -> Seq {
        self.published
    }

    pub(super) fn push(&mut self, event: Arc<Event>) {
        self.head = event.seq;
        let coming = Coming::new(event);
        self.bytes += coming.bytes;
        self.coming.push_back(coming);
    }

    /// Hands out the live events that the journal does not have yet, in order, for one commit at a
    /// time; with them the position to go back to when that fails.
    pub(super) fn fold(&mut self) -> (Vec<Arc<Event>>, Seq) {
        let before = self.taken;
        let shown = self.shown.iter().skip(self.shown_at(before.next()));
        let shown = shown.filter(|shown| !shown.is_durable());
        let mut live: Vec<_> = shown.flat_map(|shown| shown.after(before)).collect();
        let coming = self.coming.iter().map(|coming| &coming.event);
        let newer = coming.filter(|event| !event.kind.is_durable() && event.seq > before);
        live.extend(newer.cloned());
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

    /// Notes that every turn with an event up to here is over.
    pub(super) fn over(&mut self, seq: Seq) {
        self.over = seq;
    }

    /// Notes how far the reader is of a log that memory alone has; `None` when it has left.
    pub(super) fn is_read(&mut self, up_to: Option<Seq>) {
        self.read = up_to;
    }

    /// Notes that events are kept.
    pub(super) fn kept(&mut self, events: &[Arc<Event>]) {
        for event in events {
            if let Some(coming) = self.coming_at(event.seq) {
                coming.is_kept = true;
            }
        }
    }

    /// Moves on to the end of the gapless run of kept events, and lets go of old ones. Gives the last
    /// position and what has come to be seen, without fragments of text.
    pub(super) fn advance(&mut self) -> (Seq, Vec<Arc<Event>>) {
        let mut seen = Vec::new();
        while let Some(Coming { event, bytes, .. }) =
            self.coming.pop_front_if(|coming| coming.is_kept)
        {
            self.bytes -= bytes;
            self.published = event.seq;
            if !matches!(event.kind, Kind::Delta { .. }) {
                seen.push(event.clone());
            }
            self.show(event, bytes);
        }
        self.evict(self.max_bytes);
        (self.published, seen)
    }

    fn show(&mut self, event: Arc<Event>, bytes: usize) {
        if let Some(Shown::Run(run)) = self.shown.back_mut() {
            let before = run.bytes();
            if run.take(&event) {
                self.bytes += run.bytes() - before;
                return;
            }
        }
        let shown = Run::of(&event).map_or(Shown::Event(event, bytes), Shown::Run);
        self.bytes += shown.bytes();
        self.shown.push_back(shown);
    }

    /// Lets go of everything that the journal has.
    pub(super) fn release(&mut self) {
        self.evict(0);
        self.shown.shrink_to_fit();
        self.coming.shrink_to_fit();
    }

    fn evict(&mut self, max_bytes: usize) {
        while self.bytes > max_bytes {
            let in_journal = self.in_journal();
            let unneeded = self.read.map_or(self.over, |read| self.over.min(read));
            let may_go = |oldest: &mut Shown| match self.keeping {
                Keeping::Durable => oldest.is_durable() || oldest.last() <= in_journal,
                Keeping::Memory => oldest.last() <= unneeded,
            };
            let oldest = self.shown.pop_front_if(may_go);
            let Some(oldest) = oldest else { break };
            self.bytes -= oldest.bytes();
        }
    }

    /// Whether the bound is passed and only folding can help.
    pub(super) fn is_over_full(&self) -> bool {
        self.keeping == Keeping::Durable && self.bytes > self.max_bytes
    }

    /// Whether the bound is passed several times over.
    pub(super) fn is_flooded(&self) -> bool {
        self.bytes > FLOOD.saturating_mul(self.max_bytes)
    }

    /// How much memory the events take, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes back the last events; false when others were numbered after them.
    pub(super) fn take_back(&mut self, events: &[Arc<Event>]) -> bool {
        let (Some(first), Some(last)) = (events.first(), events.last()) else {
            return true;
        };
        if last.seq != self.head {
            return false;
        }
        while let Some(taken) = self
            .coming
            .pop_back_if(|coming| coming.event.seq >= first.seq)
        {
            self.bytes -= taken.bytes;
        }
        self.head = Seq(first.seq.0 - 1);
        true
    }

    /// Puts other events in the places of those that cannot be kept.
    pub(super) fn replace(&mut self, events: &[Arc<Event>]) {
        for event in events {
            let other = Coming::new(event.clone());
            if let Some(coming) = self.coming_at(event.seq) {
                let before = coming.bytes;
                let after = other.bytes;
                *coming = other;
                self.bytes = self.bytes + after - before;
            }
        }
    }

    /// The published events after a position, up to about `max_bytes`; `None` if memory no longer
    /// has the first of them.
    pub(super) fn read(&self, after: Seq, max_bytes: usize) -> Option<Vec<Arc<Event>>> {
        if after.next() < self.shown.front()?.first() {
            return None;
        }
        let visible = self.shown.iter().skip(self.shown_at(after.next()));
        let mut bytes = 0;
        let fitting = visible
            .flat_map(|shown| shown.after(after))
            .take_while(|event| {
                let fits = bytes < max_bytes;
                bytes += weight::of_event(event);
                fits
            });
        Some(fitting.collect())
    }

    /// The published durable events after a position and up to another; `None` if memory no longer
    /// has the first event after it.
    pub(super) fn durable(&self, after: Seq, to: Seq, most: usize) -> Option<Vec<Arc<Event>>> {
        if after.next() < self.shown.front()?.first() {
            return None;
        }
        let after = self.shown.iter().skip(self.shown_at(after.next()));
        let events = after.filter_map(|shown| match shown {
            Shown::Event(event, _) if event.kind.is_durable() && event.seq <= to => Some(event),
            Shown::Event(..) | Shown::Run(_) => None,
        });
        Some(events.take(most).cloned().collect())
    }

    /// Where the events are that readers can see and that are at a position or after it.
    fn shown_at(&self, seq: Seq) -> usize {
        self.shown.partition_point(|shown| shown.last() < seq)
    }

    fn coming_at(&mut self, seq: Seq) -> Option<&mut Coming> {
        let first = self.coming.front()?.event.seq;
        let place = usize::try_from(seq.0.checked_sub(first.0)?).ok()?;
        self.coming.get_mut(place)
    }
}
