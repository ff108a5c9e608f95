//! The process that waits for the next command.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::*;

/// The processes that wait for a plan: cages of this process that hold no command.
fn waiting() -> Vec<i32> {
    let own = format!("PPid:\t{}\n", std::process::id());
    let is_spare = |pid: &i32| {
        let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let status = String::from_utf8_lossy(&read("status")).into_owned();
        status.contains(&own) && read("cmdline") == b"samovar-cage\0"
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(is_spare).collect()
}

/// Waits for the next one.
fn spare() -> i32 {
    for _ in 0..10_000 {
        if let [spare] = waiting()[..] {
            return spare;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("none waits");
}

/// Waits until one waits no more.
fn gone(spare: i32) {
    while waiting().contains(&spare) {
        std::thread::sleep(Duration::from_millis(2));
    }
}

// proves TL-6
#[test]
fn a_cage_waits_for_the_next_command_and_one_that_was_killed_is_replaced() {
    let machine = Machine::new(None);
    let cages = machine.cages(Level::Off);
    let cage_of_a_command = || {
        let (text, ended) = run(&cages, machine.job("echo $PPID"));
        assert_eq!(ended, Ended::Exited(0), "{text}");
        text.trim().parse::<i32>().unwrap()
    };
    assert!(waiting().is_empty(), "none before there was a command");
    cage_of_a_command();
    let first = spare();
    assert_eq!(cage_of_a_command(), first);
    let second = spare();
    kill_process(Pid::from_raw(second).unwrap(), Signal::KILL).unwrap();
    gone(second);
    assert_ne!(cage_of_a_command(), second);
    let third = spare();
    drop(cages);
    gone(third);
}

// proves TL-6
#[test]
fn a_waiting_cage_holds_no_lock_and_is_not_used_for_a_command_with_the_network() {
    if !is_provable(Level::Namespaces) {
        return;
    }
    let machine = Machine::new(None);
    let lock = machine.outside.join("exec.lock");
    fs::write(&lock, "").unwrap();
    let settings = CageSettings {
        lock: Some(lock.clone()),
        ..machine.settings(Level::Namespaces)
    };
    let cages = Cages::new(settings).unwrap();
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    let is_own = |network| {
        let job = Job {
            network,
            ..machine.job("readlink /proc/self/ns/net")
        };
        let (text, ended) = run(&cages, job);
        assert_eq!(ended, Ended::Exited(0), "{text}");
        own.as_os_str() == text.trim()
    };
    for network in [false, true, true, false, false, true] {
        assert_eq!(is_own(network), network);
        // One process waits, and another one is there for its namespaces.
        while waiting().is_empty() {
            std::thread::sleep(Duration::from_millis(2));
        }
        samovar_sandbox::wait_until_free(&lock, Duration::from_secs(9)).unwrap();
    }
}
