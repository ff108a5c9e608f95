//! The ordinary commands of the grammar, run in the cage.

use std::os::unix::process::ExitStatusExt as _;
use std::thread;
use std::time::Duration;

use super::*;

const ORDINARY: &str = include_str!("../../../../shell/tests/it/ordinary.tsv");
/// A project as the commands expect one.
const PROJECT: &str = "\
    export HOME=$PWD GIT_CONFIG_NOSYSTEM=1; \
    git init -q -b main . && git config user.name me && git config user.email me@example.org && \
    mkdir -p src docs tests crates/core/src node_modules/.bin target .github/workflows && \
    printf '[package]\\nname = \"tea\"\\nversion = \"0.1.0\"\\n' > Cargo.toml && \
    printf '{\"name\": \"tea\", \"version\": \"1.0.0\", \"dependencies\": {}}\\n' > package.json && \
    seq 1 200 > input.txt && cp input.txt access.log && cp input.txt server.log && cp input.txt words.txt && \
    printf '# Tea\\n\\nTODO: foo bar\\n' > README.md && cp README.md docs/index.md && \
    printf 'a,b,c\\n1,2,3\\n' > data.csv && printf 'port = 1\\n# no\\n' > config.ini && \
    printf 'fn main() {} // TODO\\n' > src/main.rs && cp src/main.rs src/lib.rs && \
    cp src/lib.rs crates/core/src/lib.rs && printf 'all:\\n\\techo x\\n' > Makefile && \
    git add -A && git commit -qm one && echo more >> README.md && git commit -qam two && \
    git tag v0.1.0 && echo change >> README.md";
/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Commands of a hundred, at most, that end in another way in the cage: they are about the machine's
/// devices, logs and processes.
const OTHERS: usize = 2;

/// How a command ends without a cage; `None` where its program is missing or it does not end.
fn plainly(machine: &Machine, command: &str) -> Option<i32> {
    let mut plain = Command::new("timeout");
    plain.arg(PATIENCE.as_secs().to_string());
    plain.args(["/bin/bash", "-c", command]);
    plain.current_dir(&machine.workspace).env_clear();
    plain.envs(machine.job("").env).stdin(Stdio::null());
    let ended = plain.output().unwrap().status;
    let code = ended.code().or(ended.signal().map(|signal| 128 + signal));
    code.filter(|code| ![124, 126, 127].contains(code))
}

fn caged(cages: &Cages, machine: &Machine, command: &str) -> (Ended, String) {
    let job = Job {
        writes: false,
        ..machine.job(command)
    };
    let running = cages.start(job).unwrap();
    let stopper = running.stopper().unwrap();
    let late = thread::spawn(move || {
        thread::park_timeout(PATIENCE);
        stopper.stop();
    });
    let mut said = Vec::new();
    let finish = running.watch(|_, bytes| said.extend_from_slice(bytes));
    late.thread().unpark();
    late.join().unwrap();
    (
        finish.unwrap().ended,
        String::from_utf8_lossy(&said).into_owned(),
    )
}

// proves TL-6, TL-7
#[test]
fn what_people_type_to_read_ends_in_the_cage_as_without_it() {
    if !is_provable(Level::Namespaces) {
        return;
    }
    let machine = Machine::new(None);
    assert_eq!(plainly(&machine, PROJECT), Some(0));
    let cages = machine.cages(Level::Namespaces);
    let rows = ORDINARY
        .lines()
        .filter_map(|row| row.strip_prefix("reads\t"));
    let (mut same, mut others) = (0, Vec::new());
    for row in rows {
        let command = row.replace("{U+A}", "\n");
        let Some(code) = plainly(&machine, &command) else {
            continue;
        };
        match caged(&cages, &machine, &command) {
            (Ended::Exited(found), _) if found == code => same += 1,
            (ended, said) => others.push(format!("{command}: {code}, {ended:?} {said:.200}")),
        }
    }
    println!(
        "{same} as without the cage; {} others: {others:#?}",
        others.len()
    );
    assert!(same >= 300, "too few programs are there");
    assert!(
        others.len() * 100 <= (same + others.len()) * OTHERS,
        "{others:#?}"
    );
}
