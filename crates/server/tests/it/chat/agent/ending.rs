//! What it says when no answer comes, and how it ends with its server.

use std::sync::Arc;
use std::time::Duration;

use samovar_core::{Code, Outcome, ToolReply, Toolset};
use samovar_model_server::{Failure, Finish, Gate, ModelServer, Rule, Script, call, fail, say};
use samovar_server::{Config, Home};
use samovar_testkit::{AppBuilder, MODEL, TestTool, install_tls};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{chat, hears, noted, sees};
use crate::raw::HANG;

/// A drain that no test waits for.
const FOR_EVER: Duration = Duration::from_hours(1000);

// proves CH-9
#[tokio::test]
async fn why_no_answer_comes_stands_in_the_chat_and_it_lives_on() {
    let script = [
        fail(Failure::new(500, "the engine room is on fire")),
        call("list_dir", json!({"path": "."})),
        call("list_dir", json!({"path": "."})),
        say("Half an answer.").finish(Finish::ContentFilter),
        call("tidy_up", json!({})),
        say("Hm."),
        say("Once upon").finish(Finish::Length),
        say("a time").finish(Finish::Length),
        say("Here I am."),
    ];
    let app = AppBuilder::new()
        .with(|config| config.settings.limits.max_iterations = 2)
        .start(script)
        .await;
    let chat = chat(&app);
    for (text, why) in [
        ("first", "the engine room is on fire"),
        ("second", "iterations"),
        ("third", "refused"),
        ("of no tool", "the last tool call of AdaptiveAgent failed"),
        ("at length", "cut off"),
    ] {
        let asked = chat.post_user(text).await.unwrap();
        let note = noted(&chat, asked).await;
        assert!(note.text.contains(why), "{note:?}");
    }
    chat.post_user("fourth").await.unwrap();
    hears(&chat, "Here I am.").await;
}

// proves CH-9
#[tokio::test]
async fn a_message_that_no_model_can_answer_gets_a_note_and_the_next_one_an_answer() {
    let app = AppBuilder::new()
        .with(|config| config.providers.default_model = Some("openai/gpt-5".to_owned()))
        .start([say("never")])
        .await;
    let chat = chat(&app);
    for text in ["is anybody there?", "and now?"] {
        let asked = chat.post_user(text).await.unwrap();
        let note = noted(&chat, asked).await;
        assert!(note.text.contains("openai"), "{note:?}");
        assert!(note.text.contains("did not start"), "{note:?}");
    }
    assert_eq!(app.model.prompt_count(), 0);
}

// proves CH-9
#[tokio::test]
async fn a_stop_lets_it_finish_what_it_says_and_no_more_is_taken_for_it() {
    let gate = Gate::new("half");
    let slow = say("Half and whole.").deltas_of(5).hold_after(1, &gate);
    let house = House::open(slow, Vec::new()).await;
    let chat = house.home.chat().clone();
    let asked = chat.post_user("go").await.unwrap();
    house.model.prompt(0).await.unwrap().written(1).await;

    let close = house.home.close();
    tokio::pin!(close);
    tokio::select! {
        biased;
        () = &mut close => panic!("it did not wait for the turn"),
        () = std::future::ready(()) => {}
    }
    // Nobody would answer that.
    let refused = chat.post_user("one more thing").await.unwrap_err();
    assert_eq!(refused.code, Code::Unavailable);
    house.model.open(&gate).unwrap();
    close.await;

    let said = chat.read(asked, 9).messages;
    assert_eq!(said.len(), 1);
    assert_eq!(said[0].text, "Half and whole.");
}

// proves CH-9
#[tokio::test]
async fn a_stop_in_a_hurry_waits_for_nothing() {
    let never = Gate::new("never");
    let slow = say("Half and whole.").deltas_of(5).hold_after(1, &never);
    let house = House::open(slow, Vec::new()).await;
    let chat = house.home.chat().clone();
    let asked = chat.post_user("go").await.unwrap();
    house.model.prompt(0).await.unwrap().written(1).await;

    house.home.close_now().await;

    assert_eq!(chat.read(asked, 9).messages, []);
    house.model.wait_for_disconnect().await;
}

// proves CH-9
#[tokio::test]
async fn who_loses_patience_with_a_stop_need_not_wait_for_what_it_says() {
    let never = Gate::new("never");
    let slow = say("Half and whole.").deltas_of(5).hold_after(1, &never);
    let house = House::open(slow, Vec::new()).await;
    let chat = house.home.chat().clone();
    chat.post_user("go").await.unwrap();
    house.model.prompt(0).await.unwrap().written(1).await;

    let hurry = house.home.hurry();
    let close = house.home.close();
    tokio::pin!(close);
    tokio::select! {
        biased;
        () = &mut close => panic!("it did not wait for the turn"),
        () = std::future::ready(()) => {}
    }
    let both = async { tokio::join!(hurry, close) };
    timeout(HANG, both).await.expect("nobody waits any longer");

    house.model.wait_for_disconnect().await;
}

// proves CH-4, CH-9
#[tokio::test]
async fn a_stop_does_not_wait_for_the_persons_answer() {
    let asks = call("ask_user", json!({"question": "When?"}));
    let house = House::open(asks, Vec::new()).await;
    let chat = house.home.chat().clone();
    chat.post_user("go").await.unwrap();
    sees(&chat, |said| said.text == "When?").await;

    house.home.close().await;

    assert!(chat.post_user("too late").await.is_err());
    assert!(chat.follow(2).next().await.is_none(), "the chat has ended");
}

#[tokio::test]
async fn nothing_of_it_outlives_a_server_that_is_dropped() {
    let (sender, all_gone) = oneshot::channel::<()>();
    let sender = Arc::new(sender);
    let tool = TestTool::new("witness", move |_, _| {
        let held = sender.clone();
        async move {
            drop(held);
            ToolReply::Closed(Outcome::done("seen"))
        }
    });
    let asks = call("witness", json!({})).and_call("ask_user", json!({"question": "When?"}));
    let house = House::open(asks, vec![tool.build()]).await;
    let chat = house.home.chat().clone();
    chat.post_user("go").await.unwrap();
    sees(&chat, |said| said.text == "When?").await;

    drop(house.home);

    assert!(all_gone.await.is_err(), "its engine held the tool");
    assert!(chat.follow(2).next().await.is_none());
}

/// An opened data directory without a socket, whose stop waits for turns without end.
struct House {
    home: Home,
    model: ModelServer,
    _folder: TempDir,
}

impl House {
    async fn open(reply: impl Into<Rule>, toolsets: Vec<Arc<dyn Toolset>>) -> Self {
        install_tls();
        let folder = tempfile::tempdir().unwrap();
        let model = ModelServer::start(Script::new().then(reply)).await.unwrap();
        let workspace = folder.path().join("workspace");
        std::fs::create_dir(&workspace).unwrap();
        let mut config = Config::new(folder.path().join("data"), workspace);
        config.server.drain = FOR_EVER;
        config.settings.approval = samovar_core::Approval::Auto;
        config.toolsets = toolsets;
        config.providers.default_model = Some(MODEL.to_owned());
        let urls = &mut config.providers.base_urls;
        urls.insert("custom".to_owned(), model.base_url());
        let home = Home::open(&config).await.unwrap();
        Self {
            home,
            model,
            _folder: folder,
        }
    }
}
