//! The writing thread: commits that arrive while it is busy share the next fsync (DU-3).

use std::sync::Arc;
use std::time::Duration;

use samovar_core::{Broken, Durability, Millis, failpoint};
use tokio::sync::{mpsc, oneshot};

use super::Shared;
use super::fault::Fault;
use super::keep::{Marks, PackedBatch};
use super::lanes::{Commit, Job, Jobs, Lanes, NextWork, QUEUE_JOBS, Waiter};
use super::settings::FILE;
use super::sweep::Sweep;
use super::sync_marker;
use super::tables::Tables;
use crate::disk::may_grow;

/// How often a full disk is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Hands a job over, waiting for room, and waits for its answer.
pub(super) async fn ask(jobs: Jobs, job: impl FnOnce(Waiter) -> Job) -> Result<(), Broken> {
    let gone = || Broken::Io("the journal is closed".to_owned());
    let (waiter, answer) = oneshot::channel();
    jobs.send(job(waiter)).await.map_err(|_| gone())?;
    answer.await.map_err(|_| gone())?
}

/// Starts the thread. It ends when it is told to close, or when nobody can ask any longer.
pub(super) fn start(shared: Arc<Shared>) -> std::io::Result<Jobs> {
    let (sender, jobs) = mpsc::channel(QUEUE_JOBS);
    let writer = Writer {
        shared,
        lanes: Lanes::new(jobs),
        sweep: None,
        failed: None,
    };
    std::thread::Builder::new()
        .name("journal".to_owned())
        .spawn(move || writer.run())?;
    Ok(sender)
}

struct Writer {
    shared: Arc<Shared>,
    lanes: Lanes,
    sweep: Option<(Sweep, Vec<Waiter>)>,
    /// Set once a write or an fsync failed: nothing is known of the file from then on (DU-12).
    failed: Option<Broken>,
}

impl Drop for Writer {
    /// A thread that panicked takes nothing more; a new start does.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.disk.fail(&panicked());
        }
    }
}

fn panicked() -> Broken {
    Broken::Io("the journal's thread has panicked".to_owned())
}

impl Writer {
    fn run(mut self) {
        let closing = self.work();
        let last = match &closing {
            Some(_) => self.keep(&[]).and_then(|()| self.note_close()),
            None => self.keep(&[]),
        };
        // The environment is let go before the answer, so that it can be opened again after it.
        drop(self);
        if let Some(waiter) = closing {
            answer(waiter, last);
        }
    }

    fn work(&mut self) -> Option<Waiter> {
        loop {
            match self.next_job() {
                NextWork::Commits(group) => self.commit(group),
                NextWork::Job(Job::Commit(alone)) => self.commit(vec![alone]),
                NextWork::Job(Job::Sweep(before, waiter)) => self.begin_sweep(before, waiter),
                NextWork::Job(Job::GiveUp(log, up_to, at, waiter)) => {
                    let log = (log, self.shared.epoch);
                    let noted = self.alone(|tables, txn| tables.give_up(txn, log, up_to, at));
                    answer(waiter, noted);
                }
                NextWork::Job(Job::Discard(session, waiter)) => {
                    let discarded = self.alone(|tables, txn| tables.discard(txn, &session));
                    answer(waiter, discarded);
                }
                NextWork::Job(Job::Close(waiter)) => return Some(waiter),
                NextWork::Nothing => {}
                NextWork::Over => return None,
            }
            self.sweep_on();
        }
    }

    fn next_job(&mut self) -> NextWork {
        if self.sweep.is_some() {
            return self.lanes.next();
        }
        while self.shared.disk.is_full() {
            match self.lanes.next() {
                NextWork::Nothing => std::thread::sleep(LOOK_EVERY),
                work => return work,
            }
            self.shared.disk.look_again();
        }
        self.lanes.wait()
    }

    /// Keeps a group together; when that fails, each by itself, so that one batch that cannot be
    /// kept costs nobody else theirs.
    fn commit(&mut self, group: Vec<Commit>) {
        let group = self.turn_away(group);
        if group.is_empty() {
            return;
        }
        let (batches, waiters): (Vec<_>, Vec<_>) = group.into_iter().unzip();
        let together = self.keep(&batches);
        if matches!(together, Err(Broken::Full(_))) && self.shared.disk.note_full() {
            return self.commit(batches.into_iter().zip(waiters).collect());
        }
        if together.is_ok() || batches.len() == 1 {
            answer_all(waiters, &together);
            if together.is_ok() {
                self.release(&batches);
            }
            return;
        }
        for (batch, waiter) in batches.iter().zip(waiters) {
            let alone = std::slice::from_ref(batch);
            let kept = self.keep(alone);
            let is_kept = kept.is_ok();
            answer(waiter, kept);
            if is_kept {
                self.release(alone);
            }
        }
    }

    /// While the disk is full, what can wait is refused.
    fn turn_away(&self, group: Vec<Commit>) -> Vec<Commit> {
        let Err(full) = self.shared.disk.check() else {
            return group;
        };
        let (waiting, urgent): (Vec<_>, Vec<_>) =
            group.into_iter().partition(|(batch, _)| batch.can_wait);
        for (_, waiter) in waiting {
            answer(waiter, Err(full.clone()));
        }
        urgent
    }

    /// What is in the journal now need not be in the spool.
    fn release(&self, batches: &[PackedBatch]) {
        for batch in batches {
            self.shared.spool.release(batch.log, &batch.releases);
        }
    }

    /// Refuses once the file failed, or is no longer where it was opened.
    fn check(&self) -> Result<(), Broken> {
        let failed = self.failed.as_ref();
        failed.map_or_else(|| self.shared.disk.check_files(), |why| Err(why.clone()))
    }

    /// One synced transaction with these batches, and with what the history has kept meanwhile.
    fn keep(&mut self, batches: &[PackedBatch]) -> Result<(), Broken> {
        self.check()?;
        let marks = self.shared.take_marks();
        if batches.is_empty() && marks.is_empty() {
            return Ok(());
        }
        let kept = self.try_keep(batches, &marks);
        if kept.is_err() {
            self.shared.put_marks_back(marks);
        }
        kept
    }

    fn try_keep(&mut self, batches: &[PackedBatch], marks: &Marks) -> Result<(), Broken> {
        let shared = self.shared.clone();
        let tables = &shared.tables;
        let mut txn = self.begin(&shared)?;
        for batch in batches {
            tables.append(&mut txn, batch)?;
        }
        tables.note_projected(&mut txn, marks)?;
        self.finish(txn)
    }

    /// The last commit of an epoch that ends well.
    fn note_close(&mut self) -> Result<(), Broken> {
        let shared = self.shared.clone();
        let mut txn = self.begin(&shared)?;
        let mut meta = shared.tables.meta(&txn)?;
        meta.closed = true;
        shared.tables.put_meta(&mut txn, &meta)?;
        failpoint!("close.note.before");
        self.finish(txn)?;
        failpoint!("close.note.after");
        if shared.durability == Durability::Process {
            shared.tables.sync()?;
            sync_marker::end(shared.tables.env.path())?;
        }
        Ok(())
    }

    fn begin<'a>(&mut self, shared: &'a Shared) -> Result<heed::RwTxn<'a>, Broken> {
        let begun = shared.tables.env.write_txn();
        begun.map_err(|error| self.fail(error))
    }

    fn finish(&mut self, txn: heed::RwTxn<'_>) -> Result<(), Broken> {
        failpoint!("journal.commit.before");
        txn.commit().map_err(|error| self.fail(error))?;
        failpoint!("journal.commit.after");
        self.shared.count_commit();
        Ok(())
    }

    /// Whether there is room can change; what a file that failed holds can not be known. LMDB calls
    /// a write that a full disk or a limit on the size of files cut short an I/O error, too; nothing
    /// refers to what that wrote.
    fn fail(&mut self, error: heed::Error) -> Broken {
        let has_room = || {
            let file = self.shared.tables.env.path().join(FILE);
            self.shared.disk.has_room() && may_grow(&file)
        };
        match Broken::from(Fault::from(error)) {
            Broken::Io(why) if !has_room() => Broken::Full(why),
            broken @ (Broken::Full(_) | Broken::ReadOnly(_) | Broken::Starved(_)) => broken,
            broken @ (Broken::Io(_) | Broken::Damaged(_)) => {
                tracing::error!(%broken, "the journal takes nothing more until the next start");
                self.failed = Some(broken.clone());
                self.shared.disk.fail(&broken);
                broken
            }
        }
    }

    /// One change with a commit of its own.
    fn alone(
        &mut self,
        change: impl FnOnce(&Tables, &mut heed::RwTxn<'_>) -> Result<(), Fault>,
    ) -> Result<(), Broken> {
        self.check()?;
        let shared = self.shared.clone();
        let mut txn = self.begin(&shared)?;
        change(&shared.tables, &mut txn)?;
        self.finish(txn)
    }

    fn begin_sweep(&mut self, before: Millis, waiter: Waiter) {
        // Each sync of the history is followed by a sweep, also while nothing happens.
        let looked = self.shared.disk.look_at_files();
        if let Err(broken) = looked.and_then(|()| self.keep(&[])) {
            return answer(waiter, Err(broken));
        }
        // A sweep that comes while another is under way starts over, with both their waiters.
        let under_way = self.sweep.take();
        let mut waiters = under_way.map_or_else(Vec::new, |(_, waiters)| waiters);
        waiters.push(waiter);
        self.sweep = Some((Sweep::new(before), waiters));
    }

    /// One bounded transaction of the sweep that is under way.
    fn sweep_on(&mut self) {
        let Some((mut sweep, waiters)) = self.sweep.take() else {
            return;
        };
        match self.sweep_step(&mut sweep) {
            Ok(false) => self.sweep = Some((sweep, waiters)),
            Ok(true) => answer_all(waiters, &Ok(())),
            Err(broken) => answer_all(waiters, &Err(broken)),
        }
    }

    /// Whether it was the last.
    fn sweep_step(&mut self, sweep: &mut Sweep) -> Result<bool, Broken> {
        self.check()?;
        if self.shared.is_paused() {
            return Ok(true);
        }
        let shared = self.shared.clone();
        let mut txn = self.begin(&shared)?;
        let step = sweep.step(&shared.tables, &mut txn).map_err(Broken::from)?;
        if step.removed > 0 {
            failpoint!("sweep.before");
            self.finish(txn)?;
            failpoint!("sweep.after");
        }
        Ok(step.is_last)
    }
}

fn answer_all(waiters: Vec<Waiter>, result: &Result<(), Broken>) {
    for waiter in waiters {
        answer(waiter, result.clone());
    }
}

fn answer(waiter: Waiter, result: Result<(), Broken>) {
    if waiter.send(result).is_err() {
        tracing::debug!("nobody waits for this answer of the journal any longer");
    }
}

#[cfg(test)]
mod tests;
