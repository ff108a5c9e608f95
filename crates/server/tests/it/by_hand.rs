//! Tools that a person calls, outside of any session.

use std::time::Duration;

use samovar_core::message::Status;
use samovar_core::{Approval, Code, Effect, Outcome, ToolReply};
use samovar_model_server::say;
use samovar_testkit::{App, AppBuilder, TestTool};
use serde_json::{Value, json};

async fn call(app: &App, name: &str, args: Value, level: Option<Approval>) -> Outcome {
    let Value::Object(args) = args else { panic!() };
    let engine = app.server().home().engine();
    engine.call_tool(name, args, level).await.unwrap()
}

// proves TL-3
#[tokio::test]
async fn a_call_by_hand_has_the_tools_result_and_leaves_no_trace() {
    let app = App::start([say("never")]).await;
    std::fs::write(app.workspace().join("note.txt"), "tea at five").unwrap();
    let commits = app.server().home().commits();

    let read = call(&app, "read_file", json!({"path": "note.txt"}), None).await;

    assert_eq!(read.status, Status::Done);
    assert!(read.text.contains("tea at five"), "{}", read.text);
    assert_eq!(app.server().home().commits(), commits);
    assert_eq!(app.ok("getStats", json!({})).await["sessions"], 0);
}

// proves TL-4
#[tokio::test]
async fn a_call_by_hand_passes_the_gate_at_the_level_that_its_caller_asks_for() {
    use Approval::{Auto, ReadOnly, Supervised};
    for (server, asked, status) in [
        (Auto, None, Status::Done),
        (Supervised, None, Status::Denied),
        (ReadOnly, None, Status::Denied),
        (ReadOnly, Some(Auto), Status::Done),
        (Auto, Some(Supervised), Status::Denied),
        (Auto, Some(ReadOnly), Status::Denied),
    ] {
        let app = AppBuilder::new()
            .with(|config| config.settings.approval = server)
            .start([say("never")])
            .await;
        let write = json!({"path": "out.txt", "content": "x"});
        let outcome = call(&app, "write_file", write, asked).await;
        assert_eq!(
            outcome.status, status,
            "{asked:?} on {server:?}: {}",
            outcome.text
        );
        let is_there = app.workspace().join("out.txt").exists();
        assert_eq!(is_there, status == Status::Done, "{asked:?} on {server:?}");
        let look = call(&app, "list_dir", json!({}), asked).await;
        assert_eq!(look.status, Status::Done);
    }
}

// proves AS-12, AS-13
#[tokio::test]
async fn whatever_goes_wrong_in_a_call_by_hand_is_its_outcome() {
    let schema = json!({"type": "object", "required": ["n"]});
    let tool = |name: &str| TestTool::new(name, |_, _| std::future::pending());
    let app = AppBuilder::new()
        .tools(tool("picky").takes(schema).build())
        .tools(tool("slow").timeout(Duration::from_millis(50)).build())
        .tools(TestTool::new("panics", |_, _| async { panic!("on purpose") }).build())
        .tools(TestTool::new("silent", |_, _| async { ToolReply::Open }).build())
        .tools(TestTool::asks("ask").build())
        .start([say("never")])
        .await;
    for (name, words) in [
        ("picky", "n is missing; picky takes no arguments"),
        ("slow", "took longer than 0.05 s"),
        ("panics", "broke off"),
        ("silent", "gave no result"),
        ("ask", "only a turn can wait"),
    ] {
        let outcome = call(&app, name, json!({}), None).await;
        assert_eq!(outcome.status, Status::Failed, "{name}");
        assert!(outcome.text.contains(words), "{name}: {}", outcome.text);
    }
    let engine = app.server().home().engine();
    let unknown = engine
        .call_tool("nobody", serde_json::Map::new(), None)
        .await;
    assert_eq!(unknown.unwrap_err().code, Code::UnknownTool);
}

// proves DU-11
#[tokio::test]
async fn a_stop_in_a_hurry_ends_a_call_by_hand_and_owns_up_to_what_may_have_happened() {
    for (effect, status) in [
        (Effect::Read, Status::Cancelled),
        (Effect::Unsafe, Status::Unknown),
    ] {
        let (begun, has_begun) = tokio::sync::watch::channel(false);
        let hang = TestTool::new("hang", move |_, _| {
            begun.send_replace(true);
            std::future::pending()
        });
        let app = AppBuilder::new()
            .tools(hang.effect(effect).build())
            .start([say("never")])
            .await;
        let engine = app.server().home().engine().clone();
        let stop = async {
            let mut has_begun = has_begun;
            has_begun.wait_for(|begun| *begun).await.unwrap();
            engine.shutdown(Duration::ZERO).await;
        };

        let (outcome, ()) = tokio::join!(call(&app, "hang", json!({}), None), stop);

        assert_eq!(outcome.status, status, "{}", outcome.text);
        let late = engine.call_tool("hang", serde_json::Map::new(), None).await;
        assert_eq!(late.unwrap_err().code, Code::Unavailable);
    }
}
