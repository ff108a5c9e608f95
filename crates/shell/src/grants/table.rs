//! The programs that a person can allow permanently, with the options that they may have.
//!
//! Not here, on purpose: options that name a program, code, a file of settings, or a plugin, and those
//! that turn a harmless call into the loss of a folder.

/// How a program may be called.
#[derive(Clone, Copy)]
pub(super) struct Tool {
    /// Its names.
    programs: &'static str,
    /// What its first word may be; empty for any.
    first: &'static str,
    /// Which of its words are part of the key.
    pub(super) named: Named,
    options: &'static str,
}

/// Which words of a call are part of its key.
#[derive(Clone, Copy)]
pub(super) enum Named {
    /// So many of the first.
    First(usize),
    /// All that are not options, because each of them says what the program does.
    All,
}

impl Tool {
    /// The program of this name with this first word.
    pub(super) fn find(name: &str, first: Option<&str>) -> Option<Tool> {
        let is_first =
            |tool: &Tool| tool.first.is_empty() || first.is_some_and(|it| is_in(tool.first, it));
        let is_it = |tool: &&Tool| is_in(tool.programs, name) && is_first(tool);
        TOOLS.iter().find(is_it).copied()
    }

    /// Whether it takes this option: by its name, or as letters, the last with a number.
    pub(super) fn takes(self, option: &str) -> bool {
        let name = option.split('=').next().unwrap_or_default();
        let letters = name
            .trim_end_matches(|c: char| c.is_ascii_digit())
            .strip_prefix('-');
        let is_letter = |c: char| is_in(self.options, &format!("-{c}"));
        let are_letters =
            |letters: &str| !letters.starts_with('-') && letters.chars().all(is_letter);
        option == "--" || is_in(self.options, name) || letters.is_some_and(are_letters)
    }
}

fn is_in(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}

const fn tool(
    programs: &'static str,
    first: &'static str,
    named: Named,
    options: &'static str,
) -> Tool {
    Tool {
        programs,
        first,
        named,
        options,
    }
}

use Named::{All, First};

const CARGO: &str = "-p --package --workspace --all --all-targets --all-features --features -F \
    --no-default-features --release -r --lib --bins --bin --tests --test --examples --example \
    --benches --bench --doc --no-deps --no-run --no-fail-fast --nocapture --show-output --exact \
    --ignored --include-ignored --list --skip --test-threads --offline --locked --frozen --check -q \
    --quiet -v --verbose -j --jobs --profile --message-format --fix --allow-dirty --allow-staged \
    --dev --build -D -W -A -E --tests";

const NODE: &str = "--silent -s --if-present -w --workspace --workspaces --no-audit --no-fund \
    --offline --prefer-offline --frozen-lockfile --immutable --ignore-scripts --save-dev -D --save \
    --production --omit --legacy-peer-deps";

const GO: &str = "-v -race -run -skip -count -short -timeout -cover -bench -benchmem -tags -json \
    -failfast -parallel -p -o -m -u -d -mod";

/// For programs of which few options are used.
const FEW: &str = "-v --verbose -q --quiet --offline";

const TARGETS: &str = "-j -k -s -B -n -q --silent --no-print-directory --keep-going --offline";

const TOOLS: &[Tool] = &[
    tool("cargo", "nextest", First(2), CARGO),
    tool(
        "cargo",
        "build b check c test t clippy fmt doc run r bench update add remove fetch",
        First(1),
        CARGO,
    ),
    tool("npm yarn pnpm bun", "run", First(2), NODE),
    tool(
        "npm yarn pnpm bun",
        "test t start ci install i",
        First(1),
        NODE,
    ),
    tool(
        "deno",
        "test fmt lint check",
        First(1),
        "--check -q --quiet",
    ),
    tool("go", "mod", First(2), GO),
    tool("go", "build test vet fmt run list", First(1), GO),
    tool("gofmt", "", First(0), "-w -l -d -s"),
    tool("make gmake ninja", "", All, TARGETS),
    tool("rake just mvn gradle ant", "", All, FEW),
    tool(
        "cmake",
        "",
        First(0),
        "-S -B -G --build --target -t --parallel -j --config --clean-first -v",
    ),
    tool(
        "ctest",
        "",
        First(0),
        "-j -R -E -V -N --output-on-failure --test-dir",
    ),
    tool("meson", "setup compile test", First(1), "-C -v"),
    tool("dotnet", "build test restore run format", First(1), DOTNET),
    tool("swift", "build test run", First(1), "-c -v -q"),
    tool("mix", "test compile format", First(1), ""),
    tool("cabal stack", "build test", First(1), FEW),
    tool(
        "bundle composer poetry uv pipenv",
        "install sync lock",
        First(1),
        FEW,
    ),
    tool(
        "pip",
        "install list show freeze check uninstall",
        First(1),
        "-r -e -q -U -y --upgrade --user --no-deps",
    ),
    tool(
        "pytest",
        "",
        First(0),
        "-x -q -v -s -k -m -n -l --tb --maxfail --lf --last-failed --ff --failed-first --cov \
         --cov-report --durations --collect-only --co --no-header --no-cov --verbose --quiet",
    ),
    tool("unittest", "", First(0), "-v -q -f -b -k"),
    tool("venv build", "", First(0), ""),
    tool(
        "mypy",
        "",
        First(0),
        "--strict --ignore-missing-imports --pretty",
    ),
    tool(
        "ruff",
        "check format",
        First(1),
        "--fix --check --select --ignore --diff --watch -q --quiet --unsafe-fixes",
    ),
    tool(
        "black",
        "",
        First(0),
        "--check --diff -l --line-length -q -S",
    ),
    tool(
        "isort",
        "",
        First(0),
        "--check --check-only --diff --profile",
    ),
    tool(
        "flake8",
        "",
        First(0),
        "--max-line-length --select --ignore --exclude",
    ),
    tool(
        "tsc",
        "",
        First(0),
        "--noEmit -p --project -b --build -w --watch --pretty --strict",
    ),
    tool(
        "eslint",
        "",
        First(0),
        "--fix --ext --quiet --max-warnings --cache --no-color",
    ),
    tool(
        "prettier",
        "",
        First(0),
        "--write -w --check -c --list-different -l",
    ),
    tool(
        "jest vitest mocha",
        "",
        First(0),
        "--run --coverage --runInBand -i --verbose --ci --silent -t --testNamePattern --watchAll \
         --bail -b --grep -g --timeout --recursive",
    ),
    tool("rustfmt", "", First(0), "--check --edition"),
    tool("shellcheck", "", First(0), "-x -s -e -f"),
    tool("mkdir", "", First(0), "-p -v --parents"),
    tool("touch", "", First(0), "-a -c -m"),
    tool("cp", "", First(0), "-r -R -a -f -n -u -v -p --recursive"),
    tool("mv", "", First(0), "-f -n -u -v"),
    tool("git", "add", First(1), "-A --all -u --update -v -N -f"),
    tool(
        "git",
        "commit",
        First(1),
        "-m -a -q -v -s --message --all --amend --no-edit --allow-empty --signoff --quiet",
    ),
    tool(
        "git",
        "checkout switch",
        First(1),
        "-b -c -q -t --track --detach --",
    ),
    tool(
        "git",
        "restore",
        First(1),
        "--staged -S --worktree -W --source -s -q",
    ),
    tool(
        "git",
        "stash",
        All,
        "-u -q -m --include-untracked --message --keep-index",
    ),
    tool("git", "tag", First(1), "-a -m -d --delete -l"),
    tool(
        "git",
        "branch",
        First(1),
        "-d -m -q --delete --move -u --set-upstream-to",
    ),
    tool(
        "git",
        "merge cherry-pick revert",
        First(1),
        "--no-ff --ff-only --ff --squash --no-edit --no-commit -n -x -m -q --abort --continue",
    ),
    tool("git", "reset", First(1), "--soft --mixed -q"),
    tool("git", "mv init apply", First(1), ""),
    tool("git", "rm", First(1), "--cached"),
    tool(
        "git",
        "push",
        First(1),
        "-u --set-upstream --tags -q -v --dry-run -n",
    ),
    tool(
        "git",
        "pull fetch",
        First(1),
        "--rebase --ff-only --all --prune -p --tags -t -q -v --depth --autostash --no-rebase",
    ),
    tool(
        "git",
        "clone",
        First(1),
        "--depth --branch -b --single-branch -q",
    ),
    tool("git", "ls-remote", First(1), "--heads --tags --refs -q"),
    tool("git", "worktree", All, "-b -q"),
];

const DOTNET: &str = "-c --configuration --no-restore --no-build --nologo --filter -v --verbosity -f \
    --framework --project";
