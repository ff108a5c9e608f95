//! A storm: a person saves, renames, swaps and uses git while commands try all the time to write what the
//! server trusts.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use samovar_sandbox::cage::{Cages, Ended, Finish, Job, Level};

/// What the server trusts in the storm.
pub(crate) const KEPT: [&str; 7] = [
    "AGENTS.md",
    "CLAUDE.md",
    "skills",
    ".git/config",
    ".git/config.lock",
    ".git/hooks",
    ".git/commondir",
];
/// What a command would have git run, which is seen outside then.
const EVIL: &str = "evil() { printf '[core]\\n\\tfsmonitor = touch %s #EVIL\\n' \"$OUTSIDE/ran\"; }; \
    hook() { printf '#!/bin/sh\\ntouch %s #EVIL\\n' \"$OUTSIDE/ran\"; }; ";
/// What it tries until it is told to go: it writes into the names, and into the file that git renames to
/// one; it renames others to them; it removes them. Only the first one leaves what the person wrote.
const ATTACKS: [&str; 3] = [
    "for it in AGENTS.md .git/config .git/config.lock skills/a; do if test -f $it; then evil >> $it; fi; done; \
     hook > .git/hooks/pre-commit; chmod 755 .git/hooks/pre-commit",
    "evil > x; mv x AGENTS.md; evil > x; mv x .git/config; evil > CLAUDE.md; mkdir skills; evil > skills/b",
    "evil >> .git/config; rm -rf skills AGENTS.md; mkdir -p .git/hooks; hook > .git/hooks/pre-commit; \
     chmod 755 .git/hooks/pre-commit",
];
/// What the person does, with a number of their own; and where they look for it.
const WORK: [(&str, &str); 11] = [
    ("echo $N > n && mv n AGENTS.md", "AGENTS.md"),
    ("echo $N >> AGENTS.md", "AGENTS.md"),
    (
        "mv AGENTS.md away; echo $N > AGENTS.md; rm -f away",
        "AGENTS.md",
    ),
    ("echo $N > CLAUDE.md", "CLAUDE.md"),
    (
        "for i in $(seq 50); do echo $N > n; mv n AGENTS.md; done",
        "AGENTS.md",
    ),
    ("rm -f AGENTS.md", ""),
    ("git config user.name $N", ".git/config"),
    ("git config alias.x$N status", ".git/config"),
    ("echo $N > skills/n && mv skills/n skills/a", "skills"),
    (
        "mv skills away && mkdir skills && echo $N > skills/a; rm -rf away",
        "skills",
    ),
    ("git add -A; git commit -qm $N", ""),
];
const BEFORE: &str = "git init -q . && rm -rf .git/hooks && mkdir .git/hooks skills && \
    echo old > AGENTS.md && echo old > skills/a && git config user.name me && git config user.email a@b";

/// What a storm must leave at zero.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Trusted names that had something of a command's after its end.
    pub(crate) untold: Vec<String>,
    /// What the person wrote and does not find any more.
    pub(crate) lost: Vec<String>,
    /// Whether git ran what a command wrote.
    pub(crate) ran: bool,
}

/// A folder in which it storms.
pub(crate) struct Storm<'a> {
    pub(crate) workspace: &'a Path,
    /// A folder that no command reaches.
    pub(crate) outside: &'a Path,
    pub(crate) cages: &'a Cages,
}

impl Storm<'_> {
    /// So many commands, each with something that the person does meanwhile. `job` makes one of a text.
    pub(crate) fn rage(&self, rounds: usize, job: impl Fn(&str) -> Job) -> Tally {
        self.person(BEFORE, "");
        let mut tally = Tally::default();
        for round in 0..rounds {
            let (work, place) = WORK[round % WORK.len()];
            let kind = round % ATTACKS.len();
            let attack = ATTACKS[kind];
            // Where the files lie open, git runs what is in them while the command runs.
            let is_open = self.cages.level() != Level::Namespaces;
            let work = if is_open && work.contains("commit") {
                ":"
            } else {
                work
            };
            let place = if kind == 0 { place } else { "" };
            let number = format!("person{round}");
            let outside = self.outside.display();
            let command = format!(
                "OUTSIDE={outside}; {EVIL} touch runs; for i in $(seq 3); do {attack}; done 2>/dev/null; \
                 until test -e go; do {attack}; done 2>/dev/null"
            );
            let running = self.cages.start(job(&command)).unwrap();
            while !self.workspace.join("runs").exists() {
                std::thread::yield_now();
            }
            // Where the command is ended meanwhile, the person continues.
            self.person(work, &number);
            self.person("touch go", "");
            let finish = running.watch(|_, _| {}).unwrap();
            self.look(&finish, (place, &number), &mut tally);
            self.person(
                "git status >/dev/null; git commit -q --allow-empty -m x",
                "",
            );
            tally.ran |= self.outside.join("ran").exists();
            self.person(
                "rm -rf runs go n x away *.from-exec-* .git/*.from-exec-* .git/config.lock .git/index.lock \
                 CLAUDE.md; test -e skills || mkdir skills; test -e AGENTS.md || echo old > AGENTS.md",
                "",
            );
        }
        tally
    }

    /// Counts what is wrong after a command.
    fn look(&self, finish: &Finish, (place, number): (&str, &str), tally: &mut Tally) {
        let known = matches!(
            finish.ended,
            Ended::Exited(_) | Ended::Unkept(_) | Ended::Obeyed(_) | Ended::Signalled(_)
        );
        let wrong = || format!("{number} {place}: {finish:?}");
        for name in KEPT {
            if !known || self.holds(Path::new(name), "EVIL") {
                tally.untold.push(format!("{name}: {}", wrong()));
            }
        }
        let moved = finish
            .aside
            .moved
            .iter()
            .filter_map(|moved| moved.to.as_ref());
        let places: Vec<&Path> = moved
            .map(PathBuf::as_path)
            .chain([Path::new(place)])
            .collect();
        if !place.is_empty() && !places.iter().any(|place| self.holds(place, number)) {
            tally.lost.push(wrong());
        }
    }

    fn holds(&self, name: &Path, text: &str) -> bool {
        let mut grep = Command::new("grep");
        grep.args(["-rqsF", text]).arg(self.workspace.join(name));
        grep.status().unwrap().success()
    }

    /// What a person does, and whether that goes well is not asked.
    fn person(&self, does: &str, number: &str) {
        let mut shell = Command::new("bash");
        shell.args(["-c", does]).current_dir(self.workspace);
        shell
            .env("N", number)
            .env("GIT_CONFIG_GLOBAL", self.outside.join("none"));
        shell.env("GIT_CONFIG_COUNT", "1");
        shell.envs([
            ("GIT_CONFIG_KEY_0", "safe.directory"),
            ("GIT_CONFIG_VALUE_0", "*"),
        ]);
        let _any = shell
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use super::{KEPT, Storm, Tally};

    /// Commands of each kind; the example `storm` takes any number.
    const ROUNDS: usize = 12;

    // proves TL-18
    #[test]
    fn in_a_storm_nothing_trusted_is_a_commands_and_nothing_of_the_person_is_lost() {
        let levels = [Level::Namespaces, Level::Landlock, Level::Off];
        for level in levels.into_iter().filter(|level| is_provable(*level)) {
            for user in users() {
                let machine = Machine::new(user);
                let settings = CageSettings {
                    kept: KEPT.map(PathBuf::from).to_vec(),
                    ..machine.settings(level)
                };
                let cages = Cages::new(settings).unwrap();
                let storm = Storm {
                    workspace: &machine.workspace,
                    outside: &machine.outside,
                    cages: &cages,
                };
                let tally = storm.rage(ROUNDS, |command| machine.job(command));
                assert_eq!(tally, Tally::default(), "{level:?} {user:?}");
            }
        }
    }
}
