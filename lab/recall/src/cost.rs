//! What recall costs with 10,000 memories, in CPU time and memory of this process.

use std::io::Write;

use anyhow::{Context as _, Result};
use samovar_embed::{MAX_TOKENS, Side};
use samovar_memory::{Index, ranked};

use crate::set::{Half, QUESTION_TOKENS, Set};

const MEMORIES: usize = 10_000;

/// Prints it.
pub(crate) fn print(set: &Set, out: &mut impl Write) -> Result<()> {
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
