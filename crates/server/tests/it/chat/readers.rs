//! Many readers.

use std::sync::Arc;
use std::time::Duration;

use samovar_testkit::App;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc::{self, Sender};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{Reader, Spelling, StreamItem, app_with, fill};
use crate::raw::{Request, connect};

const READERS: usize = 500;
const MESSAGES: u64 = 2_000;
/// All of them together take longer than one.
const PATIENCE: Duration = Duration::from_mins(2);

// proves CH-7
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn five_hundred_readers_see_two_thousand_messages_once_each_and_in_order() {
    let app = Arc::new(app_with(|config| config.server.max_connections = READERS * 2).await);
    let mut readers = JoinSet::new();
    let (there, mut next_there) = mpsc::channel(READERS);
    for number in 0..READERS {
        let (app, there) = (app.clone(), there.clone());
        readers.spawn(async move {
            // Some are there before anything is said, some come when it is being said.
            let spelling = match number % 10 {
                0 => Spelling::Socket,
                _ => Spelling::Events,
            };
            match spelling {
                Spelling::Events => read_events(&app, there).await,
                Spelling::Socket => read_socket(&app, there).await,
            }
        });
    }
    let posting = {
        let app = app.clone();
        async move {
            for said in 0..MESSAGES {
                if said < READERS as u64 / 2 {
                    next_there.recv().await.unwrap();
                }
                fill(&app, 1);
            }
        }
    };
    let read = async {
        while let Some(read) = readers.join_next().await {
            read.unwrap();
        }
    };
    timeout(PATIENCE, async { tokio::join!(posting, read) })
        .await
        .unwrap();
}

/// Reads the stream over a socket of its own, down to the bytes: parsing it all would take a client
/// longer than it takes the server to send it.
async fn read_events(app: &App, there: Sender<()>) {
    let mut stream = connect(app.address()).await;
    let request = Request::new(app, "GET", "/chat/stream?after=0");
    stream.write_all(&request.bytes()).await.unwrap();
    let _is_awaited = there.send(()).await.is_ok();
    let mut bytes = Vec::new();
    let mut expected = 1;
    while expected <= MESSAGES {
        let read = timeout(PATIENCE, stream.read_buf(&mut bytes)).await;
        let count = read.unwrap().unwrap();
        assert_ne!(count, 0, "ended at {expected}: {}", bytes.escape_ascii());
        let text = std::str::from_utf8(&bytes).unwrap();
        let whole = text.rfind("\n\n").map_or(0, |at| at + 2);
        let rest = bytes.split_off(whole);
        let text = String::from_utf8(std::mem::replace(&mut bytes, rest)).unwrap();
        for line in text.lines().filter(|line| line.starts_with("id: ")) {
            assert_eq!(line, format!("id: {expected}"));
            expected += 1;
        }
    }
}

async fn read_socket(app: &App, there: Sender<()>) {
    let mut reader = Reader::open(app, Spelling::Socket, "?after=0").await;
    let _is_awaited = there.send(()).await.is_ok();
    for expected in 1..=MESSAGES {
        assert_eq!(reader.next().await, Some(StreamItem::Message(expected)));
    }
}
