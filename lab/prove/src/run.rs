//! A whole run: several data directories at once, until enough servers were killed.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::arena::{Arena, Life, LifeEnd};
use crate::dice::Dice;
use crate::killer::{Killer, Lane};
use crate::observed::{ChatAgent, Observed, Spool};
use crate::oracle::judge;
use crate::plan::{AtBroken, Plan};
use crate::report::{Report, StartTimes};

/// A run, which can be looked at from outside while it runs.
#[derive(Clone)]
pub struct Proof {
    plan: Arc<Plan>,
    tally: Arc<Mutex<Tally>>,
    /// Whether somebody wants it to end early.
    is_stopped: watch::Sender<bool>,
}

/// What was counted so far.
struct Tally {
    report: Report,
    starts: Vec<Duration>,
    begun: u64,
    began: Instant,
}

impl Proof {
    /// A run that has not begun.
    pub fn new(plan: Plan) -> Self {
        let report = Report {
            seed: plan.seed,
            kills_wanted: plan.kills,
            plant: plan.plant.clone(),
            is_cut: plan.spool == Spool::Cut,
            points_wanted: u64::try_from(plan.points.len()).unwrap_or(u64::MAX),
            unreached: plan.points.iter().map(|point| point.name.clone()).collect(),
            ..Report::default()
        };
        let tally = Tally {
            report,
            starts: Vec::new(),
            begun: 0,
            began: Instant::now(),
        };
        Self {
            plan: Arc::new(plan),
            tally: Arc::new(Mutex::new(tally)),
            is_stopped: watch::Sender::new(false),
        }
    }

    /// Runs to the end, or until it is [stopped](Self::stop).
    ///
    /// # Errors
    /// This machine gives no folders, ports or processes.
    pub async fn run(&self) -> io::Result<Report> {
        let mut dice = Dice::new(self.plan.seed);
        let dealer = dice.fork();
        let of = self.plan.lanes.max(1);
        let mut lanes = JoinSet::new();
        for number in 0..of {
            let (proof, mut dice) = (self.clone(), dice.fork());
            let lane = Lane { number, of };
            let killer = Killer::new(&self.plan.points, lane, dealer.clone(), dice.fork());
            lanes.spawn(async move { proof.lane(number, killer, dice).await });
        }
        while let Some(ended) = lanes.join_next().await {
            ended.map_err(io::Error::other)??;
        }
        let mut report = self.report();
        report.is_whole = !*self.is_stopped.borrow();
        Ok(report)
    }

    /// Ends the run early: its servers are killed, and the folders of what is not judged yet removed.
    pub fn stop(&self) {
        self.is_stopped.send_replace(true);
    }

    /// What was counted so far.
    pub fn report(&self) -> Report {
        let tally = self.tally();
        let took = tally.began.elapsed().as_millis();
        Report {
            took_ms: u64::try_from(took).unwrap_or(u64::MAX),
            starts: StartTimes::of(&tally.starts),
            ..tally.report.clone()
        }
    }

    async fn lane(&self, lane: usize, mut killer: Killer, mut dice: Dice) -> io::Result<()> {
        let agent = match lane {
            0 => ChatAgent::Adaptive,
            _ => ChatAgent::Nobody,
        };
        let mut number = 0_u32;
        let mut has_more = true;
        while has_more {
            number += 1;
            let name = format!("a{lane}-{number}");
            let plan = self.plan.clone();
            let mut arena = Arena::open(plan, (&name, agent), dice.fork()).await?;
            for _ in 0..self.plan.lives.max(1) {
                has_more = self.tally().may_kill(&self.plan);
                if !has_more {
                    break;
                }
                let ending = killer.next();
                let lived = tokio::select! {
                    life = arena.live(&ending) => Some(life?),
                    () = self.stopped() => None,
                };
                let Some(life) = lived else {
                    return arena.abandon().await;
                };
                self.tally().count(&life);
                if life.is_last {
                    break;
                }
            }
            let settled = tokio::select! {
                settled = arena.settle() => Some(settled?),
                () = self.stopped() => None,
            };
            if settled.is_none() {
                return arena.abandon().await;
            }
            if let Some(point) = killer.sweep()
                && self.tally().may_kill(&self.plan)
            {
                // It takes a moment, and is not worth being interrupted.
                let life = arena.sweep(point).await?;
                self.tally().count(&life);
            }
            let observed = arena.observed()?;
            self.conclude(&observed, arena.into_folder())?;
        }
        Ok(())
    }

    async fn stopped(&self) {
        let mut is_stopped = self.is_stopped.subscribe();
        // The sender is here as long as this is.
        is_stopped.wait_for(|is_stopped| *is_stopped).await.ok();
    }

    /// Judges an arena, and keeps its folder when a promise was broken.
    fn conclude(&self, observed: &Observed, folder: TempDir) -> io::Result<()> {
        let verdict = judge(observed);
        let kept_in = if verdict.violations.is_empty() {
            folder.close()?;
            PathBuf::new()
        } else {
            let kept_in = folder.keep();
            let told = serde_json::to_vec_pretty(&verdict.violations)?;
            std::fs::write(kept_in.join("violations.json"), told)?;
            std::fs::write(kept_in.join("observed.txt"), format!("{observed:#?}"))?;
            kept_in
        };
        let mut tally = self.tally();
        tally.report.counts.add(verdict.counts);
        for violation in verdict.violations {
            tally.report.add(violation, kept_in.clone());
        }
        Ok(())
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tally {
    /// Takes one of the kills that are left.
    fn may_kill(&mut self, plan: &Plan) -> bool {
        let is_late = plan.time.is_some_and(|time| self.began.elapsed() >= time);
        let is_enough = plan.at_broken == AtBroken::End && !self.report.is_clean();
        let may = self.begun < plan.kills && !is_late && !is_enough;
        self.begun += u64::from(may);
        may
    }

    fn count(&mut self, life: &Life) {
        self.starts.extend(life.ready_after);
        let counts = &mut self.report.counts;
        match &life.end {
            LifeEnd::Point(point) => {
                *counts.points.entry(point.clone()).or_default() += 1;
                self.report.unreached.remove(point);
            }
            LifeEnd::Killed => counts.random_kills += 1,
            // It counts against the kills that are to be, or a program that always dies would never
            // be done with.
            LifeEnd::Unasked => {}
            // Nobody was killed.
            LifeEnd::Stopped => {
                counts.stopped += 1;
                self.begun -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves DU-14
    #[tokio::test]
    async fn a_program_that_always_dies_by_itself_is_told_of_and_done_with() {
        let plan = Plan {
            kills: 3,
            lanes: 1,
            ..Plan::new(PathBuf::from("/bin/false"))
        };
        let report = Proof::new(plan).run().await.unwrap();
        for told in &report.violations {
            // Several share a folder.
            std::fs::remove_dir_all(&told.kept_in).ok();
        }
        // On a busy machine a kill can come before it is seen that the program had died.
        let told = report.broken["not_serving"] + report.counts.random_kills;
        assert!(told >= 3, "{:?}", report.broken);
    }
}
