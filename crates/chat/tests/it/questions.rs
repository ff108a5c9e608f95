//! Questions and answers of parts of the program itself.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use samovar_chat::{Chat, ChatState};
use samovar_core::{ChatRole, Code, PendingInput};
use tokio::task::{JoinSet, yield_now};

use crate::{all, chat, waits};

fn pending(author: &str, question: u64) -> PendingInput {
    PendingInput {
        requested_by: author.to_owned(),
        question,
    }
}

// proves CH-4
#[tokio::test]
async fn the_next_words_answer_the_oldest_question_and_wake_who_asked_it() {
    let chat = chat();
    let question = chat.ask_user("a", "which one?").unwrap();
    let behind = chat.ask_user("b", "and why?").unwrap();
    let state = ChatState {
        pending_input: Some(pending("a", question)),
        waiting: 1,
    };
    assert_eq!(chat.state(), state);
    let (asker, other) = (waits(&chat, "a"), waits(&chat, "b"));
    yield_now().await;

    let answer = chat.post_user("the left one").await.unwrap();

    assert_eq!(asker.await.unwrap().unwrap(), "the left one");
    assert!(!other.is_finished());
    let said = all(&chat);
    let said = said.iter().find(|message| message.id == answer).unwrap();
    assert_eq!(said.meta.reply_to, Some(question));
    assert_eq!((said.role, said.author.as_str()), (ChatRole::User, "user"));
    assert_eq!(chat.state().pending_input, Some(pending("b", behind)));
    chat.post_user("because").await.unwrap();
    assert_eq!(other.await.unwrap().unwrap(), "because");
    assert_eq!(chat.state().pending_input, None);
}

// proves CH-13
#[tokio::test]
async fn an_answer_that_came_before_anybody_waited_is_there() {
    let chat = chat();
    chat.ask_user("a", "first?").unwrap();
    chat.ask_user("a", "second?").unwrap();
    chat.post_user("one").await.unwrap();
    chat.post_user("two").await.unwrap();
    assert_eq!(chat.wait_user("a").await.unwrap(), "one");
    assert_eq!(chat.wait_user("a").await.unwrap(), "two");
}

// proves CH-13
#[tokio::test]
async fn who_waits_without_a_question_hears_what_answers_none() {
    let chat = chat();
    let listener = waits(&chat, "b");
    yield_now().await;
    chat.ask_user("a", "a question?").unwrap();
    chat.post_user("an answer").await.unwrap();
    assert!(!listener.is_finished());
    chat.post_user("something else").await.unwrap();
    assert_eq!(listener.await.unwrap().unwrap(), "something else");
    assert_eq!(chat.wait_user("a").await.unwrap(), "an answer");
}

// proves CH-13
#[tokio::test]
async fn a_question_whose_asker_has_gone_is_withdrawn_and_the_next_one_is_asked() {
    let chat = chat();
    let gone = chat.ask_user("a", "never mind?").unwrap();
    let next = chat.ask_user("b", "this one?").unwrap();
    let waiting = tokio::time::timeout(Duration::ZERO, chat.wait_user("a"));
    assert!(waiting.await.is_err());
    assert_eq!(chat.state().pending_input, Some(pending("b", next)));
    let note = all(&chat).pop().unwrap();
    assert_eq!(
        (note.role, note.author.as_str()),
        (ChatRole::System, "ChatAgent")
    );
    assert_eq!(note.meta.reply_to, Some(gone));

    chat.withdraw(next);
    chat.withdraw(next);
    assert_eq!(chat.state().pending_input, None);
    assert_eq!(all(&chat).len(), 4, "one note for each");
    chat.post_user("too late").await.unwrap();
    let next_wake = tokio::time::timeout(Duration::from_secs(5), chat.next_wake());
    assert_eq!(next_wake.await.unwrap().message, 5);
    // Nothing is left behind for who asks next.
    chat.ask_user("b", "again?").unwrap();
    chat.post_user("again!").await.unwrap();
    assert_eq!(chat.wait_user("b").await.unwrap(), "again!");
}

#[tokio::test]
async fn a_listener_that_has_gone_swallows_nothing() {
    let chat = chat();
    for _ in 0..3 {
        let waiting = tokio::time::timeout(Duration::ZERO, chat.wait_user("a"));
        assert!(waiting.await.is_err());
    }
    chat.post_user("hello").await.unwrap();
    assert_eq!(chat.next_wake().await.message, 1);
}

// proves CH-4
#[tokio::test]
async fn too_many_questions_are_refused_and_nothing_of_them_is_said() {
    let chat = chat();
    let refused = loop {
        match chat.ask_user("a", "another?") {
            Ok(_) => {}
            Err(refused) => break refused,
        }
    };
    assert_eq!(refused.code, Code::Busy);
    let asked = all(&chat).len();
    assert_eq!(chat.state().waiting + 1, asked);
    // The answers have to be fetched as well, or they would pile up.
    chat.post_user("an answer").await.unwrap();
    assert!(chat.ask_user("a", "another?").is_err());
    chat.wait_user("a").await.unwrap();
    chat.ask_user("a", "another?").unwrap();
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    async fn pause(&mut self) {
        for _ in 0..self.below(4) {
            yield_now().await;
        }
    }
}

/// One of three agents asks, and waits for its answer.
async fn asks(chat: Chat, name: &'static str, mut dice: Dice, got: Arc<Mutex<Vec<(u64, String)>>>) {
    dice.pause().await;
    let question = chat.ask_user(name, "what?").unwrap();
    dice.pause().await;
    let answer = chat.wait_user(name).await.unwrap();
    got.lock().unwrap().push((question, answer));
}

// proves CH-4, CH-13
#[test]
fn three_agents_that_wait_and_three_answers_pair_in_order_in_ten_thousand_schedules() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    for seed in 0..10_000_u64 {
        let got = Arc::new(Mutex::new(Vec::new()));
        let chat = chat();
        runtime.block_on(async {
            let mut agents = JoinSet::new();
            for (at, name) in ["a", "b", "c"].into_iter().enumerate() {
                let dice = Dice(seed * 7 + at as u64);
                agents.spawn(asks(chat.clone(), name, dice, got.clone()));
            }
            let mut dice = Dice(seed ^ 0xabcd);
            for number in 0..3 {
                dice.pause().await;
                while chat.state().pending_input.is_none() {
                    yield_now().await;
                }
                chat.post_user(&format!("answer {number}")).await.unwrap();
            }
            agents.join_all().await;
        });
        let mut got = got.lock().unwrap().clone();
        got.sort_unstable();
        let answers: Vec<_> = got.iter().map(|(_, answer)| answer.as_str()).collect();
        assert_eq!(answers, ["answer 0", "answer 1", "answer 2"], "seed {seed}");
        let replies = all(&chat);
        let replies = replies.iter().filter_map(|message| message.meta.reply_to);
        let questions: Vec<_> = got.iter().map(|(question, _)| *question).collect();
        assert_eq!(replies.collect::<Vec<_>>(), questions, "seed {seed}");
    }
}
