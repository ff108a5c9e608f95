use samovar_core::{Effect, MessageId, Millis, Part, Reminders, Role};
use serde_json::{Map, json};

use super::*;

mod ends;
mod replay;

fn started(limits: Limits) -> Kind {
    let model = "m".to_owned();
    Kind::TurnStarted {
        model,
        route: None,
        limits,
        approval: Approval::Auto,
        bounds: Bounds::default(),
        parent_call: None,
        background: false,
        definition: None,
    }
}

fn id(number: usize) -> CallId {
    CallId::new(&format!("call_{number}")).unwrap()
}

fn call(number: usize) -> Part {
    let (id, name, args) = (id(number), "tool".to_owned(), json!({}));
    Part::Call(ToolCall::new(id, name, args))
}

fn answer(parts: Vec<Part>, tokens: u64) -> Kind {
    let usage = Usage {
        input: tokens,
        ..Usage::default()
    };
    Kind::finished(Message {
        id: MessageId::new("a").unwrap(),
        role: Role::Assistant,
        parts,
        parent: None,
        usage: Some(usage),
        model: None,
        finish_reason: Some("end_turn".to_owned()),
        metadata: Map::new(),
        created_at: Millis(0),
    })
}

fn begun(number: usize, closer: Closer) -> Kind {
    Kind::CallStarted {
        call: id(number),
        name: "tool".to_owned(),
        effect: Effect::Unsafe,
        args_hash: String::new(),
        closer,
        deadline: None,
        probe: None,
        grounds: None,
        tainted: false,
    }
}

fn closed(number: usize) -> Kind {
    let (call, name) = (id(number), "tool".to_owned());
    Kind::CallClosed {
        call,
        name,
        outcome: Outcome::done("ok"),
    }
}

fn failed(number: usize) -> Kind {
    let (call, name) = (id(number), "tool".to_owned());
    let outcome = Outcome::failed("no");
    Kind::CallClosed {
        call,
        name,
        outcome,
    }
}

/// A turn that has seen these facts, and whatever it wanted to record between them.
fn turn_of(facts: &[Kind]) -> Turn {
    let mut turn = Turn::new();
    for fact in facts {
        turn.apply(fact);
        record(&mut turn);
    }
    turn
}

/// Lets the turn record what needs nothing from the world.
fn record(turn: &mut Turn) -> Vec<Kind> {
    let mut recorded = Vec::new();
    while let Step::Record(kind) = turn.next() {
        turn.apply(&kind);
        recorded.push(kind);
    }
    recorded
}

fn reason(kinds: &[Kind]) -> Option<&FinishReason> {
    match kinds.last() {
        Some(Kind::TurnFinished { reason, .. }) => Some(reason),
        _ => None,
    }
}

// proves AS-10
#[test]
fn a_turn_asks_runs_asks_again_and_ends_in_the_providers_own_word() {
    let mut turn = turn_of(&[started(Limits::default())]);
    assert_eq!(turn.next(), Step::CallModel { max_tokens: 4096 });

    turn.apply(&answer(vec![call(1), call(2)], 10));
    let Step::CallTools(calls) = turn.next() else {
        panic!("{:?}", turn.next())
    };
    assert_eq!(calls.len(), 2);

    turn.apply(&closed(2));
    let Step::CallTools(calls) = turn.next() else {
        panic!("{:?}", turn.next())
    };
    assert_eq!(calls[0].id, id(1));

    turn.apply(&closed(1));
    let next = record(&mut turn);
    assert!(matches!(
        next[..],
        [Kind::StepStarted {
            iteration: 2,
            attempt: 1,
            ..
        }]
    ));

    turn.apply(&answer(vec![Part::text("done")], 5));
    let end = record(&mut turn);
    assert_eq!(
        reason(&end),
        Some(&FinishReason::Model("end_turn".to_owned()))
    );
    let Some(Kind::TurnFinished {
        iterations, usage, ..
    }) = end.last()
    else {
        panic!()
    };
    assert_eq!((*iterations, usage.input), (2, 15));
    assert_eq!(turn.next(), Step::Over);
}

// proves AS-6
#[test]
fn max_iterations_is_said_only_when_the_model_still_wanted_tools() {
    let limits = Limits {
        max_iterations: 1,
        ..Limits::default()
    };
    let mut content = turn_of(&[started(limits)]);
    content.apply(&answer(vec![Part::text("done")], 1));
    assert_eq!(
        reason(&record(&mut content)),
        Some(&FinishReason::Model("end_turn".to_owned()))
    );

    let mut cut = turn_of(&[started(limits)]);
    cut.apply(&answer(vec![call(1)], 1));
    cut.apply(&closed(1));
    assert_eq!(
        reason(&record(&mut cut)),
        Some(&FinishReason::MaxIterations)
    );
}

#[test]
fn a_turn_whose_calls_are_open_outside_parks_until_the_last_is_settled() {
    let mut turn = turn_of(&[
        started(Limits::default()),
        answer(vec![call(1), call(2)], 1),
    ]);
    turn.apply(&begun(1, Closer::Outside));
    turn.apply(&begun(2, Closer::Outside));
    assert_eq!(turn.next(), Step::Wait);
    assert_eq!(turn.waiting_tool(&id(1)), Some("tool"));

    turn.apply(&closed(1));
    assert_eq!(turn.waiting_tool(&id(1)), None);
    assert_eq!(turn.next(), Step::Wait);

    turn.apply(&closed(2));
    assert!(matches!(
        turn.next(),
        Step::Record(Kind::StepStarted { iteration: 2, .. })
    ));
}

#[test]
fn a_turn_whose_tool_is_gone_is_not_parked() {
    let facts = |closer| {
        [
            started(Limits::default()),
            answer(vec![call(1)], 1),
            begun(1, closer),
        ]
    };
    assert!(turn_of(&facts(Closer::Outside)).is_parked());
    assert!(!turn_of(&facts(Closer::Tool)).is_parked());
}

#[test]
fn a_step_that_is_reset_is_tried_again_under_its_own_number() {
    let mut turn = turn_of(&[
        started(Limits::default()),
        answer(vec![call(1)], 1),
        closed(1),
    ]);
    let usage = Usage {
        input: 7,
        ..Usage::default()
    };
    turn.apply(&Kind::StepReset {
        iteration: 2,
        usage,
        reason: "cut".to_owned(),
        code: None,
        context: None,
    });
    let again = record(&mut turn);
    assert!(matches!(
        again[..],
        [Kind::StepStarted {
            iteration: 2,
            attempt: 2,
            ..
        }]
    ));
}

#[test]
fn an_end_closes_every_open_call_and_owns_up_to_what_may_have_happened() {
    let mut turn = turn_of(&[started(Limits::default())]);
    turn.apply(&answer(vec![call(1), call(2), call(3), call(4)], 1));
    turn.apply(&begun(1, Closer::Tool));
    turn.apply(&begun(2, Closer::Outside));
    turn.apply(&closed(3));

    let end = turn.failed(FaultCode::Interrupted, "the server stopped");

    let status = |kind: &Kind| match kind {
        Kind::CallClosed { call, outcome, .. } => Some((call.clone(), outcome.status)),
        _ => None,
    };
    let statuses: Vec<_> = end.iter().filter_map(status).collect();
    let (unknown, cancelled) = (Status::Unknown, Status::Cancelled);
    assert_eq!(
        statuses,
        [(id(1), unknown), (id(2), cancelled), (id(4), cancelled)]
    );
    assert_eq!(reason(&end), Some(&FinishReason::Error));
    for kind in &end {
        turn.apply(kind);
    }
    assert_eq!(turn.next(), Step::Over);
}

// proves TL-4
#[test]
fn a_turn_keeps_its_level_until_a_stricter_server_has_it_or_its_message_asked_for_one() {
    use Approval::{Auto, ReadOnly, Supervised};
    let begun_at = |approval, asked| {
        let bounds = Bounds {
            approval: asked,
            ..Bounds::default()
        };
        turn_of(&[Kind::TurnStarted {
            model: "m".to_owned(),
            route: None,
            limits: Limits::default(),
            approval,
            bounds,
            parent_call: None,
            background: false,
            definition: None,
        }])
    };
    assert_eq!(Turn::new().approval(Auto), ReadOnly, "nothing is known");
    for (began, asked, server, counts) in [
        (Auto, None, Auto, Auto),
        (Auto, None, Supervised, Supervised),
        (Supervised, None, Auto, Supervised),
        (Auto, Some(Auto), ReadOnly, Auto),
        (ReadOnly, Some(ReadOnly), Auto, ReadOnly),
    ] {
        let turn = begun_at(began, asked);
        assert_eq!(
            turn.approval(server),
            counts,
            "{began:?} {asked:?} {server:?}"
        );
    }
}
