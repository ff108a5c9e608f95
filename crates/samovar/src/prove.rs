//! `samovar prove`: kills servers of this very program, and tells what became of what they had
//! accepted.

mod names;
mod progress;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use samovar_locale::prove as says;
use samovar_prove::{AtBroken, Plan, Proof, Report, Spool};
use serde_json::to_vec_pretty;

use crate::args;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::screen::{put, say, visible};
use crate::stop::Stop;

use names::Names;
use progress::Progress;

/// Runs the proof, to its end or until it is asked to stop.
pub(crate) async fn prove(args: args::Prove) -> Result<Exit, Failure> {
    let plan = plan(&args)?;
    let mut file = args.report.as_deref().map(create).transpose()?;
    let mut stop = Stop::listen()?;
    say(&says::begins(plan.kills, plan.seed));
    let proof = Proof::new(plan.clone());
    let progress = Progress::new(&proof);
    let report = watch(&proof, &progress, &mut stop).await;
    progress.clear();
    let report = report.map_err(|error| {
        let why = says::machine_failed(error);
        Failure::new(Exit::Configuration, "prove_failed", why)
    })?;
    if let (Some(file), Some(path)) = (&mut file, &args.report) {
        write(file, path, &report)?;
    }
    if args.json {
        put(&output::line("prove", &report)?)?;
    } else {
        put(&visible(&report.to_string()))?;
    }
    verdict(&report, &plan, &args)
}

/// Runs it, tells how far it is, and stops it when that is asked for.
async fn watch(proof: &Proof, progress: &Progress, stop: &mut Stop) -> std::io::Result<Report> {
    let running = proof.run();
    tokio::pin!(running);
    loop {
        tokio::select! {
            report = &mut running => return report,
            () = stop.asked() => proof.stop(),
            () = progress.show() => {}
        }
    }
}

/// What a script and a person conclude from it.
fn verdict(report: &Report, plan: &Plan, args: &args::Prove) -> Result<Exit, Failure> {
    for told in &report.violations {
        say(&told.violation.to_string());
    }
    let folders: BTreeSet<_> = report.violations.iter().map(|told| &told.kept_in).collect();
    for folder in folders {
        say(&says::kept_in(folder.display()));
    }
    if !report.is_clean() {
        say(&says::repeat_with(again(plan, args)));
        let why = says::promise_broken(report.broken.values().sum::<u64>());
        return Err(Failure::new(Exit::TurnFailed, "promise_broken", why));
    }
    if !report.is_whole {
        say(says::stopped_early());
        return Ok(Exit::Interrupted);
    }
    say(says::all_kept());
    Ok(Exit::Ok)
}

/// The command that does the same again.
fn again(plan: &Plan, args: &args::Prove) -> String {
    let (seed, kills) = (plan.seed, plan.kills);
    let mut words = vec![format!("samovar prove --seed {seed} --kills {kills}")];
    words.extend(
        args.points
            .as_ref()
            .map(|points| format!("--points {points}")),
    );
    words.extend(plan.plant.as_ref().map(|plant| format!("--plant {plant}")));
    words.extend(args.cut.then(|| "--cut".to_owned()));
    let seconds = |time: Duration| format!("--seconds {}", time.as_secs_f64());
    words.extend(args.seconds.map(seconds));
    words.join(" ")
}

fn plan(args: &args::Prove) -> Result<Plan, Failure> {
    let names = Names::of_this_build();
    let points = names.points(args.points.as_deref())?;
    let plant = names.plant(args.plant.as_deref())?;
    // A new build in the place of this one would not be the same program.
    let mut plan = Plan::new(PathBuf::from("/proc/self/exe"));
    plan.kills = args.kills;
    plan.time = args.seconds;
    plan.points = points;
    plan.plant = plant;
    plan.seed = args.seed.unwrap_or_else(fresh_seed);
    plan.patience = args.stuck_after;
    if args.fail_fast {
        plan.at_broken = AtBroken::End;
    }
    plan.spool = if args.cut { Spool::Cut } else { Spool::Whole };
    Ok(plan)
}

/// Short enough to be typed again.
fn fresh_seed() -> u64 {
    let mut bytes = [0; 4];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    match filled {
        Ok(_) => u32::from_le_bytes(bytes).into(),
        // Without chance of the system's own, every run is the same.
        Err(_) => 1,
    }
}

/// Made before anything else, so that nobody waits an hour for a report that cannot be written.
fn create(path: &Path) -> Result<File, Failure> {
    File::create(path).map_err(|error| unwritable(path, &error))
}

fn write(file: &mut File, path: &Path, report: &Report) -> Result<(), Failure> {
    let mut bytes = to_vec_pretty(report).map_err(|error| Failure::broken(&error))?;
    bytes.push(b'\n');
    let written = file.write_all(&bytes);
    written.map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let path = samovar_locale::quoted(path);
    let why = says::report_unwritable(path, error);
    Failure::new(Exit::Usage, "report_unwritable", why)
}
