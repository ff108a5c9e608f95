//! What happened since the start and what waits now, in numbers for a program that watches the server.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use samovar_core::{Event, FinishReason, Kind, Price, Role, Usage, Usd};

/// The words for how turns end: a provider's own words are one of them, so that the list is closed.
pub const TURN_ENDS: [&str; 8] = [
    "answered",
    "max_iterations",
    "budget",
    "failed_call",
    "repeated_call",
    "cancelled",
    "steered",
    "error",
];

/// The engine's numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Turns that run now.
    pub turns_running: usize,
    /// Turns that have ended, in the order of [`TURN_ENDS`].
    pub turns_ended: [u64; TURN_ENDS.len()],
    /// Messages that wait for their turn, or to join one.
    pub messages_waiting: usize,
    /// What models have read and written.
    pub tokens: Usage,
    /// What that cost, as far as prices are known.
    pub spent: Usd,
    /// Whether so much waits for the disk that new messages are refused.
    pub is_behind: bool,
}

/// Where they are counted.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    ended: [AtomicU64; TURN_ENDS.len()],
    waiting: Arc<AtomicUsize>,
    used: Mutex<(Usage, Usd)>,
}

impl Counts {
    /// Notes an event that was kept.
    pub(crate) fn note_kept(&self, event: &Event) {
        let Kind::TurnFinished { reason, .. } = &event.kind else {
            return;
        };
        let word = match reason {
            FinishReason::Model(_) => TURN_ENDS[0],
            other => other.as_str(),
        };
        let place = TURN_ENDS.iter().position(|end| *end == word);
        if let Some(count) = place.and_then(|place| self.ended.get(place)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Notes what a call of a model used, given the fact that ended it.
    pub(crate) fn note_used(&self, kind: &Kind, price: impl FnOnce() -> Option<Price>) {
        let usage = match kind {
            Kind::MessageFinished { message, .. } if message.role == Role::Assistant => {
                message.usage.unwrap_or_default()
            }
            Kind::StepReset { usage, .. } => *usage,
            _ => return,
        };
        if usage.is_zero() {
            return;
        }
        let cost = price().map_or(Usd::default(), |price| price.cost(&usage));
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let (tokens, spent) = &mut *used;
        for (sum, more) in [
            (&mut tokens.input, usage.input),
            (&mut tokens.output, usage.output),
            (&mut tokens.cache_read, usage.cache_read),
            (&mut tokens.cache_write, usage.cache_write),
            (&mut tokens.reasoning, usage.reasoning),
        ] {
            *sum = sum.saturating_add(more);
        }
        *spent = Usd::from_nanos(spent.nanos().saturating_add(cost.nanos()));
    }

    /// A count of messages that wait in one place.
    pub(crate) fn waiting(&self) -> Gauge {
        Gauge {
            all: self.waiting.clone(),
            own: 0,
        }
    }

    /// The numbers that are counted here.
    pub(crate) fn numbers(&self) -> Numbers {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        Numbers {
            turns_ended: std::array::from_fn(|at| self.ended[at].load(Ordering::Relaxed)),
            messages_waiting: self.waiting.load(Ordering::Relaxed),
            tokens: used.0,
            spent: used.1,
            ..Numbers::default()
        }
    }
}

/// A share of a count, taken out of it when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    all: Arc<AtomicUsize>,
    own: usize,
}

impl Gauge {
    pub(crate) fn set(&mut self, own: usize) {
        let before = std::mem::replace(&mut self.own, own);
        self.all.fetch_add(own, Ordering::Relaxed);
        self.all.fetch_sub(before, Ordering::Relaxed);
    }
}

impl Drop for Gauge {
    fn drop(&mut self) {
        self.set(0);
    }
}
