//! Every message in every state, and every shape that is refused.

use super::*;

/// The states in which an agent says something.
const STATES: [&str; 7] = [
    "apart", "alone", "plain", "open", "starting", "ending", "stopped",
];

fn scene(state: &str, rules: Rules) -> Scene {
    let mut scene = Scene::empty(rules);
    match state {
        "apart" => scene.enters(HOST, RelayRole::Host),
        "alone" => scene.enters(AGENT, RelayRole::Agent),
        _ => {
            scene = scene.with_all();
            Step::new(scene.now.wall, None)
        }
    };
    match state {
        "open" => scene = scene.studies(),
        "starting" => drop(scene.asks(AGENT, MessageKind::SessionStart, "start")),
        "ending" => {
            scene = scene.studies();
            scene.asks(AGENT, MessageKind::SessionEnd, "end");
        }
        "stopped" => {
            scene = scene.studies();
            scene.room.apply(vec![Change::Stop("no room".to_owned())]);
        }
        _ => {}
    }
    scene
}

/// What becomes of what an agent says: it goes to the host, or back as a code.
fn became(mut scene: Scene, kind: MessageKind) -> String {
    let sent = sent(&scene.asks(AGENT, kind, "q"));
    match sent.as_slice() {
        [one] if *one == format!("{HOST} {} q>", kind.as_str()) => "host".to_owned(),
        [one] => one
            .strip_prefix(&format!("{AGENT} "))
            .and_then(|code| code.strip_suffix(" >q"))
            .unwrap_or(one)
            .to_owned(),
        other => format!("{other:?}"),
    }
}

fn check_agent(kind: &str, rules: Rules, wanted: [&str; 7]) {
    let kind = MessageKind::from_word(kind).unwrap();
    for (state, wanted) in STATES.into_iter().zip(wanted) {
        let wanted = match wanted {
            "S" => "SESSION_NOT_ACTIVE",
            "M" => "INVALID_MESSAGE",
            other => other,
        };
        let became = became(scene(state, rules), kind);
        assert_eq!(became, wanted, "{} when {state}", kind.as_str());
    }
}

// proves RL-6, RL-8, RL-9, RL-11, RL-27
#[test]
fn what_an_agent_may_say_depends_on_the_state_of_the_room() {
    let h = "host";
    let strict = Rules {
        strictness: Strictness::Strict,
        ..RULES
    };
    for rules in [RULES, strict] {
        // apart, alone, plain, open, starting, ending, stopped
        check_agent("session.start", rules, ["S", "S", h, h, "S", "S", h]);
        check_agent("snapshot.get", rules, ["S", "S", h, h, h, h, h]);
        check_agent("session.end", rules, ["S", "S", "S", h, "S", "S", "S"]);
        for foreign in [
            "relay.join",
            "relay.joined",
            "session.started",
            "snapshot.state",
            "tool.result",
            "state.updated",
            "user.message",
            "session.ended",
            "error",
        ] {
            check_agent(foreign, rules, ["S", "M", "M", "M", "M", "M", "M"]);
        }
    }
    for needy in ["tool.call", "agent.message"] {
        check_agent(needy, RULES, ["S", "S", h, h, h, h, "S"]);
        check_agent(needy, strict, ["S", "S", "S", h, "S", h, "S"]);
    }
}

// proves RL-6, RL-7
#[test]
fn what_a_host_says_answers_who_asked_for_it_or_goes_to_all_or_to_nobody() {
    let requests = [
        (MessageKind::SessionStart, MessageKind::SessionStarted),
        (MessageKind::SnapshotGet, MessageKind::SnapshotState),
        (MessageKind::ToolCall, MessageKind::ToolResult),
        (MessageKind::SessionEnd, MessageKind::SessionEnded),
    ];
    let replies = requests
        .map(|(_, reply)| reply)
        .into_iter()
        .chain([MessageKind::Error]);
    for reply in replies {
        let kind = reply.as_str();
        for (request, fits) in requests {
            let mut scene = Scene::full().studies();
            scene.asks(AGENT, request, "q");
            let step = scene.answers(reply, "q");
            if reply == fits || reply == MessageKind::Error {
                assert_eq!(step.deliveries.len(), 1, "{request:?} {reply:?}");
                assert_eq!(step.deliveries[0].to, AGENT);
                assert_eq!(step.deliveries[0].envelope.reply_to.as_deref(), Some("q"));
                assert_eq!(
                    sent(&scene.answers(fits, "q")),
                    [] as [&str; 0],
                    "a second time"
                );
            } else {
                assert_eq!(sent(&step), [format!("{HOST} INVALID_MESSAGE >")]);
                assert_eq!(
                    scene.answers(fits, "q").deliveries[0].to,
                    AGENT,
                    "still open"
                );
            }
        }
        let mut scene = Scene::full();
        let step = scene.answers(reply, "nobody's");
        assert_eq!(sent(&step), [] as [&str; 0]);
        assert_eq!(
            noted(&step),
            [
                format!("in {kind} host"),
                "internal reply.dropped host".into()
            ]
        );
        let step = scene.says(HOST, message(reply, &fitting(reply)));
        assert_eq!(
            step.deliveries.iter().map(|one| one.to).collect::<Vec<_>>(),
            [AGENT, OTHER]
        );
    }
}

// proves RL-6, RL-7
#[test]
fn what_a_host_says_by_itself_is_for_all_and_what_an_agent_would_say_for_nobody() {
    for kind in [MessageKind::StateUpdated, MessageKind::UserMessage] {
        let mut scene = Scene::full();
        scene.asks(AGENT, MessageKind::ToolCall, "q");
        let wanted = [AGENT, OTHER].map(|key| format!("{key} {} >", kind.as_str()));
        assert_eq!(
            sent(&scene.answers(kind, "q")),
            wanted,
            "for all, whatever it says"
        );
    }
    for foreign in [
        MessageKind::RelayJoin,
        MessageKind::RelayJoined,
        MessageKind::SessionStart,
        MessageKind::SnapshotGet,
        MessageKind::ToolCall,
        MessageKind::AgentMessage,
        MessageKind::SessionEnd,
    ] {
        let step = Scene::full().asks(HOST, foreign, "q");
        assert_eq!(
            sent(&step),
            [format!("{HOST} INVALID_MESSAGE >q")],
            "{foreign:?}"
        );
        assert_eq!(
            noted(&step),
            ["internal message.refused host", "out error host"]
        );
    }
}

fn check_shape(kind: MessageKind, payload: &Value, code: &str, word: &str) {
    let mut scene = Scene::full().studies();
    let step = scene.says(AGENT, message(kind, payload).with_id("q"));
    assert_eq!(sent(&step), [format!("{AGENT} {code} >q")], "{payload}");
    let why = &step.deliveries[0].envelope.payload["message"];
    assert!(why.as_str().unwrap().contains(word), "{why}: {payload}");
}

// proves RL-9, RL-25
#[test]
fn a_field_that_does_not_fit_is_refused_by_its_name() {
    let check = check_shape;
    let bad = "INVALID_MESSAGE";
    let call = MessageKind::ToolCall;
    check(call, &json!({}), bad, "toolName is missing");
    check(
        call,
        &json!({"toolName": 7}),
        bad,
        "toolName must be a string, and is a number",
    );
    check(
        call,
        &json!({"toolName": "next", "params": []}),
        bad,
        "params must be an object",
    );
    check(
        call,
        &json!({"toolName": "next", "params": null}),
        bad,
        "is null",
    );
    check(
        call,
        &json!({"toolName": "next", "reason": {}}),
        bad,
        "reason",
    );
    let words = MessageKind::AgentMessage;
    check(words, &json!({}), bad, "text is missing");
    check(words, &json!({"text": false}), bad, "text must be a string");
    check(
        words,
        &json!({"text": " \u{200b}\n"}),
        "INVALID_PARAMS",
        "blank",
    );
    let start = MessageKind::SessionStart;
    check(start, &json!({"studyId": 1}), bad, "studyId");
    check(start, &json!({"participantId": null}), bad, "participantId");
    check(
        MessageKind::SessionEnd,
        &json!({"reason": 1}),
        bad,
        "reason",
    );
    let long = json!({"text": "x".repeat(3 << 20)});
    check(words, &long, bad, "at most 2097152");
}

// proves RL-11
#[test]
fn a_missing_reason_is_noted_and_a_strict_relay_wants_one() {
    let call = || message(MessageKind::ToolCall, &json!({"toolName": "next"})).with_id("q");
    let step = Scene::full().studies().says(AGENT, call());
    assert_eq!(sent(&step), [format!("{HOST} tool.call q>")]);
    let rows = [
        "in tool.call 1",
        "internal reason.missing 1",
        "out tool.call host",
    ];
    assert_eq!(noted(&step), rows);
    assert_eq!(
        Value::Object(step.deliveries[0].envelope.payload.clone()),
        json!({
            "toolName": "next",
            "params": {},
        })
    );

    let rules = Rules {
        strictness: Strictness::Strict,
        ..RULES
    };
    let mut strict = Scene::empty(rules).with_all().studies();
    let refused = [format!("{AGENT} INVALID_PARAMS >q")];
    assert_eq!(sent(&strict.says(AGENT, call())), refused);
    let blank = json!({"toolName": "next", "reason": " "});
    let blank = message(MessageKind::ToolCall, &blank).with_id("q");
    assert_eq!(sent(&strict.says(AGENT, blank)), refused);
    strict.asks(AGENT, MessageKind::ToolCall, "with one");
    assert_eq!(
        strict
            .answers(MessageKind::ToolResult, "with one")
            .deliveries
            .len(),
        1
    );
}

// proves RL-3
#[test]
fn a_join_is_read_leniently_where_it_can_be_and_else_refused() {
    let read = |payload: &Value| {
        let joined = read_join(&message(MessageKind::RelayJoin, payload));
        joined.map(|Join { role, room }| format!("{} {room}", role.as_str()))
    };
    let fine = |payload: Value, wanted: &str| assert_eq!(read(&payload).unwrap(), wanted);
    fine(json!({"role": "agent"}), "agent default");
    fine(
        json!({"role": "frontend", "sessionId": " r 1 \n"}),
        "host r 1",
    );
    fine(json!({"role": "host", "sessionId": "  "}), "host default");
    fine(
        json!({"role": "host", "sessionId": "../../etc"}),
        "host ../../etc",
    );
    for wrong in [
        json!({}),
        json!({"role": 1}),
        json!({"role": "Host"}),
        json!({"role": "observer"}),
        json!({"role": "host", "sessionId": 1}),
        json!({"role": "host", "sessionId": null}),
        json!({"role": "host", "sessionId": "é".repeat(101)}),
    ] {
        let refusal = read(&wrong).unwrap_err();
        assert_eq!(refusal.code, RelayCode::InvalidMessage, "{wrong}");
    }
}
