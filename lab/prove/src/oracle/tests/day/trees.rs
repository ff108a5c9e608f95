//! What called agents did on that day: in one session, an agent calls another, and a kill cuts that;
//! in another session, one works in the background, and its result comes when its caller is over.

use serde_json::{Value, json};

use super::{Log, post, row, said};
use crate::observed::{
    Frame, ListedTurn, Observed, Post, Profile, ReaderConnection, Scene, Stored, Totals,
};
use crate::words;

const HELPER: &str = "master/helper";
const DEEPER: &str = "master/helper/deeper";

/// Adds it to a day.
pub(super) fn add(observed: &mut Observed) {
    tree(observed);
    background(observed);
}

fn tree(observed: &mut Observed) {
    let mut log = begun("t10", "k1");
    calls(
        &mut log,
        "",
        "a10",
        "k1",
        &delegates("c10", "helper", "k1-c1"),
    );
    log.below("t11", HELPER, |log| {
        start(log, "k11", "k1-c1", "c10", false);
        calls(
            log,
            HELPER,
            "a11",
            "k1-c1",
            &delegates("c11", "deeper", "k1-c1-c1"),
        );
    });
    log.below("t12", DEEPER, |log| {
        start(log, "k12", "k1-c1-c1", "c11", false);
        log.epoch = 8;
        log.full(json!({"type": "turn_continued", "in_a_row": 1}));
        speak(log, "a12", "k1-c1-c1", 1);
        log.full(end());
    });
    let (deeper, helper) = (result("a12", "k1-c1-c1", 1), result("a13", "k1-c1", 2));
    log.below("t11", HELPER, |log| {
        log.full(closed("c11", "subAgent", &deeper));
        speak(log, "a13", "k1-c1", 2);
        log.full(end());
    });
    log.both(
        closed("c10", "subAgent", &helper),
        &shown("c10", "subAgent", &helper),
    );
    speak(&mut log, "a14", "k1", 2);
    let called = |rows: Vec<Stored>, depth| {
        let deeper = move |row| Stored { depth, ..row };
        rows.into_iter().map(deeper).collect::<Vec<_>>()
    };
    // As the log has them.
    let rows = [
        vec![own("k1"), answer("a10", "k1", 1)],
        called(vec![task("k11", "k1-c1"), answer("a11", "k1-c1", 1)], 1),
        called(
            vec![task("k12", "k1-c1-c1"), answer("a12", "k1-c1-c1", 1)],
            2,
        ),
        called(vec![of_tool("c11", &deeper), answer("a13", "k1-c1", 2)], 1),
        vec![of_tool("c10", &helper), answer("a14", "k1", 2)],
    ];
    keep(observed, log, "s3", "k1", rows.concat());
    let turns = [
        ("t10", 0, None),
        ("t11", 1, Some("c10")),
        ("t12", 2, Some("c11")),
    ];
    observed.turns.extend(turns.map(listed));
}

fn background(observed: &mut Observed) {
    let mut log = begun("t20", "b1");
    let spawned = json!({"ok": true, "turnId": "t21"}).to_string();
    let call = ("c20", "spawn", json!({"task": said("b1-b1"), "label": "x"}));
    calls(&mut log, "", "a20", "b1", &call);
    log.both(
        closed("c20", "spawn", &spawned),
        &shown("c20", "spawn", &spawned),
    );
    log.below("t21", "master/background", |log| {
        start(log, "k21", "b1-b1", "c20", true);
    });
    speak(&mut log, "a21", "b1", 2);
    let of_call = Some("c20".to_owned());
    let text = format!(
        "The background task \"x\" is over: {}",
        result("a22", "b1-b1", 1)
    );
    let rows = vec![
        own("b1"),
        answer("a20", "b1", 1),
        of_tool("c20", &spawned),
        answer("a21", "b1", 2),
        Stored {
            depth: 1,
            ..task("k21", "b1-b1")
        },
        Stored {
            depth: 1,
            of_call,
            ..answer("a22", "b1-b1", 1)
        },
        Stored {
            result_of: Some("t21".to_owned()),
            ..row("k22", "system", &text, None)
        },
        row("a23", "assistant", crate::scene::HEARD, None),
    ];
    keep(observed, log, "s4", "b1", rows);
    let turns = [("t20", 0, None), ("t21", 1, Some("c20")), ("t22", 0, None)];
    observed.turns.extend(turns.map(listed));
}

fn begun(turn: &str, message: &str) -> Log {
    let mut log = Log {
        seq: 1,
        epoch: 7,
        ..Log::default()
    };
    log.begin(turn, message);
    log
}

/// A called agent's turn begins.
fn start(log: &mut Log, message: &str, place: &str, call: &str, background: bool) {
    let part = json!({"type": "text", "text": said(place)});
    let message = json!({"id": message, "role": "user", "parts": [part]});
    log.full(json!({"type": "message_finished", "message": message}));
    log.full(json!({"type": "turn_started", "parent_call": call, "background": background}));
}

type Asked = (&'static str, &'static str, Value);

fn delegates(call: &'static str, agent: &str, place: &str) -> Asked {
    let args = json!({"name": agent, "task": said(place)});
    (call, "subAgent", args)
}

/// The first answer of a turn, which calls.
fn calls(log: &mut Log, path: &str, id: &str, place: &str, (call, name, args): &Asked) {
    step(log, path, 1);
    let text = words::answer(place, 1, 1, 0);
    let parts = [
        json!({"type": "text", "text": text}),
        json!({"type": "call", "id": call, "name": name, "args": args}),
    ];
    if path.is_empty() {
        log.say(&text);
    }
    log.answer(id, &parts);
    log.full(json!({"type": "call_started", "call": call, "name": name}));
}

/// A whole answer that calls nothing.
fn speak(log: &mut Log, id: &str, place: &str, number: u32) {
    let path = log.path.clone();
    step(log, &path, number);
    let text = words::answer(place, number, 1, 0);
    if path.is_empty() {
        log.say(&text);
    }
    log.answer(id, &[json!({"type": "text", "text": text})]);
}

fn step(log: &mut Log, path: &str, number: u32) {
    if path.is_empty() {
        log.step(number);
    } else {
        log.full(json!({"type": "step_started", "iteration": number}));
    }
}

fn end() -> Value {
    json!({"type": "turn_finished", "reason": {"model": "stop"}})
}

fn closed(call: &str, name: &str, text: &str) -> Value {
    let outcome = json!({"status": "done", "text": text});
    json!({"type": "call_closed", "call": call, "name": name, "outcome": outcome})
}

fn shown(call: &str, name: &str, text: &str) -> Value {
    json!({"type": "tool_call_result", "id": call, "name": name, "result": text})
}

fn result(message: &str, place: &str, step: u32) -> String {
    let summary = words::answer(place, step, 1, 0);
    json!({"ok": true, "messageId": message, "summary": summary}).to_string()
}

fn own(message: &str) -> Stored {
    task(message, message)
}

fn task(id: &str, place: &str) -> Stored {
    row(id, "user", &said(place), None)
}

fn answer(id: &str, place: &str, step: u32) -> Stored {
    row(id, "assistant", &words::answer(place, step, 1, 0), None)
}

fn of_tool(call: &str, text: &str) -> Stored {
    row(&format!("r-{call}"), "tool", text, Some(call))
}

fn listed((turn, depth, call): (&str, u64, Option<&str>)) -> ListedTurn {
    ListedTurn {
        turn: turn.to_owned(),
        depth,
        call: call.map(str::to_owned),
        is_over: true,
        reason: "stop".to_owned(),
    }
}

/// Ends the turn, and notes what was said, shown and stored of it.
fn keep(observed: &mut Observed, mut log: Log, session: &str, message: &str, rows: Vec<Stored>) {
    let (full, spelt): (Vec<Frame>, Vec<Frame>) = log.end();
    let answers = full.iter().filter(|frame| frame.data.contains("\"usage\""));
    let answers = u64::try_from(answers.count()).unwrap();
    for (profile, frames) in [(Profile::Full, full), (Profile::Default, spelt)] {
        let whole = ReaderConnection {
            message: message.to_owned(),
            profile,
            frames,
            is_done: true,
            ..ReaderConnection::default()
        };
        observed.readings.push(whole.clone());
        observed.retold.push(whole);
    }
    let session = session.to_owned();
    observed.posts.push(Post {
        session: session.clone(),
        ..post(message, Scene::Tree, 30)
    });
    let totals = Totals {
        messages: u64::try_from(rows.len()).unwrap(),
        tokens: crate::observed::Tokens {
            input: answers * 10,
            output: answers,
        },
    };
    observed.totals.insert(session.clone(), totals);
    let rows = rows.into_iter().map(|row| Stored {
        session: session.clone(),
        ..row
    });
    observed.stored.extend(rows);
}
