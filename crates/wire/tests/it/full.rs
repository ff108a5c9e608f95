//! The full profile.

use samovar_core::event::Fragment;
use samovar_core::{Event, Kind, Message, Role, SessionChange};
use samovar_wire::agent::Profile;

use crate::log::{
    call_id, call_part, closed, delta, encode, event, event_of, frames, log, message, message_id,
    said, started, started_for, step, stopped, text, text_part,
};

/// The seqs and types of the frames before `[DONE]`.
fn shown(events: &[Event]) -> Vec<String> {
    let mut frames = frames(&encode(Profile::Full, events));
    assert_eq!(frames.pop().expect("[DONE]").data, "[DONE]");
    let spelled = frames.iter().map(|frame| {
        let json = frame.json();
        let id = frame.id.as_deref().expect("every event's frame has an id");
        assert_eq!(id, format!("7.{}", json["seq"]));
        format!("{} {}", json["seq"], json["type"].as_str().expect("a type"))
    });
    spelled.collect()
}

// proves AS-8
#[test]
fn the_full_profile_shows_every_event_with_the_fields_of_its_kind_beside_its_own() {
    let turn = log(vec![
        delta("m1", 2, Fragment::Reasoning("Hm".to_owned())),
        stopped(),
    ]);
    let expected = concat!(
        r#"data: {"type":"delta","message":"m1","part":2,"fragment":{"reasoning":"Hm"},"#,
        r#""seq":1,"at":1000,"turn":"t1","agent":"master","author":"agent"}"#,
        "\nid: 7.1\n\n",
        r#"data: {"type":"turn_finished","reason":{"model":"stop"},"iterations":1,"#,
        r#""usage":{"input":10,"output":5,"cache_read":0,"cache_write":0,"reasoning":0},"#,
        r#""seq":2,"at":1000,"turn":"t1","agent":"master","author":"agent"}"#,
        "\nid: 7.2\n\ndata: [DONE]\nid: 7.2\n\n",
    );
    assert_eq!(encode(Profile::Full, &turn), expected);
}

/// The input of a turn that answers a call which `parent` holds.
fn task(id: &str, parent: Option<&str>) -> Kind {
    Kind::finished(Message {
        role: Role::User,
        parent: parent.map(message_id),
        ..message(id, vec![text_part("do it")])
    })
}

// proves AS-8
#[test]
fn the_turns_below_a_turn_belong_to_it_at_any_depth_and_no_others() {
    let child_of = |call| started_for(Some(call_id(call)));
    let events = [
        event(1, said("m1", vec![call_part("c1"), call_part("c2")])),
        event_of("other", 2, task("u2", None)),
        event_of("other", 3, text("no")),
        event_of("child", 4, task("u3", Some("m1"))),
        event_of("child", 5, child_of("c1")),
        event_of("child", 6, said("m2", vec![call_part("c3")])),
        event_of("second", 7, child_of("c2")),
        event_of("second", 8, stopped()),
        event_of("grandchild", 9, child_of("c3")),
        event_of("grandchild", 10, text("deep")),
        event_of("foreign", 11, child_of("c9")),
        event_of("foreign", 12, task("u4", Some("m9"))),
        event_of("grandchild", 13, stopped()),
        event_of("child", 14, stopped()),
        event(15, closed("c1", "one")),
        event(16, stopped()),
        event_of("child", 17, text("late")),
    ];
    assert_eq!(
        shown(&events),
        [
            "1 message_finished",
            "4 message_finished",
            "5 turn_started",
            "6 message_finished",
            "7 turn_started",
            "8 turn_finished",
            "9 turn_started",
            "10 delta",
            "13 turn_finished",
            "14 turn_finished",
            "15 call_closed",
            "16 turn_finished",
        ]
    );
}

#[test]
fn a_turn_is_shown_alike_whatever_is_taken_back_or_changed_beside_it() {
    let undone = || Kind::TurnUndone {
        below: Vec::new(),
        messages: 2,
        text: String::new(),
        files: None,
    };
    let mut changed = event(
        2,
        Kind::SessionChanged(SessionChange {
            model: Some("other".to_owned()),
            ..SessionChange::default()
        }),
    );
    changed.turn = None;
    let events = [
        event_of("before", 1, undone()),
        changed,
        event(3, started()),
        event(4, text("Hi")),
        event(5, stopped()),
        event(6, undone()),
    ];
    assert_eq!(
        shown(&events),
        ["3 turn_started", "4 delta", "5 turn_finished"]
    );
}

#[test]
fn a_session_that_is_deleted_ends_its_streams() {
    let mut events = log(vec![
        started(),
        step(1, 1),
        Kind::SessionClosed,
        text("late"),
    ]);
    events[2].turn = None;
    assert_eq!(
        shown(&events),
        ["1 turn_started", "2 step_started", "3 session_closed"]
    );

    let mut events = log(vec![
        started(),
        Kind::StateChanged { state: 1.into() },
        stopped(),
    ]);
    events[1].turn = None;
    assert_eq!(shown(&events), ["1 turn_started", "3 turn_finished"]);
}
