//! What it costs to build the prompt of a normal session: three bootstrap files, ten skills and the
//! folder's file, none of which has changed, and a window of 50 messages with calls of tools.
//!
//! ```sh
//! cargo run --release -p samovar-server --example guide_cost -- [ROUNDS]
//! ```

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "it is a measurement that a person reads"
)]

use std::collections::BTreeSet;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use samovar_core::message::Part;
use samovar_core::{
    CallId, ContextLimit, Message, MessageId, Millis, Outcome, Role, ToolCall, ToolSpec,
};
use samovar_engine::{Audience, READ_SKILL, Settings, build_prompt};
use samovar_server::{Config, folder_guide, guide};

const ROUNDS: u32 = 20_000;

fn main() {
    let rounds = std::env::args()
        .nth(1)
        .map_or(ROUNDS, |it| it.parse().unwrap());
    let top = tempfile::tempdir().unwrap();
    let settings = settings(top.path());
    let audience = Audience {
        agent: "master".to_owned(),
        has_prompt: false,
        is_with_person: true,
        has_memory: false,
        tools: BTreeSet::from(["read_skill".to_owned()]),
        skills: None,
        environment: None,
        message: None,
    };
    let skills = settings.guide.read(audience.clone()).skills.unwrap();
    assert_eq!(skills.lines().count(), 10);
    let files = cost(rounds, || {
        black_box(settings.guide.read(audience.clone()));
    });
    println!("three files and ten skills: {files} µs of CPU a turn");

    let (tools, messages) = (tools(), messages());
    let limit = ContextLimit {
        model: "a-model".to_owned(),
        tokens: 128_000,
        ..serde_json::from_str(r#"{"model": "", "tokens": 1}"#).unwrap()
    };
    let build = || build_prompt(&settings, &tools, messages.clone(), &limit);
    let prompt = build();
    let names: Vec<_> = prompt.layers.iter().map(|layer| layer.name).collect();
    assert_eq!(names, ["soul", "user", "agents", "folder", "skills"]);
    assert_eq!((prompt.messages.len(), prompt.tools.len()), (50, 20));
    let whole = cost(rounds, || {
        black_box(build());
    });
    println!("the whole prompt of 50 messages and 20 tools: {whole} µs of CPU a turn");
}

/// A person's files, and a workspace with one.
fn settings(top: &Path) -> Settings {
    let own = top.join("own");
    fs::create_dir_all(own.join("skills")).unwrap();
    fs::create_dir_all(top.join("ws")).unwrap();
    let text = "A line of what a person wants.\n".repeat(60);
    for name in [
        "own/SOUL.md",
        "own/USER.md",
        "own/AGENTS.md",
        "ws/AGENTS.md",
    ] {
        fs::write(top.join(name), &text).unwrap();
    }
    for name in 0..10 {
        let text = "---\ndescription: How to do it.\nrequires: [sh]\n---\n\nDo it.\n";
        fs::write(own.join(format!("skills/skill-{name}.md")), text).unwrap();
    }
    let mut config = Config::new(top.join("data"), top.join("ws"));
    config.guide.own = Some(own);
    Settings {
        guide: guide(&config),
        folder: folder_guide(&config).unwrap(),
        max_history_messages: 50,
        ..Settings::default()
    }
}

fn tools() -> Arc<[Arc<ToolSpec>]> {
    let spec = |number: u32| {
        let text = "What it does, in a sentence or two. ".repeat(6);
        let name = match number {
            0 => READ_SKILL.to_owned(),
            _ => format!("tool_{number}"),
        };
        let spec = samovar_doubles::tool_spec(&name);
        Arc::new(ToolSpec {
            description: text,
            ..spec
        })
    };
    (0..20).map(spec).collect()
}

/// Ten turns of a question and two calls with their results.
fn messages() -> Vec<Arc<Message>> {
    let said = "Some words of what was asked, done, found and answered. ".repeat(8);
    let message = |at: usize| {
        let call = CallId::new(&format!("call-{at}")).unwrap();
        let (role, part) = match at % 5 {
            0 => (Role::User, Part::text(said.clone())),
            1 | 3 => {
                let args = serde_json::json!({"path": "src/main.rs", "text": said});
                let call = ToolCall::new(call, "tool_1".to_owned(), args);
                (Role::Assistant, Part::Call(call))
            }
            _ => {
                let call = CallId::new(&format!("call-{}", at - 1)).unwrap();
                let outcome = Outcome::done(said.clone());
                return Message::of_outcome(&call, "tool_1", &outcome, Millis(0));
            }
        };
        let id = MessageId::new(&format!("m-{at}")).unwrap();
        Message::new(id, role, vec![part], Millis(0))
    };
    (0..50).map(message).map(Arc::new).collect()
}

/// The CPU time of one round, in microseconds.
fn cost(rounds: u32, mut round: impl FnMut()) -> u128 {
    let before = cpu();
    (0..rounds).for_each(|_| round());
    (cpu().saturating_sub(before) / rounds).as_micros()
}

/// What this thread has used of a processor.
fn cpu() -> Duration {
    let spent = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let spent = spent.split(' ').next().unwrap().parse().unwrap();
    Duration::from_nanos(spent)
}
