//! A good day: one session, a spoken answer that a kill cut once, and a turn with calls of all
//! classes, the idempotent one made twice.

use serde_json::{Value, json};

use crate::observed::{
    Asked, Class, Effect, Frame, Observed, Post, Profile, Reading, Scene, Stored,
};
use crate::words;

/// A log as it is written: each event gets the next place.
#[derive(Default)]
struct Log {
    seq: u64,
    epoch: u64,
    turn: String,
    full: Vec<Frame>,
    spelt: Vec<Frame>,
}

impl Log {
    fn full(&mut self, mut event: Value) -> String {
        self.seq += 1;
        event["turn"] = json!(self.turn);
        let id = format!("{}.{}", self.epoch, self.seq);
        let data = event.to_string();
        self.full.push(Frame {
            id: Some(id.clone()),
            data,
        });
        id
    }

    fn both(&mut self, event: Value, spelt: &Value) {
        let id = Some(self.full(event));
        let data = spelt.to_string();
        self.spelt.push(Frame { id, data });
    }

    fn say(&mut self, text: &str) {
        self.both(
            json!({"type": "delta", "fragment": {"text": text}}),
            &json!({"type": "text_delta", "content": text}),
        );
    }

    fn step(&mut self, iteration: u32) {
        self.both(
            json!({"type": "step_started", "iteration": iteration}),
            &json!({"type": "iteration", "iteration": iteration}),
        );
    }

    fn begin(&mut self, turn: &str, message: &str) {
        turn.clone_into(&mut self.turn);
        let part = json!({"type": "text", "text": said(message)});
        let message = json!({"id": message, "role": "user", "parts": [part]});
        self.full(json!({"type": "message_finished", "message": message}));
        self.full(json!({"type": "turn_started"}));
    }

    fn answer(&mut self, id: &str, parts: &[Value]) {
        let message = json!({"id": id, "role": "assistant", "parts": parts});
        self.full(json!({"type": "message_finished", "message": message}));
    }

    fn end(&mut self) -> (Vec<Frame>, Vec<Frame>) {
        self.both(
            json!({"type": "turn_finished", "reason": {"model": "stop"}}),
            &json!({"type": "completed", "finishReason": "stop"}),
        );
        (
            std::mem::take(&mut self.full),
            std::mem::take(&mut self.spelt),
        )
    }
}

fn said(message: &str) -> String {
    format!("go on [{message}]")
}

/// What the tools of the second turn did: name, call, whether a start is kept, result.
const CALLS: [(&str, &str, &str); 4] = [
    ("write_file", "c1", "created"),
    ("edit_file", "c2", "edited"),
    ("note", "c3", "receipt-1."),
    ("pay", "c4", "receipt-2."),
];

/// The day; nothing of it breaks a promise.
pub(super) fn good_day() -> Observed {
    let mut log = Log {
        seq: 1,
        epoch: 7,
        ..Log::default()
    };
    let first = first_turn(&mut log);
    let second = second_turn(&mut log);
    let mut observed = Observed {
        posts: vec![post("m1", Scene::Text, 1), post("m2", Scene::Tools, 3)],
        stored: stored(),
        effects: effects(),
        asked: asked(),
        files: [
            ("write-m2.txt".to_owned(), "m2 wrote\n".to_owned()),
            (
                "edit-m2.txt".to_owned(),
                "m2 edited, before the end\n".to_owned(),
            ),
        ]
        .into(),
        answered: [("m1".to_owned(), 2), ("m2".to_owned(), 3)].into(),
        ..Observed::default()
    };
    for (message, (full, spelt)) in [("m1", first), ("m2", second)] {
        for (profile, frames) in [(Profile::Full, full), (Profile::Default, spelt)] {
            let whole = Reading {
                message: message.to_owned(),
                profile,
                frames,
                is_done: true,
                ..Reading::default()
            };
            observed.readings.push(whole.clone());
            observed.retold.push(whole);
        }
    }
    let mut resumed = observed.readings[0].clone();
    resumed.after.clone_from(&resumed.frames[4].id);
    resumed.frames.drain(..5);
    observed.readings.push(resumed);
    observed
}

fn first_turn(log: &mut Log) -> (Vec<Frame>, Vec<Frame>) {
    log.begin("t1", "m1");
    log.step(1);
    log.say("m1.1.1.000 ");
    log.say("m1.1.1.001 ");
    log.epoch = 8;
    log.full(json!({"type": "step_reset", "iteration": 1}));
    log.full(json!({"type": "turn_continued", "in_a_row": 1}));
    log.step(1);
    let text = words::answer("m1", 1, 2, 2);
    for word in text.split_inclusive(' ') {
        log.say(word);
    }
    log.answer("a1", &[json!({"type": "text", "text": text})]);
    log.end()
}

fn second_turn(log: &mut Log) -> (Vec<Frame>, Vec<Frame>) {
    log.begin("t2", "m2");
    log.step(1);
    let text = words::answer("m2", 1, 1, 0);
    log.say(&text);
    let args = json!({"path": "write-m2.txt", "content": "m2 wrote\n"});
    let edit =
        json!({"path": "edit-m2.txt", "old": "the end\n", "new": "m2 edited, before the end\n"});
    let mut parts = vec![json!({"type": "text", "text": text})];
    for ((name, call, _), args) in CALLS.iter().zip([args, edit, json!({}), json!({})]) {
        parts.push(json!({"type": "call", "id": call, "name": name, "args": args}));
    }
    log.answer("a2", &parts);
    for (name, call, _) in CALLS {
        log.full(json!({"type": "call_started", "call": call, "name": name}));
    }
    for (name, call, text) in CALLS {
        let outcome = json!({"status": "done", "text": text});
        log.full(json!({"type": "call_closed", "call": call, "name": name, "outcome": outcome}));
    }
    log.step(2);
    let text = words::answer("m2", 2, 1, 1);
    log.say(&text);
    log.answer("a3", &[json!({"type": "text", "text": text})]);
    log.end()
}

fn post(message: &str, scene: Scene, sent_at: u64) -> Post {
    Post {
        session: "s1".to_owned(),
        message: message.to_owned(),
        content: said(message),
        scene,
        sent_at,
        acked_at: Some(sent_at + 1),
        may_be_cancelled: false,
        is_cancelled: false,
    }
}

fn row(id: &str, role: &str, content: &str, call: Option<&str>) -> Stored {
    Stored {
        session: "s1".to_owned(),
        id: id.to_owned(),
        role: role.to_owned(),
        content: content.to_owned(),
        call: call.map(str::to_owned),
    }
}

fn stored() -> Vec<Stored> {
    let mut rows = vec![
        row("m1", "user", &said("m1"), None),
        row("a1", "assistant", &words::answer("m1", 1, 2, 2), None),
        row("m2", "user", &said("m2"), None),
        row("a2", "assistant", &words::answer("m2", 1, 1, 0), None),
    ];
    for (_, call, text) in CALLS {
        rows.push(row(&format!("r-{call}"), "tool", text, Some(call)));
    }
    rows.push(row("a3", "assistant", &words::answer("m2", 2, 1, 1), None));
    rows
}

fn effects() -> Vec<Effect> {
    let effect = |class, call: &str, receipt: &str| Effect {
        class,
        call: call.to_owned(),
        key: format!("key-{call}"),
        message: "m2".to_owned(),
        receipt: receipt.to_owned(),
    };
    vec![
        effect(Class::Idempotent, "c3", "receipt-0."),
        effect(Class::Idempotent, "c3", "receipt-1."),
        effect(Class::Unsafe, "c4", "receipt-2."),
    ]
}

fn asked() -> Vec<Asked> {
    let asked = |message: &str, results, number| Asked {
        message: message.to_owned(),
        results,
        number,
    };
    vec![
        asked("m1", 0, 0),
        asked("m1", 0, 1),
        asked("m2", 0, 2),
        asked("m2", 4, 3),
    ]
}

/// One of these readings.
#[track_caller]
pub(super) fn reading<'r>(
    readings: &'r mut [Reading],
    message: &str,
    profile: Profile,
) -> &'r mut Reading {
    let mut all = readings.iter_mut();
    let found = all.find(|one| one.message == message && one.profile == profile);
    found.expect("the day has it")
}

/// Moves all events of a message's turn so many places up, as if others stood before them.
pub(super) fn renamed(observed: &mut Observed, message: &str, by: u64) {
    for one in observed.readings.iter_mut().chain(&mut observed.retold) {
        if one.message == message {
            for frame in &mut one.frames {
                let id = frame.id.as_deref().and_then(super::super::streams::place);
                let (epoch, seq, _) = id.expect("every frame has an id");
                frame.id = Some(format!("{epoch}.{}", seq + by));
            }
        }
    }
}
