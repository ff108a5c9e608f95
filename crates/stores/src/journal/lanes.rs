//! What waits for the writing thread, in two lanes: small work first, with a fair share for big
//! batches, and the order of one log kept.

use std::collections::VecDeque;

use samovar_core::journal::LogNo;
use samovar_core::{Broken, Millis, Seq, SessionId};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};

use super::keep::PackedBatch;

/// Jobs that may wait in the small lane, and as many in the channel before it; a caller then waits.
pub(super) const QUEUE_JOBS: usize = 256;

/// Bytes of the big batches that may wait; a caller then waits.
pub(super) const QUEUE_BYTES: usize = 32 << 20;

/// Bounds of one transaction.
const GROUP_JOBS: usize = 256;
const GROUP_BYTES: usize = 1 << 20;

/// Takes the answer to a job.
pub(super) type Waiter = oneshot::Sender<Result<(), Broken>>;

/// A batch, and its caller.
pub(super) type Commit = (PackedBatch, Waiter);

/// What the writer is asked for.
pub(super) enum Job {
    Commit(Commit),
    Sweep(Millis, Waiter),
    /// Notes that a log lacks what lies between its head and a position.
    GiveUp(LogNo, Seq, Millis, Waiter),
    /// Removes a damaged session.
    Discard(SessionId, Waiter),
    Close(Waiter),
}

/// The way to the writer.
pub(super) type Jobs = mpsc::Sender<Job>;

/// What the thread does next.
pub(super) enum NextWork {
    /// Commits that share a transaction.
    Commits(Vec<Commit>),
    Job(Job),
    /// Nothing waits now.
    Nothing,
    /// No caller is left.
    Over,
}

/// The lanes, and the channel that fills them.
pub(super) struct Lanes {
    jobs: mpsc::Receiver<Job>,
    small: VecDeque<Job>,
    big: VecDeque<Commit>,
    /// Comes after everything that came before it.
    last: Option<Job>,
    /// After each group of small work comes one of big batches.
    is_big_next: bool,
    is_over: bool,
}

impl Lanes {
    pub(super) fn new(jobs: mpsc::Receiver<Job>) -> Self {
        Self {
            jobs,
            small: VecDeque::new(),
            big: VecDeque::new(),
            last: None,
            is_big_next: false,
            is_over: false,
        }
    }

    /// What comes next, without waiting.
    pub(super) fn next(&mut self) -> NextWork {
        while self.last.is_none() && self.small.len() < QUEUE_JOBS {
            match self.jobs.try_recv() {
                Ok(job) => self.put(job),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.is_over = true;
                    break;
                }
            }
        }
        if !self.big.is_empty() && (self.is_big_next || self.small.is_empty()) {
            self.is_big_next = false;
            return NextWork::Commits(group(|| self.big.pop_front()));
        }
        self.is_big_next = true;
        match self.small.pop_front() {
            Some(Job::Commit(first)) => {
                let rest = || match self.small.pop_front()? {
                    Job::Commit(commit) => Some(commit),
                    other => {
                        self.small.push_front(other);
                        None
                    }
                };
                NextWork::Commits(group_from(first, rest))
            }
            Some(job) => NextWork::Job(job),
            None => match self.last.take() {
                Some(job) => NextWork::Job(job),
                None if self.is_over => NextWork::Over,
                None => NextWork::Nothing,
            },
        }
    }

    /// The same, and waits.
    pub(super) fn wait(&mut self) -> NextWork {
        match self.next() {
            NextWork::Nothing => match self.jobs.blocking_recv() {
                Some(job) => {
                    self.put(job);
                    self.next()
                }
                None => NextWork::Over,
            },
            work => work,
        }
    }

    fn put(&mut self, job: Job) {
        match job {
            Job::Commit(commit) if self.is_big(&commit) => self.big.push_back(commit),
            Job::Commit(_) | Job::Sweep(..) => self.small.push_back(job),
            Job::GiveUp(..) | Job::Discard(..) | Job::Close(_) => self.last = Some(job),
        }
    }

    /// Whether it goes to the big lane: it is big, unless a batch of its log waits in the small one; or
    /// one of its log waits there.
    fn is_big(&self, commit: &Commit) -> bool {
        let log = commit.0.log;
        if commit.0.is_small() {
            return self.big.iter().any(|(other, _)| other.log == log);
        }
        let waits = |job: &Job| matches!(job, Job::Commit((other, _)) if other.log == log);
        !self.small.iter().any(waits)
    }
}

/// What waits, up to what one transaction should hold.
fn group(mut next: impl FnMut() -> Option<Commit>) -> Vec<Commit> {
    next().map_or_else(Vec::new, |first| group_from(first, next))
}

fn group_from(first: Commit, mut next: impl FnMut() -> Option<Commit>) -> Vec<Commit> {
    let mut bytes = first.0.bytes();
    let mut group = vec![first];
    while group.len() < GROUP_JOBS && bytes < GROUP_BYTES {
        let Some(commit) = next() else { break };
        bytes += commit.0.bytes();
        group.push(commit);
    }
    group
}

#[cfg(test)]
mod tests;
