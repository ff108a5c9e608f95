use super::*;

fn generation(name: &str) -> Option<Generation> {
    (name != "-").then(|| Generation(name.to_owned()))
}

/// A store in a word: its state, or its generation, in capitals when it has content. `_` and `-` stand
/// for no generation, with content and without; `!` for one that does not verify, with content.
fn found(word: &str) -> Found {
    match word {
        "gone" => Found::Gone,
        "empty" => Found::Empty,
        "torn" => Found::Torn,
        "cut" => Found::Cut,
        "bad" => Found::Damaged("a page".to_owned()),
        word => Found::There {
            stamp: match word {
                "!" => Stamp::Damaged,
                "_" | "-" => Stamp::Lacking,
                own => Stamp::Of(Generation(own.to_lowercase())),
            },
            has_content: "_!".contains(word) || word != word.to_lowercase(),
        },
    }
}

/// `run.json` in words: whether a run served, its generation, what is under way with the journal and
/// the history.
fn marks(words: &str) -> Marks {
    let words: Vec<_> = words.split(' ').collect();
    let due = |word| match word {
        "make" => Due::Make,
        "stamp" => Due::Stamp,
        _ => Due::Nothing,
    };
    Marks {
        has_served: words[0] == "served",
        generation: generation(words[1]),
        journal: due(words[2]),
        history: due(words[3]),
    }
}

fn verdict(run: &str, journal: &str, history: &str) -> String {
    match judge(&marks(run), &found(journal), &found(history)) {
        Ok(plan) => {
            let generation = plan.generation.map_or("new".to_owned(), |own| own.0);
            format!("{generation} {:?} {:?}", plan.journal, plan.history).to_lowercase()
        }
        Err(missing) => format!("no {:?}: {:?}", missing.store, missing.lack).to_lowercase(),
    }
}

// proves DU-13
#[test]
fn a_missing_store_is_told_from_one_that_is_not_made_or_stamped_yet() {
    let rows = [
        // A new data directory, and its first start, killed at each step.
        ("never - . .", "gone", "gone", "new make make"),
        ("never a make make", "gone", "gone", "a make make"),
        ("never a make make", "empty", "gone", "a make make"),
        ("never a make make", "-", "gone", "a make make"),
        ("never a make make", "a", "gone", "a nothing make"),
        ("never a make make", "a", "empty", "a nothing make"),
        ("never a make make", "a", "-", "a nothing make"),
        ("never a make make", "a", "a", "a nothing nothing"),
        // The first start was killed, and `run.json` is lost.
        ("never - . .", "-", "gone", "new make make"),
        // After a restore.
        ("served - . .", "A", "A", "a nothing nothing"),
        // The usual start, and one after a store was set aside, killed at each step.
        ("served a . .", "A", "A", "a nothing nothing"),
        ("served a . .", "a", "A", "a nothing nothing"),
        ("served a . .", "A", "bad", "a nothing make"),
        ("served a . .", "A", "cut", "a nothing make"),
        ("served a . .", "torn", "A", "a make nothing"),
        ("served a . make", "A", "gone", "a nothing make"),
        ("served a . make", "A", "empty", "a nothing make"),
        ("served a . make", "A", "-", "a nothing make"),
        ("served a make .", "-", "A", "a make nothing"),
        // A stamp that a disk changed, in one store or both, also while it is written again.
        ("served a . .", "A", "!", "a nothing stamp"),
        ("served a . .", "!", "A", "a stamp nothing"),
        ("served a . .", "!", "!", "a stamp stamp"),
        ("served a . stamp", "A", "!", "a nothing stamp"),
        ("served - . .", "A", "!", "a nothing stamp"),
        ("served a . .", "B", "!", "no journal: another"),
        ("served a . .", "gone", "!", "no journal: gone"),
        // What is missing.
        ("served a . .", "A", "gone", "no history: gone"),
        ("served a . .", "A", "empty", "no history: empty"),
        ("served a . .", "gone", "A", "no journal: gone"),
        ("served a . .", "empty", "A", "no journal: empty"),
        ("served a . .", "gone", "gone", "no history: gone"),
        ("served - . .", "_", "gone", "no history: gone"),
        ("served a stamp stamp", "A", "gone", "no history: gone"),
        ("served a make .", "gone", "gone", "no history: gone"),
        ("served a . make", "gone", "gone", "no journal: gone"),
        // Without `run.json` the other store tells.
        ("never - . .", "A", "gone", "no history: gone"),
        ("never - . .", "gone", "_", "no journal: gone"),
        ("never - . .", "a", "gone", "no history: gone"),
        ("never - . .", "empty", "a", "no journal: empty"),
        // A damaged store does not hide that the other is missing.
        ("served a . .", "bad", "gone", "no history: gone"),
        ("served a . .", "gone", "bad", "no journal: gone"),
        // Another directory's.
        ("served a . .", "A", "B", "no history: another"),
        ("served a . .", "B", "A", "no journal: another"),
        ("served a . .", "B", "B", "no history: another"),
        ("served a . .", "A", "_", "no history: another"),
        ("served a . .", "_", "A", "no journal: another"),
        ("served a stamp stamp", "A", "_", "no history: another"),
        ("served - . .", "_", "_", "no history: another"),
        ("served - . .", "_", "A", "no journal: another"),
        ("served a . make", "A", "B", "no history: another"),
        ("served - . .", "A", "B", "no journal: another"),
    ];
    for (run, journal, history, expected) in rows {
        let row = format!("run.json {run}, journal {journal}, history {history}");
        assert_eq!(verdict(run, journal, history), expected, "{row}");
    }
}

#[test]
fn stores_that_agree_are_told_from_a_mix() {
    let shared = |journal, history| shared(&found(journal), &found(history));
    assert_eq!(shared("B", "B"), generation("b"));
    for (journal, history) in [("A", "B"), ("_", "_"), ("gone", "B"), ("B", "bad")] {
        assert_eq!(shared(journal, history), None, "{journal} {history}");
    }
}
