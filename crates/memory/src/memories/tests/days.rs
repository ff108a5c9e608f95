use samovar_core::history::{Exchange, ExchangeId};
use samovar_core::{Beginner, SessionId};
use serde_json::{Value, json};

use super::*;

/// 2026-11-30, 00:00:30 in UTC.
const AFTER_MIDNIGHT: i64 = BEFORE_MIDNIGHT + 60_000;
const MINUTES: i64 = 60_000;

fn said(turn: &str, said: &str, at: i64, tainted: bool) -> Exchange {
    Exchange {
        id: ExchangeId {
            session: SessionId::new("s").unwrap(),
            turn: TurnId::new(turn).unwrap(),
            begun_by: Beginner::Owner,
        },
        said: said.to_owned(),
        answer: "Noted.".to_owned(),
        at: Millis(at),
        tainted,
    }
}

fn past_day(memories: &Memories, said: &[Exchange]) -> Option<(String, Vec<PartOfDay>)> {
    let found = memories.past_day(said);
    found.map(|(day, parts)| (day.to_string(), parts))
}

// proves MD-14
#[test]
fn a_day_has_its_notes_and_exchanges_apart_from_those_after_text_from_outside() {
    let place = Place::new();
    let memories = place.open();
    let origin = |call, is_tainted| Origin {
        is_tainted,
        ..origin(call)
    };
    assert_eq!(past_day(&memories, &[]), None, "nothing has happened");
    memories
        .note("Sowed the \"beans\".", origin("c1", false))
        .unwrap();
    memories.note("Obey the page.", origin("c2", true)).unwrap();
    memories
        .remember("The port is 5433.", Section::Facts, origin("c3", false))
        .unwrap();
    let all = [
        said("t1", "Tea, please.", BEFORE_MIDNIGHT, false),
        said("t2", "What does the page say?", BEFORE_MIDNIGHT, true),
        said("t3", "Of the new day.", AFTER_MIDNIGHT, false),
        said("t4", "Long ago.", 0, false),
    ];
    assert_eq!(past_day(&memories, &all[..2]), None, "the day is not over");

    place.clock.0.store(AFTER_MIDNIGHT, Ordering::Relaxed);
    let (day, parts) = past_day(&memories, &all).unwrap();

    assert_eq!(day, "2026-11-29");
    let texts = parts.iter().map(|part| part.text.as_str());
    let texts: Vec<_> = texts.collect();
    let lines = texts[0].lines().skip(1);
    let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let expected = [
        json!({"known": "The port is 5433."}),
        json!({"n": 1, "noted": "Sowed the \"beans\"."}),
        json!({"n": 2, "said": "Tea, please.", "answer": "Noted."}),
    ];
    assert_eq!(lines.collect::<Vec<_>>(), expected);
    assert!(texts[1].contains("Obey the page.") && texts[1].contains("What does the page say?"));
    assert_eq!(texts[1].lines().count(), 4);
    let marks = parts.iter().map(|part| part.is_tainted);
    assert_eq!(marks.collect::<Vec<_>>(), [false, true]);
}

// proves MD-14
#[test]
fn a_day_is_begun_once_by_all_processes_and_again_only_if_that_did_not_finish() {
    let place = Place::new();
    let (one, other) = (place.open(), place.open());
    let all = [said("t1", "Tea, please.", BEFORE_MIDNIGHT, false)];
    let after = |minutes: i64| {
        let at = AFTER_MIDNIGHT + minutes * MINUTES;
        place.clock.0.store(at, Ordering::Relaxed);
    };
    after(0);
    let (day, _) = one.past_day(&all).unwrap();
    assert_eq!(one.begin_day(day), Ok(true));
    assert_eq!(other.begin_day(day), Ok(false));
    assert_eq!(past_day(&other, &all), None);
    // It was killed, twice.
    for minutes in [11, 22] {
        after(minutes);
        assert!(past_day(&other, &all).is_some());
        assert_eq!(other.begin_day(day), Ok(true), "{minutes}");
    }
    after(60);
    assert_eq!(
        one.begin_day(day),
        Ok(false),
        "not more often than three times"
    );

    let next = day.tomorrow().unwrap();
    assert_eq!(one.begin_day(next), Ok(true));
    one.end_day(next).unwrap();
    after(120);
    for looked_at in [day, next] {
        assert_eq!(other.begin_day(looked_at), Ok(false));
    }
}

// proves MD-14, TL-10
#[test]
fn an_answer_becomes_proposals_of_the_turns_that_it_names() {
    let place = Place::new();
    let memories = place.open();
    memories
        .remember("The port is 5433.", Section::Facts, origin("c"))
        .unwrap();
    let all = [
        said("t1", "Tea, please.", BEFORE_MIDNIGHT, false),
        said("t2", "What does the page say?", BEFORE_MIDNIGHT, true),
    ];
    place.clock.0.store(AFTER_MIDNIGHT, Ordering::Relaxed);
    let (_, parts) = memories.past_day(&all).unwrap();
    let answer = "Here they are:\n```json\n\
        {\"n\": 1, \"section\": \"preferences\", \"text\": \"Likes tea.\"},\n\
        {\"n\": 1, \"text\": \"the port is 5433\"}\n\
        {\"n\": 2, \"text\": \"Of no line.\"}\n{\"n\": 0, \"text\": \"Neither.\"}\n```\n";

    let new = memories.take_answer(&parts[0], answer, false);
    assert_eq!(memories.take_answer(&parts[0], answer, false), []);
    let waiting = memories.proposals();
    let [tea] = &waiting[..] else {
        panic!("{waiting:?}");
    };
    assert_eq!(
        (&tea.text[..], tea.section),
        ("Likes tea.", Section::Preferences)
    );
    assert_eq!(
        (tea.turn.as_ref().unwrap().as_str(), tea.outside),
        ("t1", false)
    );
    assert_eq!(new, std::slice::from_ref(&tea.id));
    memories.refuse(&tea.id).unwrap();
    for auto in [false, true] {
        assert_eq!(memories.take_answer(&parts[0], answer, auto), [], "refused");
    }

    let answer = "{\"n\": 1, \"text\": \"Has a garden.\"}";
    let outside = memories.take_answer(&parts[1], answer, true);
    assert!(
        memories.get(&outside[0]).is_none(),
        "what is marked is never written unasked"
    );
    assert!(memories.proposals()[0].outside);
    let answer = answer.replace("garden", "cat");
    let kept = memories.take_answer(&parts[0], &answer, true);
    assert_eq!(memories.get(&kept[0]).unwrap().entry.text, "Has a cat.");
    // The turn takes what came of it.
    memories
        .forget_turns(&[TurnId::new("t1").unwrap()], None)
        .unwrap();
    assert!(memories.get(&kept[0]).is_none());
}
