//! Whole bookings on screens of hosts that are made here: any catalogue, any order of stages.

use super::wish::{Bound, Wish};
use crate::tests::world::check;

mod bookings;
mod cinema;

/// What is understood, in short.
fn brief(text: &str) -> String {
    let (language, wish) = Wish::of(text);
    let code = format!("{language:?}").to_lowercase();
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
        let relation = format!("{relation:?}").to_lowercase();
        let (hours, minutes) = (minutes / 60, minutes % 60);
        said.push(format!("{relation} {hours:02}:{minutes:02}"));
    }
    if wish.is_latest {
        said.push("latest".to_owned());
    }
    let kinds = ["adult", "child", "senior"];
    let of = wish.seats().unwrap_or(1);
    let counted = kinds.map(|kind| (wish.tickets(kind, kind == "adult", of), kind));
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    let kinds: Vec<_> = counted
        .map(|(count, kind)| format!("{count} {kind}"))
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
    check(include_str!("tests/wishes.txt"), brief);
}
