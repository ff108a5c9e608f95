use samovar_core::{
    Approval, Author, Closer, Effect, Epoch, Limits, MessageId, Millis, Part, Role, ToolCall,
};
use serde_json::{Value, json};

use super::*;

fn events(turn: &TurnId, agent: &AgentPath, kinds: Vec<Kind>) -> Vec<Arc<Event>> {
    let event = |(at, kind): (usize, Kind)| {
        Arc::new(Event {
            seq: Seq(1 + at as u64),
            epoch: Epoch(1),
            at: Millis(0),
            turn: Some(turn.clone()),
            agent: agent.clone(),
            author: Author::Agent,
            kind,
        })
    };
    kinds.into_iter().enumerate().map(event).collect()
}

// proves SA-7
#[test]
fn a_turn_whose_child_the_stores_have_lost_hears_so() {
    let call = ToolCall::new(
        CallId::new("call_1").unwrap(),
        "subAgent".to_owned(),
        json!({}),
    );
    let id = MessageId::new("m").unwrap();
    let mut asks = Message::new(
        id,
        Role::Assistant,
        vec![Part::Call(call.clone())],
        Millis(0),
    );
    asks.finish_reason = Some("tool_use".to_owned());
    let kinds = vec![
        Kind::TurnStarted {
            model: "m".to_owned(),
            route: None,
            limits: Limits::default(),
            approval: Approval::Auto,
            bounds: Bounds::default(),
            parent_call: None,
            background: false,
            definition: None,
        },
        Kind::finished(asks),
        Kind::CallStarted {
            call: call.id.clone(),
            name: call.name,
            effect: Effect::Verifiable,
            args_hash: String::new(),
            closer: Closer::Child,
            deadline: None,
            probe: None,
            grounds: None,
            tainted: false,
        },
    ];
    let turn = TurnId::new("t").unwrap();
    let events = events(&turn, &master(), kinds);

    let ended = Fold::of(&events).ended_children(&events, 10);

    let (parent, closed, outcome) = &ended[0];
    assert_eq!((parent, closed, ended.len()), (&turn, &call.id, 1));
    let said: Value = serde_json::from_str(&outcome.text).unwrap();
    assert_eq!(said["code"], "SUBAGENT_LOST");
}
