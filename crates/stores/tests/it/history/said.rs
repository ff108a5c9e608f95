//! Messages of every shape, for property tests.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::{bool, option, sample};
use samovar_core::command::is_blank;
use samovar_core::message::{Outcome, Part, Status, ToolCall, Usage};
use samovar_core::{CallId, Effect, Message, MessageId, Millis, Role};
use serde_json::{Map, Value};

/// Any text, NUL and the far ends of Unicode included.
pub(super) fn text() -> impl Strategy<Value = String> {
    let hard = prop_oneof![
        Just('\0'),
        Just('"'),
        Just('\\'),
        Just('\u{10ffff}'),
        Just('й')
    ];
    let letters = vec(prop_oneof![any::<char>(), hard], 0..12);
    letters.prop_map(String::from_iter)
}

/// Any text that is an id.
fn id() -> impl Strategy<Value = String> {
    let letters = vec(
        any::<char>().prop_filter("control", |c| !c.is_control()),
        1..12,
    );
    let ids = letters.prop_map(String::from_iter);
    ids.prop_filter("blank", |id| !is_blank(id))
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
    ]
}

/// Any JSON.
pub(super) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((text(), inner), 0..4).prop_map(|pairs| Value::Object(Map::from_iter(pairs))),
        ]
    })
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    vec((text(), value()), 0..3).prop_map(Map::from_iter)
}

fn call_id() -> impl Strategy<Value = CallId> {
    id().prop_map(|id| CallId::new(&id).unwrap())
}

fn message_id() -> impl Strategy<Value = MessageId> {
    id().prop_map(|id| MessageId::new(&id).unwrap())
}

fn status() -> impl Strategy<Value = Status> {
    proptest::sample::select(vec![
        Status::Done,
        Status::Failed,
        Status::Denied,
        Status::Cancelled,
        Status::Unknown,
    ])
}

fn part() -> impl Strategy<Value = Part> {
    let call = (call_id(), text(), value(), option::of(value()));
    let effect = option::of(sample::select(vec![Effect::Idempotent, Effect::Unsafe]));
    let marks = (bool::ANY, effect);
    let outcome = (
        call_id(),
        text(),
        status(),
        text(),
        option::of(value()),
        marks,
    );
    prop_oneof![
        text().prop_map(|text| Part::Text { text }),
        (text(), option::of(some_value())).prop_map(|(text, provider_state)| Part::Reasoning {
            text,
            provider_state
        }),
        call.prop_map(|(id, name, args, provider_state)| Part::Call(ToolCall {
            id,
            name,
            args,
            provider_state: provider_state.filter(|state| !state.is_null()),
        })),
        outcome.prop_map(|(call, name, status, text, data, marks)| Part::Outcome {
            call,
            name,
            outcome: Outcome {
                status,
                text,
                data: data.filter(|data| !data.is_null()),
                correctable: marks.0,
                effect: marks.1,
            },
        }),
        (text(), value()).prop_map(|(name, data)| Part::Data { name, data }),
    ]
}

/// Any JSON but null, which an optional value cannot tell from none.
fn some_value() -> impl Strategy<Value = Value> {
    value().prop_filter("null", |value| !value.is_null())
}

pub(super) fn usage() -> impl Strategy<Value = Usage> {
    let tokens = || 0..=i64::MAX.unsigned_abs();
    let five = (tokens(), tokens(), tokens(), tokens(), tokens());
    five.prop_map(
        |(input, output, cache_read, cache_write, reasoning)| Usage {
            input,
            output,
            cache_read,
            cache_write,
            reasoning,
        },
    )
}

pub(super) fn role() -> impl Strategy<Value = Role> {
    proptest::sample::select(vec![Role::System, Role::User, Role::Assistant, Role::Tool])
}

/// Any message.
pub(super) fn any_message() -> impl Strategy<Value = Message> {
    let head = (
        message_id(),
        role(),
        vec(part(), 0..5),
        option::of(message_id()),
    );
    let tail = (option::of(usage()), option::of(text()), option::of(text()));
    (head, tail, object(), any::<i64>()).prop_map(|(head, tail, metadata, at)| {
        let ((id, role, parts, parent), (usage, model, finish_reason)) = (head, tail);
        Message {
            id,
            role,
            parts,
            parent,
            usage,
            model,
            finish_reason,
            metadata,
            created_at: Millis(at),
        }
    })
}
