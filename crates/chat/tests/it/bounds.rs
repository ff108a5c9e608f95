//! How much the chat keeps.

use samovar_chat::Bounds;
use samovar_core::ChatMeta;

use crate::{all, bounded};

// proves CH-8
#[test]
fn the_oldest_messages_leave_first_and_whoever_asks_for_them_is_told() {
    let (chat, _) = bounded(Bounds {
        max_messages: 3,
        max_bytes: usize::MAX,
    });
    for number in 1..=5 {
        let text = format!("{number}");
        chat.post_agent("a", &text, ChatMeta::default()).unwrap();
    }
    let ids = |after| {
        let page = chat.read(after, usize::MAX);
        let ids: Vec<_> = page.messages.iter().map(|message| message.id).collect();
        (ids, page.is_truncated, page.first, page.head)
    };
    assert_eq!(ids(0), (vec![3, 4, 5], true, 3, 5));
    assert_eq!(ids(1), (vec![3, 4, 5], true, 3, 5));
    assert_eq!(ids(2), (vec![3, 4, 5], false, 3, 5));
    assert_eq!(ids(4), (vec![5], false, 3, 5));
    assert_eq!(ids(5), (vec![], false, 3, 5));
    assert_eq!(ids(u64::MAX), (vec![], false, 3, 5));
    let last = chat.last(100);
    assert_eq!((last.messages.len(), last.is_truncated), (3, false));
}

// proves CH-8
#[test]
fn a_million_posts_leave_no_more_than_the_bounds() {
    let bounds = Bounds::default();
    let (chat, _) = bounded(bounds);
    let text = "x".repeat(5_000);
    for number in 0..1_000_000_usize {
        // Short and long ones, so that each bound is the one that counts for a while.
        let text = if number % 200_000 < 100_000 {
            &text[..100]
        } else {
            &text[..]
        };
        chat.post_agent("agent", text, ChatMeta::default()).unwrap();
        if number % 50_000 == 0 {
            let kept = all(&chat);
            let bytes: usize = kept.iter().map(|message| message.text.len()).sum();
            assert!(kept.len() <= bounds.max_messages, "{}", kept.len());
            assert!(bytes <= bounds.max_bytes, "{bytes}");
        }
    }
    let kept = all(&chat);
    assert_eq!(kept.last().unwrap().id, 1_000_000);
    assert!(kept.len() > 6_000, "and no less: {}", kept.len());
}

// proves CH-8
#[test]
fn the_newest_message_is_kept_whatever_it_costs() {
    let (chat, _) = bounded(Bounds {
        max_messages: 10,
        max_bytes: 1,
    });
    for text in ["one", "two"] {
        chat.post_agent("a", text, ChatMeta::default()).unwrap();
    }
    let kept = all(&chat);
    assert_eq!((kept.len(), kept[0].text.as_str()), (1, "two"));
}

// proves CH-8
#[tokio::test]
async fn a_reader_that_was_away_too_long_gets_what_is_left_and_knows_it() {
    let (chat, _) = bounded(Bounds {
        max_messages: 2,
        max_bytes: usize::MAX,
    });
    let mut reader = chat.follow(0);
    for number in 0..4 {
        let text = format!("{number}");
        chat.post_agent("a", &text, ChatMeta::default()).unwrap();
    }
    let page = reader.next().await.unwrap();
    assert!(page.is_truncated);
    assert_eq!((page.first, page.messages[0].id), (3, 3));
    chat.post_agent("a", "next", ChatMeta::default()).unwrap();
    let page = reader.next().await.unwrap();
    assert!(!page.is_truncated);
    assert_eq!(page.messages[0].id, 5);
}
