//! What failed calls make of a turn: a reminder, its end, or neither.

use super::*;

/// An answer's call as it is closed.
struct Closing {
    tool: &'static str,
    /// What is kept of its start.
    begun: Option<Effect>,
    outcome: Outcome,
}

impl Closing {
    fn new(word: &str) -> Option<Self> {
        let (tool, begun, outcome) = match word {
            "looked" => ("look", None, Outcome::done("hm")),
            "missing" => ("look", None, Outcome::failed("no such file")),
            "unfit" => ("look", None, Outcome::correctable("path is missing")),
            "wrote" => ("write", Some(Effect::Verifiable), Outcome::done("hm")),
            "broke" => ("write", Some(Effect::Verifiable), Outcome::failed("hm")),
            "ended" => ended(json!({"exitCode": null, "changed": []})),
            "ended-changed" => ended(json!({"exitCode": null, "changed": [{"path": "a"}]})),
            "ended-aside" => ended(json!({"exitCode": null, "changed": [], "putAside": ["a"]})),
            "ended-unrecorded" => ended(json!({"exitCode": null})),
            "ended-reading" => ended(json!({"exitCode": null, "readOnly": true})),
            "unmatched" => {
                let why = "old is not there; copy it";
                ("write", Some(Effect::Verifiable), Outcome::correctable(why))
            }
            "unfit-write" => {
                let mut outcome = Outcome::correctable("path is missing");
                outcome.effect = Some(Effect::Verifiable);
                ("write", None, outcome)
            }
            "unknown" => {
                let mut outcome = Outcome::failed("unknown tool");
                outcome.effect = Some(Effect::Unsafe);
                ("nothing", None, outcome)
            }
            "denied" => ("write", None, Outcome::new(Status::Denied, "denied")),
            "child" => child(Status::Done, json!({"ok": true})),
            "child-wrote" => child(Status::Done, json!({"ok": true, "acted": true})),
            "child-broke" => child(Status::Failed, json!({"ok": false})),
            "child-wrote-broke" => child(Status::Failed, json!({"ok": false, "acted": true})),
            _ => return None,
        };
        Some(Self {
            tool,
            begun,
            outcome,
        })
    }
}

fn ended(data: serde_json::Value) -> (&'static str, Option<Effect>, Outcome) {
    let outcome = Outcome::failed("ended").with_data(data);
    ("exec", Some(Effect::Unsafe), outcome)
}

fn child(status: Status, data: serde_json::Value) -> (&'static str, Option<Effect>, Outcome) {
    let outcome = Outcome::new(status, "hm").with_data(data);
    ("subAgent", Some(Effect::Verifiable), outcome)
}

/// Plays answers: those with calls, which a `+` joins, each as it is closed, and those without, each
/// as its finish reason. Returns the reminders and the end.
fn played(words: &str, limits: Limits) -> (Vec<Reminder>, FinishReason) {
    let mut turn = turn_of(&[started(limits)]);
    let (mut reminders, mut ended) = (Vec::new(), None);
    for (number, word) in words.split(' ').enumerate() {
        assert_eq!(ended, None, "{words}");
        let closings: Vec<_> = word.split('+').filter_map(Closing::new).collect();
        let call_of = |(at, closing): (usize, &Closing)| {
            let id = id(number * 10 + at);
            Part::Call(ToolCall::new(id, closing.tool, json!({})))
        };
        let mut parts: Vec<_> = closings.iter().enumerate().map(call_of).collect();
        if parts.is_empty() {
            parts.push(Part::text("hm"));
        }
        let Kind::MessageFinished { mut message, .. } = answer(parts, 1) else {
            unreachable!()
        };
        message.finish_reason = Some(word.to_owned());
        turn.apply(&Kind::finished(message));
        for (at, closing) in closings.into_iter().enumerate() {
            let call = id(number * 10 + at);
            if let Some(begins) = closing.begun {
                let mut begun = begun(number * 10 + at, Closer::Tool);
                if let Kind::CallStarted { effect, .. } = &mut begun {
                    *effect = begins;
                }
                turn.apply(&begun);
            }
            let (name, outcome) = (closing.tool.to_owned(), closing.outcome);
            turn.apply(&Kind::CallClosed {
                call,
                name,
                outcome,
            });
        }
        if let Step::Remind(reminder, words) = turn.next() {
            reminders.push(reminder);
            let id = MessageId::new("r").unwrap();
            let message = Message::of_reminder(id, reminder, words, Millis(0));
            turn.apply(&Kind::finished(message));
        }
        ended = reason(&record(&mut turn)).cloned();
    }
    (reminders, ended.expect(words))
}

fn all_reminders() -> Limits {
    Limits {
        reminders: Reminders {
            failed_call: true,
            cut_answer: true,
        },
        ..Limits::default()
    }
}

// proves AS-10
#[test]
fn the_model_is_reminded_of_calls_that_other_arguments_mend_and_of_cut_answers() {
    let all = all_reminders();
    let frugal = Limits {
        budget: samovar_core::Budget::of_tokens(9999),
        ..all
    };
    let last = Limits {
        max_iterations: 2,
        ..all
    };
    let (failed, cut) = (Reminder::FailedCall, Reminder::CutAnswer);
    let rows: [(&str, Limits, &[Reminder], &str); 17] = [
        ("unfit stop stop", all, &[failed], "stop"),
        ("unfit stop unfit stop", all, &[failed], "stop"),
        ("unmatched stop wrote stop", all, &[failed], "stop"),
        ("unfit+looked stop", all, &[], "stop"),
        ("unfit looked stop", all, &[], "stop"),
        ("missing stop", all, &[], "stop"),
        ("denied stop", all, &[], "stop"),
        ("unknown stop", all, &[], "failed_call"),
        ("broke stop", all, &[], "failed_call"),
        ("child-broke stop", all, &[], "failed_call"),
        ("unfit stop", last, &[], "stop"),
        ("unfit stop", Limits::default(), &[], "stop"),
        ("length stop", all, &[cut], "stop"),
        ("length length", all, &[cut], "length"),
        ("unfit max_tokens stop stop", all, &[cut, failed], "stop"),
        ("length", frugal, &[], "length"),
        ("unfit stop stop", frugal, &[failed], "stop"),
    ];
    for (words, limits, reminders, end) in rows {
        let (found, reason) = played(words, limits);
        assert_eq!((&found[..], reason.as_str()), (reminders, end), "{words}");
    }
}

#[test]
fn a_reminder_repeats_what_is_to_be_corrected() {
    let mut turn = turn_of(&[started(all_reminders()), answer(vec![call(1)], 1)]);
    let outcome = Outcome::correctable("path is missing; tool takes path, limit?");
    turn.apply(&Kind::CallClosed {
        call: id(1),
        name: "tool".to_owned(),
        outcome,
    });
    record(&mut turn);
    turn.apply(&answer(vec![Part::text("done")], 1));

    let Step::Remind(Reminder::FailedCall, words) = turn.next() else {
        panic!("{:?}", turn.next());
    };
    assert_eq!(
        words,
        "The call failed: path is missing; tool takes path, limit?\n\
         Correct that, and call tool again."
    );
}

// proves AS-6
#[test]
fn a_turn_that_answered_failed_only_if_its_last_call_was_to_change_something_and_nothing_did() {
    let rows = [
        ("looked stop", "stop"),
        ("missing stop", "stop"),
        ("wrote missing stop", "stop"),
        ("broke stop", "failed_call"),
        ("unmatched stop stop", "failed_call"),
        ("unfit-write stop stop", "failed_call"),
        ("unknown stop", "failed_call"),
        ("broke looked stop", "stop"),
        ("broke+looked stop", "stop"),
        ("looked+broke stop", "failed_call"),
        ("broke wrote stop", "stop"),
        ("wrote broke stop", "stop"),
        ("broke+wrote stop", "stop"),
        ("ended stop", "failed_call"),
        ("ended-reading stop", "failed_call"),
        ("ended-changed stop", "stop"),
        ("ended-aside stop", "stop"),
        ("ended-unrecorded stop", "stop"),
        ("child stop", "stop"),
        ("child broke stop", "failed_call"),
        ("child-wrote broke stop", "stop"),
        ("child-broke stop", "failed_call"),
        ("child-wrote-broke stop", "stop"),
    ];
    for (words, end) in rows {
        let (_, reason) = played(words, all_reminders());
        assert_eq!(reason.as_str(), end, "{words}");
    }
    assert_eq!(played("broke stop", Limits::default()).1.as_str(), "stop");
}

// proves AS-6
#[test]
fn the_third_equal_failing_call_in_a_row_ends_the_turn() {
    let rows = [
        ("missing missing missing", "repeated_call"),
        ("unknown unknown unknown", "repeated_call"),
        ("denied denied denied", "repeated_call"),
        ("unfit unfit stop unfit", "repeated_call"),
        ("looked missing missing missing", "repeated_call"),
        ("looked looked looked looked stop", "stop"),
        ("missing missing looked missing stop", "stop"),
        ("missing unfit missing unfit missing stop", "stop"),
        // The model has not seen the failure of one when it makes the next.
        ("missing+missing+missing stop", "stop"),
        ("missing+missing missing missing", "repeated_call"),
        ("missing+unfit unfit+missing missing+unfit", "repeated_call"),
        ("missing+looked missing+looked missing+looked stop", "stop"),
    ];
    for (words, end) in rows {
        let (_, reason) = played(words, all_reminders());
        assert_eq!(reason.as_str(), end, "{words}");
    }
}
