//! Names that the server trusts and a workspace lacks: what a command makes of them.

use super::*;

/// What the server trusts of these workspaces.
const KEPT: [&str; 5] = [
    "AGENTS.md",
    "skills",
    "docs/notes",
    ".git/config",
    ".git/commondir",
];

impl Machine {
    fn trusting(&self, level: Level) -> CageSettings {
        CageSettings {
            kept: KEPT.map(PathBuf::from).to_vec(),
            note: Some(self.all.path().join("note")),
            ..self.settings(level)
        }
    }

    fn shell(&self, command: &str) -> bool {
        let mut shell = Command::new("bash");
        shell.args(["-c", command]).current_dir(&self.workspace);
        shell.status().unwrap().success()
    }
}

/// What was there, what a command does, and what holds then.
const ROWS: [(&str, &str, &str); 11] = [
    (
        ":",
        "echo x > AGENTS.md",
        "test ! -e AGENTS.md && grep -q x AGENTS.md.from-exec-*",
    ),
    (
        ":",
        "mkdir skills && chmod 0 skills",
        "test ! -e skills && chmod 700 skills.from-exec-*",
    ),
    (
        ":",
        "touch AGENTS.md.from-exec $(seq -f AGENTS.md.from-exec-%g 2 1100); echo x > AGENTS.md",
        "test ! -e AGENTS.md",
    ),
    (
        ":",
        "echo x > AGENTS.md; chmod 500 .",
        "test ! -e AGENTS.md",
    ),
    (
        "mkdir .git",
        "echo x > .git/commondir; chmod 0 .git",
        "test -d .git && test ! -e .git/commondir && test -e .git/commondir.from-exec-*",
    ),
    (
        "mkdir ../outside/repo && touch ../outside/repo/config",
        "ln -s $PWD/../outside/repo .git",
        "test -e ../outside/repo/config && test ! -L .git && test -L .git.from-exec-*",
    ),
    (
        "mkdir ../outside/docs && touch ../outside/docs/notes",
        "ln -s ../outside/docs docs",
        "test -e ../outside/docs/notes && test ! -L docs",
    ),
    (
        ":",
        "echo 'gitdir: evil' > .git",
        "test ! -e .git && test -f .git.from-exec-*",
    ),
    (
        ":",
        "mkdir .git && touch .git/HEAD && printf '[core]\\n\\tpager = x\\n' > .git/config",
        "test -e .git/HEAD && test ! -e .git/config",
    ),
    (
        "mkdir real && ln -s real .git",
        "mkdir new && touch new/config && rm .git && mv new .git",
        "test \"$(readlink .git)\" = real && test -e .git.from-exec-*/config",
    ),
    (
        "echo 'gitdir: real' > .git",
        "echo 'gitdir: evil' > .git; mv .git x",
        "grep -q real .git",
    ),
];

// proves TL-18
#[test]
fn what_a_command_makes_of_a_trusted_name_is_put_aside() {
    if !is_provable(Level::Namespaces) {
        return;
    }
    for (before, command, after) in ROWS {
        let machine = Machine::new(None);
        assert!(machine.shell(before), "{before}");
        let cages = Cages::new(machine.trusting(Level::Namespaces)).unwrap();
        run(&cages, machine.job(command));
        assert!(machine.shell(after), "{command}: {after}");
        assert!(!machine.all.path().join("note").exists(), "{command}");
    }
}

// proves TL-18
#[test]
fn what_the_name_was_when_the_first_of_two_commands_began_counts_for_both() {
    if !is_provable(Level::Namespaces) {
        return;
    }
    let machine = Machine::new(None);
    let cages = Cages::new(machine.trusting(Level::Namespaces)).unwrap();
    let first = "mkdir skills; touch made; until test -e runs; do sleep 0.01; done";
    let second = "touch runs; while test -e skills; do sleep 0.01; done; mkdir skills";
    let first = cages.start(machine.job(first)).unwrap();
    while !machine.workspace.join("made").exists() {
        std::thread::yield_now();
    }
    let second = cages.start(machine.job(second)).unwrap();
    first.watch(|_, _| {}).unwrap();
    second.watch(|_, _| {}).unwrap();
    // The second may be ended before it makes one too: its mount on that of the first is gone.
    assert!(machine.shell("test ! -e skills && ls -d skills.from-exec-*"));
}

// proves TL-18
#[test]
fn a_command_that_is_dropped_or_never_started_leaves_no_trusted_name_and_no_note() {
    if !is_provable(Level::Namespaces) {
        return;
    }
    let machine = Machine::new(None);
    let unstarted = CageSettings {
        program: Some(machine.outside.join("missing")),
        ..machine.trusting(Level::Namespaces)
    };
    assert!(
        Cages::new(unstarted)
            .unwrap()
            .start(machine.job(":"))
            .is_err()
    );
    assert!(!machine.all.path().join("note").exists());

    let cages = Cages::new(machine.trusting(Level::Namespaces)).unwrap();
    let running = cages
        .start(machine.job("mkdir skills; touch made; sleep 600"))
        .unwrap();
    while !machine.workspace.join("made").exists() {
        std::thread::yield_now();
    }
    assert!(machine.all.path().join("note").exists());
    drop(running);
    assert!(machine.shell("test ! -e skills && test -d skills.from-exec-*"));
    assert!(!machine.all.path().join("note").exists());
}

// proves TL-6
#[test]
fn a_folder_of_path_that_leads_through_the_workspace_shows_nothing() {
    for level in [Level::Namespaces, Level::Landlock] {
        if !is_provable(level) {
            continue;
        }
        let machine = Machine::new(None);
        let cages = machine.cages(level);
        let keys = machine.home.join("keys");
        fs::create_dir(&keys).unwrap();
        fs::write(keys.join("secret"), "canary").unwrap();
        let read = format!("cat {}/secret", keys.display());
        let ends = |cages: &Cages, folder: &Path, command: &str| {
            let path = [folder, Path::new("/usr/bin"), Path::new("/bin")];
            let job = Job {
                path: Some(path.map(Path::to_owned).to_vec()),
                ..machine.job(command)
            };
            run(cages, job).1
        };
        // The border: a folder that the owner names is shown.
        let shown = ends(&cages, &keys, &read);
        assert_eq!(shown, Ended::Exited(0), "{level:?}");

        let bin = machine.workspace.join("venv/bin");
        fs::create_dir_all(&bin).unwrap();
        let by_home = machine.home.join("bin");
        symlink(&bin, &by_home).unwrap();
        let swap = format!("mv venv/bin x && ln -s {} venv/bin", keys.display());
        assert_eq!(ends(&cages, &bin, &swap), Ended::Exited(0), "{level:?}");
        let up = keys.join("../keys");
        for folder in [&bin, &by_home, &bin.join("below/.."), &up] {
            let ended = ends(&cages, folder, &read);
            assert_eq!(ended, Ended::Exited(1), "{level:?} {}", folder.display());
            let path = format!("{}:/usr/bin", folder.display());
            assert_eq!(cages.foreign_path(&path), "/usr/bin", "{path}");
        }
        let settings = CageSettings {
            path: vec![bin],
            ..machine.settings(level)
        };
        let later = Cages::new(settings).unwrap();
        assert_eq!(
            run(&later, machine.job(&read)).1,
            Ended::Exited(1),
            "{level:?}"
        );
    }
}
