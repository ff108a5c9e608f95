//! What else happened on that day: in a session of its own, a turn asks twice. Its server is killed
//! over the first question, which is asked again and answered in the chat; the second is answered by
//! its call. Between them a call runs that a person allows.

use serde_json::{Value, json};

use super::{Log, post, row};
use crate::observed::{
    AnswerRoute, AnswerStatus, Chat, ChatConnection, ChatMessage, Class, Decided, Effect, Observed,
    ObservedPrompt, Open, Post, Profile, ReaderConnection, Reply, Scene, Stored, Tokens, Totals,
};
use crate::words;

/// What the turn asks and says.
pub(in super::super) const FIRST: &str = "what about q1 in attempt 1, place 1?";
pub(in super::super) const SECOND: &str = "what about q1 in attempt 1, place 3?";
const NEWS: &str = "news of q1 in attempt 1, place 4";

/// What persons said.
pub(in super::super) const ANSWER: &str = "word 1 of w1";
pub(in super::super) const RESULT: &str = "word 1 of w2";
const STRAY: &str = "word 2 of w1";

/// Its calls: name, call, result.
const CALLS: [(&str, &str, &str); 5] = [
    ("ask_user", "c5", ANSWER),
    ("pay", "c6", "receipt-3."),
    ("grant", "g1", "receipt-4."),
    ("ask_user", "c7", RESULT),
    ("post_message", "c8", "posted as message 5"),
];

/// Adds it to a day.
pub(super) fn add(observed: &mut Observed) {
    let mut log = Log {
        seq: 1,
        epoch: 7,
        ..Log::default()
    };
    let (full, spelt) = turn(&mut log);
    for (profile, frames) in [(Profile::Full, full), (Profile::Default, spelt)] {
        let whole = ReaderConnection {
            message: "q1".to_owned(),
            profile,
            frames,
            is_done: true,
            ..ReaderConnection::default()
        };
        observed.readings.push(whole.clone());
        observed.retold.push(whole);
    }
    observed.posts.push(Post {
        session: "s2".to_owned(),
        ..post("q1", Scene::Questions, 7)
    });
    observed.stored.extend(rows());
    let tokens = Tokens {
        input: 20,
        output: 2,
    };
    let totals = Totals {
        messages: 8,
        tokens,
    };
    observed.totals.insert("s2".to_owned(), totals);
    observed.effects.push(Effect {
        class: Class::Unsafe,
        call: "c6".to_owned(),
        key: "key-c6".to_owned(),
        message: "q1".to_owned(),
        receipt: "receipt-3.".to_owned(),
        at: 21,
    });
    observed.effects.push(Effect {
        class: Class::Approved,
        call: "g1".to_owned(),
        key: "key-g1".to_owned(),
        message: "q1".to_owned(),
        receipt: "receipt-4.".to_owned(),
        at: 22,
    });
    observed
        .decisions
        .push(decided(true, AnswerStatus::Taken(None)));
    for (results, number) in [(0, 4), (5, 5)] {
        let message = "q1".to_owned();
        observed.asked.push(ObservedPrompt {
            message,
            results,
            number,
            ..ObservedPrompt::default()
        });
    }
    observed.chat = chat();
}

fn turn(log: &mut Log) -> (Vec<crate::observed::Frame>, Vec<crate::observed::Frame>) {
    log.begin("t4", "q1");
    log.step(1);
    let text = words::answer("q1", 1, 1, 0);
    log.say(&text);
    let mut parts = vec![json!({"type": "text", "text": text})];
    let args = [
        json!({"question": FIRST}),
        json!({}),
        json!({}),
        json!({"question": SECOND}),
        json!({"text": NEWS}),
    ];
    for ((name, call, _), args) in CALLS.iter().zip(args) {
        parts.push(json!({"type": "call", "id": call, "name": name, "args": args}));
    }
    log.answer("a4", &parts);
    for (name, call, text) in CALLS {
        log.full(json!({"type": "call_started", "call": call, "name": name}));
        log.epoch = 8;
        let outcome = json!({"status": "done", "text": text});
        log.both(
            json!({"type": "call_closed", "call": call, "name": name, "outcome": outcome}),
            &json!({"type": "tool_call_result", "id": call, "name": name, "result": text}),
        );
    }
    log.step(2);
    let text = words::answer("q1", 2, 1, 1);
    log.say(&text);
    log.answer("a5", &[json!({"type": "text", "text": text})]);
    log.end()
}

fn rows() -> Vec<Stored> {
    let mut rows = vec![
        row("q1", "user", &super::said("q1"), None),
        row("a4", "assistant", &words::answer("q1", 1, 1, 0), None),
    ];
    for (_, call, text) in CALLS {
        rows.push(row(&format!("r-{call}"), "tool", text, Some(call)));
    }
    let last = words::answer("q1", 2, 1, 1);
    rows.push(row("a5", "assistant", &last, None));
    for row in &mut rows {
        "s2".clone_into(&mut row.session);
    }
    rows
}

fn chat() -> Chat {
    let asked = agent(1, FIRST);
    let answered = ChatMessage {
        reply_to: Some(1),
        ..person(2, ANSWER)
    };
    let second = [
        asked.clone(),
        answered,
        agent(3, SECOND),
        person(4, STRAY),
        agent(5, NEWS),
    ];
    let heard = |life, after, messages: &[ChatMessage]| ChatConnection {
        life,
        after,
        messages: messages.to_vec(),
    };
    Chat {
        boots: vec![(1, "b1".to_owned()), (2, "b2".to_owned())],
        heard: vec![
            heard(1, 0, &[asked]),
            heard(2, 0, &second),
            heard(2, 2, &second[2..]),
        ],
        open: vec![
            open(1, "c5", FIRST),
            open(2, "c5", FIRST),
            open(2, "c7", SECOND),
        ],
        replies: vec![
            reply(AnswerRoute::Chat, ANSWER, 20, Some(2)),
            reply(AnswerRoute::Result("c7".to_owned()), RESULT, 22, None),
            reply(AnswerRoute::Chat, STRAY, 23, Some(4)),
        ],
        ..Chat::default()
    }
}

/// What a person decided about the turn's call that asks.
pub(in super::super) fn decided(is_allowed: bool, fate: AnswerStatus) -> Decided {
    Decided {
        call: "g1".to_owned(),
        is_allowed,
        words: "word 3 of w1".to_owned(),
        fate,
    }
}

/// Something that the agent says in the chat.
pub(in super::super) fn agent(id: u64, text: &str) -> ChatMessage {
    ChatMessage {
        id,
        ts: format!("2026-11-22T10:00:0{id}.000Z"),
        role: "agent".to_owned(),
        author: "master".to_owned(),
        text: text.to_owned(),
        reply_to: None,
    }
}

/// Something that a person says in the chat.
pub(in super::super) fn person(id: u64, text: &str) -> ChatMessage {
    ChatMessage {
        role: "user".to_owned(),
        author: "user".to_owned(),
        ..agent(id, text)
    }
}

/// Something that the chat's own agent says.
pub(in super::super) fn own(id: u64) -> ChatMessage {
    ChatMessage {
        author: "AdaptiveAgent".to_owned(),
        ..agent(id, "that was heard")
    }
}

/// A question among the open calls.
pub(in super::super) fn open(life: u64, call: &str, question: &str) -> Open {
    Open {
        life,
        call: call.to_owned(),
        question: question.to_owned(),
    }
}

/// Something that was said in the second life, and taken.
pub(in super::super) fn reply(
    way: AnswerRoute,
    text: &str,
    sent_at: u64,
    id: Option<u64>,
) -> Reply {
    Reply {
        way,
        text: text.to_owned(),
        life: 2,
        sent_at,
        prompts: 5,
        fate: AnswerStatus::Taken(id),
    }
}

/// What a frame of the turn says a call came to.
pub(in super::super) fn closing(text: &str) -> String {
    let outcome: Value = json!({"status": "done", "text": text});
    outcome.to_string()
}
