//! Calls that are closed from outside, and turns that wait for that.

use samovar_core::{Accepted, Action, CallId, Command, Outcome, Sender, SessionId};
use samovar_model_server::{call, say};
use samovar_testkit::{App, AppBuilder, TestTool};
use serde_json::json;

use crate::shown::{results, text};

/// Sends a command as the program that has the server inside.
pub(crate) async fn command(
    app: &App,
    session: &str,
    action: Action,
) -> Result<Accepted, samovar_core::Error> {
    let (by, session) = (Sender::Embedder, SessionId::new(session).unwrap());
    app.server()
        .home()
        .engine()
        .submit(Command {
            by,
            session,
            action,
        })
        .await
}

/// The call that a turn waits for.
pub(crate) async fn open_call(app: &App, session: &str) -> CallId {
    let (session, after) = (SessionId::new(session).unwrap(), samovar_core::Seq(0));
    let mut reader = app
        .server()
        .home()
        .engine()
        .follow(&session, after)
        .await
        .unwrap();
    loop {
        for event in reader.next().await.unwrap() {
            if let samovar_core::Kind::CallStarted { call, .. } = &event.kind {
                return call.clone();
            }
        }
    }
}

pub(crate) async fn settle(
    app: &App,
    session: &str,
    call: &CallId,
    text: &str,
) -> Result<(), String> {
    let action = Action::Settle {
        call: call.clone(),
        outcome: Outcome::done(text),
    };
    let settled = command(app, session, action).await;
    settled.map(drop).map_err(|error| error.code.to_string())
}

#[tokio::test]
async fn a_call_is_closed_from_outside_and_the_parked_turn_goes_on() {
    let asked = call("ask", json!({"question": "when?"}));
    let app = AppBuilder::new()
        .tools(TestTool::asks("ask").build())
        .start([asked, say("ok")])
        .await;
    let session = app.session().await;
    let mut stream = app.say(&session, "go").await;
    let open = open_call(&app, &session).await;

    // One root turn at a time: a parked one is still the session's turn.
    let mut queued = app.say(&session, "more").await;
    settle(&app, &session, &open, "at noon").await.unwrap();

    let frames = stream.rest().await;
    assert_eq!(results(&frames), ["at noon"]);
    assert_eq!(text(&frames), "ok");
    assert_eq!(
        settle(&app, &session, &open, "at one").await,
        Err("unknown_call".to_owned())
    );
    assert!(queued.next().await.is_some());
}
