//! What a command leaves when its cage is killed with its server.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use samovar_sandbox::cage::{CALL_ID, Running, end_orphans};

use super::*;

/// A number that a command writes.
fn number(path: &Path) -> i32 {
    for _ in 0..10_000 {
        let text = fs::read_to_string(path).unwrap_or_default();
        if let Some(number) = text.strip_suffix('\n') {
            return number.parse().unwrap();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("{}", path.display());
}

fn lives(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status"));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}

/// A command with a process that leaves its session; the numbers of its cage and of that process.
fn start(machine: &Machine, cages: &Cages, name: &str) -> (Running, i32, i32) {
    let command = format!(
        "echo $PPID > {name}.cage; setsid sh -c 'echo $$ > {name}.below; exec sleep 600' & wait"
    );
    let mut job = machine.job(&command);
    job.env.push((CALL_ID.to_owned(), name.to_owned()));
    let running = cages.start(job).unwrap();
    let at = |end: &str| machine.workspace.join(format!("{name}.{end}"));
    let (cage, below) = (number(&at("cage")), number(&at("below")));
    (running, cage, below)
}

// proves DU-18
#[test]
fn what_a_killed_cage_without_namespaces_left_is_ended_and_nothing_else() {
    let levels = [Level::Landlock, Level::Off].into_iter();
    for level in levels.filter(|level| is_provable(*level)) {
        let machine = Machine::new(None);
        let lock = machine.outside.join("exec.lock");
        fs::write(&lock, "").unwrap();
        assert_eq!(end_orphans(&lock).unwrap(), (0, true));
        let settings = CageSettings {
            lock: Some(lock.clone()),
            ..machine.settings(level)
        };
        let cages = Cages::new(settings.clone()).unwrap();
        let (killed, cage, orphan) = start(&machine, &cages, "killed");
        kill_process(Pid::from_raw(cage).unwrap(), Signal::KILL).unwrap();
        let ended = killed.watch(|_, _| {}).unwrap().ended;
        assert_eq!(ended, Ended::Lost, "{level:?}");
        assert!(lives(orphan), "{level:?}: it lives without the cage");
        // The commands of another server, which has another lock.
        let others = machine.cages(level);
        let (other, _, kept) = start(&machine, &others, "other");

        assert_eq!(end_orphans(&lock).unwrap(), (1, true), "{level:?}");

        assert!(!lives(orphan), "{level:?}");
        assert!(lives(kept), "{level:?}: it is another server's");
        drop(other);
        assert!(!lives(kept), "{level:?}");
        // Of the next server.
        let cages = Cages::new(settings).unwrap();
        let (ended, ..) = start(&machine, &cages, "ended");
        drop(ended);
        assert_eq!(fs::read(&lock).unwrap(), b"", "{level:?}");
    }
}
