//! A turn through the whole server in each dialect, and what a model wants back after a restart.

use samovar_core::{Outcome, ToolReply};
use samovar_model_server::{Finish, Part, say, think};
use samovar_testkit::{App, AppBuilder, TestTool};
use serde_json::{Value, json};

use crate::shown::{kinds, last, results, text};

/// A server whose model speaks the dialect of a row, with one tool.
fn speaking(row: &'static str, model: &str) -> AppBuilder {
    let echo = TestTool::new("echo", |args, _| async move {
        ToolReply::Closed(Outcome::done(format!("echo of {}", args["word"])))
    });
    let builder = AppBuilder::new().provider(row, model);
    builder.tools(echo.build())
}

// proves AS-10, MD-3, MD-20
#[tokio::test]
async fn a_turn_with_a_call_goes_through_in_either_dialect() {
    for (row, model, path, reason) in [
        ("openai", "gpt-test", "/v1/chat/completions", "stop"),
        ("anthropic", "claude-test", "/v1/messages", "end_turn"),
    ] {
        let app = speaking(row, model)
            .start([
                think("Tea?")
                    .and_say("Let me see.")
                    .and_call("echo", json!({"word": "чай"})),
                say("It is tea."),
            ])
            .await;
        let session = app.session().await;

        let frames = app.turn(&session, "say tea").await;

        assert_eq!(text(&frames), "Let me see.It is tea.", "{row}");
        assert_eq!(results(&frames), ["echo of \"чай\""], "{row}");
        assert!(
            kinds(&frames).ends_with(&["completed", "[DONE]"]),
            "{frames:?}"
        );
        assert_eq!(last(&frames)["finishReason"], reason, "{row}");
        let prompts = app.model.prompts();
        assert_eq!(prompts.len(), 2, "{row}");
        for prompt in prompts {
            assert_eq!(
                (prompt.path(), &prompt.body()["model"]),
                (path, &json!(model))
            );
        }
    }
}

/// What the model thought, as the prompt with this number has it.
async fn thoughts(app: &App, prompt: u64) -> Vec<Value> {
    let prompt = app.model.prompt(prompt).await.unwrap();
    let messages = prompt.body()["messages"].as_array().unwrap().iter();
    let blocks = messages.flat_map(|message| message["content"].as_array().unwrap());
    let is_thought = |block: &&Value| block["type"].as_str().unwrap().contains("thinking");
    blocks.filter(is_thought).cloned().collect()
}

// proves MD-3
#[tokio::test]
async fn what_a_model_thought_goes_back_byte_for_byte_also_after_a_restart() {
    let app = speaking("anthropic", "claude-test")
        .start([
            think("Чай? \"Да\"\n")
                .and(Part::RedactedReasoning("hidden".to_owned()))
                .and(Part::RedactedReasoning("too".to_owned()))
                .and_call("echo", json!({"word": "tea"})),
            think("So.").and_say("It is tea."),
            say("Yes."),
        ])
        .await;
    let session = app.session().await;
    app.turn(&session, "say tea").await;
    let at_once = thoughts(&app, 1).await;
    assert_eq!(at_once.len(), 3);
    assert_eq!(at_once[0]["thinking"], "Чай? \"Да\"\n");

    let app = app.restart().await;
    let frames = app.turn(&session, "sure?").await;

    // The model server refuses what it did not sign.
    assert_eq!(text(&frames), "Yes.");
    let after_restart = thoughts(&app, 2).await;
    assert_eq!(after_restart[..3], at_once);
    assert_eq!(after_restart[3]["thinking"], "So.");
    assert_eq!(after_restart.len(), 4);
}

/// All that a prompt says, block by block, without the marks for the cache.
fn blocks(prompt: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let messages = list(&prompt["messages"]);
    let said = messages
        .iter()
        .flat_map(|message| list(&message["content"]));
    let all = list(&prompt["tools"])
        .into_iter()
        .chain(list(&prompt["system"]));
    let unmarked = all.chain(said).map(|mut block| {
        block.as_object_mut().unwrap().remove("cache_control");
        block.to_string()
    });
    unmarked.collect()
}

// proves AS-15
#[tokio::test]
async fn a_prompt_begins_with_the_one_before_from_call_to_call_and_over_a_restart() {
    let app = speaking("anthropic", "claude-test")
        .start([
            think("Tea?").and_call("echo", json!({"word": "tea", "again": 1.50})),
            say("It is tea."),
            say("Yes."),
        ])
        .await;
    let session = app.session().await;
    app.turn(&session, "say tea").await;
    let app = app.restart().await;
    app.turn(&session, "sure?").await;

    let prompts = app.model.prompts();
    let prompts: Vec<_> = prompts.iter().map(|prompt| blocks(prompt.body())).collect();
    assert_eq!(prompts.len(), 3);
    for pair in prompts.windows(2) {
        assert!(pair[1].starts_with(&pair[0]), "{pair:#?}");
        assert!(pair[1].len() > pair[0].len());
    }
}

/// What a request says, in its order and without the marks for the cache.
fn pieces(prompt: &Value) -> Vec<String> {
    if prompt.get("system").is_some() {
        return blocks(prompt);
    }
    let list = |name: &str| prompt[name].as_array().cloned().unwrap_or_default();
    let all = list("tools").into_iter().chain(list("messages"));
    all.map(|piece| piece.to_string()).collect()
}

// proves AS-15, MD-7, MD-23
#[tokio::test]
async fn each_of_many_requests_begins_with_the_one_before_in_every_dialect() {
    for (row, model) in [("openai", "gpt-test"), ("anthropic", "claude-test")] {
        let turn = |at: usize| {
            let call = think("Tea?").and_call("echo", json!({"word": at, "b": 1.50, "a": "é"}));
            [call, say("It is tea.")]
        };
        let script: Vec<_> = (0..20).flat_map(turn).collect();
        let app = speaking(row, model).with(|config| {
            config.settings.max_history_messages = 200;
            config.guide.own = Some(config.data_dir.join("own"));
        });
        let mut app = app.start(script).await;
        let own = app.data_dir().join("own");
        std::fs::create_dir_all(own.join("skills")).unwrap();
        std::fs::write(own.join("USER.md"), "Likes tea.").unwrap();
        std::fs::write(own.join("skills/tea.md"), "How to make tea.").unwrap();
        let session = app.session().await;
        for at in 0..20 {
            app.turn(&session, &format!("say tea {at}")).await;
            if at == 9 {
                app = app.restart().await;
            }
        }

        let prompts = app.model.prompts();
        let prompts: Vec<_> = prompts.iter().map(|prompt| pieces(prompt.body())).collect();
        assert_eq!(prompts.len(), 40, "{row}");
        assert!(
            prompts[0].concat().contains("Likes tea.")
                && prompts[0].concat().contains("read_skill")
        );
        for pair in prompts.windows(2) {
            assert!(pair[1].starts_with(&pair[0]), "{row}: {pair:#?}");
        }
    }
}

// proves AS-6
#[tokio::test]
async fn a_refusal_of_the_model_is_the_turns_reason_with_words_and_without() {
    let refusal = || Finish::Other("refusal".to_owned());
    let app = speaking("anthropic", "claude-test")
        .start([
            say("I can't help with that.").finish(refusal()),
            say("").finish(refusal()),
        ])
        .await;
    let session = app.session().await;

    let frames = app.turn(&session, "go").await;
    assert_eq!(last(&frames)["finishReason"], "refusal");

    let frames = app.turn(&session, "go on").await;
    assert_eq!(last(&frames)["finishReason"], "refusal");
    assert_eq!(text(&frames), "");
}
