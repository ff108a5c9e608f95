//! The loop and its tools: results, faults, batches, limits, the gate.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use samovar_core::{Effect, Outcome, Reply};
use samovar_model_server::{call, say};
use samovar_testkit::{AppBuilder, TestTool};
use serde_json::json;
use tokio::sync::Barrier;

use crate::shown::{kinds, results, text, told};

// proves AS-5, AS-10
#[tokio::test]
async fn a_tools_result_reaches_the_model_before_its_next_answer() {
    let echo = TestTool::new("echo", |args, _| async move {
        Reply::Closed(Outcome::done(format!("echo of {}", args["word"])))
    });
    let app = AppBuilder::new()
        .tools(echo.build())
        .start([
            call("echo", json!({"word": "tea"})).and_say("let me see"),
            say("done"),
        ])
        .await;
    let session = app.session().await;

    let frames = app.turn(&session, "say tea").await;

    let shown = kinds(&frames);
    let (first, rest) = shown.split_at(1);
    assert_eq!(first, ["iteration"]);
    assert!(rest.ends_with(&["completed", "[DONE]"]), "{shown:?}");
    assert_eq!(results(&frames), ["echo of \"tea\""]);
    assert_eq!(
        frames
            .iter()
            .filter(|frame| frame.kind() == "iteration")
            .count(),
        2
    );
    let prompts = app.model.prompts();
    assert_eq!(told(prompts[1].body()), ["echo of \"tea\""]);
}

// proves AS-12
#[tokio::test]
async fn whatever_goes_wrong_in_a_tool_comes_back_as_a_result_the_model_can_read() {
    let schema = json!({
        "type": "object", "required": ["n"],
        "properties": {"n": {"type": "integer", "maximum": 3}},
    });
    let picky = TestTool::new("picky", |_, _| async {
        Reply::Closed(Outcome::done("fine"))
    });
    let panics = TestTool::new("panics", |_, _| async { panic!("on purpose") });
    let slow = TestTool::new("slow", |_, _| async {
        std::future::pending::<()>().await;
        Reply::Open
    });
    let silent = TestTool::new("silent", |_, _| async { Reply::Open });
    let asked = call("picky", json!({"n": 9}))
        .and_call("nobody", json!({}))
        .and_call("panics", json!({}))
        .and_call("slow", json!({}))
        .and_call("silent", json!({}))
        .and_call("picky", json!({"n": 3}));
    let app = AppBuilder::new()
        .tools(picky.takes(schema).build())
        .tools(panics.build())
        .tools(slow.timeout(Duration::from_millis(50)).build())
        .tools(silent.build())
        .start([asked, say("I see")])
        .await;
    let session = app.session().await;

    let frames = app.turn(&session, "go").await;

    let words = [
        "/n",
        "unknown tool",
        "broke off",
        "longer than",
        "no result",
        "fine",
    ];
    let results = results(&frames);
    assert_eq!(results.len(), words.len());
    for (result, word) in results.iter().zip(words) {
        assert!(result.contains(word), "{word}: {result}");
    }
    assert!(
        results[0].contains("maximum"),
        "the rule is named: {}",
        results[0]
    );
    let messages = app.ok("getMessages", json!({"sessionId": session})).await;
    let is_error = |name: &str| {
        let rows = messages.as_array().unwrap().iter();
        let mut errors = rows
            .filter(|row| row["name"] == name)
            .map(|row| row["isError"].clone());
        errors.next().unwrap()
    };
    assert_eq!(is_error("panics"), true);
    assert_eq!(told(app.model.prompts()[1].body()).len(), 6);
}

// proves AS-13
#[tokio::test]
async fn eight_calls_of_a_batch_run_at_once_and_a_ninth_waits() {
    let together = Arc::new(Barrier::new(8));
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counts = (running.clone(), most.clone());
    let meet = TestTool::new("meet", move |_, _| {
        let (together, (running, most)) = (together.clone(), counts.clone());
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            // Nobody passes before eight are here: with fewer at once this would never end.
            together.wait().await;
            running.fetch_sub(1, Ordering::SeqCst);
            Reply::Closed(Outcome::done("met"))
        }
    });
    let asked = (1..16).fold(call("meet", json!({})), |asked, _| {
        asked.and_call("meet", json!({}))
    });
    let app = AppBuilder::new()
        .tools(meet.build())
        .start([asked, say("ok")])
        .await;
    let session = app.session().await;

    let frames = app.turn(&session, "go").await;

    assert_eq!(results(&frames), ["met"; 16]);
    assert_eq!(most.load(Ordering::SeqCst), 8);
}

// proves AS-13
#[tokio::test]
async fn an_exclusive_call_runs_alone() {
    let running = Arc::new(AtomicUsize::new(0));
    let counted = |name: &str| {
        let running = running.clone();
        TestTool::new(name, move |_, _| {
            let running = running.clone();
            async move {
                let others = running.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                tokio::time::sleep(Duration::from_millis(5)).await;
                running.fetch_sub(1, Ordering::SeqCst);
                Reply::Closed(Outcome::done(others.to_string()))
            }
        })
    };
    let asked = call("shared", json!({}))
        .and_call("alone", json!({}))
        .and_call("alone", json!({}))
        .and_call("shared", json!({}));
    let app = AppBuilder::new()
        .tools(counted("shared").build())
        .tools(counted("alone").alone().build())
        .start([asked, say("ok")])
        .await;
    let session = app.session().await;

    let frames = app.turn(&session, "go").await;

    assert_eq!(results(&frames), ["0"; 4]);
}

// proves AS-6
#[tokio::test]
async fn a_good_answer_on_the_last_pass_is_not_called_a_cut() {
    let spin = || {
        TestTool::new("spin", |_, _| async {
            Reply::Closed(Outcome::done("again"))
        })
    };
    let two = |config: &mut samovar_server::Config| config.settings.limits.max_iterations = 2;
    let answer = [call("spin", json!({})), say("done")];
    let good = AppBuilder::new()
        .with(two)
        .tools(spin().build())
        .start(answer)
        .await;
    let session = good.session().await;
    let frames = good.turn(&session, "go").await;
    let completed = &frames[frames.len() - 2].data;
    assert_eq!(
        (&completed["finishReason"], &completed["totalIterations"]),
        (&json!("stop"), &json!(2))
    );

    let wants = call("spin", json!({})).forever();
    let cut = AppBuilder::new()
        .with(two)
        .tools(spin().build())
        .start([wants])
        .await;
    let session = cut.session().await;
    let frames = cut.turn(&session, "go").await;
    assert_eq!(
        frames[frames.len() - 2].data["finishReason"],
        "max_iterations"
    );
    assert_eq!(results(&frames).len(), 2);
}

// proves TL-4
#[tokio::test]
async fn a_call_that_would_have_to_be_asked_for_is_refused_with_the_reason() {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = ran.clone();
    let touch = TestTool::new("touch", move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        async { Reply::Closed(Outcome::done("touched")) }
    });
    let app = AppBuilder::new()
        .with(|config| config.settings.approval = samovar_core::Approval::Supervised)
        .tools(touch.effect(Effect::Unsafe).build())
        .start([call("touch", json!({})), say("then not")])
        .await;
    let session = app.session().await;

    let frames = app.turn(&session, "go").await;

    assert!(
        results(&frames)[0].contains("supervised"),
        "{:?}",
        results(&frames)
    );
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    assert_eq!(text(&frames), "then not");
}
