use std::collections::HashSet;

use proptest::prelude::*;
use samovar_core::{CallId, MessageId, Millis, Outcome, ToolCall};
use serde_json::json;

use super::*;

fn message(number: usize, role: Role, parts: Vec<Part>) -> Arc<Message> {
    let id = MessageId::new(&format!("m{number}")).unwrap();
    Arc::new(Message::new(id, role, parts, Millis(0)))
}

/// A turn: the user's message, `rounds` of `calls` calls whose results have `bytes`, an answer.
fn turn(all: &mut Vec<Arc<Message>>, rounds: usize, calls: usize, bytes: usize) {
    let text = |text: &str| vec![Part::text(text)];
    all.push(message(all.len(), Role::User, text("do it")));
    for _ in 0..rounds {
        let first = all.len();
        let ids = (1..=calls).map(|call| CallId::new(&format!("c{}", first + call)).unwrap());
        let ids: Vec<_> = ids.collect();
        let call = |id: &CallId| Part::Call(ToolCall::new(id.clone(), "look", json!({})));
        all.push(message(
            first,
            Role::Assistant,
            ids.iter().map(call).collect(),
        ));
        for call in ids {
            let outcome = Outcome::done("x".repeat(bytes));
            let name = "look".to_owned();
            let part = Part::Outcome {
                call,
                name,
                outcome,
            };
            all.push(message(all.len(), Role::Tool, vec![part]));
        }
    }
    all.push(message(all.len(), Role::Assistant, text("done")));
}

fn ids(messages: &[Arc<Message>]) -> Vec<&str> {
    messages.iter().map(|message| message.id.as_str()).collect()
}

/// What every provider needs of a conversation: it begins with the user, and calls and results are
/// in pairs.
fn assert_sound(shown: &[Arc<Message>]) {
    assert_eq!(shown[0].role, Role::User, "{:?}", ids(shown));
    let calls = shown.iter().flat_map(|message| message.calls());
    let calls: HashSet<_> = calls.map(|call| call.id.clone()).collect();
    let results = shown.iter().flat_map(|message| &message.parts);
    let results = results.filter_map(|part| match part {
        Part::Outcome { call, .. } => Some(call.clone()),
        _ => None,
    });
    assert_eq!(calls, results.collect(), "{:?}", ids(shown));
}

// proves AS-25
#[test]
fn the_window_moves_a_quarter_at_a_time() {
    for max in [1, 2, 5, 20, 50] {
        let starts: Vec<_> = (0..500).map(|count| (count, start(count, max))).collect();
        for (count, start) in &starts {
            assert!(count - start <= max, "{count} messages, {max} at most");
            assert!(count - start >= max.min(*count) * 3 / 4);
        }
        let moves: HashSet<_> = starts.iter().map(|(_, start)| start).collect();
        assert!(moves.len() <= 500 / (max / 4).max(1) + 1);
    }
}

proptest! {
    // proves AS-15, AS-25
    #[test]
    fn a_window_that_grew_in_memory_is_the_one_that_is_read_from_the_log(
        turns in prop::collection::vec((0_usize..25, 1_usize..4), 1..12),
        max in 1_usize..60,
    ) {
        let (mut all, mut grown) = (Vec::new(), Transcript::default());
        for (rounds, calls) in turns {
            let before = all.len();
            grown.begin_turn(max);
            turn(&mut all, rounds, calls, 5);
            grown.messages.extend_from_slice(&all[before..=before]);
            let shown = grown.window();
            assert_sound(&shown);
            prop_assert!(shown.len() <= max + 2, "the window, its opening, the new message");
            grown.messages.extend_from_slice(&all[before + 1..]);

            let mut read = Transcript::new(0, all.clone(), None);
            read.begin_at(start(before, max));
            let (grown_shown, read) = (grown.window(), read.window());
            prop_assert_eq!(ids(&grown_shown), ids(&read));
            assert_sound(&read);
        }
    }

    // proves AS-15
    #[test]
    fn a_conversation_that_is_cut_by_tokens_fits_and_stays_sound(
        turns in prop::collection::vec((0_usize..6, 1_usize..4, 0_usize..4000), 1..12),
        room in 0_u64..6000,
    ) {
        let mut all = Vec::new();
        for (rounds, calls, bytes) in turns {
            turn(&mut all, rounds, calls, bytes);
        }
        all.pop(); // The model is about to answer.

        let shown = fit(all.clone(), room);

        assert_sound(&shown);
        prop_assert_eq!(&shown.last().unwrap().id, &all.last().unwrap().id);
        let newest = shown.iter().rev().take_while(|message| message.role == Role::Tool).count();
        let least = sum(&shown[..shown.len() - newest]) + newest as u64 * SHORTEST;
        let room = if shown.len() > newest + 2 { room } else { room.max(least) };
        prop_assert!(sum(&shown) <= room, "{} > {room}", sum(&shown));
    }
}

// proves AS-15
#[test]
fn a_turn_longer_than_the_window_keeps_its_message_and_its_newest_calls() {
    let mut all = Vec::new();
    turn(&mut all, 0, 0, 0);
    turn(&mut all, 40, 1, 5);
    let mut transcript = Transcript::new(0, all, None);
    transcript.begin_turn(20);
    transcript
        .messages
        .push(message(900, Role::User, vec![Part::text("continue")]));

    let shown = transcript.window();

    let shown = ids(&shown);
    assert_eq!(
        (shown[0], shown[1]),
        ("m2", "m65"),
        "its message, then whole calls"
    );
    assert_eq!(shown.last(), Some(&"m900"));
}

// proves AS-15
#[test]
fn old_large_results_become_short_before_anything_leaves() {
    let mut all = Vec::new();
    for _ in 0..4 {
        turn(&mut all, 1, 1, 3000);
    }
    all.pop();
    let room = sum(&all) - 100;

    let shown = fit(all.clone(), room);

    assert_eq!(shown.len(), all.len());
    let lengths = shown.iter().filter(|message| message.role == Role::Tool);
    let lengths: Vec<_> = lengths.map(|message| message.text().len()).collect();
    assert!(
        lengths[0] < 1000 && lengths[3] == 3000,
        "the newest stays whole: {lengths:?}"
    );
    assert!(shown[2].text().contains("bytes are left out here"));
    assert_eq!(all[2].text().len(), 3000, "the log keeps it");
}

// proves AS-15
#[test]
fn what_is_left_out_stays_left_out_while_a_turn_grows() {
    let mut all = Vec::new();
    turn(&mut all, 60, 1, 900);
    all.pop();
    let room = 6000;
    let mut firsts = Vec::new();
    for length in (21..all.len()).step_by(2) {
        let shown = fit(all[..length].to_vec(), room);
        let beginning: String = shown.iter().take(4).map(|message| message.text()).collect();
        firsts.push((ids(&shown)[1].to_owned(), beginning));
    }
    let steps = firsts.len();
    firsts.dedup();
    assert!(
        firsts.len() * 3 < steps,
        "{} beginnings in {steps} steps",
        firsts.len()
    );
}

// proves AS-15
#[test]
fn a_refused_prompt_reveals_a_limit_below_what_was_sent() {
    let mut messages = Vec::new();
    turn(&mut messages, 4, 1, 3000);
    let prompt = Prompt {
        model: "m".to_owned(),
        layers: Vec::new(),
        tools: Arc::new([]),
        messages,
        max_tokens: 100,
        temperature: 0.7,
    };
    let sent = size(&prompt);
    let named = |used, limit| revealed(&prompt, ContextNumbers { used, limit });
    assert_eq!(
        named(Some(2 * sent), Some(sent)),
        sent / 2,
        "corrected by the count"
    );
    assert_eq!(named(None, Some(500)), 500);
    for (used, limit) in [(None, None), (Some(5), Some(u64::MAX)), (Some(0), None)] {
        assert!(named(used, limit) <= sent - sent / 8);
    }
}
