//! What it costs to look at a person's files for one turn: three bootstrap files and ten skills, none of
//! which has changed.
//!
//! ```sh
//! cargo run --release -p samovar-server --example guide_cost
//! ```

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "it is a measurement that a person reads"
)]

use std::collections::BTreeSet;
use std::fs;
use std::hint::black_box;
use std::time::Duration;

use samovar_engine::Audience;
use samovar_server::{Config, guide};

const ROUNDS: u32 = 20_000;

fn main() {
    let top = tempfile::tempdir().unwrap();
    let own = top.path().join("own");
    fs::create_dir_all(own.join("skills")).unwrap();
    fs::create_dir_all(top.path().join("ws")).unwrap();
    for name in ["SOUL.md", "USER.md", "AGENTS.md"] {
        let text = "A line of what a person wants.\n".repeat(60);
        fs::write(own.join(name), text).unwrap();
    }
    for name in 0..10 {
        let text = "---\ndescription: How to do it.\nrequires: [sh]\n---\n\nDo it.\n";
        fs::write(own.join(format!("skills/skill-{name}.md")), text).unwrap();
    }
    let mut config = Config::new(top.path().join("data"), top.path().join("ws"));
    config.guide.own = Some(own);
    let guide = guide(&config);
    let audience = Audience {
        agent: "master".to_owned(),
        has_prompt: false,
        is_with_person: true,
        has_memory: false,
        tools: BTreeSet::from(["read_skill".to_owned()]),
        skills: None,
        environment: None,
    };
    let skills = guide.read(audience.clone()).skills.unwrap();
    assert_eq!(skills.lines().count(), 10);
    let before = cpu();
    for _ in 0..ROUNDS {
        black_box(guide.read(audience.clone()));
    }
    let used = cpu().saturating_sub(before) / ROUNDS;
    println!(
        "three files and ten skills: {} µs of CPU a turn",
        used.as_micros()
    );
}

/// What this thread has used of a processor.
fn cpu() -> Duration {
    let spent = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let spent = spent.split(' ').next().unwrap().parse().unwrap();
    Duration::from_nanos(spent)
}
