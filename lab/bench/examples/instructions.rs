//! Counts the processor instructions of the hot paths under callgrind, and compares them with the
//! committed counts: what another program does on the machine does not change them.
//!
//! A path is run a few times and then often; the difference, divided, is what one more run takes,
//! without the program's start. The journal and the spool are real, in a file system in memory where
//! there is one: after a slow sync a turn takes other steps. The model and the history are in memory.
//!
//! ```sh
//! cargo xtask instructions            # compares
//! cargo xtask instructions --write    # and keeps what it has counted
//! ```

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a person reads what it counts"
)]

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use samovar_core::command::Opening;
use samovar_core::{
    Action, Approval, ContextLimit, Delivery, LimitSource, Message, MessageId, Millis, Outcome,
    Part, Role, SessionId, ToolReply, ToolSpec, Toolset,
};
use samovar_doubles::{
    Disk, MemoryJournal, ScriptedModel, TestTool, World, call, results, say, tool_spec, user,
};
use samovar_engine::{Engine, Ports, Settings, Toolbox, build_prompt};
use samovar_stores::journal::{self, LmdbJournal};
use samovar_wire::agent::{Encoder, Profile};
use serde_json::json;

/// A hot path: its name, and how often it is run for the smaller count and for the larger one.
const PATHS: [(&str, u64, u64); 3] = [
    // A delta through the spool, the journal, the log and the encoder of a stream.
    ("delta", 200, 2_200),
    // A tool's call with its result, in turns of one round and of five.
    ("round", 1, 5),
    // The prompt of a session with 50 messages and 20 tools.
    ("prompt", 10, 110),
];

/// Turns whose rounds are counted.
const TURNS: u64 = 20;

/// By how much a count may differ from the committed one.
const TOLERANCE: f64 = 0.05;

/// How often a path is counted that differs: on a busy machine a sync is shared by other commits.
const TRIES: usize = 3;

/// The committed counts: a path, a build, its instructions.
const KEPT: &str = "lab/bench/instructions.txt";

/// Debug builds are what the gate has; they are counted apart.
const BUILD: &str = if cfg!(debug_assertions) {
    "debug"
} else {
    "release"
};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        [] => compare(false),
        ["--write"] => compare(true),
        [path, times] => run(path, times),
        _ => Err(anyhow::anyhow!("only --write is known")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("instructions: {why:#}");
            ExitCode::FAILURE
        }
    }
}

fn compare(writes: bool) -> Result<()> {
    let valgrind = Command::new("valgrind").arg("--version").output();
    if valgrind.is_err() {
        println!("instructions: not counted without valgrind; on Debian: apt-get install valgrind");
        return Ok(());
    }
    let file = root().join(KEPT);
    let mut kept = read(&fs::read_to_string(&file).unwrap_or_default())?;
    let mut differing = Vec::new();
    for (path, few, many) in PATHS {
        let name = format!("{path} {BUILD}");
        let before = kept.get(&name).copied();
        let is_other = |counted| before.is_some_and(|before| differs(before, counted));
        let mut counted = one_more(path, few, many)?;
        for _ in 1..TRIES {
            if writes || !is_other(counted) {
                break;
            }
            counted = one_more(path, few, many)?;
        }
        println!("{name} {counted}, kept: {before:?}");
        if is_other(counted) {
            differing.push(path);
        }
        kept.insert(name, counted);
    }
    if writes {
        let lines = kept.iter().map(|(name, count)| format!("{name} {count}\n"));
        fs::write(&file, lines.collect::<String>())?;
        return Ok(());
    }
    ensure!(
        differing.is_empty(),
        "more than 5 % from {KEPT}: {}; if that is meant, add --write",
        differing.join(", ")
    );
    Ok(())
}

/// What one more run of a path takes.
fn one_more(path: &str, few: u64, many: u64) -> Result<u64> {
    let more = count(path, many)?.saturating_sub(count(path, few)?);
    let times = many - few;
    Ok(more
        / if path == "round" {
            times * TURNS
        } else {
            times
        })
}

#[expect(clippy::cast_precision_loss, reason = "they are millions")]
fn differs(kept: u64, counted: u64) -> bool {
    (counted as f64 / kept as f64 - 1.0).abs() > TOLERANCE
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(text: &str) -> Result<BTreeMap<String, u64>> {
    let counts = text.lines().map(|line| {
        let (name, count) = line.rsplit_once(' ').context("a line without a count")?;
        Ok((name.to_owned(), count.parse()?))
    });
    counts.collect()
}

/// The instructions of this program when it runs a path so often.
fn count(path: &str, times: u64) -> Result<u64> {
    let counted = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        // Or what else runs on the machine would say how the threads take turns.
        .arg("--fair-sched=yes")
        .arg(std::env::current_exe()?)
        .args([path, &times.to_string()])
        // Which arena a thread gets depends on the cores.
        .env("MALLOC_ARENA_MAX", "1")
        .output()?;
    let said = String::from_utf8_lossy(&counted.stderr);
    ensure!(counted.status.success(), "{path} failed: {said}");
    let mut lines = said.lines();
    let found = lines.find_map(|line| line.split_once("Collected : "));
    let (_, found) = found.with_context(|| format!("callgrind counted nothing: {said}"))?;
    Ok(found.trim().parse()?)
}

/// Runs a path so often, in one thread besides the journal's own.
fn run(path: &str, times: &str) -> Result<()> {
    let times: usize = times.parse()?;
    if path == "prompt" {
        return prompts(times);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let folder = match tempfile::tempdir_in("/dev/shm") {
            Ok(folder) => folder,
            Err(_) => tempfile::tempdir()?,
        };
        let engine = engine(folder.path(), times).await?;
        match path {
            "delta" => turn(&engine, "deltas").await?,
            "round" => {
                for number in 0..TURNS {
                    turn(&engine, &format!("rounds {number}")).await?;
                }
            }
            _ => bail!("no path is called {path}"),
        }
        Ok(())
    })
}

/// An engine on a real journal, whose model says so many words or calls a tool so often.
async fn engine(folder: &Path, times: usize) -> Result<Arc<Engine>> {
    let disk = Disk::on(Arc::new(MemoryJournal::new()));
    let world = World::with(ScriptedModel::by(move |prompt| {
        let is_words = user(prompt) == "deltas";
        match results(prompt) {
            _ if is_words => say(&"word ".repeat(times)),
            done if done < times => call("read", json!({"path": "notes.txt"})),
            _ => say("done"),
        }
    }));
    let toolbox = Toolbox::default();
    let tool: Arc<dyn Toolset> = TestTool::new("read", |_, _| async {
        ToolReply::Closed(Outcome::done("as it was written"))
    })
    .build();
    toolbox.add(&tool)?;
    let room = journal::Settings {
        // Valgrind has less address space than a process alone.
        map_bytes: 1 << 30,
        ..journal::Settings::default()
    };
    let (journal, _) = LmdbJournal::open_with(folder, 0, &room)?;
    let ports = Ports {
        journal: Arc::new(journal),
        history: disk.history(),
        blobs: disk.blobs(),
        models: Arc::new(world.model.clone()),
        toolbox: Arc::new(toolbox),
        agents: Arc::new(()),
        clock: world.clock.clone(),
        ids: world.ids.clone(),
        damages: Arc::new(()),
        audit: disk.audit(),
    };
    let settings = Settings {
        approval: Approval::Auto,
        ..Settings::default()
    };
    Ok(Engine::start(ports, settings).await?)
}

/// A turn in a session of its name, read to its end as a client's stream is.
async fn turn(engine: &Engine, session: &str) -> Result<()> {
    let name = SessionId::new(session)?;
    engine.act(&name, Action::Open(Opening::default())).await?;
    let posted = engine.post(&name, session.to_owned(), Delivery::Queue);
    let (turn, after) = posted.await?;
    let mut reader = engine.follow(&name, after).await?;
    let mut encoder = Encoder::new(turn, Profile::Default);
    let mut frames = Vec::new();
    while !encoder.is_over() {
        frames.clear();
        for event in reader.next().await? {
            encoder.encode(&event, &mut frames);
        }
        black_box(&frames);
    }
    let last = String::from_utf8_lossy(&frames);
    ensure!(
        last.contains("completed"),
        "the turn ended otherwise: {last}"
    );
    Ok(())
}

/// Builds the same prompt so often.
fn prompts(times: usize) -> Result<()> {
    let spec = |number| Arc::new(tool_spec(&format!("tool_{number}")));
    let tools: Arc<[Arc<ToolSpec>]> = (0..20).map(spec).collect();
    let said = "Some words of what was asked and answered. ".repeat(10);
    let message = |number: i64| {
        let role = [Role::User, Role::Assistant][usize::from(number % 2 == 1)];
        let id = MessageId::new(&format!("m-{number}"))?;
        let parts = vec![Part::text(said.clone())];
        Ok(Arc::new(Message::new(id, role, parts, Millis(number))))
    };
    let messages = (0..50).map(message).collect::<Result<Vec<_>>>()?;
    let limit = ContextLimit {
        model: "a-model".to_owned(),
        tokens: 128_000,
        per_mille: 1_000,
        source: LimitSource::Setting,
        named: None,
    };
    let settings = Settings::default();
    for _ in 0..times {
        black_box(build_prompt(&settings, &tools, messages.clone(), &limit));
    }
    Ok(())
}
