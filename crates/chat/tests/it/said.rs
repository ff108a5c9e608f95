//! What is said, and who hears it.

use samovar_chat::{Chat, MAX_TEXT_BYTES, Wake, WokenBy};
use samovar_core::{ChatMeta, ChatRole, Code, Millis};
use tokio::task::JoinSet;
use tokio_util::task::TaskTracker;

use crate::{all, bounded, chat, lines, waits};

fn say(chat: &Chat, text: &str) -> u64 {
    chat.post_agent("a", text, ChatMeta::default()).unwrap()
}

// proves CH-3, CH-2
#[test]
fn an_agent_speaks_first_and_nobody_need_listen() {
    let chat = chat();
    assert_eq!(say(&chat, "anybody there?"), 1);
    let meta = ChatMeta {
        reply_to: Some(1),
        tags: vec!["status".to_owned()],
    };
    assert_eq!(chat.post_agent("b", "  me \n", meta.clone()).unwrap(), 2);

    let all = all(&chat);
    assert_eq!(all[0].role, ChatRole::Agent);
    assert_eq!((all[1].id, all[1].author.as_str()), (2, "b"));
    assert_eq!((all[1].text.as_str(), &all[1].meta), ("me", &meta));
}

// proves CH-2
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_posts_at_once_get_a_thousand_numbers_in_a_row() {
    let chat = chat();
    let mut posts = JoinSet::new();
    for number in 0..1_000 {
        let chat = chat.clone();
        posts.spawn(async move {
            if number % 2 == 0 {
                say(&chat, "x")
            } else {
                chat.post_user("x").await.unwrap()
            }
        });
    }
    let mut ids = posts.join_all().await;
    ids.sort_unstable();
    assert_eq!(ids, (1..=1_000).collect::<Vec<u64>>());
    let kept: Vec<_> = all(&chat).iter().map(|message| message.id).collect();
    assert_eq!(kept, ids);
}

// proves CH-2
#[test]
fn time_does_not_go_back_in_the_chat() {
    let (chat, clock) = bounded(samovar_chat::Bounds::default());
    for now in [5, 9, 3, 11] {
        clock.set(Millis(now));
        say(&chat, "x");
    }
    let times: Vec<_> = all(&chat).iter().map(|message| message.ts).collect();
    assert_eq!(times, [5, 9, 9, 11].map(Millis));
}

// proves CH-3, CH-12
#[tokio::test]
async fn what_is_blank_or_too_long_is_refused_everywhere_and_wakes_nobody() {
    let chat = chat();
    let listener = waits(&chat, "a");
    tokio::task::yield_now().await;
    let long = "x".repeat(MAX_TEXT_BYTES + 1);
    let blanks = [
        "",
        " \n\t",
        "\u{a0}\u{3000}\u{2028}",
        "\u{200b}\u{feff}",
        "\u{2800}\0",
    ];
    let refused = blanks
        .map(|blank| (blank, Code::BlankContent))
        .into_iter()
        .chain([(long.as_str(), Code::BodyTooLarge)]);
    for (text, code) in refused {
        let meta = ChatMeta::default();
        assert_eq!(chat.post_agent("a", text, meta).unwrap_err().code, code);
        assert_eq!(chat.post_user(text).await.unwrap_err().code, code);
        assert_eq!(chat.ask_user("a", text).unwrap_err().code, code);
        assert_eq!(chat.signal("a", text).unwrap_err().code, code);
        if code == Code::BlankContent {
            chat.note(text, ChatMeta::default());
        }
    }
    assert!(all(&chat).is_empty());
    assert_eq!(chat.state().pending_input, None);
    // The longest is measured as it is kept.
    say(&chat, &format!(" {}\n", "x".repeat(MAX_TEXT_BYTES)));
    assert!(!listener.is_finished());
    chat.post_user(" yes ").await.unwrap();
    assert_eq!(listener.await.unwrap().unwrap(), "yes");
}

// proves CH-12
#[test]
fn no_agent_speaks_as_the_user_and_no_name_breaks_a_line() {
    let chat = chat();
    for name in ["user", " User ", "", "\u{200b}", "a\nb", &"n".repeat(129)] {
        let refused = chat.post_agent(name, "x", ChatMeta::default());
        assert_eq!(refused.unwrap_err().code, Code::InvalidParams, "{name:?}");
        assert!(chat.ask_user(name, "x").is_err(), "{name:?}");
        assert!(chat.signal(name, "x").is_err(), "{name:?}");
    }
    let none = [
        ChatMeta::reply_to(1),
        ChatMeta::reply_to(0),
        ChatMeta {
            tags: vec!["t".to_owned(); 17],
            ..ChatMeta::default()
        },
        ChatMeta {
            tags: vec!["t".repeat(65)],
            ..ChatMeta::default()
        },
    ];
    for meta in none {
        let refused = chat.post_agent("a", "x", meta.clone());
        assert_eq!(refused.unwrap_err().code, Code::InvalidParams, "{meta:?}");
    }
    assert!(all(&chat).is_empty());
}

// proves CH-9, CH-13
#[tokio::test]
async fn the_chats_agent_is_woken_by_words_that_nobody_waited_for_and_by_signals_alone() {
    let chat = chat();
    say(&chat, "by an agent");
    chat.note("by the chat", ChatMeta::default());
    chat.ask_user("a", "by a question?").unwrap();
    chat.post_user("an answer").await.unwrap();
    let listener = waits(&chat, "b");
    tokio::task::yield_now().await;
    chat.post_user("to a listener").await.unwrap();
    assert_eq!(listener.await.unwrap().unwrap(), "to a listener");
    chat.signal(samovar_chat::ADAPTIVE_AGENT, "by itself")
        .unwrap();

    let by_user = chat.post_user("to nobody").await.unwrap();
    let by_signal = chat.signal("a", "wake up").unwrap();

    let wake = |message, by| Wake { message, by };
    assert_eq!(chat.next_wake().await, wake(by_user, WokenBy::User));
    assert_eq!(chat.next_wake().await, wake(by_signal, WokenBy::Signal));
    let next = tokio::time::timeout(std::time::Duration::ZERO, chat.next_wake());
    assert!(next.await.is_err(), "nothing else wakes it");
}

// proves CH-7
#[tokio::test]
async fn a_reader_that_begins_anew_at_every_place_misses_and_repeats_nothing() {
    let chat = chat();
    let writing = chat.clone();
    let writer = TaskTracker::new().spawn(async move {
        for number in 1..=300 {
            say(&writing, &number.to_string());
            tokio::task::yield_now().await;
        }
    });
    let mut read = Vec::new();
    while read.len() < 300 {
        let after = read.last().copied().unwrap_or(0);
        // A new reader for each step, and only a part of what it brings is taken.
        let page = chat.follow(after).next().await.unwrap();
        assert!(!page.is_truncated);
        let take = page.messages.len().div_ceil(2);
        read.extend(page.messages.iter().take(take).map(|message| message.id));
    }
    writer.await.unwrap();
    assert_eq!(read, (1..=300).collect::<Vec<u64>>());
}

// proves CH-1, CH-7
#[tokio::test]
async fn a_reader_sees_all_that_was_said_before_the_chat_ended_and_then_its_end() {
    let chat = chat();
    let mut reader = chat.follow(0);
    say(&chat, "last words");
    chat.close();
    assert_eq!(reader.next().await.unwrap().messages.len(), 1);
    assert!(reader.next().await.is_none());
    assert_eq!(
        chat.post_user("x").await.unwrap_err().code,
        Code::Unavailable
    );
    assert_eq!(
        chat.wait_user("a").await.unwrap_err().code,
        Code::Unavailable
    );
    assert_eq!(lines(&chat), [("a".to_owned(), "last words".to_owned())]);
}
