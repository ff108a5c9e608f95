//! A good day: one session, a spoken answer that a kill cut once, and a turn with calls of all
//! classes, which a kill cut, too: the idempotent one is made twice. What is said meanwhile joins it.
//! In another session, a turn asks.

pub(super) mod asking;
pub(super) mod relay;
pub(super) mod trees;

use serde_json::{Value, json};

use crate::observed::{
    AppendedMessage, Class, CopiedRow, Delivery, Effect, Fork, Frame, Import, Memories, Observed,
    ObservedPrompt, Post, Profile, ReaderConnection, Remembered, Scene, Stored, Tokens, Totals,
};
use crate::picture;
use crate::words;

/// A log as it is written: each event gets the next place.
#[derive(Default)]
struct Log {
    seq: u64,
    epoch: u64,
    turn: String,
    /// The agents down to the one whose turn it is; empty for the session's own.
    path: String,
    full: Vec<Frame>,
    spelt: Vec<Frame>,
}

impl Log {
    fn full(&mut self, mut event: Value) -> String {
        self.seq += 1;
        event["turn"] = json!(self.turn);
        if !self.path.is_empty() {
            event["agent"] = json!(self.path);
        }
        let id = format!("{}.{}", self.epoch, self.seq);
        let data = event.to_string();
        self.full.push(Frame {
            id: Some(id.clone()),
            data,
        });
        id
    }

    /// Events of a called agent's turn.
    fn below(&mut self, turn: &str, path: &str, happens: impl FnOnce(&mut Self)) {
        let own = std::mem::replace(&mut self.turn, turn.to_owned());
        path.clone_into(&mut self.path);
        happens(self);
        (self.turn, self.path) = (own, String::new());
    }

    /// An event of another turn.
    fn aside(&mut self, turn: &str, mut event: Value) -> Frame {
        self.seq += 1;
        event["turn"] = json!(turn);
        let id = Some(format!("{}.{}", self.epoch, self.seq));
        let data = event.to_string();
        Frame { id, data }
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
        self.full(user(message, ""));
        self.full(json!({"type": "turn_started"}));
    }

    fn answer(&mut self, id: &str, parts: &[Value]) {
        let usage = json!({"input": 10, "output": 1});
        let message = json!({"id": id, "role": "assistant", "parts": parts, "usage": usage});
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

fn user(message: &str, entry: &str) -> Value {
    let part = json!({"type": "text", "text": said(message)});
    let message = json!({"id": message, "role": "user", "parts": [part]});
    let mut event = json!({"type": "message_finished", "message": message});
    if !entry.is_empty() {
        event["entry"] = entry.into();
    }
    event
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

/// What the edited file says before its end.
pub(super) const EDITED: &str = "m2 edited in attempt 2, before ";

/// The day; nothing of it breaks a promise.
pub(super) fn good_day() -> Observed {
    let mut log = Log {
        seq: 1,
        epoch: 7,
        ..Log::default()
    };
    let first = first_turn(&mut log);
    let (second, own) = second_turn(&mut log);
    let steering = Post {
        delivery: Delivery::Steer,
        ..post("m3", Scene::Text, 5)
    };
    let mut observed = Observed {
        posts: vec![
            post("m1", Scene::Text, 1),
            post("m2", Scene::Tools, 3),
            steering,
        ],
        stored: stored(),
        effects: effects(),
        asked: asked(),
        memories: memories(),
        files: [
            ("write-m2.txt".to_owned(), "m2 wrote\n".to_owned()),
            ("edit-m2.txt".to_owned(), format!("{EDITED}the end\n")),
        ]
        .into(),
        answered: [("a1".to_owned(), 2), ("a2".to_owned(), 3)].into(),
        totals: [("s1".to_owned(), totals())].into(),
        ..Observed::default()
    };
    for (message, (full, spelt)) in [("m1", first), ("m2", second)] {
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
    }
    joined(&mut observed, own);
    asking::add(&mut observed);
    relay::add(&mut observed);
    trees::add(&mut observed);
    copies(&mut observed);
    let mut resumed = observed.readings[0].clone();
    resumed.after.clone_from(&resumed.frames[4].id);
    resumed.frames.drain(..5);
    observed.readings.push(resumed);
    observed
}

/// A fork with the first two messages, an import of another one, and two messages that were appended.
fn copies(observed: &mut Observed) {
    let sources: Vec<_> = observed.stored.iter().take(2).cloned().collect();
    let rows = sources.iter().map(|row| CopiedRow {
        row: Stored {
            session: "f1".to_owned(),
            id: format!("copy of {}", row.id),
            ..row.clone()
        },
        of: Some(row.id.clone()),
    });
    observed.copies.rows.extend(rows);
    observed.copies.forks.push(Fork {
        session: "f1".to_owned(),
        of: "s1".to_owned(),
        messages: 2,
        last: sources.last().map(|row| row.id.clone()),
    });
    for session in ["f2", "i1"] {
        observed.copies.rows.push(CopiedRow {
            row: Stored {
                session: session.to_owned(),
                content: "carried".to_owned(),
                ..Stored::default()
            },
            of: None,
        });
    }
    observed.copies.imports.push(Import {
        session: "i1".to_owned(),
        of: "f2".to_owned(),
        messages: 1,
    });
    for id in ["b1", "b2"] {
        let (session, id, content) = ("a1".to_owned(), id.to_owned(), format!("kept as {id}"));
        observed.copies.rows.push(CopiedRow {
            row: Stored {
                session: session.clone(),
                id: id.clone(),
                content: content.clone(),
                ..Stored::default()
            },
            of: None,
        });
        observed.copies.appended.push(AppendedMessage {
            session,
            id,
            content,
        });
    }
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

/// What was seen of the message that has joined the second turn: its own turn before, and that one
/// later.
fn joined(observed: &mut Observed, own: Vec<Frame>) {
    let end = own.last().cloned().unwrap_or_default();
    let spelt = Frame {
        data: json!({"type": "completed", "finishReason": "steered"}).to_string(),
        ..end
    };
    for (profile, frames) in [(Profile::Full, own), (Profile::Default, vec![spelt])] {
        let host = reading(&mut observed.retold, "m2", profile).clone();
        let message = "m3".to_owned();
        let own = ReaderConnection {
            message: message.clone(),
            frames,
            ..host.clone()
        };
        observed.readings.push(own);
        observed.retold.push(ReaderConnection { message, ..host });
    }
    // A reader of its own turn lost its connection, and came back to the one that it has joined.
    let mut frames = observed.retold.last().unwrap().frames.clone();
    let after = reading(&mut observed.readings, "m3", Profile::Default).frames[0]
        .id
        .clone();
    frames.retain(|frame| frame.id.as_deref().map(at) > after.as_deref().map(at));
    observed.readings.push(ReaderConnection {
        message: "m3".to_owned(),
        after: after.clone(),
        frames,
        is_done: true,
        ..ReaderConnection::default()
    });
    // Another had seen all of it but the word that it is over.
    observed.readings.push(ReaderConnection {
        message: "m3".to_owned(),
        after,
        is_done: true,
        ..ReaderConnection::default()
    });
}

fn at(id: &str) -> u64 {
    crate::turn_record::place(id).unwrap().1
}

/// The turn, and that of the message which has joined it.
fn second_turn(log: &mut Log) -> ((Vec<Frame>, Vec<Frame>), Vec<Frame>) {
    log.begin("t2", "m2");
    log.step(1);
    let text = words::answer("m2", 1, 1, 0);
    log.say(&text);
    let args = json!({"path": "write-m2.txt", "content": "m2 wrote\n"});
    let new = format!("{EDITED}the end\n");
    let edit = json!({"path": "edit-m2.txt", "old": "the end\n", "new": new});
    let mut parts = vec![json!({"type": "text", "text": text})];
    for ((name, call, _), args) in CALLS.iter().zip([args, edit, json!({}), json!({})]) {
        parts.push(json!({"type": "call", "id": call, "name": name, "args": args}));
    }
    log.answer("a2", &parts);
    for (name, call, _) in CALLS {
        log.full(json!({"type": "call_started", "call": call, "name": name}));
    }
    let mut own = vec![log.aside("t3", user("m3", "steers"))];
    log.epoch = 9;
    log.full(json!({"type": "turn_continued", "in_a_row": 1}));
    for (name, call, text) in CALLS {
        let outcome = json!({"status": "done", "text": text});
        log.both(
            json!({"type": "call_closed", "call": call, "name": name, "outcome": outcome}),
            &json!({"type": "tool_call_result", "id": call, "name": name, "result": text}),
        );
    }
    log.full(user("m3", "joined"));
    own.push(log.aside("t3", json!({"type": "turn_finished", "reason": "steered"})));
    log.step(2);
    let text = words::answer("m3", 1, 1, 1);
    log.say(&text);
    log.answer("a3", &[json!({"type": "text", "text": text})]);
    (log.end(), own)
}

fn post(message: &str, scene: Scene, sent_at: u64) -> Post {
    Post {
        session: "s1".to_owned(),
        message: message.to_owned(),
        content: said(message),
        scene,
        sent_at,
        acked_at: Some(sent_at + 1),
        ..Post::default()
    }
}

pub(super) fn row(id: &str, role: &str, content: &str, call: Option<&str>) -> Stored {
    Stored {
        session: "s1".to_owned(),
        id: id.to_owned(),
        role: role.to_owned(),
        content: content.to_owned(),
        call: call.map(str::to_owned),
        image: picture::of(id)
            .filter(|_| role == "user")
            .map(|image| picture::name(&image)),
        ..Stored::default()
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
    rows.push(row("m3", "user", &said("m3"), None));
    rows.push(row("a3", "assistant", &words::answer("m3", 1, 1, 1), None));
    rows
}

fn totals() -> Totals {
    Totals {
        messages: 10,
        tokens: Tokens {
            input: 30,
            output: 3,
        },
    }
}

fn effects() -> Vec<Effect> {
    let effect = |class, call: &str, receipt: &str| Effect {
        class,
        call: call.to_owned(),
        key: format!("key-{call}"),
        message: "m2".to_owned(),
        receipt: receipt.to_owned(),
        at: 0,
    };
    vec![
        effect(Class::Idempotent, "c3", "receipt-0."),
        effect(Class::Idempotent, "c3", "receipt-1."),
        effect(Class::Unsafe, "c4", "receipt-2."),
    ]
}

/// Two turns that remembered something, of which one was deleted, and one that was cut too often.
fn memories() -> Memories {
    let kept = |message: &str, number| Remembered {
        message: message.to_owned(),
        number,
        is_done: number < 3,
        proposed: 1,
        accepted: 1,
        gone_after: (number == 2).then_some(2),
    };
    let cut = Remembered {
        proposed: 0,
        accepted: 0,
        ..kept("k3", 3)
    };
    Memories {
        kept: vec![kept("k1", 1), kept("k2", 2), cut],
        listed: vec!["fact/k1/1".to_owned(), "own/k1/1".to_owned()],
    }
}

fn asked() -> Vec<ObservedPrompt> {
    let asked = |message: &str, results, number| ObservedPrompt {
        message: message.to_owned(),
        results,
        number,
        told: Vec::new(),
    };
    vec![
        asked("m1", 0, 0),
        asked("m1", 0, 1),
        asked("m2", 0, 2),
        asked("m3", 0, 3),
    ]
}

/// One of these readings.
#[track_caller]
pub(super) fn reading<'r>(
    readings: &'r mut [ReaderConnection],
    message: &str,
    profile: Profile,
) -> &'r mut ReaderConnection {
    let mut all = readings.iter_mut();
    let found = all.find(|one| one.message == message && one.profile == profile);
    found.expect("the day has it")
}

/// Moves all events of a message's turn so many places up, as if others stood before them.
pub(super) fn renamed(observed: &mut Observed, message: &str, by: u64) {
    for one in observed.readings.iter_mut().chain(&mut observed.retold) {
        if one.message == message {
            for frame in &mut one.frames {
                let id = frame.id.as_deref().and_then(crate::turn_record::place);
                let (epoch, seq, _) = id.expect("every frame has an id");
                frame.id = Some(format!("{epoch}.{}", seq + by));
            }
        }
    }
}
