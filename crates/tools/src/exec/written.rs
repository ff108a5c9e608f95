//! What a command wrote and how it ended, as its call's outcome.

use std::time::Duration;

use samovar_core::audit::PUT_ASIDE;
use samovar_core::{Outcome, Status};
use samovar_locale as locale;
use samovar_sandbox::cage::{Channel, Ended, Finish, PutAside, Step};
use serde_json::json;

use crate::outputs::{MAX_OUTPUT_BYTES, Output};

use super::git;
use super::kept::{Kept, Whole};

/// What a command wrote.
pub(super) struct Written {
    stdout: Kept,
    stderr: Kept,
    whole: Whole,
}

impl Written {
    pub(super) fn new() -> Self {
        Self {
            stdout: Kept::default(),
            stderr: Kept::default(),
            whole: Whole::new(MAX_OUTPUT_BYTES),
        }
    }

    pub(super) fn add(
        &mut self,
        channel: Channel,
        bytes: &[u8],
        make: impl FnOnce() -> Option<Output>,
    ) {
        match channel {
            Channel::Stdout => self.stdout.add(bytes),
            Channel::Stderr => self.stderr.add(bytes),
        }
        self.whole.add(bytes, make);
    }

    pub(super) fn outcome(self, finish: &Finish, late: Option<Duration>) -> Outcome {
        let Finish { ended, aside } = finish;
        let is_cut = self.stdout.is_cut() || self.stderr.is_cut();
        let (stdout, stderr) = (self.stdout.shown(), self.stderr.shown());
        let kept = self.whole.finish().filter(|_| is_cut);
        let (status, mut text) = head(ended, late);
        for (name, written) in [("stdout", &stdout), ("stderr", &stderr)] {
            if !written.trim().is_empty() {
                text = format!("{text}\n{name}:\n{}", written.trim_end());
            }
        }
        if let Some((name, is_whole)) = &kept {
            let all = if *is_whole { "all" } else { "the first 16 MiB" };
            text = format!("{text}\n[{all} of it: read_file {name}]");
        }
        if git::met_the_guard(&stdout) || git::met_the_guard(&stderr) {
            text = format!("{text}\n{}", git::GUARD);
        }
        text.push_str(&told_of(aside));
        let names = aside.moved.iter().map(|it| &it.name).chain(&aside.stays);
        let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
        let code = match ended {
            Ended::Exited(code) => Some(*code),
            _ => None,
        };
        let mut data = json!({
            "exitCode": code,
            "timedOut": late.is_some(),
            "stdout": stdout,
            "stderr": stderr,
            "output": kept.map(|(name, _)| name),
        });
        if let Some(data) = data.as_object_mut().filter(|_| !names.is_empty()) {
            data.insert(PUT_ASIDE.to_owned(), json!(names));
        }
        Outcome::new(status, text).with_data(data)
    }
}

/// How a command ended, for the model.
fn head(ended: &Ended, late: Option<Duration>) -> (Status, String) {
    let failed = |why: &str| (Status::Failed, why.to_owned());
    match (ended, late) {
        (Ended::Lost, _) => {
            let why = "its sandbox was ended from outside, or processes of it do not end";
            (Status::Unknown, format!("outcome unknown: {why}"))
        }
        (_, Some(limit)) => failed(&format!(
            "ended after {} s, its limit; nothing of it runs any more",
            limit.as_secs()
        )),
        (Ended::Exited(code), None) => (Status::Done, format!("exit code {code}")),
        (Ended::Signalled(signal), None) => failed(&format!("ended by signal {signal}")),
        (Ended::Memory, None) => failed("ended: it used too much memory"),
        (Ended::Processes, None) => failed("ended: it started too many processes"),
        (Ended::Unkept(name), None) => failed(&locale::exec::unkept(name.display())),
        (Ended::Obeyed(name), None) => failed(&locale::exec::obeyed(name.display())),
        (Ended::Stopped, None) => {
            let why = "ended, because it was cancelled";
            (Status::Cancelled, why.to_owned())
        }
        (Ended::Failed { step, why, .. }, None) => failed(&unstarted(*step, why)),
    }
}

fn unstarted(step: Step, why: &str) -> String {
    match step {
        Step::Cwd => format!("cwd cannot be entered: {why}"),
        Step::Execute => format!("the shell cannot be run: {why}"),
        _ => format!("not run: the sandbox failed at {step:?}: {why}"),
    }
}

/// What became of names that the server trusts.
fn told_of(aside: &PutAside) -> String {
    let moved = aside.moved.iter().map(|moved| {
        let name = moved.name.display();
        let to = moved.to.as_ref().map(|to| to.display());
        match (to, moved.is_back, moved.was_there) {
            (Some(to), true, _) => locale::exec::put_back(name, to),
            (None, true, _) => locale::exec::removed_put_back(name),
            (Some(to), false, true) => locale::exec::not_put_back(name, to),
            (None, false, true) => locale::exec::removed_not_put_back(name),
            (Some(to), false, false) => locale::exec::put_aside(to),
            (None, false, false) => locale::exec::removed(name),
        }
    });
    let stays = aside
        .stays
        .iter()
        .map(|name| locale::exec::stays(name.display()));
    let lines: Vec<_> = moved.chain(stays).collect();
    lines.iter().flat_map(|line| ["\n[", line, "]"]).collect()
}

pub(super) fn unknown(why: &str) -> Outcome {
    Outcome::new(Status::Unknown, format!("outcome unknown: {why}"))
}
