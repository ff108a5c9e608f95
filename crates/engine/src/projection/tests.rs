use samovar_core::{
    AgentPath, Approval, Author, Bounds, CallId, Epoch, Limits, MessageId, Millis, Role, Seq,
    Title, TurnId,
};

use super::*;

fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

fn log(kinds: Vec<(Option<&str>, Kind)>) -> Vec<Arc<Event>> {
    let event = |(seq, (turn, kind)): (u64, (Option<&str>, Kind))| {
        Arc::new(Event {
            seq: Seq(seq),
            epoch: Epoch(1),
            at: Millis(i64::try_from(seq).unwrap()),
            turn: turn.map(|turn| TurnId::new(turn).unwrap()),
            agent: AgentPath::root("master"),
            author: Author::System,
            kind,
        })
    };
    (1..).zip(kinds).map(event).collect()
}

fn opened() -> Kind {
    Kind::SessionOpened {
        model: "m".to_owned(),
        route: None,
        metadata: Map::new(),
        system_prompt: None,
        approval: None,
        begun_by: None,
    }
}

fn said(id: &str, role: Role) -> Kind {
    Kind::finished(Message::new(
        MessageId::new(id).unwrap(),
        role,
        Vec::new(),
        Millis(0),
    ))
}

fn started() -> Kind {
    Kind::TurnStarted {
        model: "m".to_owned(),
        route: None,
        limits: Limits::default(),
        approval: Approval::Auto,
        bounds: Bounds::default(),
        parent_call: None,
        background: false,
        definition: None,
    }
}

/// A child's turn, which answers a call of `a1`.
fn called(is_in_background: bool) -> Kind {
    let mut started = started();
    if let Kind::TurnStarted {
        parent_call,
        background,
        ..
    } = &mut started
    {
        (*parent_call, *background) = (CallId::new("c").ok(), is_in_background);
    }
    started
}

fn asked(id: &str) -> Kind {
    let mut message = Message::new(
        MessageId::new(id).unwrap(),
        Role::User,
        Vec::new(),
        Millis(0),
    );
    message.parent = MessageId::new("a1").ok();
    Kind::finished(message)
}

// proves AS-17
#[test]
fn called_agents_stand_with_their_caller_as_in_the_log_and_those_in_the_background_do_not() {
    let talk = log(vec![
        (None, opened()),
        (Some("t1"), said("q1", Role::User)),
        (Some("t1"), started()),
        (Some("t1"), said("a1", Role::Assistant)),
        (Some("c1"), asked("k1")),
        (Some("c1"), called(false)),
        (Some("b1"), asked("l1")),
        (Some("b1"), called(true)),
        (Some("b1"), said("l2", Role::Assistant)),
        (Some("t2"), said("q2", Role::User)),
        (Some("c1"), said("k2", Role::Assistant)),
        (Some("t1"), said("a2", Role::Assistant)),
        (Some("t2"), started()),
        (Some("b1"), said("l3", Role::Assistant)),
        (Some("t2"), said("a3", Role::Assistant)),
    ]);
    let order = ["q1", "a1", "k1", "k2", "a2", "l1", "l2", "l3", "q2", "a3"];
    for known in 0..talk.len() {
        let rows = overlay_messages(Vec::new(), &session(), &talk[..known]);
        let rows = overlay_messages(rows, &session(), &talk[known..]);
        let ids: Vec<_> = shown(&rows).into_iter().map(|(id, _)| id).collect();
        assert_eq!(ids, order, "{known} are in the history");
    }
}

/// Two turns, of which the second was taken back; `t3` waits.
fn talk() -> Vec<Arc<Event>> {
    let undone = Kind::TurnUndone {
        below: vec![TurnId::new("child").unwrap()],
        messages: 3,
        text: String::new(),
        files: None,
    };
    log(vec![
        (None, opened()),
        (Some("t1"), said("q1", Role::User)),
        (Some("t1"), started()),
        (Some("t1"), said("a1", Role::Assistant)),
        (Some("t2"), said("q2", Role::User)),
        (Some("t2"), started()),
        (Some("t2"), said("a2", Role::Assistant)),
        (Some("child"), said("a3", Role::Assistant)),
        (Some("t2"), undone),
        (Some("t3"), said("q3", Role::User)),
    ])
}

/// Messages that are said while a turn runs stand behind all that it says, also when a turn that one
/// of them began runs at once with another.
// proves DU-2
#[test]
fn a_message_that_waited_stands_where_its_turn_began() {
    let talk = log(vec![
        (None, opened()),
        (Some("t1"), said("q1", Role::User)),
        (Some("t1"), started()),
        (Some("t2"), said("q2", Role::User)),
        (Some("t3"), said("q3", Role::User)),
        (Some("t1"), said("a1", Role::Assistant)),
        (Some("child"), said("k1", Role::User)),
        (Some("child"), started()),
        (Some("child"), said("c1", Role::Assistant)),
        (Some("t1"), said("a2", Role::Assistant)),
        (Some("t3"), started()),
        (Some("t3"), said("a3", Role::Assistant)),
    ]);
    let order = ["q1", "a1", "a2", "k1", "c1", "q3", "a3", "q2"];
    for known in 0..talk.len() {
        let rows = overlay_messages(Vec::new(), &session(), &talk[..known]);
        let rows = overlay_messages(rows, &session(), &talk[known..]);
        let ids: Vec<_> = shown(&rows).into_iter().map(|(id, _)| id).collect();
        assert_eq!(ids, order, "{known} are in the history");
    }
}

fn shown(rows: &[MessageRow]) -> Vec<(&str, bool)> {
    let shown = rows.iter();
    let shown = shown.map(|row| (row.message.id.as_str(), row.has_begun));
    shown.collect()
}

// proves DU-2
#[test]
fn messages_that_the_history_lacks_are_as_it_would_have_them() {
    let expected = [("q1", true), ("a1", true), ("q3", false)];
    for known in 0..talk().len() {
        let (older, newer) = (&talk()[..known], &talk()[known..]);
        let rows = overlay_messages(Vec::new(), &session(), older);
        let rows = overlay_messages(rows, &session(), newer);
        assert_eq!(shown(&rows), expected, "{known} are in the history");
        let again = overlay_messages(rows, &session(), newer);
        assert_eq!(shown(&again), expected, "and those twice");
    }
}

// proves DU-2
#[test]
fn a_session_that_the_history_lacks_some_of_is_as_it_would_have_it() {
    let mut events = talk();
    let changed = Kind::SessionChanged(SessionChange {
        model: Some("other".to_owned()),
        route: Some("here/other".to_owned()),
        title: Some(Title::new("Tea").unwrap()),
        approval: Some(Approval::ReadOnly),
        tainted: true,
        ..SessionChange::default()
    });
    events.push(log(vec![(None, changed)]).remove(0));
    let last = events.last_mut().unwrap();
    *last = Arc::new(Event {
        seq: Seq(11),
        at: Millis(11),
        ..Event::clone(last)
    });

    let row = overlay_session(None, &session(), &events).unwrap();

    assert_eq!(row.message_count, 3);
    assert_eq!(row.model, "other");
    assert_eq!(row.route.as_deref(), Some("here/other"));
    assert_eq!(row.title.as_ref().map(Title::as_str), Some("Tea"));
    assert_eq!(row.updated_at, Millis(11));
    assert!(row.tainted);
    let known = SessionRow {
        context: None,
        projected: Seq(11),
        ..row.clone()
    };
    let again = overlay_session(Some(known.clone()), &session(), &events);
    assert_eq!(again, Some(known), "what the history has counts once");
}
