//! What an operator's list and a person's grants add.

use samovar_shell::{ReadOnly, Verdict, parse};

/// The keys of a grant for a command, with blanks between them; `once` when it can have none.
fn keys(command: &str) -> String {
    let keys = ReadOnly::built_in().grant_keys(&parse(command).unwrap());
    keys.map_or_else(|| "once".to_owned(), |keys| keys.join(", "))
}

fn asks_about(list: &ReadOnly, command: &str) -> Vec<String> {
    match list.judge(command) {
        Verdict::Reads => Vec::new(),
        Verdict::Asks { programs, .. } => programs,
    }
}

#[test]
fn a_grant_names_the_program_and_its_subcommand() {
    let table = [
        ("git push origin main", "git push"),
        ("cargo test --workspace 2>&1 | tail -20", "cargo test"),
        ("cd web && npm ci && npm run build", "npm ci, npm run build"),
        ("mkdir -p a && mkdir b", "mkdir"),
        ("git status", ""),
        ("pytest -x tests", "pytest"),
        ("python3 -m pytest -q", "python3 -m pytest"),
        ("python tools/gen.py --all", "python tools/gen.py"),
        ("./run.sh now", "./run.sh"),
        ("docker compose up -d", "docker compose up"),
        ("make test", "make test"),
    ];
    for (command, wanted) in table {
        assert_eq!(keys(command), wanted, "{command}");
    }
}

#[test]
fn what_runs_other_programs_is_allowed_once() {
    let commands = r#"
        bash script.sh · sh -c 'cargo test' · /bin/sh x · python -c 1 · python -m · python ·
        python -u x.py · node -e 1 · env cargo test · xargs cargo test · sudo make install ·
        timeout 9 cargo test · find . -exec rm {} + · find . -delete · npx jest · uv run x ·
        npm exec jest · docker run x · docker exec web sh · git -c a=b push · git -C .. push ·
        git bisect run x · git config alias.x y · cargo +nightly test · cargo · make · npm run ·
        sed -i s/a/b/ x · awk '{print > "x"}' y · rm -rf x · eval ls · exec ls · source x ·
        . x · command rm x · ssh host ls · cargo test && rm x · python 'a b.py' ·
        git push* origin · chmod +x a · vim x · busybox rm x · nice ./x · ./tools/bash x"#;
    for command in commands.split('·').map(str::trim) {
        assert_eq!(keys(command), "once", "{command}");
    }
}

#[test]
fn a_grant_covers_its_own_commands_alone() {
    let list = ReadOnly::built_in().and(["cargo test", "npm run build"]);
    let table = [
        ("cargo test -p core 2>&1 | tail -3", ""),
        ("cd web && npm run build && ls dist", ""),
        ("cargo build", "cargo"),
        ("cargo tes*", "cargo"),
        ("npm run", "npm"),
        ("npm run build-all", "npm"),
        ("cargo test | tee out", "tee"),
        ("cargo test; cargo build; touch x", "cargo touch"),
        ("./cargo test", "./cargo"),
    ];
    for (command, wanted) in table {
        assert_eq!(asks_about(&list, command).join(" "), wanted, "{command}");
    }
    for opaque in [
        "cargo test > file",
        "cargo test $(x)",
        "cargo test &",
        "X=1 cargo test",
    ] {
        assert_ne!(list.judge(opaque), Verdict::Reads, "{opaque}");
    }
}

#[test]
fn an_operators_list_replaces_the_built_in_one() {
    let list = ReadOnly::of(["cat", "make check", "  "]);
    let table = [
        ("cat x | cat", ""),
        ("make check -j4", ""),
        ("make install", "make"),
        ("ls", "ls"),
        ("git status", "git"),
    ];
    for (command, wanted) in table {
        assert_eq!(asks_about(&list, command).join(" "), wanted, "{command}");
    }
}

#[test]
fn an_opaque_command_says_what_it_has_and_where() {
    let why = |command: &str| match ReadOnly::built_in().judge(command) {
        Verdict::Asks { why, .. } => why,
        Verdict::Reads => String::new(),
    };
    assert_eq!(
        why("cat $(ls)"),
        "the command has a command substitution (at byte 4)"
    );
    assert_eq!(
        why("ls > x"),
        "the command has a redirect into a file (at byte 6)"
    );
    assert_eq!(why("ls && rm x"), "rm: not a program of the list");
    assert_eq!(
        why(""),
        "the command has a command without a program (at byte 0)"
    );
}

#[test]
fn long_commands_are_not_read() {
    let long = format!("echo {}", "a".repeat(samovar_shell::MAX_BYTES));
    let many = "ls;".repeat(samovar_shell::MAX_COMMANDS + 1);
    assert!(parse(&long).is_err());
    assert!(parse(&many).is_err());
    assert!(parse(&many[3..]).is_ok());
}
