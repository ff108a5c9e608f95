//! What is left after `kill -9`.

use reqwest::Method;
use samovar_model_server::{Gate, ModelServer, When, call, say};
use samovar_testkit::{Frame, Program, Serving};
use serde_json::{Value, json};

use crate::setup::{last, messages, text, with_model};

/// A post with the client's own id, so that it can be sent again.
fn post(session: &str, message: &str, content: &str) -> Value {
    json!({"sessionId": session, "messageId": message, "content": content})
}

/// A server that was killed while one turn ran and another waited.
struct Killed {
    program: Program,
    model: ModelServer,
    session: String,
    /// What a client saw of the turn that ran.
    seen: Vec<Frame>,
}

impl Killed {
    /// The turn has called a tool and is in the middle of its answer.
    async fn in_mid_answer() -> Self {
        let (begin, never) = (Gate::new("begin"), Gate::new("never"));
        let first = || When::user("first");
        let (program, model) = with_model([
            call("list_dir", json!({"path": "."})).when(first()),
            say("half an answer")
                .deltas_of(6)
                .hold_head(&begin)
                .hold_after(1, &never)
                .when(first()),
            say("the whole answer").when(first()),
            say("the second answer").when(When::user("second")),
            say("the third answer").when(When::user("third")),
        ])
        .await;
        let server = program.serve(&[]).await;
        let session = server.session().await;
        let mut stream = server.stream(post(&session, "m1", "first")).await;
        // The 200 says that the message is kept, though its turn has to wait.
        let waiting = server.stream(post(&session, "m2", "second")).await;
        // Only now does the answer begin, so that no commit comes after what is shown of it.
        model.open(&begin).unwrap();
        let seen = stream.until("text_delta").await;
        server.kill().await;
        drop(waiting);
        Self {
            program,
            model,
            session,
            seen,
        }
    }

    async fn restart(&self) -> Serving {
        self.program.serve(&[]).await
    }
}

// proves AS-7, AS-23, DU-1, DU-3, DU-6
#[tokio::test]
async fn a_killed_turn_is_told_again_as_far_as_it_was_shown_and_goes_on_by_itself() {
    let killed = Killed::in_mid_answer().await;
    assert_eq!(text(&killed.seen), "half a");

    let server = killed.restart().await;
    let mut again = server.stream(post(&killed.session, "m1", "first")).await;
    let again = again.rest().await;

    let (told, ending) = again.split_at(killed.seen.len());
    assert_eq!(told, killed.seen);
    // The pass is told again under its number: what it had said is void.
    let pass = |frame: &Frame| frame.data["iteration"].clone();
    let broken_off = killed
        .seen
        .iter()
        .rfind(|frame| frame.kind() == "iteration");
    assert_eq!(ending[0].kind(), "iteration");
    assert_eq!(pass(&ending[0]), broken_off.map(pass).unwrap());
    assert_eq!(text(ending), "the whole answer");
    assert_eq!(last(ending)["type"], "completed");
    let calls = again
        .iter()
        .filter(|frame| frame.kind() == "tool_call_start");
    assert_eq!(calls.count(), 1, "{again:?}");
}

// proves DU-1
#[tokio::test]
async fn what_was_accepted_before_a_kill_is_there_and_what_waited_runs() {
    let killed = Killed::in_mid_answer().await;

    let server = killed.restart().await;
    let mut second = server.stream(post(&killed.session, "m2", "second")).await;
    let second = second.rest().await;

    assert_eq!(text(&second), "the second answer");
    assert_eq!(last(&second)["type"], "completed");
    let third = server.turn(&killed.session, "third").await;
    assert_eq!(text(&third), "the third answer");
    let kept = messages(&server, &killed.session).await;
    let roles: Vec<_> = kept
        .iter()
        .map(|row| row.split(':').next().unwrap())
        .collect();
    // The call and its result were finished; the half answer was not, and was asked for again.
    assert_eq!(
        roles,
        [
            "user",
            "assistant",
            "tool",
            "assistant",
            "user",
            "assistant",
            "user",
            "assistant"
        ]
    );
    assert_eq!(
        kept[3..],
        [
            "assistant: the whole answer",
            "user: second",
            "assistant: the second answer",
            "user: third",
            "assistant: the third answer"
        ]
    );
    assert!(killed.model.left_over().is_empty());
}

// proves DU-1
#[tokio::test]
async fn what_was_finished_survives_kill_after_kill() {
    let (program, model) = with_model([say("an answer").forever()]).await;
    let server = program.serve(&[]).await;
    let session = server.session().await;
    server.kill().await;
    let mut expected = Vec::new();
    for round in 0..4 {
        let server = program.serve(&[]).await;
        assert_eq!(messages(&server, &session).await, expected);
        let content = format!("round {round}");
        server.turn(&session, &content).await;
        expected.extend([
            format!("user: {content}"),
            "assistant: an answer".to_owned(),
        ]);
        server.kill().await;
    }
    assert_eq!(model.prompts().len(), 4);
}

// proves DU-2
#[tokio::test]
async fn what_a_killed_server_accepted_is_listed_by_commands_that_run_nothing() {
    // The answer never ends, so all that is kept is the message.
    let never = Gate::new("never");
    let (program, model) = with_model([say("an answer").hold_after(1, &never).forever()]).await;
    // The session is in the history, and the message is on its way there.
    let armed = program.set("SAMOVAR_FAILPOINT", "history.commit.before:2");
    let server = armed.serve(&[]).await;
    let session = server.session().await;
    let path = "/services/agent/sendMessage/stream";
    let request = server.request(Method::POST, path);
    let request = request.json(&post(&session, "m1", "first"));
    // The server may end before it answers; that the message is kept is what counts.
    let _answer = request.send().await;
    assert_eq!(server.end().await.code, None, "it was killed");
    let program = armed.set("SAMOVAR_FAILPOINT", "");

    for _ in 0..2 {
        let listed = program.run(["sessions", "list", "--json"]).await;
        let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
        assert_eq!(listed["items"][0]["id"], *session);
        assert_eq!(listed["items"][0]["messageCount"], 1);
        let shown = program.run(["sessions", "show", &session]).await;
        assert!(shown.stdout.contains("first"), "{shown:?}");
    }

    // The killed server may have asked once, or have died before.
    assert!(model.requests().len() <= 1, "no turn went on");
    model.open(&never).unwrap();
    let server = program.serve(&[]).await;
    let mut again = server.stream(post(&session, "m1", "first")).await;
    assert_eq!(last(&again.rest().await)["type"], "completed");
}
