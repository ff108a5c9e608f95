//! Names that the person's own git obeys at once, made by a command that still runs.

use super::meanwhile::LEVELS;
use super::*;

/// What git obeys, and a name that it does not.
const KEPT: [&str; 7] = [
    "AGENTS.md",
    ".git/config",
    ".git/config.lock",
    ".git/hooks",
    ".git/commondir",
    ".git/config.worktree",
    ".git/modules",
];
/// A repository of the person without hooks, and what they have there.
const REPOSITORY: &str = "git init -q . && rm -rf .git/hooks && git config alias.st status";
/// The same with hooks.
const HOOKED: &str = "git init -q . && rm -rf .git/hooks/* && touch .git/hooks/pre-push";
/// One that a link leads to, in the workspace.
const LINKED: &str = "git init -q real && mv real/.git repo && rmdir real && ln -s repo .git && \
    rm -rf repo/hooks && git config alias.st status";
/// The same by a file that names it.
const NAMED: &str = "mkdir in && git init -q --separate-git-dir in/repo . && rm -rf in/repo/hooks && \
    git config alias.st status";
/// The same by the file of another repository's folder.
const SHARED: &str = "git init -q . && mkdir all && mv .git/config .git/objects .git/refs all && \
    rm -rf .git/hooks && echo ../all > .git/commondir";
/// Landlock does not show it the machine's settings.
const NO_SYSTEM: &str = "export GIT_CONFIG_NOSYSTEM=1";
/// With it git commits without settings.
const IDENTITY: &str = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a \
    GIT_COMMITTER_EMAIL=a";
/// A command that is not ended is done after this.
const WAITS: &str = "sleep 20";

/// What was there, what a command does, the name for which it is ended, and what holds then.
const ROWS: [(&str, &str, &str, &str); 15] = [
    (
        REPOSITORY,
        "echo x > .git/commondir",
        ".git/commondir",
        "test ! -e .git/commondir && git st >/dev/null",
    ),
    (
        REPOSITORY,
        "mkdir x && echo x > x/pre-commit && mv x .git/hooks",
        ".git/hooks",
        "test ! -e .git/hooks && test -e .git/hooks.from-exec-*/pre-commit",
    ),
    (
        REPOSITORY,
        "mkdir .git/hooks; echo x > .git/hooks/a.sample; echo x > .git/hooks/pre-commit",
        ".git/hooks",
        "test ! -e .git/hooks",
    ),
    (
        REPOSITORY,
        "touch .git/config.worktree",
        ".git/config.worktree",
        "test ! -e .git/config.worktree",
    ),
    (
        REPOSITORY,
        "mkdir .git/modules",
        ".git/modules",
        "test ! -e .git/modules",
    ),
    (
        ":",
        "echo 'gitdir: x' > .git",
        ".git",
        "test -f .git.from-exec-*",
    ),
    (":", "ln -s x .git", ".git", "test ! -L .git"),
    (
        ":",
        "git init -q x && git -C x config alias.a b && mv x/.git .git",
        ".git/config",
        "test -d .git && test ! -e .git/config",
    ),
    (
        ":",
        "git init -q . && git config user.name Ada && git config core.fsmonitor x",
        ".git/config",
        "test ! -e .git/config && grep -q Ada .git/config.from-exec-*",
    ),
    (
        ":",
        "git init -q . && exec 3>> .git/config && printf '[core]\\n\\tfsmonitor = x\\n' >&3",
        ".git/config",
        "test ! -e .git/config",
    ),
    (
        ":",
        "git init -q . && echo x > .git/hooks/pre-commit",
        ".git/hooks",
        "test ! -e .git/hooks && test -e .git/config",
    ),
    (
        "git init -q real && mv real/.git repo && rmdir real && ln -s repo .git",
        "rm .git && git init -q .",
        ".git",
        "test \"$(readlink .git)\" = repo",
    ),
    (
        LINKED,
        "mkdir repo/hooks; echo x > repo/hooks/pre-commit",
        "repo/hooks",
        "test ! -e repo/hooks && git st >/dev/null",
    ),
    (
        NAMED,
        "echo x > in/repo/config.worktree",
        "in/repo/config.worktree",
        "test ! -e in/repo/config.worktree && git st >/dev/null",
    ),
    (
        SHARED,
        "mkdir all/hooks; echo x > all/hooks/pre-commit",
        "all/hooks",
        "test ! -e all/hooks && git status >/dev/null",
    ),
];
/// The same where what is there lies open, too.
const OPEN: [(&str, &str, &str, &str); 5] = [
    (
        REPOSITORY,
        "git config core.fsmonitor x",
        ".git/config",
        "test -z \"$(git config core.fsmonitor)\" && test $(git config alias.st) = status",
    ),
    (
        HOOKED,
        "echo x > .git/hooks/pre-push",
        ".git/hooks",
        "test -e .git/hooks/pre-push && test ! -s .git/hooks/pre-push",
    ),
    (
        HOOKED,
        "chmod 700 .git/hooks/pre-push",
        ".git/hooks",
        "test ! -x .git/hooks/pre-push",
    ),
    (
        LINKED,
        "git config core.fsmonitor x",
        "repo/config",
        "test -z \"$(git config core.fsmonitor)\" && test $(git config alias.st) = status",
    ),
    (
        NAMED,
        "mv in/repo in/own; mkdir in/repo; echo x > in/repo/config",
        "in/repo/config",
        "test -e in/own/HEAD && grep -q status in/repo/config",
    ),
];

impl Machine {
    fn minding_git(&self, level: Level) -> Cages {
        let kept = KEPT.map(PathBuf::from).to_vec();
        let settings = CageSettings {
            kept,
            ..self.guarding(level)
        };
        Cages::new(settings).unwrap()
    }
}

// proves TL-18
#[test]
fn a_command_ends_when_git_would_obey_what_it_made() {
    for level in LEVELS.into_iter().filter(|level| is_provable(*level)) {
        let open = OPEN.iter().filter(|_| level != Level::Namespaces);
        for (before, does, name, after) in ROWS.iter().chain(open) {
            let machine = Machine::new(None);
            machine.person(before);
            let cages = machine.minding_git(level);
            let (_, ended) = run(
                &cages,
                machine.job(&format!("{NO_SYSTEM}; {does}; {WAITS}")),
            );
            assert_eq!(ended, Ended::Obeyed(name.into()), "{level:?} {does}");
            machine.person(after);
            assert!(!machine.all.path().join("note").exists(), "{does}");
        }
    }
}

// proves TL-18
#[test]
fn no_command_ends_because_of_plain_settings_samples_and_daily_work() {
    let work = "touch f && git add -A && git commit -qm x && git branch b && git tag t";
    let plain = "git config user.name Ada && git config user.email a@b && \
        git remote add origin https://example.org/x.git";
    let rows = [
        (":", format!("git init -q . && {plain} && {work}")),
        (
            REPOSITORY,
            format!("{IDENTITY}; {work}; mkdir .git/hooks; touch .git/hooks/x.sample"),
        ),
        (LINKED, format!("{IDENTITY}; {work}")),
        (NAMED, format!("{IDENTITY}; {work}")),
        // It has no more than the file that git would rename.
        (REPOSITORY, "echo x > .git/config.lock".to_owned()),
    ];
    for level in LEVELS.into_iter().filter(|level| is_provable(*level)) {
        for (before, does) in &rows {
            let machine = Machine::new(None);
            machine.person(before);
            let cages = machine.minding_git(level);
            let (output, ended) = run(
                &cages,
                machine.job(&format!("{NO_SYSTEM}; {does} && sleep 0.2")),
            );
            assert_eq!(ended, Ended::Exited(0), "{level:?} {does}: {output}");
        }
    }
}

// proves TL-18
#[test]
fn a_change_of_which_the_kernel_tells_nothing_is_found_while_the_command_runs_and_at_its_end() {
    // What is written by way of a mapping gives no notice, as what another machine writes on its disk.
    let maps = "git init -q . && python3 -c 'import mmap, time\n\
        file = open(\".git/config\", \"r+b\")\n\
        text = mmap.mmap(file.fileno(), 0)\n\
        time.sleep(0.1)\n\
        at = text.find(b\"bare = false\")\n\
        text[at:at + 12] = b\"fsmonitor=xx\"'";
    for level in LEVELS.into_iter().filter(|level| is_provable(*level)) {
        for then in [WAITS, ":"] {
            let machine = Machine::new(None);
            let cages = machine.minding_git(level);
            let command = format!("{NO_SYSTEM}; {maps}; {then}");
            let running = cages.start(machine.job(&command)).unwrap();
            let finish = running.watch(|_, _| {}).unwrap();
            if then == WAITS {
                let obeyed = Ended::Obeyed(".git/config".into());
                assert_eq!(finish.ended, obeyed, "{level:?}");
            }
            let moved: Vec<_> = finish.aside.moved.iter().map(|it| &*it.name).collect();
            assert_eq!(moved, [Path::new(".git/config")], "{level:?} {then}");
            machine.person("test ! -e .git/config && grep -q fsmonitor .git/config.from-exec-*");
        }
    }
}

// proves TL-18
#[test]
fn a_repository_to_which_git_is_led_keeps_its_settings() {
    if !is_provable(Level::Namespaces) {
        return;
    }
    for (before, folder) in [(LINKED, "repo"), (NAMED, "in/repo"), (SHARED, "all")] {
        let machine = Machine::new(None);
        machine.person(before);
        let cages = machine.minding_git(Level::Namespaces);
        let tries = format!(
            "git config core.fsmonitor x; echo x >> {folder}/config; rm {folder}/config; :"
        );
        let (_, ended) = run(&cages, machine.job(&tries));
        assert_eq!(ended, Ended::Exited(0), "{before}");
        machine.person(&format!(
            "git status >/dev/null && grep -q bare {folder}/config && ! grep x {folder}/config"
        ));
    }
}

// proves TL-18
#[test]
fn plain_settings_that_the_person_makes_in_a_new_repository_end_no_command() {
    for level in LEVELS.into_iter().filter(|level| is_provable(*level)) {
        let machine = Machine::new(None);
        let cages = machine.minding_git(level);
        let waits = "touch runs; until test -e go; do sleep 0.01; done";
        let running = cages.start(machine.job(waits)).unwrap();
        let watched = std::thread::spawn(|| running.watch(|_, _| {}).unwrap());
        while !machine.workspace.join("runs").exists() {
            std::thread::yield_now();
        }
        machine.person("git init -q . && git config user.name Ada && touch go");
        assert_eq!(watched.join().unwrap().ended, Ended::Exited(0), "{level:?}");
        machine.person("test $(git config user.name) = Ada");
    }
}

// proves TL-18
#[test]
fn what_one_command_makes_ends_the_others_but_none_that_only_reads() {
    for level in LEVELS.into_iter().filter(|level| is_provable(*level)) {
        let machine = Machine::new(None);
        machine.person(REPOSITORY);
        let cages = machine.minding_git(level);
        let reads = Job {
            writes: false,
            ..machine.job("until test -e go; do sleep 0.01; done")
        };
        let reads = cages.start(reads).unwrap();
        let reads = std::thread::spawn(|| reads.watch(|_, _| {}).unwrap());
        let other = cages.start(machine.job(WAITS)).unwrap();
        let maker = cages
            .start(machine.job("echo x > .git/commondir; until test -e go; do :; done"))
            .unwrap();
        let obeyed = Ended::Obeyed(".git/commondir".into());
        assert_eq!(other.watch(|_, _| {}).unwrap().ended, obeyed, "{level:?}");
        machine.person("touch go");
        drop(maker);
        assert_eq!(reads.join().unwrap().ended, Ended::Exited(0), "{level:?}");
    }
}

// proves TL-18
#[test]
fn the_end_of_another_command_disturbs_no_git_that_makes_a_repository() {
    for level in LEVELS.into_iter().filter(|level| is_provable(*level)) {
        let machine = Machine::new(None);
        let cages = machine.minding_git(level);
        let work = "touch runs; git init -q . && for i in $(seq 50); do \
            git config user.name A$i || exit 9; done";
        let git = cages
            .start(machine.job(&format!("{NO_SYSTEM}; {work}")))
            .unwrap();
        let git = std::thread::spawn(|| git.watch(|_, _| {}).unwrap());
        while !machine.workspace.join("runs").exists() {
            std::thread::yield_now();
        }
        while !git.is_finished() {
            let (output, ended) = run(&cages, machine.job(":"));
            assert_eq!(ended, Ended::Exited(0), "{level:?}: {output}");
        }
        assert_eq!(git.join().unwrap().ended, Ended::Exited(0), "{level:?}");
        machine.person("test $(git config user.name) = A50");

        let lock = "echo x > .git/config.lock; touch locked; until test -e go; do :; done";
        let lock = cages.start(machine.job(lock)).unwrap();
        while !machine.workspace.join("locked").exists() {
            std::thread::yield_now();
        }
        run(&cages, machine.job(":"));
        machine.person("test -e .git/config.lock; touch go");
        lock.watch(|_, _| {}).unwrap();
        machine.person("test ! -e .git/config.lock");
    }
}

// proves TL-18
#[test]
fn what_is_put_aside_is_told_of_each_command_that_can_have_made_it() {
    for level in LEVELS.into_iter().filter(|level| is_provable(*level)) {
        let machine = Machine::new(None);
        let cages = machine.minding_git(level);
        let waits = "until test -e go; do sleep 0.01; done";
        let maker = format!("echo x > AGENTS.md; touch made; {waits}");
        let maker = cages.start(machine.job(&maker)).unwrap();
        while !machine.workspace.join("made").exists() {
            std::thread::yield_now();
        }
        let told = |running: samovar_sandbox::cage::Running| {
            let moved = running.watch(|_, _| {}).unwrap().aside.moved;
            moved.into_iter().map(|it| it.name).collect::<Vec<_>>()
        };
        let reads = Job {
            writes: false,
            ..machine.job(waits)
        };
        let [first, second] = [":", waits].map(|does| Job {
            writes: does == waits,
            ..machine.job(does)
        });
        let [first, second, third, reads] =
            [first, second, machine.job(":"), reads].map(|job| cages.start(job).unwrap());
        // One that only reads leaves it to those that can have made it.
        assert_eq!(told(first), [""; 0].map(PathBuf::from), "{level:?}");
        assert!(machine.workspace.join("AGENTS.md").exists(), "{level:?}");
        assert_eq!(told(third), [PathBuf::from("AGENTS.md")], "{level:?}");
        machine.person("touch go; test ! -e AGENTS.md");
        for running in [maker, second] {
            assert_eq!(told(running), [PathBuf::from("AGENTS.md")], "{level:?}");
        }
        assert_eq!(told(reads), [""; 0].map(PathBuf::from), "{level:?}");
    }
}
