//! The table of tasks, and how one is run.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::{dist, fuzz, mass, mutants, packages};

/// Everything `cargo xtask` can do.
///
/// The tests come last: whoever reads only the end of the output reads their summary.
pub(crate) const TASKS: &[Task] = &[
    Task {
        name: "check",
        purpose: "format and lints: the fast half of the gate, for the edit loop",
        steps: &[FORMAT, LINTS],
        last: None,
    },
    Task {
        name: "test",
        purpose: "the gate: format, lints, docs, their examples, tests",
        steps: &[
            FORMAT,
            LINTS,
            DOCS,
            EXAMPLES,
            PACKAGES,
            NODE_AGENT,
            AI_SDK,
            WEB,
            PAGE,
            NODE_READERS,
            PYTHON_FOLDER,
            PYTHON_PACKAGES,
            TESTS,
        ],
        last: None,
    },
    Task {
        name: "contract",
        purpose: "rewrites clients/typescript/agent.ts from the Rust types",
        steps: &[CONTRACT],
        last: None,
    },
    Task {
        name: "bench",
        purpose: "measures the release binary, and keeps the table; --quick, or words of rows",
        steps: &[RELEASE, BENCH],
        last: None,
    },
    Task {
        name: "instructions",
        purpose: "counts the instructions of the hot paths; --write keeps the counts",
        steps: &[INSTRUCTIONS],
        last: None,
    },
    Task {
        name: "prove",
        purpose: "the long proofs; with flags `samovar prove`, --release before its own",
        steps: &[PROOFS, PROVE],
        last: None,
    },
    Task {
        name: "fuzz",
        purpose: "runs the targets of lab/fuzz; --seconds N for each, then names",
        steps: &[],
        last: Some(fuzz::run),
    },
    Task {
        name: "mutants",
        purpose: "breaks promises with the patches of lab/mutants; --quick, then names",
        steps: &[],
        last: Some(mutants::run),
    },
    Task {
        name: "dist",
        purpose: "a tarball, a Debian package and the recipe of an image; --binary FILE, --out DIR",
        steps: &[],
        last: Some(dist::run),
    },
    Task {
        name: "mass",
        purpose: "counts lines and rings of files, here or in the tree that is named; --rings, --write",
        steps: &[],
        last: Some(mass::run),
    },
];

/// The tasks whose time is kept for `mass`.
const TIMED: [&str; 2] = ["test", "prove"];

// One set of packages and features in every step: another one would build dependencies again.
// `--all-features` reaches our crates alone, and switches the failpoints on that tests stop at.
const FORMAT: Step = Step::new("format", "fmt --all --check");
const LINTS: Step = Step::new(
    "lints",
    "clippy --workspace --all-targets --all-features -- -D warnings",
);
const DOCS: Step = Step {
    environment: &[("RUSTDOCFLAGS", "-D warnings")],
    ..Step::new("docs", "doc --workspace --all-features --no-deps")
};
// Its closing lines say of most crates that there was nothing to run.
const EXAMPLES: Step = Step {
    is_quiet: true,
    ..Step::new("examples", "test --workspace --all-features --doc --quiet")
};
const PACKAGES: Step = Step {
    program: NPM,
    left_out: || packages::node_left_out(packages::CLIENT),
    ..Step::new("packages", "ci --prefix clients/typescript")
};
const NODE_AGENT: Step = Step {
    program: NPM,
    left_out: || packages::node_left_out(packages::NODE_AGENT),
    ..Step::new(
        "packages of the agent in TypeScript",
        "ci --prefix examples/relay-typescript",
    )
};
const AI_SDK: Step = Step {
    program: NPM,
    left_out: || packages::node_left_out(packages::AI_SDK),
    ..Step::new("packages of the AI SDK", "ci --prefix clients/ai-sdk")
};
const WEB: Step = Step {
    program: NPM,
    left_out: || packages::node_left_out(packages::WEB),
    ..Step::new("packages of the web page", "ci --prefix web")
};
const PAGE: Step = Step {
    program: NPM,
    left_out: || packages::node_left_out(packages::PAGE),
    ..Step::new("packages of the page", "ci --prefix examples/use-chat")
};
const NODE_READERS: Step = Step {
    program: NPM,
    left_out: || packages::node_left_out(packages::READERS),
    ..Step::new("packages of the readers", "ci --prefix lab/readers")
};
const PYTHON_FOLDER: Step = Step {
    program: ("python3", packages::python),
    left_out: packages::folder_left_out,
    ..Step::new(
        "folder for packages of Python",
        "-m venv --clear examples/relay-python/.venv",
    )
};
// Done each time: it asks no server when everything is there.
const PYTHON_PACKAGES: Step = Step {
    program: ("pip", packages::pip),
    left_out: packages::python_left_out,
    ..Step::new(
        "packages of Python",
        "install --quiet --disable-pip-version-check --require-hashes \
         --requirement examples/relay-python/requirements.txt \
         --requirement lab/readers/requirements.txt",
    )
};
// The test that compares the file writes it first when it is told to.
const CONTRACT: Step = Step {
    environment: &[("SAMOVAR_CONTRACT", "write")],
    ..Step::new(
        "contract",
        "nextest run --workspace --all-features \
         the_contract_file_says_what_the_rust_types_say",
    )
};
const TESTS: Step = Step {
    more: packages::left_out_tests,
    ..Step::new(
        "tests",
        "nextest run --workspace --all-features --no-fail-fast",
    )
};
// The binary as a person gets it: no other crate of ours, and no failpoints.
const RELEASE: Step = Step {
    words: Words::Unseen,
    ..Step::new("release", "build --release --package samovar")
};
const BENCH: Step = Step {
    words: Words::Passed,
    ..Step::new("bench", "run --release --package samovar-bench")
};
const INSTRUCTIONS: Step = Step {
    words: Words::Passed,
    ..Step::new(
        "instructions",
        "run --release --package samovar-bench --example instructions",
    )
};

// The modules `proof` of the tests, in the gate's own build.
const PROOFS: Step = Step::new(
    "proofs",
    "nextest run --workspace --all-features --no-fail-fast --profile proof",
);
// A build of its own: with the points and the faults, which no released binary has.
const PROVE: Step = Step {
    words: Words::Needed,
    ..Step::new("prove", "run --package samovar --features failpoints,plant")
};

const INSTALL_NEXTEST: &str = "install cargo-nextest --locked";

/// A word after `cargo xtask`, and the steps it stands for.
pub(crate) struct Task {
    pub(crate) name: &'static str,
    pub(crate) purpose: &'static str,
    steps: &'static [Step],
    /// What this program does itself after the steps, in the root of the workspace.
    last: Option<Work>,
}

/// What this program does with the words after the task's name, and why it is not all done.
type Work = fn(&Path, &[String]) -> Result<(), String>;

/// One command.
struct Step {
    name: &'static str,
    program: Program,
    /// Separated by spaces.
    arguments: &'static str,
    environment: &'static [(&'static str, &'static str)],
    /// Whether its standard output is shown only when it fails; its complaints always are.
    is_quiet: bool,
    words: Words,
    /// Arguments that depend on the machine.
    more: fn() -> Vec<String>,
    /// Why it is not run now, if it need not or cannot be.
    left_out: fn() -> Option<&'static str>,
}

/// What words after the task's name are to a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    /// With words it does not run.
    None,
    /// It runs as without them.
    Unseen,
    /// They are for the program that cargo runs.
    Passed,
    /// It runs only with words: `--release`, when it comes first, is for cargo, the others are for the
    /// command that cargo runs.
    Needed,
}

/// Its name, and how it is called.
type Program = (&'static str, fn() -> Command);

const CARGO: Program = ("cargo", cargo);
const NPM: Program = ("npm", packages::npm);

impl Task {
    /// Runs the steps in order, each with its output left as it is.
    ///
    /// # Errors
    ///
    /// The first step that fails ends the task; `cargo-nextest` is installed first where it is
    /// missing, or the task ends before its first step.
    pub(crate) fn run(&self, words: &[String]) -> Result<(), String> {
        let ended = self.run_steps(words);
        if let Some(line) = packages::left_out_line().filter(|_| self.name == "test") {
            eprintln!("xtask: {line}");
        }
        ended
    }

    fn run_steps(&self, words: &[String]) -> Result<(), String> {
        let steps = self.steps.iter().filter(|step| step.is_for(words));
        let steps: Vec<&Step> = steps.collect();
        if steps.iter().any(|step| step.needs_nextest()) {
            provide_nextest()?;
        }
        let started = now();
        for (at, step) in steps.iter().enumerate() {
            let place = format!("{}/{} {}", at + 1, steps.len(), step.name);
            if let Some(why) = (step.left_out)() {
                eprintln!("==> {place}: left out, {why}");
                continue;
            }
            let (program, _) = step.program;
            eprintln!("==> {place}: {program} {}", step.arguments);
            let began = now();
            let status = step.run(words);
            let status = status.map_err(|cause| format!("cannot start {program}: {cause}"))?;
            let after = seconds(began.elapsed());
            if !status.success() {
                return Err(format!("{} failed after {after} ({status})", step.name));
            }
            eprintln!("<== {} passed in {after}", step.name);
        }
        if let Some(last) = self.last {
            last(&packages::root(), words)?;
        }
        let took = seconds(started.elapsed());
        eprintln!("xtask: {} passed in {took}", self.name);
        if words.is_empty() && TIMED.contains(&self.name) {
            mass::note_time(&packages::root(), self.name, &took);
        }
        Ok(())
    }

    /// Whether it takes words after its name.
    pub(crate) fn takes_words(&self) -> bool {
        let takes = |step: &Step| matches!(step.words, Words::Passed | Words::Needed);
        self.steps.is_empty() || self.steps.iter().any(takes)
    }
}

impl Step {
    const fn new(name: &'static str, arguments: &'static str) -> Step {
        Step {
            name,
            program: CARGO,
            arguments,
            environment: &[],
            is_quiet: false,
            words: Words::None,
            more: Vec::new,
            left_out: || None,
        }
    }

    fn is_for(&self, words: &[String]) -> bool {
        match self.words {
            Words::None => words.is_empty(),
            Words::Unseen | Words::Passed => true,
            Words::Needed => !words.is_empty(),
        }
    }

    /// What follows the arguments.
    fn tail(&self, words: &[String]) -> Vec<String> {
        if self.words == Words::Passed && !words.is_empty() {
            return [&["--".to_owned()], words].concat();
        }
        if self.words != Words::Needed {
            return Vec::new();
        }
        let is_cargos = words.first().is_some_and(|word| word == "--release");
        let (cargo, own) = words.split_at(usize::from(is_cargos));
        let command = ["--", "prove"].map(str::to_owned);
        [cargo, &command, own].concat()
    }

    fn needs_nextest(&self) -> bool {
        self.arguments.starts_with("nextest ")
    }

    fn run(&self, words: &[String]) -> io::Result<ExitStatus> {
        let (_, program) = self.program;
        let mut command = program();
        command
            .args(self.arguments.split_whitespace())
            .args((self.more)())
            .args(self.tail(words))
            .envs(self.environment.iter().copied());
        if self.needs_nextest() && std::env::var_os(THREADS).is_none() {
            command.env(THREADS, threads().to_string());
        }
        if !self.is_quiet {
            return command.status();
        }
        let ended = command.stderr(Stdio::inherit()).output()?;
        if !ended.status.success() {
            io::stdout().write_all(&ended.stdout)?;
        }
        Ok(ended.status)
    }
}

/// Installs `cargo-nextest` where it is missing.
fn provide_nextest() -> Result<(), String> {
    let failed = |cause: io::Error| format!("cannot start cargo: {cause}");
    if has_nextest().map_err(failed)? {
        return Ok(());
    }
    eprintln!("xtask: cargo-nextest is missing: cargo {INSTALL_NEXTEST}");
    let installed = cargo().args(INSTALL_NEXTEST.split(' ')).status();
    installed.map_err(failed)?;
    if has_nextest().map_err(failed)? {
        return Ok(());
    }
    Err(format!(
        "cargo-nextest cannot be installed; try: cargo {INSTALL_NEXTEST}"
    ))
}

fn has_nextest() -> io::Result<bool> {
    let mut probe = cargo();
    probe
        .args(["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Ok(probe.status()?.success())
}

/// The cargo that runs this program, with the environment the person gave it.
pub(crate) fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    // `cargo run` describes this package in the environment. Build scripts that watch those
    // variables would run again after every plain `cargo build`, and the other way round.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// The variable that tells nextest how many tests to run at once.
const THREADS: &str = "NEXTEST_TEST_THREADS";

/// Two tests a core: most of them wait for a disk, a server or a clock.
fn threads() -> usize {
    2 * std::thread::available_parallelism().map_or(1, usize::from)
}

pub(crate) fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// The time, to compare with a later one.
#[expect(clippy::disallowed_methods, reason = "a task tells how long it took")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
