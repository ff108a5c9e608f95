//! What works in a cage, what a command may take, and when it ends.

use super::*;

/// What people do in a workspace, and it works.
const ORDINARY: [&str; 15] = [
    "echo x > made && test -s made",
    "mkdir -p a/b && mv made a/b && cp -r a c && rm -r a",
    "grep -q canary samovar.toml",
    "echo x > /tmp/made && test -s /tmp/made",
    "echo x > /dev/shm/made && rm /dev/shm/made",
    "echo x > /dev/null && head -c 4 /dev/urandom > random && test -s random",
    "ls / /usr/bin /etc > /dev/null",
    "echo *.toml | grep -q samovar",
    "perl -e 'use Socket; socket(S,AF_INET,SOCK_STREAM,6); bind(S,sockaddr_in(0,INADDR_LOOPBACK)); \
     listen(S,1); $a=getsockname(S); socket(C,AF_INET,SOCK_STREAM,6); connect(C,$a) or exit 1'",
    "perl -e 'use Socket; socket(S,AF_UNIX,SOCK_STREAM,0); unlink(\"s\"); bind(S,pack_sockaddr_un(\"s\")) or exit 1'",
    "for n in $(seq 40); do sleep 0.1 & done; wait",
    "test \"$(id -u)\" = \"$(stat -c %u .)\"",
    "yes | head -n 2 > /dev/null && test \"${PIPESTATUS[0]}\" = 141 || test \"$?\" = 0",
    "cat /proc/self/status > /dev/null && test \"$(cat /proc/self/comm)\" = cat",
    // The kernel ends it before the server when memory is short.
    "test \"$(cat /proc/self/oom_score_adj)\" -ge 500",
];

// proves TL-6
#[test]
fn ordinary_work_is_done_in_the_cage() {
    if !is_provable(Level::Namespaces) {
        return;
    }
    for user in users() {
        let machine = Machine::new(user);
        for level in [Level::Namespaces, Level::Off] {
            let cages = machine.cages(level);
            for command in ORDINARY {
                // The machine's own folders may have such a file of another user.
                if level == Level::Off && (command.contains("/tmp") || command.contains("shm")) {
                    continue;
                }
                let (text, ended) = run(&cages, machine.job(command));
                assert_eq!(
                    ended,
                    Ended::Exited(0),
                    "{user:?} {level:?} {command}: {text}"
                );
            }
        }
    }
}

/// The usual limits but for one.
fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

/// A command that takes too much, what is allowed, and how it ends.
fn greedy() -> Vec<(&'static str, Limits, Ended)> {
    let memory = limits(|it| it.memory = 64 << 20);
    let shares = limits(|it| it.memory = 48 << 20);
    let temp = limits(|it| it.temp = 8 << 20);
    vec![
        (
            "perl -e '$x = \"x\" x (1 << 28); sleep 9'",
            memory,
            Ended::Exited(1),
        ),
        (
            "for n in 1 2 3 4; do perl -e '$x = \"x\" x (15 << 20); sleep 60' & done; wait",
            shares,
            Ended::Memory,
        ),
        (
            "perl -e 'open(F, \"/dev/zero\"); $a = syscall(9, 0, 64 << 20, 3, 0x21, -1, 0); \
             syscall(0, fileno(F), $a, 64 << 20); sleep 60'",
            shares,
            Ended::Memory,
        ),
        (
            "perl -e 'for (1..4000) { open(my $f, \">\", \"/tmp/big$_\") or exit 7 }'",
            temp,
            Ended::Exited(7),
        ),
        (
            "perl -e 'for (;;) { my $pid = fork; die unless defined $pid; if (!$pid) { sleep 60; exit } }'",
            limits(|it| it.processes = 320),
            Ended::Processes,
        ),
        (
            "perl -e 'for (1..99) { print \"x\" x (1 << 20) } ' > big; exit $?",
            limits(|it| it.file = 8 << 20),
            Ended::Exited(153),
        ),
        (
            "perl -e 'for (1..99) { print \"x\" x (1 << 20) or exit 7 } ' > /tmp/big",
            temp,
            Ended::Exited(7),
        ),
        (
            "while :; do :; done",
            limits(|it| it.cpu_seconds = 1),
            Ended::Signalled(9),
        ),
        (
            "perl -e 'for (1..99) { open(my $f, \"<\", \"/dev/null\") or exit 7; push @f, $f }'",
            limits(|it| it.open_files = 50),
            Ended::Exited(7),
        ),
    ]
}

// proves TL-6
#[test]
fn a_command_that_takes_too_much_is_ended_or_refused() {
    if !is_provable(Level::Namespaces) {
        return;
    }
    for user in users() {
        let machine = Machine::new(user);
        for level in [Level::Namespaces, Level::Off] {
            let cages = machine.cages(level);
            for (command, limits, expected) in greedy() {
                // In memory of its own only where it has a file system of its own.
                if level == Level::Off && command.contains("/tmp/big") {
                    continue;
                }
                let job = Job {
                    limits,
                    ..machine.job(command)
                };
                let (text, ended) = run(&cages, job);
                let is_refused = matches!(ended, Ended::Exited(1 | 255 | 12 | 11));
                let is_right = ended == expected
                    || is_refused && matches!(expected, Ended::Exited(1) | Ended::Processes);
                assert!(is_right, "{user:?} {level:?} {command}: {ended:?}\n{text}");
            }
        }
    }
}

/// How processes try to outlive their command.
const LINGERING: [&str; 7] = [
    "sleep 600 & echo started",
    "setsid sleep 600 >/dev/null 2>&1 & echo started",
    "nohup setsid bash -c 'trap \"\" TERM INT HUP; while :; do sleep 600; done' >/dev/null 2>&1 & echo started",
    "perl -e 'exit if fork; setpgrp; exit if fork; close STDOUT; close STDERR; sleep 600' ; echo started",
    "exec 3>&1; (exec >&- 2>&- 3>&-; sleep 600) & echo started",
    "perl -e '$0 = \"\\xff) \"; exit if fork; setpgrp; exit if fork; close STDOUT; close STDERR; sleep 600' ; echo started",
    "perl -e '$0 = \"\\xff\"; exit if fork; setpgrp; exit if fork; sleep 600' ; echo started",
];

/// The processes of this machine that this test began, by what they hold.
fn left(machine: &Machine) -> usize {
    let workspace = machine.workspace.clone();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let is_ours = |entry: &fs::DirEntry| {
        fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == workspace)
    };
    entries.filter(is_ours).count()
}

// proves TL-6
#[test]
fn nothing_outlives_its_command_or_its_server() {
    if !is_provable(Level::Namespaces) {
        return;
    }
    for user in users() {
        let machine = Machine::new(user);
        for level in [Level::Namespaces, Level::Off] {
            for command in LINGERING {
                let cages = machine.cages(level);
                let (text, ended) = run(&cages, machine.job(command));
                assert_eq!(ended, Ended::Exited(0), "{level:?} {command}: {text}");
                assert_eq!(left(&machine), 0, "{level:?} {command}");

                let waits = machine.job(&format!(
                    "{command}; trap '' TERM; while :; do sleep 1; done"
                ));
                assert_eq!(stopped(&cages, waits.clone()), Ended::Stopped);
                assert_eq!(left(&machine), 0, "{level:?} {command} stopped");

                let running = cages.start(waits).unwrap();
                while left(&machine) == 0 {
                    std::thread::yield_now();
                }
                drop(running);
                gone(&machine);
            }
        }
    }
}

/// How a command ends that is stopped when it has said something.
fn stopped(cages: &Cages, job: Job) -> Ended {
    let running = cages.start(job).unwrap();
    let stopper = running.stopper().unwrap();
    running.watch(|_, _| stopper.stop()).unwrap().ended
}

fn gone(machine: &Machine) {
    // One that stays lets the test run into its limit of time.
    while left(machine) > 0 {
        std::thread::yield_now();
    }
}

// proves TL-6
#[test]
fn a_cage_that_is_killed_leaves_an_outcome_that_is_unknown() {
    let machine = Machine::new(None);
    let (_, ended) = run(
        &machine.cages(Level::Off),
        machine.job("kill -9 $PPID; sleep 600"),
    );
    assert_eq!(format!("{ended:?}"), "Lost");
}

// proves TL-6
#[test]
fn a_command_ends_while_another_one_holds_its_output() {
    let machine = Machine::new(None);
    let cages = machine.cages(Level::Off);
    let first = cages
        .start(machine.job("echo $$ > pid; sleep 600"))
        .unwrap();
    let pid = machine.workspace.join("pid");
    let pid = loop {
        match fs::read_to_string(&pid) {
            Ok(pid) if pid.ends_with('\n') => break pid,
            Ok(_) | Err(_) => std::thread::yield_now(),
        }
    };
    let hold = format!("exec 5> /proc/{}/fd/1; touch held; sleep 600", pid.trim());
    let second = cages.start(machine.job(&hold)).unwrap();
    while !machine.workspace.join("held").exists() {
        std::thread::yield_now();
    }
    first.stopper().unwrap().stop();
    assert_eq!(first.watch(|_, _| {}).unwrap().ended, Ended::Stopped);
    drop(second);
}

// proves TL-6
#[test]
fn what_cannot_run_says_at_which_step() {
    if !is_provable(Level::Namespaces) {
        return;
    }
    let machine = Machine::new(None);
    let cages = machine.cages(Level::Namespaces);
    let job = machine.job(":");
    let program = Job {
        program: "/usr/bin/there-is-no-such".into(),
        ..job.clone()
    };
    let (_, ended) = run(&cages, program);
    let Ended::Failed { step, .. } = ended else {
        panic!("{ended:?}")
    };
    assert_eq!(step, samovar_sandbox::cage::Step::Execute);
    let cwd = Job {
        cwd: machine.outside.clone(),
        home: None,
        ..job.clone()
    };
    let (_, ended) = run(&cages, cwd);
    assert!(matches!(ended, Ended::Failed { .. }), "{ended:?}");

    for system in ["/", "/usr", "/etc"] {
        let settings = CageSettings {
            workspace: system.into(),
            ..machine.settings(Level::Namespaces)
        };
        assert!(Cages::new(settings).is_err(), "{system}");
    }
    // The folder is another one by now.
    fs::rename(&machine.workspace, machine.all.path().join("old")).unwrap();
    fs::create_dir(&machine.workspace).unwrap();
    let (_, ended) = run(&cages, job);
    assert!(matches!(ended, Ended::Failed { .. }), "{ended:?}");
}

// proves TL-7
#[test]
fn a_command_that_is_to_read_changes_nothing_of_the_workspace() {
    if !is_provable(Level::Namespaces) {
        return;
    }
    let machine = Machine::new(None);
    let levels = [Level::Namespaces, Level::Landlock];
    for level in levels.into_iter().filter(|level| is_provable(*level)) {
        let cages = machine.cages(level);
        for (command, works) in [
            (
                "cat samovar.toml && ls && echo x > ${TMPDIR:-/tmp}/made",
                true,
            ),
            ("echo x > made", false),
            ("rm -r agents", false),
            ("mkdir folder", false),
        ] {
            let job = Job {
                writes: false,
                ..machine.job(command)
            };
            let (text, ended) = run(&cages, job);
            assert_eq!(
                ended == Ended::Exited(0),
                works,
                "{level:?} {command}: {text}"
            );
        }
    }
}

/// A system call that a machine lacks, how it says so, and what is missing for a cage then.
fn means() -> [(i64, i32, &'static str); 4] {
    [
        (libc::SYS_unshare, libc::EPERM, "user namespaces"),
        (libc::SYS_mount, libc::EPERM, "mounts in a user namespace"),
        (libc::SYS_landlock_create_ruleset, libc::ENOSYS, "Landlock"),
        (libc::SYS_seccomp, libc::EINVAL, "seccomp filters"),
    ]
}

/// What is missing on a machine without a system call.
fn missing_without(call: i64, errno: i32, level: Level) -> Option<&'static str> {
    let machine = Machine::new(None);
    // The filter holds for this thread and all that it starts.
    let try_it = || {
        let rules = [(call, Vec::new())].into_iter().collect();
        let refused = seccompiler::SeccompAction::Errno(errno.unsigned_abs());
        let arch = std::env::consts::ARCH.try_into().unwrap();
        let allowed = seccompiler::SeccompAction::Allow;
        let filter = seccompiler::SeccompFilter::new(rules, allowed, refused, arch).unwrap();
        let filter: seccompiler::BpfProgram = filter.try_into().unwrap();
        seccompiler::apply_filter(&filter).unwrap();
        machine
            .cages(level)
            .probe()
            .err()
            .map(|shortage| shortage.missing)
    };
    std::thread::scope(|scope| scope.spawn(try_it).join().unwrap())
}

// proves TL-6
#[test]
fn without_one_of_its_means_there_is_no_cage_and_it_is_named() {
    if !is_provable(Level::Namespaces) {
        return;
    }
    for (call, errno, missing) in means() {
        let found = missing_without(call, errno, Level::Namespaces);
        assert_eq!(found, Some(missing), "{call}");
        let found = missing_without(call, errno, Level::Landlock);
        let needed = ["Landlock", "seccomp filters"].contains(&missing);
        assert_eq!(found, needed.then_some(missing), "{call} for landlock");
        assert_eq!(
            missing_without(call, errno, Level::Off),
            None,
            "{call} for off"
        );
    }
    assert!(Machine::new(None).cages(Level::Namespaces).probe().is_ok());
}
