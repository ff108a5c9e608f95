//! What an operator's list and a person's grants add.

use samovar_shell::{ReadOnly, Verdict, parse};

/// The keys of a grant for a command, with blanks between them; `once` when it can have none.
fn keys(command: &str) -> String {
    keys_in(None, command)
}

fn keys_in(folder: Option<&str>, command: &str) -> String {
    let keys = ReadOnly::built_in().grant_keys(&parse(command).unwrap(), folder);
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
        ("git commit -am 'fix: typo'", "git commit"),
        ("git stash pop", "git stash pop"),
        ("git fetch --all --prune", "git fetch"),
        ("cargo test --workspace 2>&1 | tail -20", "cargo test"),
        ("cargo test -p core -- --nocapture", "cargo test"),
        ("cargo nextest run -p core", "cargo nextest run"),
        ("cargo clippy -- -D warnings", "cargo clippy"),
        ("npm ci && npm run build", "npm ci, npm run build"),
        ("mkdir -p a && mkdir b", "mkdir"),
        ("/bin/mkdir a", "/bin/mkdir"),
        ("git status", ""),
        ("pytest -xvs --tb=short tests", "pytest"),
        ("pytest -n4 -k 'login and not slow'", "pytest"),
        ("python3.12 -m pytest -q", "python3.12 -m pytest"),
        ("python tools/gen.py --all", "python tools/gen.py --all"),
        ("nodejs x.js", "nodejs x.js"),
        ("./run.sh now", "./run.sh now"),
        ("./gradlew build", "./gradlew build"),
        ("make", "make"),
        ("make -j8 clean test", "make clean test"),
        ("make CC=./cc", "make CC=./cc"),
        ("go test ./... -run Tea -count=1", "go test"),
        ("cmake -B build -S .", "cmake"),
        ("cp -r a b && mv c d", "cp, mv"),
        ("eslint src --fix && tsc --noEmit", "eslint, tsc"),
    ];
    for (command, wanted) in table {
        assert_eq!(keys(command), wanted, "{command}");
    }
}

/// What a relative path or the files of a folder mean depends on the folder.
#[test]
fn a_grant_is_for_the_folder_in_which_the_command_runs() {
    let table = [
        (
            None,
            "cd web && npm ci && npm run build | tail",
            "cd web && npm ci, cd web && npm run build",
        ),
        (None, "cd evil && ./build.sh", "cd evil && ./build.sh"),
        (None, "cd evil && git commit -m x", "cd evil && git commit"),
        (Some("evil"), "./build.sh", "cd evil && ./build.sh"),
        (
            Some("./evil/"),
            "python manage.py",
            "cd evil && python manage.py",
        ),
        (Some("."), "./build.sh", "./build.sh"),
        (Some("a b"), "./build.sh", "once"),
        (Some("web"), "cd evil && ./build.sh", "once"),
        (None, "cd evil; ./build.sh", "once"),
        (None, "cd evil && true; ./build.sh", "once"),
        (None, "cd evil && true || ./build.sh", "once"),
        (None, "cd evil | ./build.sh", "once"),
        (None, "true && cd evil && ./build.sh", "once"),
        (None, "cd web && cd evil && ./build.sh", "once"),
        (None, "cd && ./build.sh", "once"),
        (None, "cd - && ./build.sh", "once"),
        (None, "cd ~ && ./build.sh", "once"),
        (None, "cd ev* && ./build.sh", "once"),
        (None, "pushd evil && ./build.sh", "once"),
    ];
    for (folder, command, wanted) in table {
        assert_eq!(keys_in(folder, command), wanted, "{folder:?} {command}");
    }
}

#[test]
fn what_runs_other_programs_is_allowed_once() {
    let commands = r#"
        bash script.sh · sh -c 'cargo test' · /bin/sh x · python -c 1 · python -m · python ·
        python -u x.py · node -e 1 · env cargo test · xargs cargo test · sudo make install ·
        timeout 9 cargo test · find . -exec rm {} + · find . -delete · npx jest · uv run x ·
        npm exec jest · docker run x · docker exec web sh · git -c a=b push · git -C .. push ·
        git bisect run x · git config alias.x y · cargo +nightly test · cargo · npm run ·
        sed -i s/a/b/ x · awk '{print > "x"}' y · rm -rf x · eval ls · exec ls · source x ·
        . x · command rm x · ssh host ls · cargo test && rm x · python 'a b.py' ·
        git push* origin · chmod +x a · vim x · busybox rm x · nice ./x · ./tools/bash x ·
        python3.12 -c 1 · nodejs -e 1 · perl5.36 -e 1 · lua5.4 · .venv/bin/python · bash5 x ·
        .venv/bin/python -c 1 · python -m timeit 1 · python -m pytest -p evil · python /dev/stdin ·
        node ../../dev/fd/0 · split --filter=x file · dpkg -i x · m4 x · socat - x · sqlite3 x ·
        tmux new x · nix-shell --run x · systemd-run x · toybox rm x · /usr/bin/split x · frob x ·
        git fetch --upload-pack=./evil . · git push --receive-pack=./evil . · git rebase -x ls ·
        git clone -c a=b x · git clone -u ./evil x · git ls-remote --upload-pack ./evil . ·
        git grep -O./evil x · git log --output=x · git archive --remote=. --exec=./evil HEAD ·
        git merge -s evil x · git commit --gpg-sign · git push --forc · git submodule foreach ls ·
        cargo test --config a=b · cargo test --manifest-path x · cargo run -- --flag · go test -exec ./x ·
        go build -toolexec ./x · npm test --script-shell=./x · npm run build --prefix evil ·
        make -f evil.mk · make -C evil · make --eval=x · cmake -P x · cmake -C x · ctest -S x ·
        pytest -p evil · pytest -c evil.ini · pytest @evil · jest --config=x · eslint -c x · cp @x y ·
        mypy --config-file x · prettier --plugin=./x . · mvn -Dexec.executable=sh exec:exec ·
        cargo test * · make * · docker compose up · kubectl apply · mv -- -b x"#;
    for command in commands.split('·').map(str::trim) {
        assert_eq!(keys(command), "once", "{command}");
    }
}

#[test]
fn a_grant_covers_its_own_commands_alone() {
    let allowed = ["cargo test", "npm run build", "./build.sh"];
    let table = [
        ("cargo test -p core 2>&1 | tail -3", true),
        ("npm run build && ls dist", true),
        ("./build.sh", true),
        ("cd web && npm run build", false),
        ("cargo test --config x", false),
        ("cargo build", false),
        ("npm run build-all", false),
        ("cargo test | tee out", false),
        ("cargo test; cargo build; touch x", false),
        ("./cargo test", false),
        ("./build.sh --all", false),
    ];
    for (command, wanted) in table {
        let keys = ReadOnly::built_in().grant_keys(&parse(command).unwrap(), None);
        let is_covered = keys.is_some_and(|keys| keys.iter().all(|key| allowed.contains(&&**key)));
        assert_eq!(is_covered, wanted, "{command}");
    }
    for opaque in [
        "cargo test > file",
        "cargo test $(x)",
        "cargo test &",
        "X=1 cargo test",
    ] {
        assert!(parse(opaque).is_err(), "{opaque}");
    }
}

/// The programs by which rules find a command.
#[test]
fn a_rule_finds_a_program_behind_options_and_other_programs() {
    let table = [
        ("git push origin && rm src/a", "git push, rm src/a"),
        ("/usr/local/bin/git push", "/usr/local/bin/git push"),
        ("git -C . push", "git, git ., git push"),
        ("git --no-pager push", "git, git push"),
        ("/usr/bin/git -P push", "/usr/bin/git, git push"),
        ("cargo +nightly publish", "cargo, cargo publish"),
        ("ls -la src | wc -l", "ls, wc"),
        ("make -j8", "make"),
        ("ls | xargs -n 1 cat", "ls, xargs, 1, cat"),
        ("find . -exec cat {} +", "find ., ., cat, {}"),
        ("git --no-pager diff src/*.rs", "git, git diff"),
        ("sed -i s/a/b/ x", "sed"),
        ("command -v git", "command"),
    ];
    let names = |command: &str| ReadOnly::built_in().program_names(&parse(command).unwrap());
    for (command, wanted) in table {
        assert_eq!(names(command).unwrap().join(", "), wanted, "{command}");
    }
    let unknown = r"
        env git push · command git push · sh -c 'git push' · xargs git push · timeout 9 git push ·
        ls && find . -exec git push {} + · nohup git push · /usr/bin/env git push · bash5.2 x ·
        git --exec-path=/evil push · git -c alias.p=push p · git --config-env=alias.p=P p · git pus* · git -C . pus* · git --no-pager pus? · export PATH=. && ls · toybox rm x";
    for command in unknown.split('·').map(str::trim) {
        assert_eq!(names(command), None, "{command}");
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
