use std::time::Duration;

use samovar_doubles::TestClock;

use super::*;

fn chat() -> Chat {
    Chat::new(ChatParts {
        clock: Arc::new(TestClock::default()),
        boot: "boot".to_owned(),
        bounds: Bounds::default(),
        wakes: Wakes::Adaptive,
    })
}

// proves CH-9, CH-13
#[tokio::test]
async fn who_goes_away_in_the_instant_of_an_answer_swallows_nothing() {
    let chat = chat();
    let gone = chat.ask_user("a", "which one?").unwrap();
    // What waited is dropped a moment before it says so.
    drop(chat.lock().questions.fetch("a"));
    drop(chat.lock().questions.listen().unwrap());

    let said = chat.post_user("this one").await.unwrap();

    let note = chat.message(gone + 1).unwrap();
    assert_eq!(note.role, ChatRole::System);
    assert_eq!(note.meta.reply_to, Some(gone));
    assert_eq!(chat.message(said).unwrap().meta, ChatMeta::default());
    let wake = tokio::time::timeout(Duration::ZERO, chat.next_wake());
    assert_eq!(wake.await.unwrap().message, said);
    chat.withdraw(gone);
    assert_eq!(chat.last(9).head, said, "it is withdrawn once");
}

// proves CH-10
#[tokio::test]
async fn the_persons_words_wait_for_what_an_earlier_run_has_asked() {
    let chat = chat();
    let early = chat.early();
    let posted = chat.post_user("the left one");
    tokio::pin!(posted);
    let too_early = tokio::time::timeout(Duration::ZERO, &mut posted);
    assert!(too_early.await.is_err());

    let question = chat.ask_user("a", "which one?").unwrap();
    drop(early);

    let answer = posted.await.unwrap();
    let answer = chat.message(answer).unwrap();
    assert_eq!(answer.meta.reply_to, Some(question));
}
