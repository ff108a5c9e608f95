//! What the server trusts, while a command runs and the person works in the folder.

use samovar_sandbox::cage::{PutAside, put_aside_after_kill};

use super::*;

/// What the server trusts of these workspaces.
const KEPT: [&str; 6] = [
    "AGENTS.md",
    "CLAUDE.md",
    "skills",
    ".git/config",
    ".git/hooks",
    ".git/commondir",
];
pub(super) const LEVELS: [Level; 3] = [Level::Namespaces, Level::Landlock, Level::Off];
/// A repository of the person.
const BEFORE: &str = "git init -q . && rm -rf .git/hooks && mkdir .git/hooks skills && \
    echo old > AGENTS.md && echo old > skills/a && echo old > .git/hooks/pre-push && \
    chmod 750 .git/hooks/pre-push && git config alias.st status";
/// What a command tries all the time, until it is ended or told to go; at last it ends by itself.
const ATTACK: &str = "\
    i=0; evil() { printf '[core]\\n\\tfsmonitor = evil\\n' >> $1; }; touch runs; \
    until test -e go -o $((i += 1)) -gt 50000; do for name in AGENTS.md CLAUDE.md .git/config .git/config.lock skills/a skills/b \
    .git/hooks/pre-push; do if test -e $name; then evil $name; fi; done; done 2>/dev/null";

impl Machine {
    pub(super) fn guarding(&self, level: Level) -> CageSettings {
        CageSettings {
            kept: KEPT.map(PathBuf::from).to_vec(),
            note: Some(self.all.path().join("note")),
            ..self.settings(level)
        }
    }

    pub(super) fn person(&self, does: &str) {
        let mut shell = Command::new("bash");
        let config = self.outside.join("none");
        shell.args(["-c", does]).current_dir(&self.workspace);
        shell.env("GIT_CONFIG_GLOBAL", config);
        // The folder may belong to the user of the commands.
        shell.env("GIT_CONFIG_COUNT", "1");
        shell.envs([
            ("GIT_CONFIG_KEY_0", "safe.directory"),
            ("GIT_CONFIG_VALUE_0", "*"),
        ]);
        assert!(shell.status().unwrap().success(), "{does}");
    }

    /// A command, and what the person does when it runs.
    fn both(&self, level: Level, command: &str, does: &str) -> (Ended, PutAside) {
        let cages = Cages::new(self.guarding(level)).unwrap();
        let command = format!("export GIT_CONFIG_NOSYSTEM=1; {command}");
        let running = cages.start(self.job(&command)).unwrap();
        while !self.workspace.join("runs").exists() {
            std::thread::yield_now();
        }
        self.person(does);
        let finish = running.watch(|_, _| {}).unwrap();
        assert!(!self.all.path().join("note").exists(), "{does}");
        (finish.ended, finish.aside)
    }
}

/// What the person does while a command tries to write all that is trusted; whose mount is gone then;
/// and what holds at the end.
const ROWS: [(&str, &str, &str); 15] = [
    (
        "echo new > n && chmod 600 n && (chown 1234 n || true) && mv n AGENTS.md",
        "AGENTS.md",
        "grep -qx old AGENTS.md && test $(stat -c %a AGENTS.md) = 644 && \
         grep -q new AGENTS.md.from-exec-*",
    ),
    (
        "echo new > n && mv n AGENTS.md",
        "AGENTS.md",
        "grep -qx old AGENTS.md && grep -q new AGENTS.md.from-exec-*",
    ),
    (
        "echo new >> AGENTS.md; touch go",
        "",
        "test \"$(cat AGENTS.md)\" = $'old\\nnew' && test ! -e AGENTS.md.from-exec-*",
    ),
    (
        "mv AGENTS.md AGENTS.bak && echo new > AGENTS.md",
        "AGENTS.md",
        "grep -qx old AGENTS.md && grep -qx old AGENTS.bak && grep -q new AGENTS.md.from-exec-*",
    ),
    (
        // The attack may have made it again before its end.
        "rm AGENTS.md",
        "AGENTS.md",
        "grep -qx old AGENTS.md",
    ),
    (
        // The attack may make the file again in between.
        "mkdir n; touch n/new; until rm -f AGENTS.md && mv -T n AGENTS.md; do :; done 2>/dev/null",
        "AGENTS.md",
        "grep -qx old AGENTS.md && test -e AGENTS.md.from-exec-*/new",
    ),
    (
        "mkfifo n && mv n AGENTS.md",
        "AGENTS.md",
        "grep -qx old AGENTS.md && test -p AGENTS.md.from-exec-*",
    ),
    (
        "ln -sfn runs AGENTS.md",
        "AGENTS.md",
        "test ! -L AGENTS.md && grep -qx old AGENTS.md && test -L AGENTS.md.from-exec-*",
    ),
    (
        "truncate -s 1G n && mv n AGENTS.md",
        "AGENTS.md",
        "grep -qx old AGENTS.md && test $(stat -c %s AGENTS.md.from-exec-*) -ge 1073741824",
    ),
    (
        "echo new > CLAUDE.md; touch go",
        "",
        "test ! -e CLAUDE.md && grep -q new CLAUDE.md.from-exec-*",
    ),
    (
        "echo new > skills/n && mv skills/n skills/a; touch go",
        "",
        "grep -qx new skills/a && test ! -e skills.from-exec-*",
    ),
    (
        "mv skills away && mkdir skills && echo new > skills/b",
        "skills",
        "grep -qx old skills/a && test ! -e skills/b && grep -q new skills.from-exec-*/b",
    ),
    (
        "git config alias.co checkout",
        ".git/config",
        "test -z \"$(git config alias.co)\" && grep -q 'co = checkout' .git/config.from-exec-*",
    ),
    (
        "mv .git away && cp -r away .git && echo new > .git/hooks/pre-push",
        "",
        "grep -qx old .git/hooks/pre-push && test $(stat -c %a .git/hooks/pre-push) = 750 && \
         test \"$(git config alias.st)\" = status",
    ),
    (
        "ln AGENTS.md link && ln AGENTS.md writable && rm link; echo evil >> writable; touch go",
        "",
        "grep -qx old AGENTS.md && grep -q evil AGENTS.md.from-exec-*",
    ),
];

// proves TL-18
#[test]
fn what_the_person_saves_or_removes_meanwhile_gives_a_command_nothing_that_is_trusted() {
    if !is_provable(Level::Namespaces) {
        return;
    }
    for user in users() {
        for (does, lost, after) in ROWS {
            let machine = Machine::new(user);
            machine.person(BEFORE);
            if let Some(user) = user {
                give(&machine.workspace, user);
            }
            let (ended, _) = machine.both(Level::Namespaces, ATTACK, does);
            match lost {
                "" => assert!(
                    matches!(ended, Ended::Exited(_) | Ended::Unkept(_)),
                    "{does}"
                ),
                lost => assert_eq!(ended, Ended::Unkept(lost.into()), "{does}"),
            }
            machine.person(after);
            machine.person("! grep -rq fsmonitor AGENTS.md skills .git/config .git/hooks");
        }
    }
}

// proves TL-18
#[test]
fn two_commands_and_an_editor_at_once_leave_what_the_first_had_found() {
    for level in LEVELS.into_iter().filter(|level| is_provable(*level)) {
        let machine = Machine::new(None);
        machine.person(BEFORE);
        let cages = Cages::new(machine.guarding(level)).unwrap();
        let start = |name: &str| {
            let command = ATTACK.replace("touch runs", &format!("touch {name}"));
            let running = cages.start(machine.job(&command)).unwrap();
            while !machine.workspace.join(name).exists() {
                std::thread::yield_now();
            }
            running
        };
        let running = [start("one"), start("two")];
        machine.person("for i in $(seq 20); do echo new > n; mv n AGENTS.md; done; touch go");
        for running in running {
            running.watch(|_, _| {}).unwrap();
        }
        // The editor may have saved again after the second.
        machine.person("grep -qx old AGENTS.md || grep -qx new AGENTS.md");
        machine.person("! grep -rq fsmonitor AGENTS.md skills .git/config .git/hooks");
        machine.person("cat AGENTS.md AGENTS.md.from-exec-* | grep -q new");
        assert!(!machine.all.path().join("note").exists(), "{level:?}");
    }
}

// proves TL-18
#[test]
fn what_another_command_makes_and_loses_ends_no_command() {
    if !is_provable(Level::Namespaces) {
        return;
    }
    for (name, makes) in [
        ("CLAUDE.md", "echo new > CLAUDE.md"),
        (".git/commondir", "echo . > .git/commondir"),
        ("skills", "mkdir skills && echo new > skills/a"),
    ] {
        let machine = Machine::new(None);
        machine.person("git init -q .");
        let cages = Cages::new(machine.guarding(Level::Namespaces)).unwrap();
        let start = |command: &str, runs: &str| {
            let running = cages.start(machine.job(command)).unwrap();
            while !machine.workspace.join(runs).exists() {
                std::thread::yield_now();
            }
            running
        };
        let maker = format!("{makes}; touch made; until test -e other; do :; done");
        let maker = start(&maker, "made");
        let other = format!(
            "touch other; while test -e {name}; do :; done; sleep 0.2; \
             ! echo evil 2>/dev/null >> {name} || touch wrote"
        );
        let other = start(&other, "other");
        let aside = maker.watch(|_, _| {}).unwrap().aside;
        assert_eq!(aside.moved[0].name, Path::new(name));
        let finish = other.watch(|_, _| {}).unwrap();
        // It makes the name itself at last, and may be gone when that is seen.
        let made = (name == ".git/commondir").then(|| Ended::Obeyed(name.into()));
        let is_own = Some(&finish.ended) == made.as_ref();
        assert!(is_own || finish.ended == Ended::Exited(0), "{name}");
        machine.person(&format!("test ! -e {name}"));
        assert!(!machine.all.path().join("note").exists(), "{name}");
    }
}

// proves TL-18
#[test]
fn plain_settings_of_git_that_the_person_makes_meanwhile_stay() {
    if !is_provable(Level::Namespaces) {
        return;
    }
    let quiet = "touch runs; sleep 600";
    for (does, after) in [
        (
            "git config user.name Ada",
            "test $(git config user.name) = Ada",
        ),
        (
            "git remote add origin https://example.org/x.git",
            "test $(git config remote.origin.url) = https://example.org/x.git",
        ),
    ] {
        let machine = Machine::new(None);
        machine.person(BEFORE);
        let (ended, aside) = machine.both(Level::Namespaces, quiet, does);
        assert_eq!(ended, Ended::Unkept(".git/config".into()), "{does}");
        assert_eq!(aside, PutAside::default(), "{does}");
        machine.person(after);
    }
}

/// What a command does, or the person meanwhile, where the files lie open; what holds then; and the names
/// that are told.
const OPEN: [(&str, &str, &[&str]); 12] = [
    (
        "echo new > AGENTS.md",
        "grep -qx new AGENTS.md.from-exec-*",
        &["AGENTS.md"],
    ),
    (
        "rm AGENTS.md",
        "test ! -e AGENTS.md.from-exec-*",
        &["AGENTS.md"],
    ),
    (
        "chmod 0 AGENTS.md",
        "test $(stat -c %a AGENTS.md) = 644",
        &["AGENTS.md"],
    ),
    (
        "rm AGENTS.md; mkfifo AGENTS.md",
        "test -p AGENTS.md.from-exec-*",
        &["AGENTS.md"],
    ),
    (
        "echo evil > .git/hooks/pre-commit; chmod 755 .git/hooks/pre-commit",
        "test ! -e .git/hooks/pre-commit && test -e .git/hooks.from-exec-*/pre-commit",
        &[".git/hooks"],
    ),
    (
        "chmod 700 .git/hooks/pre-push; touch -d 2000-01-01 .git/hooks",
        "test $(stat -c %a .git/hooks/pre-push) = 750",
        &[".git/hooks"],
    ),
    (
        "rm -r skills; ln -s outside skills",
        "test -L skills.from-exec-*",
        &["skills"],
    ),
    (
        "git config core.fsmonitor evil",
        "test -z \"$(git config core.fsmonitor)\" && grep -q evil .git/config.from-exec-*",
        &[".git/config"],
    ),
    (
        "git config user.email a@b && git config user.name A",
        "test $(git config user.name) = A",
        &[],
    ),
    (
        "git remote add o git@host:x && git config branch.main.remote o",
        "test $(git config remote.o.url) = git@host:x",
        &[],
    ),
    (
        "rm -r .git",
        "test \"$(git config -f .git/config alias.st)\" = status",
        &[".git/config", ".git/hooks"],
    ),
    ("echo fine > notes", "test -e notes", &[]),
];

// proves TL-18
#[test]
fn where_the_files_lie_open_they_have_again_what_they_had() {
    for level in [Level::Landlock, Level::Off] {
        if !is_provable(level) {
            continue;
        }
        for (does, after, told) in OPEN {
            let ways: &[bool] = if level == Level::Off {
                &[false, true]
            } else {
                &[false]
            };
            for by_person in ways {
                let machine = Machine::new(None);
                machine.person(BEFORE);
                let (command, person) = if *by_person {
                    ("touch runs; until test -e go; do :; done".to_owned(), does)
                } else {
                    (format!("{does}; touch runs"), ":")
                };
                let person = format!("{person}; touch go");
                let (_, aside) = machine.both(level, &command, &person);
                let mut names: Vec<_> = aside.moved.iter().map(|it| it.name.clone()).collect();
                names.sort();
                let told: Vec<PathBuf> = told.iter().map(PathBuf::from).collect();
                assert_eq!(names, told, "{level:?} {does} {aside:?}");
                assert_eq!(aside.stays, [""; 0].map(PathBuf::from), "{level:?} {does}");
                assert!(aside.moved.iter().all(|it| it.is_back), "{level:?} {does}");
                machine.person(after);
                machine.person("grep -qx old AGENTS.md && grep -qx old .git/hooks/pre-push");
            }
        }
    }
}

// proves TL-18
#[test]
fn a_file_that_is_too_large_to_be_kept_is_put_aside_when_it_changes() {
    let machine = Machine::new(None);
    machine.person(BEFORE);
    machine.person("truncate -s 1G AGENTS.md");
    let (_, aside) = machine.both(Level::Off, "touch runs", ":");
    assert_eq!(aside, PutAside::default());
    let (_, aside) = machine.both(Level::Off, "echo evil >> AGENTS.md", ":");
    let moved = &aside.moved[0];
    assert!(
        moved.was_there && !moved.is_back && moved.to.is_some(),
        "{aside:?}"
    );
    machine.person("test ! -e AGENTS.md && test -e AGENTS.md.from-exec-*");
}

// proves TL-18
#[test]
fn a_repository_that_a_command_makes_keeps_its_plain_settings() {
    let makes = "touch runs; git init -q -b main . && git config user.name Ada && \
        git remote add origin https://example.org/x.git";
    for level in LEVELS.into_iter().filter(|level| is_provable(*level)) {
        for (also, told) in [(":", 0), ("git config core.fsmonitor evil", 1)] {
            let machine = Machine::new(None);
            let (_, aside) = machine.both(level, &format!("{makes} && {also}"), ":");
            assert_eq!(aside.moved.len(), told, "{level:?} {also}: {aside:?}");
            let stays = "test $(git config user.name) = Ada && git status >/dev/null";
            machine.person(if told == 0 {
                stays
            } else {
                "test ! -e .git/config"
            });
        }
    }
}

// proves TL-18, DU-18
#[test]
fn after_a_kill_a_trusted_file_has_again_what_it_had() {
    for level in LEVELS.into_iter().filter(|level| is_provable(*level)) {
        for (does, stays) in [
            ("echo new > n && mv n AGENTS.md", false),
            ("rm AGENTS.md", false),
            // A mount kept it from the command as long as it was the same file.
            ("echo new > AGENTS.md", level == Level::Namespaces),
        ] {
            let machine = Machine::new(None);
            machine.person(BEFORE);
            let cages = Cages::new(machine.guarding(level)).unwrap();
            let running = cages.start(machine.job("touch runs; sleep 600")).unwrap();
            while !machine.workspace.join("runs").exists() {
                std::thread::yield_now();
            }
            // As a kill leaves them.
            machine
                .person("cp -a ../note ../note.then && cp -a ../note.trusted ../note.trusted.then");
            drop(running);
            machine.person("for it in note note.trusted; do mv ../$it.then ../$it; done");
            machine.person(does);
            put_aside_after_kill(&machine.all.path().join("note")).unwrap();
            let holds = if stays { "new" } else { "old" };
            machine.person(&format!("grep -qx {holds} AGENTS.md && test ! -e ../note"));
        }
    }
}
