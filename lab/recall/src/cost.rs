//! What recall costs with 10,000 memories, in CPU time and memory of this process.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use jiff::tz::TimeZone;
use samovar_core::{Clock, Millis};
use samovar_embed::{MAX_TOKENS, Side};
use samovar_memory::{Index, Memories, Settings, ranked};

use crate::set::{Half, QUESTION_TOKENS, Set};

const MEMORIES: usize = 10_000;
const TURNS: usize = 10_000;

struct Now;

impl Clock for Now {
    fn now(&self) -> Millis {
        Millis(jiff::Timestamp::now().as_millisecond())
    }
}

/// What a turn's prompt asks of the memories where there are none.
fn of_turn() -> Result<f64> {
    let dir = tempfile::tempdir()?;
    let settings = Settings {
        long_term: dir.path().join("MEMORY.md"),
        person: Some(dir.path().join("own/MEMORY.md")),
        daily: dir.path().join("memory"),
        window_days: 3,
        zone: TimeZone::system(),
        remarks: Vec::new(),
    };
    let memories = Memories::open(settings, Arc::new(Now));
    spent(TURNS, || {
        for _ in 0..TURNS {
            memories.turn_begins();
            std::hint::black_box((memories.tell(), memories.hits("Which port is it?")));
        }
    })
}

/// Prints it.
pub(crate) fn print(set: &Set, out: &mut impl Write) -> Result<()> {
    let turn = of_turn()? * 1e3;
    writeln!(out, "a turn with nothing remembered: {turn:.1} µs")?;
    let before = anonymous()?;
    let model = samovar_embed::embedded()?.context("the model is not in this binary")?;
    let texts: Vec<_> = set.notes.iter().map(|note| note.text.as_str()).collect();
    let mut vectors = Vec::new();
    let embedding = spent(texts.len(), || {
        let embedded = texts
            .iter()
            .map(|text| model.embed(Side::Passage, text, MAX_TOKENS));
        vectors = embedded.flatten().collect();
    })?;
    writeln!(out, "a note embedded: {embedding:.2} ms")?;
    let built = anonymous()?;
    writeln!(
        out,
        "memory with the model in use: {:.1} MB more",
        mega(built - before)
    )?;

    let all: Vec<_> = (0..MEMORIES)
        .map(|at| format!("{} {at}", texts[at % texts.len()]))
        .collect();
    let pairs: Vec<_> = all
        .iter()
        .map(String::as_str)
        .zip(vectors.iter().cycle())
        .collect();
    let centred = samovar_embed::means()?.centred(&pairs);
    let index = Index::new(all.iter().map(String::as_str));
    writeln!(
        out,
        "of {MEMORIES} memories: {:.1} MB",
        mega(anonymous()? - built)
    )?;
    let questions: Vec<_> = set.questions(Half::Figures).collect();
    let queries = questions
        .iter()
        .map(|it| model.embed(Side::Query, &it.text, QUESTION_TOKENS));
    let queries: Vec<_> = queries.flatten().collect();
    let mut hits = 0;
    let recall = spent(questions.len(), || {
        for (question, query) in questions.iter().zip(&queries) {
            let cosines: Vec<_> = centred.iter().map(|one| Some(one.cosine(query))).collect();
            hits += ranked(&index.find(&question.text), &cosines).len();
        }
    })?;
    writeln!(
        out,
        "a recall among {MEMORIES} beside its query's embedding: {recall:.2} ms ({hits} hits)"
    )?;
    let query = spent(questions.len(), || {
        for question in &questions {
            let embedded = model.embed(Side::Query, &question.text, QUESTION_TOKENS);
            hits += usize::from(embedded.is_some());
        }
    })?;
    writeln!(out, "a query embedded: {query:.2} ms")?;
    Ok(())
}

/// Milliseconds of CPU for each of so many.
#[expect(
    clippy::cast_precision_loss,
    reason = "they are milliseconds and counts"
)]
fn spent(count: usize, run: impl FnOnce()) -> Result<f64> {
    let before = cpu()?;
    run();
    Ok((cpu()? - before) as f64 / 1e6 / count as f64)
}

/// Nanoseconds of CPU so far.
fn cpu() -> Result<u64> {
    let said = std::fs::read_to_string("/proc/self/schedstat")?;
    Ok(said.split(' ').next().unwrap_or_default().parse()?)
}

/// Kilobytes of anonymous memory.
fn anonymous() -> Result<i64> {
    let said = std::fs::read_to_string("/proc/self/status")?;
    let line = said.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("no RssAnon")?.parse()?)
}

#[expect(clippy::cast_precision_loss, reason = "they are kilobytes")]
fn mega(kilobytes: i64) -> f64 {
    kilobytes as f64 / 1024.0
}
