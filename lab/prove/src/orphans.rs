//! Processes that outlived their server.

use std::path::Path;
use std::time::Duration;

/// How often it is looked at what still runs.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// In so many looks, one after the other, all that still runs is asleep: nothing is about to end it.
const LOOKS_ASLEEP: u32 = 40;
/// In so many looks the kernel comes to each process that was killed, however busy the machine is.
const LOOKS: u32 = 6_000;

/// A process that still runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Survivor {
    /// Its number and its command line.
    pub(crate) name: String,
    /// Whether it waits for something. One that was killed is woken, and sleeps no more.
    is_asleep: bool,
}

/// What still runs with this folder as its home after its server was killed. What ends with the server
/// has to be given processor time first, and that is waited for.
pub(crate) async fn after_a_kill(root: &Path) -> Vec<Survivor> {
    let mut asleep = 0;
    for _ in 1..LOOKS {
        let found = of(root);
        let is_quiet = found.iter().all(|it| it.is_asleep);
        asleep = if is_quiet { asleep + 1 } else { 0 };
        if found.is_empty() || asleep >= LOOKS_ASLEEP {
            return found;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    of(root)
}

/// What runs with this folder as its home. Every process that a server starts gets its environment or
/// works in its folders.
pub(crate) fn of(root: &Path) -> Vec<Survivor> {
    let Ok(processes) = Path::new("/proc").read_dir() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in processes.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_process = name.bytes().all(|byte| byte.is_ascii_digit());
        if is_process && belongs(&entry.path(), root) {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            found.push(Survivor {
                name: format!("{name}: {}", line.trim()),
                is_asleep: is_asleep(&entry.path()),
            });
        }
    }
    found
}

/// Whether a process sleeps until something wakes it, or was stopped.
fn is_asleep(process: &Path) -> bool {
    let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
    let state = status
        .lines()
        .find_map(|line| line.strip_prefix("State:"))
        .unwrap_or_default();
    state.trim_start().starts_with(['S', 'T', 't'])
}

/// A process that has ended meanwhile, or that is somebody else's, is none of ours.
fn belongs(process: &Path, root: &Path) -> bool {
    let environment = std::fs::read(process.join("environ")).unwrap_or_default();
    let root = root.as_os_str().as_encoded_bytes();
    let mut variables = environment.split(|byte| *byte == 0);
    let has_home = variables.any(|variable| {
        let value = variable.splitn(2, |byte| *byte == b'=').nth(1);
        value.is_some_and(|value| value.starts_with(root))
    });
    let works_there = std::fs::read_link(process.join("cwd"));
    has_home
        || works_there.is_ok_and(|place| place.as_os_str().as_encoded_bytes().starts_with(root))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_found_by_its_environment_or_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        assert!(of(folder.path()).is_empty());
        let wait = || {
            let mut command = Command::new("cat");
            command.stdin(Stdio::piped()).stdout(Stdio::null());
            command
        };
        let mut by_home = wait().env("HOME", folder.path()).spawn().unwrap();
        let mut by_place = wait().current_dir(folder.path()).spawn().unwrap();
        // For an instant a process that was just started shows neither.
        let mut found = of(folder.path());
        for _ in 0..1000 {
            if found.len() == 2 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
            found = of(folder.path());
        }
        for child in [&mut by_home, &mut by_place] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(of(folder.path()).is_empty());
    }

    #[tokio::test]
    async fn what_sleeps_is_left_over_and_what_is_busy_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let start = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdin(Stdio::piped());
            command.current_dir(folder.path()).spawn().unwrap()
        };
        // Busy for longer than something asleep would be given, and gone then.
        let mut busy = start("i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done");
        let gone = std::thread::spawn(move || busy.wait());
        assert_eq!(after_a_kill(folder.path()).await, []);
        assert!(gone.join().unwrap().unwrap().success());

        let mut asleep = start("read line");
        let found = after_a_kill(folder.path()).await;
        asleep.kill().unwrap();
        asleep.wait().unwrap();
        let [found] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!(found.name, format!("{}: sh -c read line", asleep.id()));
    }
}
