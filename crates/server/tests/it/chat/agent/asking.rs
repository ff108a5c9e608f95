//! It asks the person, and does nothing until they have answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use samovar_chat::{ADAPTIVE_AGENT, Chat};
use samovar_core::{ChatMeta, ChatRole, Outcome, ToolReply};
use samovar_model_server::{Reply, Request, Script, When, call, say};
use samovar_testkit::{App, AppBuilder, TestTool};
use serde_json::json;

use super::{chat, hears, said, sees};

/// A tool that counts its calls, before the person has answered and behind that.
#[derive(Clone, Default)]
struct Witness {
    is_answered: Arc<AtomicBool>,
    before: Arc<AtomicU64>,
    behind: Arc<AtomicU64>,
}

impl Witness {
    fn tool(&self) -> TestTool {
        let own = self.clone();
        TestTool::new("look", move |_, _| {
            let is_answered = own.is_answered.load(Ordering::SeqCst);
            let count = if is_answered {
                &own.behind
            } else {
                &own.before
            };
            count.fetch_add(1, Ordering::SeqCst);
            async { ToolReply::Closed(Outcome::done("seen")) }
        })
    }

    fn counts(&self) -> (u64, u64) {
        let (before, behind) = (&self.before, &self.behind);
        (before.load(Ordering::SeqCst), behind.load(Ordering::SeqCst))
    }
}

fn asks(question: &str) -> Reply {
    call("ask_user", json!({ "question": question }))
}

/// The question of the agent that waits now.
async fn question(chat: &Chat, text: &str) -> u64 {
    let asked = sees(chat, |message| message.text == text).await;
    assert_eq!(asked.author, ADAPTIVE_AGENT);
    let pending = chat.state().pending_input.unwrap();
    assert_eq!(pending.requested_by, ADAPTIVE_AGENT);
    assert_eq!(pending.question, asked.id);
    asked.id
}

// proves CH-4, CH-9
#[tokio::test]
async fn no_step_runs_while_it_asks_and_it_goes_on_with_exactly_the_answer() {
    let witness = Witness::default();
    let first = say("One question.")
        .and_call("look", json!({}))
        .and_call("ask_user", json!({"question": "When?"}))
        .and_call("look", json!({}));
    let app = AppBuilder::new()
        .tools(witness.tool().alone().build())
        .start([first, say("Booked."), say("Bye.")])
        .await;
    let chat = chat(&app);
    let asked = chat.post_user("book a table").await.unwrap();

    let question = question(&chat, "When?").await;
    assert_eq!(hears(&chat, "One question.").await.id + 1, question);
    for blank in ["", "  ", "\u{200b}"] {
        assert!(chat.post_user(blank).await.is_err());
    }
    chat.post_agent("master", "by the way", ChatMeta::default())
        .unwrap();
    assert_eq!(chat.state().pending_input.unwrap().question, question);
    assert_eq!(app.model.prompt_count(), 1);
    witness.is_answered.store(true, Ordering::SeqCst);
    let answer = chat.post_user(" at noon ").await.unwrap();

    let booked = hears(&chat, "Booked.").await;
    assert_eq!(booked.meta, ChatMeta::reply_to(asked));
    assert_eq!(chat.state().pending_input, None);
    assert_eq!(witness.counts(), (1, 1));
    let page = chat.read(answer - 1, 1);
    assert_eq!(page.messages[0].text, "at noon");
    assert_eq!(page.messages[0].meta, ChatMeta::reply_to(question));
    let prompts = app.model.prompts();
    let shown = [
        ("user", "book a table"),
        ("assistant", "One question."),
        ("tool", "seen"),
        ("tool", "at noon"),
        ("tool", "seen"),
    ];
    assert_eq!(said(prompts[1].body()), shown);
    // The answer woke nobody: this is what is asked next.
    chat.post_user("thank you").await.unwrap();
    hears(&chat, "Bye.").await;
    assert_eq!(app.model.prompt_count(), 3);
}

// proves CH-4, CH-9
#[tokio::test]
async fn two_questions_of_one_answer_are_asked_one_after_the_other() {
    let both = asks("When?").and_call("ask_user", json!({"question": "Where?"}));
    let app = App::start([both, say("Booked.")]).await;
    let chat = chat(&app);
    chat.post_user("book").await.unwrap();

    question(&chat, "When?").await;
    assert_eq!(chat.state().waiting, 0, "the second is not asked yet");
    chat.post_user("at noon").await.unwrap();
    question(&chat, "Where?").await;
    chat.post_user("at home").await.unwrap();

    hears(&chat, "Booked.").await;
    let prompts = app.model.prompts();
    assert_eq!(prompts.len(), 2);
    let shown = said(prompts[1].body());
    assert_eq!(shown[2..], [("tool", "at noon"), ("tool", "at home")]);
    let order: Vec<_> = chat
        .last(9)
        .messages
        .iter()
        .map(|one| one.text.clone())
        .collect();
    assert_eq!(
        order,
        ["book", "When?", "at noon", "Where?", "at home", "Booked."]
    );
}

// proves CH-9
#[tokio::test]
async fn signals_that_come_while_it_asks_wait_for_the_answer_and_are_told_once() {
    let script = Script::new()
        .then(asks("When?"))
        .then(say("Booked."))
        .then(say("Again.").forever());
    let app = App::start(script).await;
    let chat = chat(&app);
    chat.post_user("book").await.unwrap();
    question(&chat, "When?").await;

    for number in 1..=300 {
        chat.signal("master", &format!("signal {number}.")).unwrap();
        tokio::task::yield_now().await;
    }
    chat.post_user("at noon").await.unwrap();
    hears(&chat, "Booked.").await;
    chat.post_user("the last word").await.unwrap();

    let is_told = |requests: &[Request]| {
        requests
            .last()
            .is_some_and(|last| said(last.body()).contains(&("user", "the last word")))
    };
    let prompts = app.model.wait_for(is_told).await;
    assert!(prompts.len() < 15, "{} prompts", prompts.len());
    let all = chat.last(1000).messages;
    let notes = all.iter().filter(|one| one.role == ChatRole::System);
    assert_eq!(notes.count(), 0, "nothing was refused");
    // In the prompt of one turn nothing is said twice, be it what it asked and was answered.
    for prompt in prompts {
        let shown = said(prompt.body());
        assert!(!shown.contains(&("user", "When?")));
        if shown.contains(&("tool", "at noon")) {
            assert!(!shown.contains(&("user", "at noon")));
        }
        for number in [1, 150, 300] {
            let text = format!("signal {number}.");
            let told: usize = shown
                .iter()
                .map(|(_, words)| words.matches(&text).count())
                .sum();
            assert!(told <= 1, "{told} times {text}");
        }
    }
}

// proves CH-9
#[tokio::test]
async fn a_question_that_cannot_be_asked_is_told_to_the_model() {
    let blank = asks(" \u{200b} ");
    let missing = call("ask_user", json!({}));
    let app = App::start([blank, missing, say("Never mind.")]).await;
    let chat = chat(&app);
    let asked = chat.post_user("go").await.unwrap();

    let end = hears(&chat, "Never mind.").await;
    assert_eq!(end.id, asked + 1, "nothing else was said");
    let prompts = app.model.prompts();
    let told = said(prompts[2].body());
    assert!(told[2].1.contains("blank"), "{told:?}");
    assert!(told[4].1.contains("question"), "{told:?}");
    assert_eq!(chat.state().pending_input, None);
}

// proves CH-3, CH-10
#[tokio::test]
async fn a_sessions_agent_posts_with_nobody_there_who_comes_later_reads_it_and_it_may_wake() {
    let posts = call(
        "post_message",
        json!({"text": "please look", "signal": true}),
    );
    let of_chat = When::user("please look");
    let script = Script::new()
        .then(say("I look.").when(of_chat))
        .then(posts)
        .then(say("Told."));
    let app = App::start(script).await;
    let chat = chat(&app);
    let session = app.session().await;
    app.turn(&session, "tell the chat").await;

    let looks = hears(&chat, "I look.").await;
    let signal = looks.meta.reply_to.unwrap();
    let history = app.get("/chat/history").await.body;
    let posted = &history[0];
    assert_eq!(posted["id"], signal);
    assert_eq!(posted["role"], "agent");
    assert_eq!(posted["author"], "master");
    assert_eq!(posted["text"], "please look");
    let line = r#"{"author":"master","role":"agent","text":"please look"}"#;
    let prompts = app.model.prompts();
    let told = prompts.iter().find(|prompt| prompt.last_user() == line);
    assert_eq!(said(told.unwrap().body()), [("user", line)]);
}
