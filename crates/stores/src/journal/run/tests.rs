use proptest::collection::vec;
use proptest::prelude::*;
use samovar_core::command::is_blank;
use samovar_core::message::{Outcome, ToolCall};
use serde_json::{Value, json};

use super::super::row::Row;
use super::*;

const LOG: LogNo = LogNo(7);

/// The positions and events of rows, read back.
fn unpacked(rows: &[(Seq, Vec<u8>)]) -> Vec<Event> {
    let mut events = Vec::new();
    for (seq, bytes) in rows {
        let row = Row::read(RowKey::new(LOG, *seq), bytes).unwrap();
        let some = row.events().unwrap();
        assert_eq!(some.first().unwrap().seq, *seq);
        assert_eq!(some.last().unwrap().seq, row.last());
        events.extend(some);
    }
    events
}

fn text(of: &str, text: &str) -> Kind {
    Kind::Delta {
        message: MessageId::new(of).unwrap(),
        part: 0,
        fragment: Fragment::Text(text.to_owned()),
    }
}

fn event(seq: u64, at: i64, kind: Kind) -> Arc<Event> {
    Arc::new(Event {
        seq: Seq(seq),
        epoch: Epoch(1_795_000_000),
        at: Millis(at),
        turn: Some(TurnId::new("019aa4a0-1111-7000-8000-000000000001").unwrap()),
        agent: AgentPath::root("master"),
        author: Author::Agent,
        kind,
    })
}

// proves DU-3
#[test]
fn two_hundred_short_deltas_take_one_row_of_less_than_4_kb() {
    let id = "019aa4a0-2222-7000-8000-000000000002";
    let deltas: Vec<_> = (0..200_u32)
        .map(|n| {
            event(
                u64::from(n) + 9,
                1_795_000_000_000 + i64::from(n) * 17,
                text(id, "word "),
            )
        })
        .collect();
    let rows = pack(LOG, &deltas).unwrap();
    assert_eq!(rows.len(), 1);
    assert!(rows[0].1.len() < 4096, "{} bytes", rows[0].1.len());
    assert!(unpacked(&rows).iter().eq(deltas.iter().map(AsRef::as_ref)));
}

#[test]
fn what_a_run_cannot_share_begins_another_row() {
    let first = event(5, 0, text("m", "a"));
    let changes: [fn(&mut Event); 5] = [
        |event| event.seq = Seq(7),
        |event| event.epoch = Epoch(2),
        |event| event.turn = None,
        |event| event.agent = AgentPath::root("master").child("helper"),
        |event| event.author = Author::System,
    ];
    for change in changes {
        let mut second = Event::clone(&event(6, 0, text("m", "b")));
        assert_eq!(
            pack(LOG, &[first.clone(), Arc::new(second.clone())])
                .unwrap()
                .len(),
            1
        );
        change(&mut second);
        let events = [first.clone(), Arc::new(second)];
        let rows = pack(LOG, &events).unwrap();
        assert_eq!(rows.len(), 2);
        assert!(unpacked(&rows).iter().eq(events.iter().map(AsRef::as_ref)));
    }
}

#[test]
fn a_row_is_bounded_in_events_and_in_text() {
    let many: Vec<_> = (1..=600).map(|seq| event(seq, 0, text("m", "a"))).collect();
    assert_eq!(pack(LOG, &many).unwrap().len(), 3);
    let large = "x".repeat(20 * 1024);
    let large: Vec<_> = (1..=6)
        .map(|seq| event(seq, 0, text("m", &large)))
        .collect();
    let rows = pack(LOG, &large).unwrap();
    assert_eq!(rows.len(), 3);
    assert!(unpacked(&rows).iter().eq(large.iter().map(AsRef::as_ref)));
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("a".to_owned()),
        Just("b".to_owned()),
        "[^\\p{Cc}]{1,60}".prop_filter("blank", |id| !is_blank(id)),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        prop::num::f64::NORMAL.prop_map(Value::from),
        any::<String>().prop_map(|text| json!({"deep": [text, {"": false}]})),
    ]
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        any::<String>().prop_map(|text| Part::Text { text }),
        (any::<String>(), value()).prop_map(|(text, state)| Part::Reasoning {
            text,
            provider_state: (!state.is_null()).then_some(state),
        }),
        (id(), any::<String>(), value()).prop_map(|(id, name, args)| {
            Part::Call(ToolCall::new(CallId::new(&id).unwrap(), name, args))
        }),
        (id(), any::<String>(), value()).prop_map(|(call, name, value)| Part::Outcome {
            call: CallId::new(&call).unwrap(),
            name: name.clone(),
            outcome: if value.is_null() {
                Outcome::failed(name)
            } else {
                Outcome::done(name).with_data(value)
            },
        }),
        (any::<String>(), value()).prop_map(|(name, data)| Part::Data { name, data }),
    ]
}

fn fragment() -> impl Strategy<Value = Fragment> {
    prop_oneof![
        4 => any::<String>().prop_map(Fragment::Text),
        2 => any::<String>().prop_map(Fragment::Reasoning),
        2 => any::<String>().prop_map(Fragment::Args),
        1 => (id(), any::<String>()).prop_map(|(id, name)| Fragment::Call {
            id: CallId::new(&id).unwrap(),
            name,
        }),
    ]
}

fn kind() -> impl Strategy<Value = Kind> {
    let message = || id().prop_map(|id| MessageId::new(&id).unwrap());
    let role = prop_oneof![
        Just(Role::System),
        Just(Role::User),
        Just(Role::Assistant),
        Just(Role::Tool),
    ];
    prop_oneof![
        1 => (message(), role).prop_map(|(message, role)| Kind::MessageStarted { message, role }),
        8 => (message(), 0..3_u16, fragment()).prop_map(|(message, part, fragment)| Kind::Delta {
            message,
            part,
            fragment,
        }),
        2 => (message(), any::<u16>(), part()).prop_map(|(message, index, part)| Kind::PartAdded {
            message,
            index,
            part,
        }),
        1 => (message(), id(), any::<u64>(), any::<String>()).prop_map(|(message, call, n, last)| {
            Kind::CallProgress {
                message,
                call: CallId::new(&call).unwrap(),
                progress: Progress { elapsed_ms: n, output_bytes: n / 2, last, note: None },
            }
        }),
        1 => Just(Kind::SessionClosed),
    ]
}

/// Events in order: mostly the next position of the same turn, at times a gap or a change.
fn events() -> impl Strategy<Value = Vec<Arc<Event>>> {
    let turn = prop_oneof![
        9 => Just(Some("turn".to_owned())),
        1 => Just(None),
        1 => id().prop_map(Some),
    ];
    let author = prop_oneof![
        9 => Just(Author::Agent),
        1 => Just(Author::User),
        1 => Just(Author::Host),
        1 => Just(Author::System),
    ];
    let gap = prop_oneof![9 => Just(1_u64), 1 => 2..9_u64];
    let epoch = prop_oneof![9 => Just(5_u64), 1 => any::<u64>()];
    let one = (gap, epoch, any::<i64>(), turn, author, kind());
    vec(one, 0..40).prop_map(|some| {
        let mut seq = 0;
        let mut events = Vec::new();
        for (gap, epoch, at, turn, author, kind) in some {
            seq += gap;
            events.push(Arc::new(Event {
                seq: Seq(seq),
                epoch: Epoch(epoch),
                at: Millis(at),
                turn: turn.map(|turn| TurnId::new(&turn).unwrap()),
                agent: AgentPath::root("master"),
                author,
                kind,
            }));
        }
        events
    })
}

proptest! {
    // proves DU-3
    #[test]
    fn what_is_unpacked_is_what_was_packed(events in events()) {
        let rows = pack(LOG, &events).unwrap();
        let unpacked = unpacked(&rows);
        prop_assert_eq!(unpacked.len(), events.len());
        for (unpacked, packed) in unpacked.iter().zip(&events) {
            prop_assert_eq!(unpacked, packed.as_ref());
        }
    }

    // proves DU-13
    #[test]
    fn a_row_with_a_changed_bit_or_under_another_key_is_noticed(
        events in events(),
        at in any::<prop::sample::Index>(),
        bit in 0..8_u8,
    ) {
        for (seq, mut bytes) in pack(LOG, &events).unwrap() {
            prop_assert!(Row::read(RowKey::new(LogNo(8), seq), &bytes).is_err());
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            let read = Row::read(RowKey::new(LOG, seq), &bytes);
            let Err(Broken::Damaged(why)) = read else {
                return Err(TestCaseError::fail("a damaged row was read"));
            };
            prop_assert!(why.contains(&format!("log 7, seq {}", seq.0)), "{}", why);
            prop_assert!(Row::read(RowKey::new(LOG, seq), &bytes[..at]).is_err());
        }
    }
}
