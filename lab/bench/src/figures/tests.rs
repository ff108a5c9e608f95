use std::collections::BTreeSet;

use super::*;
use crate::cost::{COSTS, TO_THE_LOOP};

fn all() -> impl Iterator<Item = &'static Figure> {
    let experiments = COSTS.iter().chain(EXPERIMENTS);
    experiments.flat_map(|one| one.figures)
}

// proves PF-1, PF-3
#[test]
fn what_a_turn_costs_and_how_that_grows_has_rows_with_a_budget() {
    let has_budget = |name: &str| {
        let mut figures = all().filter(|figure| figure.budget.is_some());
        figures.any(|figure| figure.name == name)
    };
    let floored = all().filter(|figure| figure.name.ends_with(TO_THE_LOOP));

    assert_eq!(floored.filter(|figure| has_budget(figure.name)).count(), 9);
    for name in [
        "CPU of a session's turn 200 to that of its first",
        "start to the first `/readyz`, 10,000 sessions",
        "CPU of a delta for a further reader",
        "CPU per delta of a called agent at depth 3, to the master's",
    ] {
        assert!(has_budget(name), "{name}");
    }
    for name in QUICK_ROWS {
        assert!(all().any(|figure| figure.name == *name), "{name}");
    }
}

#[test]
fn no_two_rows_share_a_name_nor_the_folder_that_is_made_of_it() {
    let folders: Vec<String> = all()
        .map(|figure| {
            figure
                .name
                .chars()
                .filter(char::is_ascii_alphanumeric)
                .collect()
        })
        .collect();
    let distinct: BTreeSet<_> = folders.iter().collect();

    assert_eq!(distinct.len(), folders.len());
}
