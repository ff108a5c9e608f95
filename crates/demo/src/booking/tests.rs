//! Whole bookings on screens of hosts that are made here: any catalogue, any order of stages.

use super::wish::{Bound, Relation, Wish};
use crate::language::Language;

mod bookings;
mod cinema;

/// What is understood, in short.
fn brief(text: &str) -> String {
    let (language, wish) = Wish::of(text);
    let code = match language {
        Language::En => "en",
        Language::Ru => "ru",
        Language::Zh => "zh",
        Language::Uk => "uk",
    };
    if let Some(word) = &wish.unable {
        return format!("{code}: unable {word}");
    }
    if !wish.is_booking {
        return format!("{code}: no booking");
    }
    let mut said: Vec<_> = wish
        .wanted()
        .map(|(_, feature)| feature.word.to_owned())
        .collect();
    for Bound { minutes, relation } in &wish.times {
        let relation = match relation {
            Relation::After => "after",
            Relation::From => "from",
            Relation::Before => "before",
            Relation::Until => "until",
            Relation::At => "at",
        };
        said.push(format!(
            "{relation} {:02}:{:02}",
            minutes / 60,
            minutes % 60
        ));
    }
    if wish.is_latest {
        said.push("latest".to_owned());
    }
    let kinds = ["adult", "child", "senior"];
    let kinds: Vec<_> = kinds
        .into_iter()
        .zip([0, 1, 2])
        .map(|(kind, at)| (kind, wish.tickets(kind, at == 0, wish.seats().unwrap_or(1))))
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    said.push(kinds.join(" + "));
    if wish.is_together {
        said.push("together".to_owned());
    }
    if !wish.unknown.is_empty() {
        said.push(format!("unknown <{}>", wish.unknown.join(" ")));
    }
    format!("{code}: {}", said.join(", "))
}

// proves FC-5
#[test]
fn a_wish_for_a_ticket_is_understood_in_every_language() {
    let table = include_str!("tests/wishes.txt");
    let rows = table
        .trim()
        .lines()
        .map(|row| row.split_once(" => ").unwrap());
    let wrong: Vec<_> = rows
        .filter(|(text, expected)| brief(text) != *expected)
        .map(|(text, expected)| format!("{text}\n  is  {}\n  not {expected}", brief(text)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
