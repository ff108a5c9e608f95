//! What the search costs: `cargo run --release -p samovar-stores --example search_cost -- [TURNS [LANGUAGE]]`.
//!
//! Writes 100,000 messages, or two for each of so many turns, of a made language with 60,000 words, whose
//! frequencies are those of a natural one, and of a made language without spaces, and prints the CPU time
//! of a text turn with and without its words in the index, the bytes of the index for each byte of text,
//! and how long queries take. Text that only a model reads is not indexed, so the same turn with it is the
//! one without.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "it is a measurement that a person reads"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use samovar_core::history::{Change, Opened, Projection, SearchQuery};
use samovar_core::{
    AgentPath, Budget, History, Message, MessageId, Millis, Part, Role, Seq, SessionId, TurnId,
};
use samovar_stores::history::SqliteHistory;

#[path = "../tests/search/language.rs"]
mod language;

use language::{Dice, LANGUAGES, Language};

/// Turns, each with a question and an answer.
const TURNS: u32 = 50_000;
/// Turns of a session.
const TALK: u64 = 50;
/// Characters of a question and of an answer, about.
const LENGTHS: [usize; 2] = [120, 700];
/// How often a query is asked.
const RUNS: usize = 41;

/// How a message has its text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    ToPeople,
    ToModelsAlone,
}

/// A projection for each step of each turn, as a server makes them while a turn runs alone, and the
/// bytes of all text.
fn turns(count: u32, language: Language, told: Told) -> (Vec<Projection>, u64) {
    let mut dice = Dice(1);
    let (mut steps, mut bytes) = (Vec::new(), 0);
    for turn in 0..u64::from(count) {
        let session = SessionId::new(&format!("019a0000-0000-7000-8000-{:012}", turn / TALK));
        let session = session.unwrap();
        let id = TurnId::new(&format!("019b0000-0000-7000-8000-{turn:012}")).unwrap();
        let at = Millis(1_795_311_059_999 + turn.cast_signed());
        let mut put = |which: usize, role| {
            let text = language.text(&mut dice, LENGTHS[which]);
            bytes += text.len() as u64;
            let part = match told {
                Told::ToPeople => Part::text(text),
                Told::ToModelsAlone => Part::Reasoning {
                    text,
                    provider_state: None,
                },
            };
            let message = MessageId::new(&format!("019c0000-000{which}-7000-8000-{turn:012}"));
            Change::Put {
                message: Arc::new(Message::new(message.unwrap(), role, vec![part], at)),
                turn: Some(id.clone()),
                agent: AgentPath::root("master"),
            }
        };
        let question = put(0, Role::User);
        let answer = put(1, Role::Assistant);
        let started = Change::TurnStarted {
            turn: id.clone(),
            agent: AgentPath::root("master"),
            parent_call: None,
            background: false,
            budget: Budget::default(),
            at,
        };
        let from = (turn % TALK) * 3 + 2;
        let mut first = vec![(Seq(from), question), (Seq(from + 1), started)];
        if turn % TALK == 0 {
            let opened = Change::Open(Opened {
                model: "demo".to_owned(),
                route: None,
                agent: "master".to_owned(),
                system_prompt: None,
                approval: None,
                begun_by: None,
                metadata: serde_json::Map::new(),
                at,
            });
            first.insert(0, (Seq(1), opened));
        }
        for changes in [first, vec![(Seq(from + 2), answer)]] {
            steps.push(Projection {
                session: session.clone(),
                up_to: changes.last().unwrap().0,
                changes,
            });
        }
    }
    (steps, bytes)
}

/// User and system time of this process.
fn cpu() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let of_thread = |path: &Path| {
        let spent = std::fs::read_to_string(path.join("schedstat")).unwrap_or_default();
        let spent = spent.split(' ').next().unwrap_or_default().parse::<u64>();
        spent.unwrap_or_default()
    };
    let all = threads.flatten().map(|thread| of_thread(&thread.path()));
    Duration::from_nanos(all.sum())
}

/// Writes so many turns; the CPU time of one.
async fn written(history: &SqliteHistory, steps: Vec<Projection>, count: u32) -> Duration {
    let before = cpu();
    for (number, step) in steps.into_iter().enumerate() {
        history.project(vec![step]).await.unwrap();
        if number % 1000 == 0 {
            history.sync().await.unwrap();
        }
    }
    cpu().saturating_sub(before) / count
}

fn index_bytes(file: &Path) -> i64 {
    let connection = rusqlite::Connection::open(file).unwrap();
    let sum = "SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'search_%'";
    connection.query_row(sum, [], |row| row.get(0)).unwrap()
}

async fn ask(history: &SqliteHistory, name: &str, text: &str) {
    let mut times = Vec::new();
    let mut count = 0;
    let before = cpu();
    for _ in 0..RUNS {
        let query = SearchQuery {
            edit_forks: true,
            text: text.to_owned(),
            limit: 20,
            before: None,
        };
        let start = Instant::now();
        count = history.search(query).await.unwrap().items.len();
        times.push(start.elapsed());
    }
    let spent = cpu().saturating_sub(before) / u32::try_from(RUNS).unwrap();
    times.sort_unstable();
    let (middle, worst) = (times[RUNS / 2], times[RUNS - 1]);
    println!(
        "  {name:<34} {middle:>9.2?} median, {worst:>9.2?} worst, {spent:>9.2?} of CPU, {count} hits"
    );
}

async fn measure(count: u32, language: Language) {
    let folder = tempfile::tempdir().unwrap();
    let mut costs = Vec::new();
    println!("{}: {} messages", language.name, 2 * count);
    for told in [Told::ToModelsAlone, Told::ToPeople] {
        let file = folder.path().join(format!("{}.db", told == Told::ToPeople));
        let history = SqliteHistory::open(&file).await.unwrap();
        let (steps, bytes) = turns(count, language, told);
        costs.push(written(&history, steps, count).await);
        if told == Told::ToPeople {
            let index = index_bytes(&file);
            #[expect(clippy::cast_precision_loss, reason = "a ratio")]
            let ratio = index as f64 / bytes as f64;
            println!("  index: {index} bytes for {bytes} bytes of text, {ratio:.3}");
            let word = |rank| language.word(rank);
            let pair = |a, b| format!("{} {}", word(a), word(b));
            ask(&history, "the most frequent word", &word(1)).await;
            ask(&history, "two frequent words", &pair(2, 3)).await;
            ask(&history, "a frequent and a rare word", &pair(1, 20_000)).await;
            ask(&history, "a rare word", &word(25_000)).await;
            ask(&history, "no hit, three letters", "bat zzz").await;
            ask(&history, "the beginning of many words", "tat kok").await;
            let ten: Vec<_> = (1..=10).map(word).collect();
            ask(&history, "ten frequent words", &ten.join(" ")).await;
            // Of a script without spaces, what the index has of them are pairs.
            ask(&history, "two frequent words in a row", &ten[..2].concat()).await;
            ask(&history, "ten frequent words in a row", &ten.concat()).await;
        }
        history.close().await.unwrap();
    }
    let (without, with) = (costs[0], costs[1]);
    println!(
        "  history of a turn: {without:.1?} of CPU without words, {with:.1?} with them, {:.1?} more",
        with.saturating_sub(without)
    );
}

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1);
    let count = args.next().map_or(TURNS, |count| count.parse().unwrap());
    let wanted = args.next();
    let is_wanted = |it: &Language| wanted.as_ref().is_none_or(|word| it.name.contains(word));
    for language in LANGUAGES.into_iter().filter(is_wanted) {
        measure(count, language).await;
    }
}
