use std::sync::Arc;

use samovar_core::{AgentPath, Message, Millis, Seq};

use super::*;

fn id(name: &str) -> MessageId {
    MessageId::new(name).unwrap()
}

fn session(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

/// What a session's projection brings in.
fn put(role: Role, name: &str) -> Change {
    let message = Message::new(id(name), role, Vec::new(), Millis(0));
    Change::Put {
        message: Arc::new(message),
        turn: None,
        agent: AgentPath::root("master"),
    }
}

fn projected(claims: &Claims, owner: &str, changes: Vec<Change>) {
    let projection = Projection {
        session: session(owner),
        up_to: Seq(9),
        changes: (1..).map(Seq).zip(changes).collect(),
    };
    claims.projected(ProjectedIds::of(&projection));
}

// proves SA-10
#[test]
fn an_id_is_its_sessions_alone_until_that_gives_it_back() {
    let claims = Claims::default();
    let (one, other) = (session("one"), session("other"));

    assert_eq!(claims.take(&id("m"), &one), Claim::Taken);
    assert_eq!(claims.take(&id("m"), &one), Claim::Kept);
    assert_eq!(claims.take(&id("m"), &other), Claim::Refused);
    assert_eq!(claims.take(&id("n"), &other), Claim::Taken);

    // Nobody gives back what another has.
    claims.give_back(&id("m"), &other);
    assert_eq!(claims.take(&id("m"), &other), Claim::Refused);
    claims.give_back(&id("m"), &one);
    assert_eq!(claims.take(&id("m"), &other), Claim::Taken);
}

// proves SA-10
#[test]
fn what_the_history_has_of_a_session_is_no_claim_of_it_any_more() {
    let claims = Claims::default();
    let (one, other) = (session("one"), session("other"));
    for name in ["m", "n"] {
        claims.take(&id(name), &one);
    }
    claims.take(&id("o"), &other);

    projected(&claims, "one", vec![put(Role::User, "m"), Change::Close]);
    // The same ids in another session's rows say nothing about it.
    projected(&claims, "other", vec![put(Role::User, "n")]);
    // What a model or a tool says was never claimed.
    projected(&claims, "other", vec![put(Role::Assistant, "o")]);

    assert_eq!(claims.lock().len(), 2, "nothing is held that is projected");
    assert_eq!(claims.take(&id("m"), &other), Claim::Taken);
    assert_eq!(claims.take(&id("n"), &other), Claim::Refused);
    assert_eq!(claims.take(&id("o"), &one), Claim::Refused);
}

// proves AS-17
#[test]
fn the_id_of_any_message_without_a_turn_is_given_back_once_the_history_has_it() {
    let claims = Claims::default();
    let (one, other) = (session("one"), session("other"));
    claims.take(&id("m"), &one);
    let message = Message::new(id("m"), Role::Assistant, Vec::new(), Millis(0));
    projected(
        &claims,
        "one",
        vec![Change::Put {
            message: Arc::new(message.appended()),
            turn: None,
            agent: AgentPath::root("master"),
        }],
    );
    assert_eq!(claims.take(&id("m"), &other), Claim::Taken);
}
