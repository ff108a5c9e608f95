use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;
use samovar_core::{CallId, MessageId, Millis, Outcome, ToolCall};
use serde_json::json;

use super::*;

pub(super) fn message(number: usize, role: Role, parts: Vec<Part>) -> Arc<Message> {
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

/// The same turn, in which the user steers after the first round.
fn steered_turn(all: &mut Vec<Arc<Message>>, rounds: usize, calls: usize, bytes: usize) {
    let place = all.len() + 2 + calls;
    turn(all, rounds, calls, bytes);
    if rounds > 0 {
        let text = vec![Part::text("and be brief")];
        all.insert(place, message(9000 + place, Role::User, text));
    }
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

// proves AS-25, PF-1
#[test]
fn a_window_of_long_messages_moves_on_and_is_the_one_that_is_read_from_the_log() {
    const LONG: usize = 1 << 20;
    let (mut all, mut turns, mut grown) = (Vec::new(), Vec::new(), Transcript::default());
    for _ in 0..12 {
        let before = all.len();
        turns.push(before);
        turn(&mut all, 1, 1, LONG);
        grown.begin_turn(all[before].clone(), 20);
        assert!(grown.bytes() < MAX_BYTES + LONG, "{}", grown.bytes());
        all[before + 1..]
            .iter()
            .for_each(|message| grown.push(message.clone()));

        let mut read = Transcript::new(0, all.clone(), turns.clone(), None);
        read.begin_at(shortened(start(before, 20), 0, &all[..before], 20));
        assert_eq!(ids(&grown.window()), ids(&read.window()));
        assert_eq!(grown.bytes(), read.bytes());
    }
    assert!(
        (3 * LONG..10 * LONG).contains(&grown.bytes()),
        "{}",
        grown.bytes()
    );
}

proptest! {
    // proves AS-15, AS-25
    #[test]
    fn a_window_that_grew_in_memory_is_the_one_that_is_read_from_the_log(
        of_turns in prop::collection::vec((0_usize..25, 1_usize..4), 1..12),
        max in 1_usize..60,
    ) {
        let (mut all, mut turns, mut grown) = (Vec::new(), Vec::new(), Transcript::default());
        for (rounds, calls) in of_turns {
            let before = all.len();
            turns.push(before);
            steered_turn(&mut all, rounds, calls, 5);
            grown.begin_turn(all[before].clone(), max);
            let shown = grown.window();
            assert_sound(&shown);
            prop_assert!(shown.len() <= max + 2, "the window, its opening, the new message");
            all[before + 1..].iter().for_each(|message| grown.push(message.clone()));

            let mut read = Transcript::new(0, all.clone(), turns.clone(), None);
            read.begin_at(start(before, max));
            let (grown_shown, read) = (grown.window(), read.window());
            let first = &read[0].id;
            prop_assert!(turns.iter().any(|turn| all[*turn].id == *first), "a turn's own message");
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
        let (mut all, mut begin) = (Vec::new(), 0);
        for (rounds, calls, bytes) in turns {
            begin = all.len();
            steered_turn(&mut all, rounds, calls, bytes);
        }
        all.pop(); // The model is about to answer.

        let shown = fit(all.clone(), begin, room);

        let sum = |messages: &[Arc<Message>]| -> u64 {
            messages.iter().map(|message| tokens(message)).sum()
        };
        assert_sound(&shown);
        prop_assert!(ids(&shown).contains(&all[begin].id.as_str()), "the turn keeps its message");
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
    let mut transcript = Transcript::new(0, all, vec![0, 2], None);
    let next = message(900, Role::User, vec![Part::text("continue")]);
    transcript.begin_turn(next, 20);

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
    let room = all.iter().map(|message| tokens(message)).sum::<u64>() - 100;

    let shown = fit(all.clone(), all.len() - 3, room);

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
fn a_model_is_told_which_calls_of_the_running_turn_are_left_out() {
    for (rounds, room, wanted) in [
        (4, 6000, None),
        (
            40,
            1200,
            Some("calls were made and answered; do not make them again"),
        ),
        (40, 1200, Some("\nlook {\"at\":1}\nlook {}]")),
        (40, 300, None),
    ] {
        let mut all = Vec::new();
        turn(&mut all, rounds, 1, 200);
        all.pop();
        let call = ToolCall::new(CallId::new("c2").unwrap(), "look", json!({"at": 1}));
        Arc::make_mut(&mut all[1]).parts = vec![Part::Call(call)];

        let shown = fit(all, 0, room);

        let said = shown[0].text();
        assert_eq!(said.contains("left out"), wanted.is_some(), "{said}");
        assert!(wanted.is_none_or(|wanted| said.contains(wanted)), "{said}");
    }
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
        let shown = fit(all[..length].to_vec(), 0, room);
        let beginning: String = shown.iter().take(4).map(|message| message.text()).collect();
        firsts.push((ids(&shown)[1].to_owned(), beginning));
    }
    let steps = firsts.len();
    firsts.dedup();
    let different = firsts.len();
    assert!(different * 3 < steps, "{different} in {steps} steps");
}

pub(super) fn prompt(messages: Vec<Arc<Message>>, max_tokens: u32) -> Prompt {
    Prompt {
        model: "m".to_owned(),
        layers: Vec::new(),
        tools: Arc::new([]),
        images: BTreeMap::new(),
        temperature: 0.7,
        messages,
        max_tokens,
    }
}

// proves AS-15
#[test]
fn a_refused_prompt_reveals_a_limit_below_what_was_sent() {
    let mut messages = Vec::new();
    turn(&mut messages, 4, 1, 3000);
    let prompt = prompt(messages, 1000);
    let sent = size(&prompt);
    let asked = sent + 1000;
    for (used, limit, has_answer, tokens, why) in [
        (Some(2 * sent), Some(sent), false, sent / 2, "by the count"),
        (
            Some(2 * asked),
            Some(asked),
            true,
            asked / 2,
            "by the count",
        ),
        (None, Some(500), false, 500, "as named"),
        (None, None, false, asked / 4 * 3, "a guess"),
        (
            Some(20_241_022),
            Some(sent / 2),
            false,
            asked / 4 * 3,
            "a date",
        ),
        (Some(5), Some(1), false, asked / 4 * 3, "of something else"),
        (
            Some(sent),
            Some(u64::MAX),
            false,
            sent - sent / 8,
            "less, always",
        ),
    ] {
        let numbers = ContextNumbers {
            used,
            limit,
            has_answer,
            ..ContextNumbers::default()
        };
        let limit = revealed("m", &prompt, numbers, None);
        let room = estimated(limit.tokens, limit.per_mille);
        assert!(
            room.abs_diff(tokens) <= tokens / 500 + 1,
            "{why}: {room} {tokens}"
        );
    }
}

// proves AS-15
#[test]
fn a_server_that_counts_what_is_reserved_for_the_answer_is_asked_for_less() {
    let said = message(0, Role::User, vec![Part::text("hello ".repeat(400))]);
    let transcript = Transcript::new(0, vec![said], vec![0], None);
    for (window, is_named) in [(2048, true), (4096, true), (2048, false), (4096, false)] {
        let mut limit = None;
        let refusals = (0..9).find(|_| {
            let asked = prompt(Vec::new(), 4096);
            let prompt = transcript.show_in(asked, limit.as_ref(), None, Images::Shown);
            let used = size(&prompt) * 3 / 4 + u64::from(prompt.max_tokens);
            let named = ContextNumbers {
                used: Some(used),
                limit: Some(window),
                has_answer: true,
                ..ContextNumbers::default()
            };
            let numbers = Some(named).filter(|_| is_named).unwrap_or_default();
            limit = Some(revealed("m", &prompt, numbers, limit.as_ref()));
            used <= window
        });
        assert!(
            refusals.is_some_and(|count| count <= 2),
            "{window} {is_named}: {refusals:?}"
        );
    }
}

// proves AS-15
#[test]
fn a_window_that_begins_with_a_steering_message_keeps_the_one_of_its_turn() {
    let mut all = Vec::new();
    steered_turn(&mut all, 4, 1, 5);
    let mut transcript = Transcript::new(0, all, vec![0], None);

    transcript.begin_at(3);

    assert_eq!(ids(&transcript.window())[..2], ["m0", "m9003"]);
}

// proves AS-15
#[test]
fn numbers_that_a_server_names_become_a_limit_in_its_own_tokens() {
    let mut messages = Vec::new();
    turn(&mut messages, 4, 1, 3000);
    let prompt = prompt(messages, 1000);
    let (sent, asked) = (size(&prompt), size(&prompt) + 1000);
    let named = |used, limit, excess| ContextNumbers {
        used,
        limit,
        excess,
        ..ContextNumbers::default()
    };
    let twice = ContextLimit {
        per_mille: 2000,
        ..ContextLimit::new("m", 1)
    };
    for (numbers, known, wanted) in [
        (named(Some(3 * sent), Some(sent), None), None, (sent, 3000)),
        (
            named(None, None, Some(asked / 2)),
            None,
            (asked - asked / 2, 1000),
        ),
        (named(None, None, Some(1)), None, (asked - asked / 8, 1000)),
        (
            named(None, None, None),
            Some(&twice),
            (asked / 4 * 3 * 2, 2000),
        ),
    ] {
        let limit = revealed("m", &prompt, numbers, known);
        assert_eq!((limit.tokens, limit.per_mille), wanted, "{numbers:?}");
    }
    let half = guessed("m", &prompt, None);
    assert_eq!((half.tokens, half.source), (asked / 2, LimitSource::Guess));
}

// proves AS-15
#[test]
fn the_ratio_of_the_estimate_is_learned_when_it_is_wrong_and_stays_when_it_is_nearly_right() {
    for (known, input, wanted) in [
        (1000, 1000, None),
        (1000, 1050, None),
        (1000, 750, None),
        (1000, 1500, Some(1593)),
        (1000, 600, Some(637)),
        (1000, 10, None),
        (1000, 9000, None),
    ] {
        let limit = ContextLimit {
            per_mille: known,
            ..ContextLimit::new("m", 8192)
        };
        assert_eq!(learned(&limit, 1000, input), wanted, "{known} {input}");
    }
}

// proves AS-15
#[test]
fn one_table_of_numbers_does_not_shrink_the_window_for_the_prose_after_it() {
    let table = "4821,39,77120,5,60233,918,4417,20\n".repeat(165);
    let prose = "Language is one of the oldest tools that people have. ".repeat(12);
    // As a server counts: a token for each digit, and for 4.6 bytes of prose.
    let real = |prompt: &Prompt| -> u64 {
        let of = |text: &str| {
            let digits = text.bytes().filter(u8::is_ascii_digit).count();
            if digits * 2 > text.len() {
                text.len() as u64
            } else {
                text.len() as u64 * 10 / 46
            }
        };
        prompt
            .messages
            .iter()
            .map(|message| of(&message.text()) + 6)
            .sum()
    };
    let mut transcript = Transcript::default();
    let mut limit = ContextLimit::new("m", 8192);
    let (mut refusals, mut most, mut starts) = (0, 0, HashSet::new());
    for at in 0..120 {
        let text = if at == 0 { &table } else { &prose };
        transcript.begin_turn(
            message(2 * at, Role::User, vec![Part::text(text.clone())]),
            400,
        );
        let prompt = loop {
            let asked = prompt(Vec::new(), 512);
            let prompt = transcript.show_in(asked, Some(&limit), None, Images::Shown);
            if real(&prompt) + 512 <= 8192 {
                break prompt;
            }
            refusals += 1;
            let used = Some(real(&prompt));
            let numbers = ContextNumbers {
                used,
                limit: Some(8192),
                ..ContextNumbers::default()
            };
            limit = revealed("m", &prompt, numbers, Some(&limit));
        };
        if let Some(per_mille) = learned(&limit, size(&prompt), real(&prompt)) {
            limit.per_mille = per_mille;
        }
        if at > 80 {
            most = most.max(real(&prompt));
            starts.insert(ids(&prompt.messages)[0].to_owned());
        }
        transcript.push(message(
            2 * at + 1,
            Role::Assistant,
            vec![Part::text("Yes.")],
        ));
    }
    assert!(refusals <= 1, "{refusals}");
    assert!(most > 8192 * 6 / 10, "{most} of 8192 tokens are used");
    assert!(
        starts.len() <= 12,
        "the window moves by quarters: {}",
        starts.len()
    );
}

// proves AS-15
#[test]
fn a_server_that_counts_less_of_a_longer_prompt_reads_only_a_part() {
    let said =
        |at: usize, bytes: usize| message(at, Role::User, vec![Part::text("x".repeat(bytes))]);
    for (grown, inputs, wanted) in [
        (20_000, [4000, 3900], Some(4000)),
        (20_000, [4000, 4000], Some(4000)),
        (20_000, [4000, 9000], None),
        (100, [4000, 3990], None),
        // Only what was not in the cache.
        (20_000, [4000, 16], None),
    ] {
        let mut transcript = Transcript::default();
        transcript.begin_turn(said(0, 12_000), 50);
        assert_eq!(transcript.has_read("m", inputs[0]), None);
        transcript.push(said(1, grown));
        let cut = transcript.has_read("m", inputs[1]);
        assert_eq!(cut.map(|cut| cut.tokens), wanted, "{grown} {inputs:?}");
    }
}
