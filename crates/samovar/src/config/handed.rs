//! Keys leave the environment (TL-14): the tools of a process can read what it was started with in
//! `/proc/PID/environ`, also after a variable is removed. So a process that may run tools executes
//! itself again, in its own place, without them, and finds them in memory that it inherits.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use samovar_config::Sources;
use samovar_core::redact::{self, Secret};
use samovar_locale as text;
use samovar_server::handover;

use crate::exit::{Exit, Failure};
use crate::screen::say;

type Variables = Vec<(OsString, OsString)>;

/// Where the keys are, for the program that this process executes: `PID:NUMBER`. The process id
/// tells it from what a parent has left, since children inherit the variable and not the memory.
const HANDED: &str = "SAMOVAR_KEYS";

/// What this process was handed.
static HELD: OnceLock<Variables> = OnceLock::new();

/// Takes over what the program before this one left in the same process; before anything else runs.
///
/// # Errors
/// The keys are lost: exit code 3.
pub(crate) fn take_over() -> Result<(), Failure> {
    let Some(left) = std::env::var_os(HANDED) else {
        return Ok(());
    };
    let Some(number) = left
        .to_str()
        .and_then(|left| number(left, std::process::id()))
    else {
        return Ok(());
    };
    let bytes = handover::take_over(number).map_err(|error| {
        let why = text::config::keys_lost(error);
        Failure::new(Exit::Configuration, "keys_lost", why)
    })?;
    // No other code has set it.
    let _first = HELD.set(read(&bytes)).is_ok();
    keep_name();
    Ok(())
}

/// What this process was started with, and what it was handed: nothing else reads the variables.
pub(super) fn environment() -> Variables {
    let held = HELD.get().cloned().unwrap_or_default();
    let own = std::env::vars_os().filter(|(name, _)| name != HANDED);
    own.filter(|(name, _)| held.iter().all(|(other, _)| other != name))
        .chain(held.iter().cloned())
        .collect()
}

/// The variables that have keys, also those of providers that have no row. From here on no log, no
/// error and no session has one of them.
pub(super) fn keys(sources: &Sources) -> Variables {
    let unbuilt = super::providers::unbuilt(sources)
        .into_iter()
        .filter_map(|unbuilt| {
            let mut variables = sources.environment.iter();
            variables
                .find(|(name, _)| name == unbuilt.variable)
                .cloned()
        });
    let keys: Variables = sources
        .secret_variables()
        .into_iter()
        .chain(unbuilt)
        .collect();
    for (name, key) in &keys {
        hide(&name.to_string_lossy(), &key.to_string_lossy());
    }
    keys
}

/// Makes a key one that is replaced everywhere.
pub(super) fn hide(name: &str, key: &str) {
    if let Some(key) = Secret::new(key) {
        redact::protect(name, &key);
    }
}

/// Executes this program again without these variables of its environment, and comes back only if
/// there are none, or if they cannot be handed over: then it says so, and they stay.
///
/// # Errors
/// The program could be opened, and not executed.
pub(crate) fn leave(keys: &Variables) -> Result<(), Failure> {
    let is_exposed = |(name, _): &&(OsString, OsString)| std::env::var_os(name).is_some();
    let exposed: Variables = keys.iter().filter(is_exposed).cloned().collect();
    // Once is enough, whatever comes of it.
    if exposed.is_empty() || HELD.get().is_some() {
        return Ok(());
    }
    let held = environment().into_iter().filter(|pair| keys.contains(pair));
    let handed = std::fs::File::open(SELF).and_then(|_| memory(&held.collect()));
    let memory = match handed {
        Ok(memory) => memory,
        Err(error) => {
            say(&text::config::keys_exposed(error));
            return Ok(());
        }
    };
    let mut command = again();
    for (name, _) in &exposed {
        command.env_remove(name);
    }
    command.env(HANDED, place(&memory));
    // Not to be gone on from: it may have changed how signals are handled.
    Err(Failure::broken(&command.exec()))
}

/// Closes the memory of this process to the other processes of its user, commands without a sandbox
/// among them; root can read it all the same.
pub(crate) fn close_memory() {
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "other processes can read the memory of this one");
    }
}

/// This program in the same process with the same arguments, environment and keys.
pub(crate) fn again_with_keys() -> (Command, Option<OwnedFd>) {
    let mut command = again();
    let Some(held) = HELD.get() else {
        return (command, None);
    };
    match memory(held) {
        Ok(memory) => {
            command.env(HANDED, place(&memory));
            (command, Some(memory))
        }
        // They leave the environment again as soon as it starts.
        Err(error) => {
            tracing::warn!(%error, "keys are in the environment for a moment");
            command.env_remove(HANDED).envs(held.iter().cloned());
            (command, None)
        }
    }
}

/// The program that runs, also when another version stands in its place by now.
const SELF: &str = "/proc/self/exe";

fn again() -> Command {
    let mut arguments = std::env::args_os();
    let name = arguments.next();
    let mut command = Command::new(SELF);
    command
        .arg0(name.unwrap_or_else(|| OsString::from("samovar")))
        .args(arguments);
    command
}

/// Gives the process the name of the program again: lists of processes show `exe`, otherwise.
pub(crate) fn keep_name() {
    let program = std::env::current_exe().ok();
    let name = program.as_deref().and_then(|path| path.file_name());
    let name = name.unwrap_or(OsStr::new("samovar")).as_bytes();
    if let Err(error) = std::fs::write("/proc/self/comm", name) {
        tracing::debug!(%error, "the process is shown under another name");
    }
}

fn memory(keys: &Variables) -> io::Result<OwnedFd> {
    handover::hand_over(&written(keys))
}

fn place(memory: &OwnedFd) -> String {
    format!("{}:{}", std::process::id(), memory.as_raw_fd())
}

/// The number in a process of this id.
fn number(left: &str, process: u32) -> Option<i32> {
    let (of, number) = left.split_once(':')?;
    let is_own = of.parse::<u32>().ok()? == process;
    number.parse().ok().filter(|_| is_own)
}

/// Like an environment: no name has a `=`, and nothing has a zero byte.
fn written(keys: &Variables) -> Vec<u8> {
    let lines = keys
        .iter()
        .flat_map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
    lines.collect()
}

fn read(bytes: &[u8]) -> Variables {
    let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    let lines = bytes.split(|byte| *byte == 0);
    let pairs = lines.filter_map(|line| {
        let end = line.iter().position(|byte| *byte == b'=')?;
        Some((text(&line[..end]), text(&line[end + 1..])))
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_this_process_left_is_taken() {
        assert_eq!(number("7:5", 7), Some(5));
        for other in ["", "5", "8:5", "7:", "7:x", ":5", "7:5:1", "-7:5"] {
            assert_eq!(number(other, 7), None, "{other}");
        }
    }

    #[test]
    fn keys_come_back_as_they_were_written() {
        let pair =
            |name: &str, value: &[u8]| (OsString::from(name), OsString::from_vec(value.to_vec()));
        let keys = vec![pair("A", b"x=y=\n"), pair("B", b""), pair("C", b"\xff\xfe")];
        assert_eq!(read(&written(&keys)), keys);
        assert_eq!(read(b""), Vec::new());
    }
}
