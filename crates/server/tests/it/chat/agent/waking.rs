//! What wakes it, what does not, and what it is told then.

use samovar_core::{ChatMeta, Code};
use samovar_model_server::{Script, When, call, say};
use samovar_server::ChatAgent;
use samovar_testkit::{App, AppBuilder};
use serde_json::json;

use super::{chat, hears, said};

// proves CH-9, CH-11
#[tokio::test]
async fn nothing_but_the_persons_unawaited_words_asks_the_model() {
    let app = AppBuilder::new()
        .with(|config| config.chat.greeting = Some("Hello.".to_owned()))
        .start([say("Four.")])
        .await;
    let chat = chat(&app);
    chat.post_agent("master", "a \"fact\"\nof two lines", ChatMeta::default())
        .unwrap();
    for blank in ["", " \n\t", "\u{200b}\u{feff}", "\u{3000}\u{2800}"] {
        let refused = chat.post_user(blank).await.unwrap_err();
        assert_eq!(refused.code, Code::BlankContent, "{blank:?}");
    }
    chat.ask_user("someone", "When?").unwrap();
    chat.post_user("at noon").await.unwrap();
    assert_eq!(chat.wait_user("someone").await.unwrap(), "at noon");
    let listens = chat.wait_user("listener");
    tokio::pin!(listens);
    let heard = tokio::select! {
        biased;
        _ = &mut listens => panic!("nobody has said anything"),
        posted = chat.post_user("to the listener") => posted,
    };
    heard.unwrap();
    assert_eq!(listens.await.unwrap(), "to the listener");

    let asked = chat.post_user("  What is 2 + 2?\n").await.unwrap();

    let answer = hears(&chat, "Four.").await;
    assert_eq!(answer.meta, ChatMeta::reply_to(asked));
    let prompts = app.model.prompts();
    assert_eq!(prompts.len(), 1);
    let shown = [
        (
            "user",
            r#"{"author":"ChatAgent","role":"agent","text":"Hello."}"#,
        ),
        (
            "user",
            r#"{"author":"master","role":"agent","text":"a \"fact\"\nof two lines"}"#,
        ),
        (
            "user",
            r#"{"author":"someone","role":"agent","text":"When?"}"#,
        ),
        ("user", "at noon"),
        ("user", "to the listener"),
        ("user", "What is 2 + 2?"),
    ];
    assert_eq!(said(prompts[0].body()), shown);
    let system = prompts[0].body()["messages"][0].to_string();
    for word in ["AdaptiveAgent", "ask_user", "post_message"] {
        assert!(system.contains(word), "{word}");
    }
}

// proves CH-9
#[tokio::test]
async fn an_agents_signal_wakes_it_and_its_own_words_do_not() {
    let own = call("post_message", json!({"text": "I begin.", "signal": true}));
    let app = App::start([own, say("Done."), say("Yes.")]).await;
    let chat = chat(&app);

    let signal = chat.signal("master", "the backup is late").unwrap();

    let done = hears(&chat, "Done.").await;
    assert_eq!(done.meta, ChatMeta::reply_to(signal));
    assert!(hears(&chat, "I begin.").await.id < done.id);
    let line = r#"{"author":"master","role":"agent","text":"the backup is late"}"#;
    assert_eq!(said(app.model.prompts()[0].body()), [("user", line)]);
    // Whatever woke it before would be asked before this.
    chat.post_user("really?").await.unwrap();
    hears(&chat, "Yes.").await;
    assert_eq!(app.model.prompt_count(), 3);
}

// proves CH-9
#[tokio::test]
async fn each_time_it_sees_what_was_said_in_the_chat_before() {
    let app = App::start([say("One."), say("Two."), say("Three.")]).await;
    let chat = chat(&app);
    for (question, answer) in [("first", "One."), ("second", "Two.")] {
        chat.post_user(question).await.unwrap();
        hears(&chat, answer).await;
    }
    chat.note("a note", ChatMeta::default());
    chat.post_user("third").await.unwrap();
    hears(&chat, "Three.").await;

    let prompts = app.model.prompts();
    let shown = [
        ("user", "first"),
        ("assistant", "One."),
        ("user", "second"),
        ("assistant", "Two."),
        (
            "user",
            r#"{"author":"ChatAgent","role":"system","text":"a note"}"#,
        ),
        ("user", "third"),
    ];
    assert_eq!(said(prompts[0].body()), shown[..1]);
    assert_eq!(said(prompts[1].body()), shown[..3]);
    assert_eq!(said(prompts[2].body()), shown);
}

// proves CH-9
#[tokio::test]
async fn it_is_shown_no_more_of_the_chat_than_of_any_conversation() {
    let app = AppBuilder::new()
        .with(|config| config.settings.max_history_messages = 4)
        .start([say("Seen.")])
        .await;
    let chat = chat(&app);
    for number in 1..=9 {
        let text = format!("fact {number}");
        chat.post_agent("master", &text, ChatMeta::default())
            .unwrap();
    }
    chat.post_user("and now?").await.unwrap();
    hears(&chat, "Seen.").await;

    let prompts = app.model.prompts();
    let shown = said(prompts[0].body());
    assert_eq!(shown.len(), 5);
    assert!(shown[0].1.contains("fact 6"), "{shown:?}");
    assert_eq!(shown[4], ("user", "and now?"));
}

// proves CH-9, AS-11
#[tokio::test]
async fn what_is_said_while_it_works_joins_its_turn_with_what_came_between() {
    // It looks again and again until it has heard the last of what is said meanwhile.
    let late = r#"{"author":"master","role":"agent","text":"it is late"}"#;
    let looks = call("list_dir", json!({"path": "."})).forever();
    let script = Script::new()
        .then(say("All done.").when(When::user(late)))
        .then(looks);
    let app = AppBuilder::new()
        .with(|config| config.settings.limits.max_iterations = u32::MAX)
        .start(script)
        .await;
    let chat = chat(&app);
    chat.post_user("go").await.unwrap();
    app.model.seen(2).await;
    chat.post_agent("master", "it is 5 o'clock", ChatMeta::default())
        .unwrap();
    chat.post_user("and be quick").await.unwrap();
    let last = chat.signal("master", "it is late").unwrap();

    let done = hears(&chat, "All done.").await;
    assert_eq!(done.meta, ChatMeta::reply_to(last));
    assert_eq!(done.id, last + 1);
    let prompts = app.model.prompts();
    let shown = said(prompts.last().unwrap().body());
    let of_users = shown.into_iter().filter(|(role, _)| *role == "user");
    let of_users: Vec<_> = of_users.map(|(_, text)| text).collect();
    let time = r#"{"author":"master","role":"agent","text":"it is 5 o'clock"}"#;
    assert_eq!(of_users, ["go", time, "and be quick", late]);
}

// proves CH-9
#[tokio::test]
async fn where_nobody_is_to_be_woken_words_are_only_kept() {
    let app = AppBuilder::new()
        .with(|config| config.chat.agent = ChatAgent::Nobody)
        .start([say("never")])
        .await;
    let chat = chat(&app);
    chat.post_user("is anybody there?").await.unwrap();
    chat.signal("master", "wake up").unwrap();
    let texts: Vec<_> = chat
        .last(9)
        .messages
        .iter()
        .map(|one| one.text.clone())
        .collect();
    assert_eq!(texts, ["is anybody there?", "wake up"]);
    let app = app.restart().await;
    assert_eq!(app.model.prompt_count(), 0);
}

// proves CH-9
#[tokio::test]
async fn a_server_that_has_just_started_asks_nothing_and_remembers_no_chat() {
    let app = AppBuilder::new()
        .with(|config| config.chat.greeting = Some("Hello.".to_owned()))
        .start([say("One."), say("Two.")])
        .await;
    chat(&app).post_user("first").await.unwrap();
    hears(&chat(&app), "One.").await;

    let app = app.restart().await;
    let anew = chat(&app);
    assert_eq!(anew.last(9).messages.len(), 1, "the greeting alone");
    anew.post_user("second").await.unwrap();
    hears(&anew, "Two.").await;

    let prompts = app.model.prompts();
    assert_eq!(prompts.len(), 2);
    let greeting = r#"{"author":"ChatAgent","role":"agent","text":"Hello."}"#;
    let shown = [("user", greeting), ("user", "second")];
    assert_eq!(said(prompts[1].body()), shown);
}
