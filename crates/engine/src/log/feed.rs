//! What happens in all sessions of the stores, in one numbered row: for readers that outlive a turn
//! and a session (UI-15). Fragments of text are left out.
//!
//! The row is of this run alone and holds what fits; a reader that asks for what has left it starts from
//! what is true now.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_core::{Epoch, Event, EventId, Seq, SessionId};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::weight;

/// Bytes of events that are held, about.
const HELD_BYTES: usize = 512 * 1024;

/// Events that one pull brings, at most.
const PULL: usize = 64;

/// An event of some session, with its number in the feed.
#[derive(Clone, Debug)]
pub struct FeedEvent {
    /// The run of the server, and the number in it, from 1.
    pub id: EventId,
    /// Its session.
    pub session: SessionId,
    /// The event.
    pub event: Arc<Event>,
}

/// The row of events.
pub(crate) struct Feed {
    held: Mutex<HeldEvents>,
    newest: watch::Sender<u64>,
}

#[derive(Default)]
struct HeldEvents {
    events: VecDeque<FeedEvent>,
    bytes: usize,
    newest: u64,
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            held: Mutex::default(),
            newest: watch::Sender::new(0),
        }
    }
}

impl Feed {
    /// Takes what readers of a session can see from now on.
    pub(crate) fn take(
        &self,
        session: &SessionId,
        events: impl ExactSizeIterator<Item = Arc<Event>>,
    ) {
        if events.len() == 0 {
            return;
        }
        let mut held = self.held();
        for event in events {
            held.newest += 1;
            held.bytes += weight::of_event(&event);
            let id = EventId {
                epoch: event.epoch,
                seq: Seq(held.newest),
            };
            held.events.push_back(FeedEvent {
                id,
                session: session.clone(),
                event,
            });
        }
        held.fit();
        let newest = held.newest;
        drop(held);
        self.newest.send_if_modified(|seen| {
            let grows = *seen < newest;
            *seen = newest.max(*seen);
            grows
        });
    }

    /// A reader after the newest event, and that event's id; it ends when `stop` is cancelled.
    pub(crate) fn follow(
        self: &Arc<Self>,
        epoch: Epoch,
        stop: CancellationToken,
    ) -> (EventId, FeedReader) {
        let seq = Seq(self.held().newest);
        (EventId { epoch, seq }, self.reader(seq.0, stop))
    }

    /// A reader after an event of this run; `None` if what comes next is no longer held, or if there
    /// was no such event.
    pub(crate) fn after(
        self: &Arc<Self>,
        id: EventId,
        stop: CancellationToken,
    ) -> Option<FeedReader> {
        self.read(id.seq.0)?;
        Some(self.reader(id.seq.0, stop))
    }

    fn reader(self: &Arc<Self>, at: u64, stop: CancellationToken) -> FeedReader {
        FeedReader {
            feed: self.clone(),
            at,
            newest: self.newest.subscribe(),
            stop,
        }
    }

    /// The next events after a number; `None` if some of them are no longer held, or never were.
    fn read(&self, after: u64) -> Option<Vec<FeedEvent>> {
        let held = self.held();
        let missed = held.newest.checked_sub(after)?;
        let missed = usize::try_from(missed).ok()?;
        let from = held.events.len().checked_sub(missed)?;
        Some(held.events.range(from..).take(PULL).cloned().collect())
    }

    fn held(&self) -> MutexGuard<'_, HeldEvents> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldEvents {
    /// Lets go of the oldest, until the rest fits; the newest stays.
    fn fit(&mut self) {
        while self.bytes > HELD_BYTES && self.events.len() > 1 {
            let oldest = self.events.pop_front();
            self.bytes -= oldest.map_or(0, |oldest| weight::of_event(&oldest.event));
        }
    }
}

/// What a reader of the feed hears.
#[derive(Debug)]
pub enum FeedNews {
    /// The next events, at least one.
    Events(Vec<FeedEvent>),
    /// What comes next is not held: the reader starts from what is true now.
    Lost,
    /// The engine stops.
    Stopping,
}

/// A reader of the feed, at its own pace.
pub struct FeedReader {
    feed: Arc<Feed>,
    at: u64,
    newest: watch::Receiver<u64>,
    stop: CancellationToken,
}

impl FeedReader {
    /// What comes next, waited for. Safe to drop halfway.
    pub async fn next(&mut self) -> FeedNews {
        loop {
            self.newest.borrow_and_update();
            let Some(events) = self.feed.read(self.at) else {
                return FeedNews::Lost;
            };
            if let Some(last) = events.last() {
                self.at = last.id.seq.0;
                return FeedNews::Events(events);
            }
            tokio::select! {
                // What was shown before the stop comes before the news of it.
                biased;
                changed = self.newest.changed() => if changed.is_err() {
                    return FeedNews::Stopping;
                },
                () = self.stop.cancelled() => return FeedNews::Stopping,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use samovar_core::{AgentPath, Author, Kind, Message, MessageId, Millis, Part, Role};

    use super::*;

    fn said(text: &str) -> Arc<Event> {
        let id = MessageId::new("m").unwrap();
        let part = Part::Text {
            text: text.to_owned(),
        };
        Arc::new(Event {
            seq: Seq(1),
            epoch: Epoch(7),
            at: Millis(1),
            turn: None,
            agent: AgentPath::root("master"),
            author: Author::User,
            kind: Kind::finished(Message::new(id, Role::User, vec![part], Millis(1))),
        })
    }

    fn take(feed: &Feed, session: &str, texts: &[&str]) {
        let events: Vec<_> = texts.iter().copied().map(said).collect();
        feed.take(&SessionId::new(session).unwrap(), events.into_iter());
    }

    async fn next(reader: &mut FeedReader) -> Vec<FeedEvent> {
        match reader.next().await {
            FeedNews::Events(events) => events,
            other => panic!("no events: {other:?}"),
        }
    }

    fn ids(events: &[FeedEvent]) -> Vec<String> {
        events.iter().map(|event| event.id.to_string()).collect()
    }

    fn id(number: u64) -> EventId {
        EventId {
            epoch: Epoch(7),
            seq: Seq(number),
        }
    }

    // proves UI-15
    #[tokio::test]
    async fn a_reader_gets_every_event_once_in_order_over_all_sessions() {
        let feed = Arc::new(Feed::default());
        let (at, mut reader) = feed.follow(Epoch(7), CancellationToken::new());
        assert_eq!(at, id(0));
        take(&feed, "a", &["1", "2"]);
        take(&feed, "b", &[]);
        take(&feed, "b", &["3"]);
        let events = next(&mut reader).await;
        assert_eq!(ids(&events), ["7.1", "7.2", "7.3"]);
        assert_eq!(events[2].session.as_str(), "b");

        let (events, ()) = tokio::join!(next(&mut reader), async { take(&feed, "a", &["4"]) });
        assert_eq!(ids(&events), ["7.4"]);
    }

    // proves UI-15
    #[tokio::test]
    async fn a_reader_that_is_too_far_back_is_told_so() {
        let feed = Arc::new(Feed::default());
        let stop = CancellationToken::new();
        let (_, mut slow) = feed.follow(Epoch(7), stop.clone());
        let long = "x".repeat(HELD_BYTES / 4);
        for _ in 0..8 {
            take(&feed, "a", &[&long]);
        }
        assert!(matches!(slow.next().await, FeedNews::Lost));
        assert!(feed.after(id(0), stop.clone()).is_none());
        assert!(feed.after(id(9), stop.clone()).is_none());
        let mut near = feed.after(id(6), stop.clone()).unwrap();
        assert_eq!(ids(&next(&mut near).await), ["7.7", "7.8"]);
        assert!(feed.held().bytes <= HELD_BYTES);

        take(&feed, "a", &[&"x".repeat(2 * HELD_BYTES)]);
        let longer = next(&mut near).await;
        assert_eq!(ids(&longer), ["7.9"]);
    }

    #[tokio::test]
    async fn a_reader_hears_what_was_shown_before_the_stop_and_then_of_the_stop() {
        let feed = Arc::new(Feed::default());
        let stop = CancellationToken::new();
        let (_, mut reader) = feed.follow(Epoch(7), stop.clone());
        take(&feed, "a", &["1"]);
        stop.cancel();
        assert_eq!(ids(&next(&mut reader).await), ["7.1"]);
        assert!(matches!(reader.next().await, FeedNews::Stopping));
    }
}
