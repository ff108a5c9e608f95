use serde_json::json;

use super::*;
use crate::client::Frame;

/// What a stream says.
fn told(event: &Value) -> StreamEvent {
    let mut whole = json!({
        "seq": 1, "at": 0, "turn": "t", "agent": "master", "author": "agent",
    });
    let fields = whole.as_object_mut().unwrap();
    fields.extend(event.as_object().unwrap().clone());
    let event = serde_json::from_value(whole).unwrap();
    StreamEvent::Event(Box::new(event), frame())
}

fn frame() -> Frame {
    Frame {
        id: None,
        event: None,
        data: String::new(),
    }
}

/// A model asked this by that call.
fn asks(call: &str, question: &str) -> StreamEvent {
    let call = json!({
        "type": "call", "id": call, "name": "ask_user", "args": {"question": question},
    });
    let message = json!({
        "id": "m", "role": "assistant", "parts": [call], "created_at": 0,
    });
    told(&json!({ "type": "message_finished", "message": message }))
}

fn opens(call: &str, closer: &str) -> StreamEvent {
    told(&json!({
        "type": "call_started", "call": call, "name": "ask_user", "effect": "read",
        "args_hash": "", "closer": closer,
    }))
}

fn closes(call: &str) -> StreamEvent {
    let outcome = json!({"status": "done", "text": "at noon"});
    told(&json!({
        "type": "call_closed", "call": call, "name": "ask_user", "outcome": outcome,
    }))
}

/// An open call with its tool and its question.
type Asked<'a> = (&'a str, &'a str, &'a str);

/// The turn as it stands, with these calls open.
fn reset(calls: &[Asked<'_>]) -> StreamEvent {
    reset_with(calls, &[])
}

/// The same, with the calls of agents that work for it.
fn reset_with(calls: &[Asked<'_>], below: &[&[Asked<'_>]]) -> StreamEvent {
    let all = |calls: &[Asked<'_>]| -> Vec<_> {
        let calls = calls.iter();
        let call = |(id, name, question): &Asked<'_>| json!({"id": id, "name": name, "args": {"question": question}});
        calls.map(call).collect()
    };
    let child = |calls: &&[Asked<'_>]| json!({"turnId": "b", "path": ["master", "asker"], "calls": all(calls)});
    let snapshot = json!({
        "sessionId": "s", "turnId": "t", "state": "parked", "iteration": 1, "maxIterations": 20,
        "tokens": 0, "messages": [], "leftOut": 0, "text": "", "calls": all(calls),
        "children": below.iter().map(child).collect::<Vec<_>>(), "after": null,
    });
    StreamEvent::Reset(Box::new(serde_json::from_value(snapshot).unwrap()), frame())
}

/// The call of the question that is put, if one is.
async fn put(questions: &mut Questions) -> Option<String> {
    let next = tokio::time::timeout(CALM * 2, questions.next()).await;
    match next {
        Ok(QuestionStep::Show) => {}
        Ok(QuestionStep::Close(_) | QuestionStep::Stop) | Err(_) => return None,
    }
    questions.show();
    questions.unheard().map(|closing| closing.call.to_string())
}

async fn after(all: impl IntoIterator<Item = StreamEvent>) -> Questions {
    let mut questions = Questions::new(Person::Absent);
    for one in all {
        questions.take(&one).await;
    }
    questions
}

#[tokio::test(start_paused = true)]
async fn a_question_is_put_once_when_its_stream_has_said_nothing_for_a_moment() {
    let mut questions = after([asks("c1", "When?"), opens("c1", "person")]).await;
    let early = tokio::time::timeout(CALM / 2, questions.next()).await;
    assert!(early.is_err());
    assert_eq!(put(&mut questions).await.as_deref(), Some("c1"));
    assert_eq!(put(&mut questions).await, None);

    let past = [asks("c1", "When?"), opens("c1", "person"), closes("c1")];
    assert_eq!(put(&mut after(past).await).await, None);
    let unopened = [asks("c1", "When?")];
    assert_eq!(put(&mut after(unopened).await).await, None);
    let others = [asks("c1", "When?"), opens("c1", "tool")];
    assert_eq!(put(&mut after(others).await).await, None);
}

#[tokio::test(start_paused = true)]
async fn after_a_reset_the_first_call_that_asks_is_put_and_the_next_when_it_begins() {
    let calls = [
        ("c0", "read_file", "What?"),
        ("c1", "ask_user", "When?"),
        ("c2", "ask_user", "Where?"),
    ];
    let mut questions = after([asks("gone", "Who?"), opens("gone", "person"), reset(&calls)]).await;
    assert_eq!(put(&mut questions).await.as_deref(), Some("c1"));
    assert_eq!(put(&mut questions).await, None);

    questions.take(&closes("c1")).await;
    assert_eq!(put(&mut questions).await, None);
    questions.take(&opens("c2", "person")).await;
    assert_eq!(put(&mut questions).await.as_deref(), Some("c2"));
}

// proves SA-13
#[tokio::test(start_paused = true)]
async fn after_a_reset_each_agent_that_was_called_asks_again_and_is_named() {
    let first = [("c1", "ask_user", "When?"), ("c2", "ask_user", "Where?")];
    let other = [("c3", "ask_user", "Who?")];
    let reset = reset_with(&[("c0", "subAgent", "")], &[&first, &other]);
    let mut questions = after([asks("gone", "What?"), opens("gone", "person"), reset]).await;

    let shown = |questions: &Questions| {
        questions
            .open
            .front()
            .map(|first| first.words.question.clone())
    };
    for (call, question) in [("c1", "asker asks: When?"), ("c3", "asker asks: Who?")] {
        assert_eq!(put(&mut questions).await.as_deref(), Some(call));
        assert_eq!(shown(&questions).as_deref(), Some(question));
        questions.take(&closes(call)).await;
    }
    assert_eq!(put(&mut questions).await, None);
    questions.take(&opens("c2", "person")).await;
    assert_eq!(put(&mut questions).await.as_deref(), Some("c2"));
}

#[tokio::test(start_paused = true)]
async fn a_question_is_put_again_when_its_server_was_lost_and_not_when_it_was_answered() {
    let mut questions = after([asks("c1", "When?"), opens("c1", "person")]).await;
    assert_eq!(put(&mut questions).await.as_deref(), Some("c1"));
    questions.lose_server().await;
    assert_eq!(put(&mut questions).await.as_deref(), Some("c1"));

    // Nobody knows yet whose answer was the first.
    let closing = questions.unheard().unwrap();
    questions.outrun(closing);
    questions.lose_server().await;
    assert_eq!(put(&mut questions).await, None);
    // The call had not begun then.
    questions.take(&opens("c1", "person")).await;
    assert_eq!(put(&mut questions).await.as_deref(), Some("c1"));
    let closing = questions.unheard().unwrap();
    questions.closed(&closing);
    assert_eq!(put(&mut questions).await, None);
}
