//! Turns that ask the person, and speak to them, in the chat.

use std::time::Duration;

use reqwest::Method;
use samovar_chat::Chat;
use samovar_core::{ChatMessage, ChatRole};
use samovar_model_server::{call, say};
use samovar_server::ChatAgent;
use samovar_testkit::{App, AppBuilder, EventStream};
use serde_json::{Value, json};

use crate::shown::{results, text, told};

fn chat(app: &App) -> Chat {
    app.server().home().chat().clone()
}

fn ask(question: &str) -> samovar_model_server::Reply {
    call("ask_user", json!({ "question": question }))
}

/// A server whose chat wakes nobody.
fn quiet() -> AppBuilder {
    AppBuilder::new().with(|config| config.chat.agent = ChatAgent::Nobody)
}

/// Waits until this is asked, and so many questions are behind it: the id of its message.
async fn asked(app: &App, question: &str, behind: usize) -> u64 {
    let chat = chat(app);
    let mut reader = chat.follow(0);
    loop {
        let state = chat.state();
        let pending = state.pending_input.filter(|_| state.waiting == behind);
        if let Some(pending) = pending
            && text_of(&chat, pending.question) == question
        {
            assert_eq!(pending.requested_by, "master");
            return pending.question;
        }
        // What waits changes with a message, or right behind it.
        let next = tokio::time::timeout(Duration::from_millis(20), reader.next());
        if let Ok(end) = next.await {
            end.expect("the chat goes on");
        }
    }
}

fn text_of(chat: &Chat, id: u64) -> String {
    message(chat, id).text
}

fn message(chat: &Chat, id: u64) -> ChatMessage {
    let page = chat.read(id - 1, 1);
    ChatMessage::clone(&page.messages[0])
}

/// Text of all that is in the chat.
fn said(app: &App) -> Vec<String> {
    let page = chat(app).read(0, usize::MAX);
    page.messages
        .iter()
        .map(|message| message.text.clone())
        .collect()
}

async fn open(app: &App) -> Vec<Value> {
    let answer = app.answer(app.request(Method::GET, "/api/calls")).await;
    answer.body["items"].as_array().unwrap().clone()
}

async fn settle(app: &App, id: &Value, result: &str) -> u16 {
    let path = format!("/api/calls/{}", id.as_str().unwrap());
    let request = app.request(Method::POST, &path);
    app.answer(request.json(&json!({ "result": result })))
        .await
        .status
}

async fn withdrawn(app: &App, question: u64) {
    let mut reader = chat(app).follow(question);
    loop {
        let page = reader.next().await.expect("the chat goes on");
        let is_note = |message: &ChatMessage| {
            message.role == ChatRole::System && message.meta.reply_to == Some(question)
        };
        if page.messages.iter().any(|message| is_note(message)) {
            return;
        }
    }
}

// proves CH-4, CH-10
#[tokio::test]
async fn while_a_turn_asks_nothing_of_it_runs_and_it_goes_on_with_exactly_the_answer() {
    let write = |name: &str| json!({"path": name, "content": "x"});
    let batch = call("write_file", write("before"))
        .and_call("ask_user", json!({"question": "which one?"}))
        .and_call("write_file", write("behind"));
    let app = quiet().start([batch, say("done")]).await;
    let session = app.session().await;
    let mut stream = app.say(&session, "go").await;

    let question = asked(&app, "which one?", 0).await;
    assert!(app.workspace().join("before").exists());
    assert!(!app.workspace().join("behind").exists());
    assert_eq!(app.model.prompts().len(), 1);
    let role = message(&chat(&app), question).role;
    assert_eq!(role, ChatRole::Agent);

    // Only what closes the call takes its question back.
    chat(&app).withdraw(question);

    let answer = chat(&app).post_user("  the left one \n").await.unwrap();

    let frames = stream.rest().await;
    assert_eq!(results(&frames)[1], "the left one");
    assert_eq!(text(&frames), "done");
    assert!(app.workspace().join("behind").exists());
    assert_eq!(told(app.model.prompts()[1].body())[1], "the left one");
    let answer = message(&chat(&app), answer);
    assert_eq!(answer.meta.reply_to, Some(question));
    assert_eq!(chat(&app).state().pending_input, None);
}

// proves CH-10
#[tokio::test]
async fn a_question_outlives_its_server_and_is_asked_again_once_under_the_same_call() {
    let app = quiet().start([ask("which one?"), say("done")]).await;
    let session = app.session().await;
    drop(app.say(&session, "go").await);
    asked(&app, "which one?", 0).await;
    let calls = open(&app).await;

    let mut app = app.restart().await;
    for _ in 0..2 {
        asked(&app, "which one?", 0).await;
        assert_eq!(open(&app).await, calls);
        assert_eq!(said(&app), ["which one?"]);
        app = app.restart().await;
    }
    asked(&app, "which one?", 0).await;
    let path = format!("/services/agent/sendMessage/stream?sessionId={session}");
    let mut turn = app.follow(&path).await;
    chat(&app).post_user("this one").await.unwrap();
    turn.rest().await;
    assert_eq!(told(app.model.prompts()[1].body()), ["this one"]);

    let app = app.restart().await;
    app.ok("getMessages", json!({ "sessionId": session })).await;
    assert!(open(&app).await.is_empty());
    assert!(said(&app).is_empty());
    assert_eq!(app.model.prompts().len(), 2);
}

// proves CH-10
#[tokio::test]
async fn what_is_said_right_behind_a_start_answers_what_was_asked_first_before_it() {
    let questions: Vec<_> = (0..8).map(|number| format!("question {number}?")).collect();
    let script = questions.iter().map(|question| ask(question));
    let script = script.chain((0..8).map(|_| say("done")));
    let app = quiet().start(script.collect::<Vec<_>>()).await;
    for (number, question) in questions.iter().enumerate() {
        let session = app.session().await;
        drop(app.say(&session, "go").await);
        asked(&app, &questions[0], number).await;
        assert_eq!(&said(&app)[number], question);
    }

    let app = app.restart().await;
    let answer = chat(&app).post_user("to the first").await.unwrap();

    let answer = message(&chat(&app), answer);
    let question = answer.meta.reply_to.expect("it answers one");
    assert_eq!(text_of(&chat(&app), question), questions[0]);
    let asked = said(&app).into_iter().filter(|text| text.ends_with('?'));
    assert_eq!(asked.collect::<Vec<_>>(), questions);
}

// proves CH-10
#[tokio::test]
async fn questions_of_several_sessions_are_answered_oldest_first() {
    let app = quiet()
        .start([ask("one?"), ask("two?"), say("done"), say("done")])
        .await;
    let (first, second) = (app.session().await, app.session().await);
    let mut one = app.say(&first, "a").await;
    asked(&app, "one?", 0).await;
    let mut two = app.say(&second, "b").await;
    asked(&app, "one?", 1).await;

    chat(&app).post_user("answer one").await.unwrap();
    asked(&app, "two?", 0).await;
    chat(&app).post_user("answer two").await.unwrap();

    let (one, two) = (one.rest().await, two.rest().await);
    assert_eq!(results(&one), ["answer one"]);
    assert_eq!(results(&two), ["answer two"]);
}

// proves CH-10, CH-13
#[tokio::test]
async fn the_first_answer_wins_wherever_it_comes_from() {
    let app = quiet().start([ask("which one?"), say("done")]).await;
    let session = app.session().await;
    let mut stream = app.say(&session, "go").await;
    let question = asked(&app, "which one?", 0).await;

    let calls = open(&app).await;
    assert_eq!(settle(&app, &calls[0]["id"], "by a client").await, 200);

    withdrawn(&app, question).await;
    assert_eq!(chat(&app).state().pending_input, None);
    let late = chat(&app).post_user("too late").await.unwrap();
    assert_eq!(message(&chat(&app), late).meta.reply_to, None);
    assert_eq!(settle(&app, &calls[0]["id"], "later still").await, 404);
    assert_eq!(results(&stream.rest().await), ["by a client"]);
}

// proves CH-10
#[tokio::test]
async fn of_two_answers_at_once_one_is_the_answer_and_the_other_is_none() {
    let rounds = 30;
    let script = (0..rounds).flat_map(|_| [ask("which one?"), say("done")]);
    let app = quiet().start(script.collect::<Vec<_>>()).await;
    let session = app.session().await;
    for _ in 0..rounds {
        let mut stream = app.say(&session, "go").await;
        asked(&app, "which one?", 0).await;
        let calls = open(&app).await;

        let chat = chat(&app);
        let (posted, settled) = tokio::join!(
            chat.post_user("by the person"),
            settle(&app, &calls[0]["id"], "by a client"),
        );

        let is_answer = message(&chat, posted.unwrap()).meta.reply_to.is_some();
        assert_eq!(settled, if is_answer { 404 } else { 200 });
        let result = if is_answer {
            "by the person"
        } else {
            "by a client"
        };
        assert_eq!(results(&stream.rest().await), [result]);
        assert_eq!(chat.state().pending_input, None);
    }
}

/// A turn that asks, beside another one that asks behind it.
async fn two_that_ask(first: &str) -> (App, [String; 2], [EventStream; 2], u64) {
    let app = quiet().start([ask(first), ask("two?"), say("done")]).await;
    let sessions = [app.session().await, app.session().await];
    let one = app.say(&sessions[0], "a").await;
    let question = asked(&app, first, 0).await;
    let two = app.say(&sessions[1], "b").await;
    asked(&app, first, 1).await;
    (app, sessions, [one, two], question)
}

// proves CH-13
#[tokio::test]
async fn the_question_of_a_turn_that_is_stopped_is_withdrawn_and_the_next_is_asked() {
    let (app, [session, _], [_, mut two], question) = two_that_ask("one?").await;
    app.ok("cancel", json!({ "sessionId": session })).await;
    withdrawn(&app, question).await;
    asked(&app, "two?", 0).await;
    chat(&app).post_user("for two").await.unwrap();
    assert_eq!(results(&two.rest().await), ["for two"]);
}

// proves CH-13
#[tokio::test]
async fn the_question_of_a_session_that_is_deleted_is_withdrawn() {
    let (app, [session, _], _streams, question) = two_that_ask("one?").await;
    app.ok("deleteSession", json!({ "sessionId": session }))
        .await;
    withdrawn(&app, question).await;
    asked(&app, "two?", 0).await;
}

// proves CH-10
#[tokio::test]
async fn an_agent_speaks_in_the_chat_and_what_cannot_be_said_is_told_to_its_model() {
    let post = |text: &str| call("post_message", json!({ "text": text }));
    let app = quiet()
        .start([
            post("hello").and_call("post_message", json!({"text": "\u{200b}"})),
            ask("\u{200b} \u{2800}"),
            say("done"),
        ])
        .await;
    let session = app.session().await;
    let frames = app.turn(&session, "go").await;
    let results = results(&frames);
    assert_eq!(results[0], "posted as message 1");
    for refused in &results[1..] {
        assert!(refused.contains("blank"), "{refused}");
    }
    let posted = message(&chat(&app), 1);
    assert_eq!(
        (posted.role, posted.author.as_str()),
        (ChatRole::Agent, "master")
    );
    assert_eq!(said(&app), ["hello"]);
}
