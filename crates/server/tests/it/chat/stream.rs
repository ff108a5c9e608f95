//! What is said, as it comes, to any number of readers in either spelling.

use std::sync::Arc;
use std::time::Duration;

use samovar_core::ChatMeta;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{
    BOTH, Reader, Spelling, StreamItem, app, app_with, boot, fill, get, history, parameter,
    refused, truncated,
};
use crate::raw::{HANG, Request, connect};

// proves CH-2, CH-7
#[tokio::test]
async fn both_spellings_bring_the_very_messages_of_the_history() {
    let app = app().await;
    let chat = app.server().home().chat();
    let odd = "a\nid: 9\ndata: {}\n\nй\u{2028}\u{0}\"\\";
    chat.post_agent("master", odd, ChatMeta::default()).unwrap();
    chat.post_agent("master", "b", ChatMeta::reply_to(1))
        .unwrap();
    let mut stream = app.follow("/chat/stream").await;
    let mut socket = app.socket("/chat/stream").await;
    chat.note("live", ChatMeta::default());

    let shown = history(&app, "").await.body;

    for message in shown.as_array().unwrap() {
        let frame = stream.next().await.unwrap();
        assert_eq!(frame.data, *message);
        assert_eq!(frame.id.unwrap(), message["id"].to_string());
        assert_eq!(frame.event, None);
        assert_eq!(socket.json().await.as_ref(), Some(message));
    }
    assert_eq!(shown[0]["text"], odd);
    assert_eq!(shown.as_array().unwrap().len(), 3);
}

// proves CH-7
#[tokio::test]
async fn a_stream_begins_with_the_last_hundred_or_behind_an_id_and_then_is_live() {
    for spelling in BOTH {
        let app = app().await;
        let mut first = Reader::open(&app, spelling, "").await;
        fill(&app, 250);
        assert_eq!(first.ids(250).await, (1..=250).collect::<Vec<_>>());
        let mut last = Reader::open(&app, spelling, "").await;
        let mut all = Reader::open(&app, spelling, "?after=0").await;
        let mut some = Reader::open(&app, spelling, "?after=240").await;
        let mut none = Reader::open(&app, spelling, "?after=250").await;
        fill(&app, 3);
        for (reader, from) in [
            (&mut last, 151),
            (&mut all, 1),
            (&mut some, 241),
            (&mut none, 251),
        ] {
            let expected: Vec<_> = (from..=253).collect();
            let count = expected.len() as u64;
            assert_eq!(reader.ids(count).await, expected, "{spelling:?}");
        }
    }
}

// proves CH-7
#[tokio::test]
async fn the_header_last_event_id_counts_before_the_parameter() {
    let app = app().await;
    fill(&app, 9);
    let request =
        |id: &str| Request::new(&app, "GET", "/chat/stream?after=2").with("last-event-id", id);
    let mut stream = connect(app.address()).await;
    stream.write_all(&request("7").bytes()).await.unwrap();
    let mut read = String::new();
    while !read.contains("id: 9\n") {
        let mut some = [0; 1024];
        let more = tokio::time::timeout(HANG, stream.read(&mut some)).await;
        read += std::str::from_utf8(&some[..more.unwrap().unwrap()]).unwrap();
    }
    assert!(read.contains("text/event-stream"), "{read}");
    assert!(read.contains("}\nid: 8\n\n"), "{read}");
    assert!(!read.contains("id: 7\n"), "{read}");

    for bad in ["x", "-1", "+1", "1.0", "18446744073709551616", "7.2"] {
        let answer = request(bad).send().await;
        let got = (answer.status, answer.code());
        assert_eq!(got, (400, "invalid_params".to_owned()), "{bad:?}");
        let named = json!({"parameter": "Last-Event-ID"});
        assert_eq!(answer.json()["details"], named, "{bad:?}");
    }
    for bad in ["x", "-1", "%2B1", "%201", "18446744073709551616"] {
        let answer = get(&app, &format!("/chat/stream?after={bad}")).await;
        assert_eq!(refused(&answer), (400, "invalid_params"), "{bad:?}");
    }
}

// proves CH-5, CH-7
#[tokio::test]
async fn an_id_that_was_not_given_out_is_told_to_be_of_another_run() {
    for spelling in BOTH {
        let app = app().await;
        fill(&app, 3);
        let boot = boot(&app).await;
        let mut lost = Reader::open(&app, spelling, "?after=4").await;
        let marker = StreamItem::Marker(json!({"restarted": {"boot_id": boot}}));
        assert_eq!(lost.next().await, Some(marker), "{spelling:?}");
        fill(&app, 1);
        assert_eq!(lost.ids(4).await, [1, 2, 3, 4], "{spelling:?}");

        let liar = get(&app, &format!("/chat/stream?after=5&boot={boot}")).await;
        assert_eq!(refused(&liar), (400, "invalid_params"));
        assert_eq!(liar.body["details"], parameter("after"));
        let path = format!("/chat/stream?after=1&boot={boot}");
        let liar = Request::new(&app, "GET", &path).with("last-event-id", "5");
        let liar = liar.send().await.json()["details"].clone();
        assert_eq!(liar, parameter("Last-Event-ID"));
        let honest = format!("?after=3&boot={boot}");
        let mut honest = Reader::open(&app, spelling, &honest).await;
        assert_eq!(honest.ids(1).await, [4], "{spelling:?}");
    }
}

// proves CH-8
#[tokio::test]
async fn a_reader_is_told_what_is_gone_and_gets_what_is_left() {
    for spelling in BOTH {
        let app = app_with(|config| config.chat.max_messages = 10).await;
        fill(&app, 30);
        let mut late = Reader::open(&app, spelling, "?after=5").await;
        assert_eq!(late.next().await, Some(truncated(5, 21)), "{spelling:?}");
        assert_eq!(late.ids(10).await, (21..=30).collect::<Vec<_>>());
        let mut new = Reader::open(&app, spelling, "").await;
        assert_eq!(new.ids(10).await, (21..=30).collect::<Vec<_>>());

        // So much at once that no reader can have had it before it went.
        fill(&app, 1_000);
        for reader in [&mut late, &mut new] {
            let mut last = 30;
            while last < 1_030 {
                match reader.next().await.unwrap() {
                    StreamItem::Message(id) => {
                        assert_eq!(id, last + 1, "{spelling:?}");
                        last = id;
                    }
                    marker @ StreamItem::Marker(_) => {
                        let first = chat_first(&marker);
                        assert_eq!(marker, truncated(last, first), "{spelling:?}");
                        last = first - 1;
                    }
                }
            }
        }
    }
}

fn chat_first(marker: &StreamItem) -> u64 {
    let StreamItem::Marker(marker) = marker else {
        panic!("{marker:?}");
    };
    marker["truncated"]["first"].as_u64().unwrap()
}

// proves CH-7
#[tokio::test]
async fn a_reader_that_comes_back_at_every_offset_misses_and_repeats_nothing() {
    for spelling in BOTH {
        let app = app().await;
        fill(&app, 40);
        for offset in 0..=40 {
            let mut back = Reader::open(&app, spelling, &format!("?after={offset}")).await;
            let head = app.server().home().chat().last(0).head;
            fill(&app, 1);
            let expected: Vec<_> = (offset + 1..=head + 1).collect();
            let got = back.ids(head + 1 - offset).await;
            assert_eq!(got, expected, "{spelling:?} behind {offset}");
        }
    }
}

// proves CH-7
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_is_cut_behind_each_message_while_more_are_said_sees_each_once() {
    const MESSAGES: u64 = 300;
    for spelling in BOTH {
        let app = Arc::new(app().await);
        let posting = {
            let app = app.clone();
            std::thread::spawn(move || {
                for _ in 0..MESSAGES {
                    fill(&app, 1);
                    std::thread::yield_now();
                }
            })
        };
        let mut seen = Vec::new();
        while seen.len() < usize::try_from(MESSAGES).unwrap() {
            let after = seen.last().copied().unwrap_or(0);
            let mut reader = Reader::open(&app, spelling, &format!("?after={after}")).await;
            // One, two or three, then the connection breaks.
            let left = MESSAGES - seen.len() as u64;
            let some = (1 + seen.len() as u64 % 3).min(left);
            seen.extend(reader.ids(some).await);
        }
        posting.join().unwrap();
        assert_eq!(seen, (1..=MESSAGES).collect::<Vec<_>>(), "{spelling:?}");
    }
}

// proves CH-7
#[tokio::test]
async fn the_stop_of_the_server_ends_every_stream_behind_its_last_message() {
    for spelling in BOTH {
        let app = app().await;
        let mut readers = Vec::new();
        for _ in 0..5 {
            readers.push(Reader::open(&app, spelling, "").await);
        }
        fill(&app, 2);
        let reading = async {
            for mut reader in readers {
                assert_eq!(reader.ids(2).await, [1, 2], "{spelling:?}");
                assert_eq!(reader.next().await, None, "{spelling:?}");
            }
        };
        let stopped = async { tokio::join!(app.stop(), reading) };
        tokio::time::timeout(HANG, stopped).await.unwrap();
    }
}

// proves CH-7
#[tokio::test]
async fn a_silent_stream_says_now_and_then_that_it_lives() {
    let app = app_with(|config| config.server.ping_every = Duration::from_millis(5)).await;
    let mut stream = connect(app.address()).await;
    let request = Request::new(&app, "GET", "/chat/stream");
    stream.write_all(&request.bytes()).await.unwrap();
    let mut read = String::new();
    while read.matches(": ping\n").count() < 3 {
        let mut some = [0; 1024];
        let more = tokio::time::timeout(HANG, stream.read(&mut some)).await;
        read += std::str::from_utf8(&some[..more.unwrap().unwrap()]).unwrap();
    }
    let mut reader = Reader::open(&app, Spelling::Events, "").await;
    fill(&app, 1);
    assert_eq!(reader.ids(1).await, [1]);
}
