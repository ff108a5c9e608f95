//! How well memories and earlier exchanges are found again, over notes, exchanges and questions in four
//! languages (see README.md).
//!
//! `cargo run --release -p samovar-recall` prints the table: each way of ranking over the half of the
//! questions that nothing was tuned on; `-- tuning` the other half, `-- gate` which exchanges pass which
//! gate by their meaning there, `-- cost` what a recall costs.

mod cost;
mod gate;
mod set;

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::slice::from_ref;

use anyhow::{Context as _, Result};
use samovar_embed::{MAX_TOKENS, Model, Side, Vector};
use samovar_memory::{Index, LEAST_COSINE, ranked};

use self::set::{Half, Note, QUESTION_TOKENS, Question, Set};

/// A way of ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Words,
    Meaning,
    Both,
}

/// Where the right note was ranked, for each question of a group.
#[derive(Default)]
struct Ranks(Vec<Option<usize>>);

impl Ranks {
    /// The part of the questions whose note was among the first.
    fn within(&self, first: usize) -> f64 {
        let found = self.0.iter().flatten().filter(|rank| **rank <= first);
        share(found.count(), self.0.len())
    }

    /// The mean of the reciprocal ranks.
    fn reciprocal(&self) -> f64 {
        let ranks = self.0.iter().flatten();
        let sum = ranks.fold(0.0, |sum, rank| sum + share(1, *rank));
        sum * share(1, self.0.len())
    }
}

#[expect(clippy::cast_precision_loss, reason = "they are counts of questions")]
fn share(part: usize, all: usize) -> f64 {
    part as f64 / all as f64
}

/// The ranks by way and group.
type Table = BTreeMap<Way, BTreeMap<String, Ranks>>;

/// The vectors of texts, as queries are compared with them.
fn centred(model: &Model<'_>, notes: &[Note]) -> Result<Vec<Vector>> {
    let texts = || notes.iter().map(|note| note.text.as_str());
    let vectors = texts().map(|text| model.embed(Side::Passage, text, MAX_TOKENS));
    let vectors: Option<Vec<_>> = vectors.collect();
    let vectors = vectors.context("a text has no vector")?;
    let pairs: Vec<_> = texts().zip(&vectors).collect();
    Ok(samovar_embed::means()?.centred(&pairs))
}

/// The same for exchanges: each alone, as their texts are not kept.
fn centred_alone(model: &Model<'_>, exchanges: &[Note]) -> Result<Vec<Vector>> {
    let each = exchanges.iter().map(|one| centred(model, from_ref(one)));
    Ok(each.collect::<Result<Vec<_>>>()?.concat())
}

fn measure(set: &Set, half: Half) -> Result<Table> {
    let model = samovar_embed::embedded()?.context("the model is not in this binary")?;
    let mut vectors = centred(&model, &set.notes)?;
    vectors.extend(centred_alone(&model, &set.exchanges)?);
    let all = || set.notes.iter().chain(&set.exchanges);
    let index = Index::new(all().map(|note| note.text.as_str()));
    let places = all().enumerate();
    let places: HashMap<_, _> = places
        .map(|(place, note)| (note.id.as_str(), place))
        .collect();
    let mut table = Table::new();
    for question in set.questions(half) {
        let place = places
            .get(question.note.as_str())
            .context("a question of no note")?;
        for (way, order) in orders(&model, (&vectors, set.notes.len()), &index, question)? {
            // Notes among notes, as their figures always were; exchanges among all.
            let is_ranked = |found: &&usize| **found < set.notes.len() || *place >= set.notes.len();
            let mut order = order.iter().filter(is_ranked);
            let rank = order.position(|found| found == place).map(|rank| rank + 1);
            for group in question.groups() {
                table
                    .entry(way)
                    .or_default()
                    .entry(group)
                    .or_default()
                    .0
                    .push(rank);
            }
        }
    }
    Ok(table)
}

/// The places of the notes in each way's order.
fn orders(
    model: &Model<'_>,
    (vectors, first_exchange): (&[Vector], usize),
    index: &Index,
    question: &Question,
) -> Result<Vec<(Way, Vec<usize>)>> {
    let vector = model.embed(Side::Query, &question.text, QUESTION_TOKENS);
    let vector = vector.context("a question has no vector")?;
    let gated = |(place, near): (usize, f32)| {
        // One that is far is found by its words alone, after all others.
        let is_far = place >= first_exchange && near < LEAST_COSINE;
        Some(if is_far { -1.0 } else { near })
    };
    let cosines = vectors.iter().map(|note| note.cosine(&vector)).enumerate();
    let cosines: Vec<_> = cosines.map(gated).collect();
    let words = index.find(&question.text);
    let places = |words: &[(usize, f32)], cosines: &[_]| {
        let all = ranked(words, cosines).into_iter();
        all.map(|found| found.place).collect::<Vec<_>>()
    };
    Ok(vec![
        (Way::Words, places(&words, &[])),
        (Way::Meaning, places(&[], &cosines)),
        (Way::Both, places(&words, &cosines)),
    ])
}

fn main() -> Result<()> {
    let mut out = std::io::stdout().lock();
    let set = Set::read()?;
    let half = match std::env::args().nth(1).as_deref() {
        Some("cost") => return cost::print(&set, &mut out),
        Some("gate") => return gate::print(&set, &mut out),
        Some("tuning") => Half::Tuning,
        None => Half::Figures,
        Some(other) => anyhow::bail!("{other}: expected tuning, gate or cost"),
    };
    let table = measure(&set, half)?;
    writeln!(
        out,
        "recall@1, recall@5 and mean reciprocal rank, {half:?} half\n"
    )?;
    for (way, groups) in &table {
        for (group, ranks) in groups {
            let (one, five) = (ranks.within(1), ranks.within(5));
            let (mean, count) = (ranks.reciprocal(), ranks.0.len());
            writeln!(
                out,
                "{:<8} {group:<22} {count:>3}  {one:.2}  {five:.2}  {mean:.2}",
                format!("{way:?}")
            )?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves MD-11
    #[test]
    fn what_was_remembered_is_found_by_its_meaning_in_four_languages() {
        let table = measure(&Set::read().unwrap(), Half::Figures).unwrap();
        let of = |way, group: &str| &table[&way][group];
        assert!(of(Way::Both, "all").within(5) >= 0.85);
        assert!(of(Way::Both, "identifiers").within(1) >= 0.93);
        assert!(of(Way::Both, "exchanges").within(5) >= 0.85);
        for group in ["en", "ru", "uk", "zh", "identifiers"] {
            let both = of(Way::Both, group);
            let one = share(1, both.0.len()) + 1e-9;
            for alone in [Way::Words, Way::Meaning] {
                let alone = of(alone, group).within(5);
                assert!(both.within(5) + one >= alone, "{group}: {alone}");
            }
        }
        // Neither words nor meaning do it alone.
        assert!(of(Way::Words, "all").within(5) < 0.5);
    }
}
