//! The audit's part of the projection: decisions are appended to the chain before the history's
//! positions move past their events, so no kill loses one (TL-15).
//!
//! A decision that a kill left in the chain and whose position the history lacks is met again by the
//! next start, which knows it by its call.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use samovar_core::audit::{AuditedCall, RecordedCalls};
use samovar_core::journal::LogNo;
use samovar_core::{Approval, Broken, Event, Kind, Millis, Seq, SessionId, audit::Decision};

use super::reading::read_first;
use super::{MAX_EVENTS, Projector};
use crate::log::{Keeping, Log};
use crate::recorder::Recorder;

/// Decisions of sessions in memory that wait for the audit, at most; later ones are lost with a
/// message in the log. Those of other sessions are in the journal, and wait there.
const MAX_WAITING: usize = 4096;

/// What is on its way to the audit.
pub(super) struct Recording {
    recorder: Recorder,
    /// Up to where the decisions of each log are taken, until the history is as far.
    taken: HashMap<LogNo, Seq>,
    /// The same of sessions in memory, which all have one number.
    in_memory: HashMap<SessionId, Seq>,
    /// What is taken and not appended yet.
    waiting: Vec<Decision>,
}

/// What earlier runs have recorded, from some time on.
pub(super) type Earlier = Option<(Millis, RecordedCalls)>;

impl Recording {
    pub(super) fn new(approval: Approval) -> Self {
        Self {
            recorder: Recorder::new(approval),
            taken: HashMap::new(),
            in_memory: HashMap::new(),
            waiting: Vec::new(),
        }
    }

    /// Takes the decisions of a log's events, each once however often the events are read.
    pub(super) fn take(&mut self, session: &SessionId, log: LogNo, events: &[Arc<Event>]) {
        let decisions = self.news(session, log, events);
        self.waiting.extend(decisions);
    }

    fn news(&mut self, session: &SessionId, log: LogNo, events: &[Arc<Event>]) -> Vec<Decision> {
        let Some(last) = events.last() else {
            return Vec::new();
        };
        let taken = self.taken.entry(log).or_default();
        let from = events.partition_point(|event| event.seq <= *taken);
        *taken = last.seq.max(*taken);
        let news = events.get(from..).unwrap_or_default();
        self.recorder.decisions(session, news)
    }

    /// Forgets what the history is past.
    pub(super) fn is_projected(&mut self, log: LogNo, up_to: Seq) {
        if self.taken.get(&log).is_some_and(|taken| *taken <= up_to) {
            self.taken.remove(&log);
        }
    }
}

impl Projector {
    /// Appends what is waiting. What cannot be appended keeps waiting.
    pub(super) async fn record(&self) -> Result<(), Broken> {
        // One after the other: who finds nothing to append may rely on all being appended.
        let _in_order = self.recording.lock().await;
        let waiting = std::mem::take(&mut self.state().recording.waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        let appended = self.audit.append(waiting.clone()).await;
        if appended.is_err() {
            self.state().recording.waiting.splice(0..0, waiting);
        }
        appended
    }

    /// Records what an earlier run left to do, without what it had recorded itself.
    pub(super) async fn record_left(
        &self,
        session: &SessionId,
        log: LogNo,
        events: &[Arc<Event>],
        earlier: &mut Earlier,
    ) -> Result<(), Broken> {
        let mut decisions = self.state().recording.news(session, log, events);
        if let Some(first) = decisions.iter().map(|decision| decision.at).min() {
            let recorded = match earlier {
                Some((since, recorded)) if *since <= first => recorded,
                _ => {
                    let recorded = self.audit.recorded(first).await?;
                    &mut earlier.insert((first, recorded)).1
                }
            };
            decisions.retain(|decision| {
                let key = |call: &AuditedCall| {
                    let what = decision.what.as_str().to_owned();
                    (call.call.to_string(), what)
                };
                let call = decision.call.as_ref();
                call.is_none_or(|call| !recorded.contains(&key(call)))
            });
        }
        self.state().recording.waiting.extend(decisions);
        self.record().await
    }

    /// Takes the decisions of a session that only memory has.
    pub(super) fn take_in_memory(&self, log: &Log) {
        let mut state = self.state();
        let recording = &mut state.recording;
        let session = log.session();
        let from = recording.in_memory.get(session).copied();
        let to = log.published();
        let Some(events) = log.durable(from.unwrap_or_default(), to, usize::MAX) else {
            tracing::error!(%session, "decisions of a session in memory are not in the audit");
            recording.in_memory.insert(session.clone(), to);
            return;
        };
        let is_over = events
            .iter()
            .any(|event| matches!(event.kind, Kind::SessionClosed));
        let decisions = recording.recorder.decisions(session, &events);
        if is_over {
            recording.in_memory.remove(session);
        } else {
            recording.in_memory.insert(session.clone(), to);
        }
        if decisions.is_empty() {
            return;
        }
        if recording.waiting.len() >= MAX_WAITING {
            tracing::error!(%session, "the audit lacks decisions: it cannot be written");
            return;
        }
        recording.waiting.extend(decisions);
        drop(state);
        self.marks.mark();
    }

    /// Appends, durably, what a session decided that is about to be deleted: its events go with it,
    /// and the history, which may be locked, is not waited for.
    ///
    /// # Errors
    /// The audit cannot be written.
    pub(crate) async fn record_before_deletion(&self, log: &Log) -> Result<(), Broken> {
        if log.keeping() == Keeping::Memory {
            self.take_in_memory(log);
        } else {
            self.take_all(log).await?;
        }
        self.record().await?;
        self.audit.sync().await.map(drop)
    }

    /// Takes the decisions of a log that the history is not past.
    async fn take_all(&self, log: &Log) -> Result<(), Broken> {
        let (session, number) = (log.session(), log.number());
        let (mut from, to) = (self.position(number).unwrap_or_default(), log.published());
        while from < to {
            let events = match read_first(log, from, to, MAX_EVENTS).await {
                Err(Broken::Damaged(why)) => {
                    tracing::error!(%session, why, "what it decided last is not in the audit");
                    return Ok(());
                }
                events => events?,
            };
            let Some(last) = events.last() else {
                return Ok(());
            };
            from = last.seq;
            // An earlier run may have recorded them.
            if self.state().left.iter().any(|(left, _)| left == session) {
                self.record_left(session, number, &events, &mut None)
                    .await?;
            } else {
                self.state().recording.take(session, number, &events);
            }
        }
        Ok(())
    }

    /// Waits until the audit has, durably, the decisions of everything that was marked before; false
    /// when that takes too long or fails.
    pub(crate) async fn recorded(&self, within: Duration) -> bool {
        self.caught_up(within).await
            && match self.audit.sync().await {
                Ok(_) => true,
                Err(broken) => {
                    tracing::error!(%broken, "the audit cannot be synced");
                    false
                }
            }
    }
}
