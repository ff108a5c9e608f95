//! Reads a journal in a child process, because a damaged file may crash its reader.

use std::path::Path;

use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
use samovar_core::Broken;
use samovar_server::Walker;

use crate::args::WALK;
use crate::exit::{Exit, Failure};
use crate::screen::put;

/// Bytes of memory that the reader may take; a journal that is read has no need of so much.
const MAX_MEMORY: u64 = 1 << 30;

/// File descriptors that the reader may have; the limit of its holder, which is raised, is not for
/// it.
const MAX_DESCRIPTORS: u64 = 64;

/// The program that runs, also when another version stands in its place by now.
const OWN: &str = "/proc/self/exe";

/// This very program, as it is started to read a journal.
pub(crate) fn walker() -> Walker {
    Walker {
        program: OWN.into(),
        args: vec![WALK.into()],
    }
}

/// Reads the journal of a data directory, whose holder waits for it.
pub(crate) fn walk(data_dir: &Path) -> Result<Exit, Failure> {
    // Nobody hears of what it finds once its holder is gone.
    let with_holder = set_parent_process_death_signal(Some(Signal::KILL));
    with_holder.map_err(|error| Failure::broken(&error))?;
    // What it may die of leaves no core file behind.
    for (resource, most) in [
        (Resource::Core, 0),
        (Resource::Data, MAX_MEMORY),
        (Resource::Nofile, MAX_DESCRIPTORS),
    ] {
        let bound = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        if let Err(error) = setrlimit(resource, bound) {
            tracing::debug!(%error, "a bound on the reader cannot be set");
        }
    }
    match samovar_server::walk(data_dir) {
        Ok(report) => {
            let report = serde_json::to_string(&report);
            let report = report.map_err(|error| Failure::broken(&error))?;
            put(&(report + "\n")).map(|_| Exit::Ok)
        }
        Err(Broken::Damaged(why)) => put(&(why + "\n")).map(|_| Exit::Damaged),
        Err(broken) => Err(Failure::broken(&broken)),
    }
}
