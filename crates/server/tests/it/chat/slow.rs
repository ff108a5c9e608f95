//! Readers that take nothing: what they cost, and what becomes of them.

use std::time::Duration;

use reqwest::Method;
use samovar_core::ChatMeta;
use samovar_testkit::{App, EventStream, Socket, SocketMessage};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use super::{BOTH, Reader, Spelling, StreamItem, app_with};
use crate::raw::{HANG, Request};
use crate::stall::answer;

const MIB: usize = 1024 * 1024;
/// Readers of each kind that take nothing.
const STALLED: usize = 20;

/// Something to read that no buffer on the way takes whole: so many MiB.
fn fill(app: &App, mib: usize) {
    let chat = app.server().home().chat();
    let text = "x".repeat(64 * 1024);
    for _ in 0..mib * 16 {
        chat.post_agent("master", &text, ChatMeta::default())
            .unwrap();
    }
}

/// A connection that takes a few KiB.
async fn narrow(app: &App) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(app.address()).await.unwrap()
}

/// A reader that takes nothing once its answer has begun.
async fn stalled(app: &App, path: &str) -> TcpStream {
    let mut stream = narrow(app).await;
    let request = Request::new(app, "GET", path).set("connection", "keep-alive");
    stream.write_all(&request.bytes()).await.unwrap();
    stream.readable().await.unwrap();
    stream
}

async fn stalled_socket(app: &App) -> TcpStream {
    let stream = begun_socket(app).await.into_inner();
    stream.readable().await.unwrap();
    stream
}

async fn begun_socket(app: &App) -> Socket {
    let stream = narrow(app).await;
    let socket = Socket::over(stream, app.token(), "/chat/stream?after=0").await;
    socket.unwrap_or_else(|status| panic!("{status}"))
}

/// Bytes of memory that this process has, without the files that it has mapped.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.unwrap().trim().trim_end_matches(" kB");
    kib.parse::<usize>().unwrap() * 1024
}

/// Reads all that there is, as a good reader does.
async fn read_all(app: &App) {
    for spelling in BOTH {
        let head = app.server().home().chat().last(0).head;
        let mut reader = Reader::open(app, spelling, "?after=0").await;
        for id in 1..=head {
            assert_eq!(
                reader.next().await,
                Some(StreamItem::Message(id)),
                "{spelling:?}"
            );
        }
    }
}

// proves CH-7, DU-8
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_that_take_nothing_cost_less_than_a_mebibyte_each_and_hold_up_nobody() {
    let app = app_with(|config| config.stream.patience = Duration::from_hours(1)).await;
    fill(&app, 20);
    // What one reader leaves behind is no part of what many cost.
    read_all(&app).await;
    let before = resident();
    let mut kept = Vec::new();
    for _ in 0..STALLED {
        kept.push(stalled(&app, "/chat/stream?after=0").await);
        kept.push(stalled(&app, "/chat/history?after=0").await);
        kept.push(stalled_socket(&app).await);
    }
    fill(&app, 1);
    read_all(&app).await;

    let grown = resident().saturating_sub(before);

    assert!(grown < kept.len() * MIB, "{} MiB", grown / MIB);
}

// proves CH-7, DU-8
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_takes_nothing_is_cut_off_and_gives_its_place_back() {
    let app = app_with(|config| {
        config.stream.patience = Duration::from_millis(100);
        config.server.max_connections = 3;
    })
    .await;
    fill(&app, 20);
    let kept = [
        stalled(&app, "/chat/stream?after=0").await,
        stalled(&app, "/chat/history?after=0").await,
        stalled_socket(&app).await,
    ];

    // Every place is taken until one is cut, and each of these needs one; who comes before is told
    // to come again.
    let others = async {
        let mut readers = Vec::new();
        while readers.len() < 3 {
            let response = app
                .request(Method::GET, "/chat/stream")
                .send()
                .await
                .unwrap();
            if response.status() == 503 {
                continue;
            }
            let mut reader = Reader::Events(EventStream::new(response));
            assert!(matches!(reader.next().await, Some(StreamItem::Message(_))));
            readers.push(reader);
        }
    };
    timeout(HANG, others).await.unwrap();
    drop(kept);
}

// proves CH-7, DU-8
#[tokio::test]
async fn a_reader_that_takes_part_again_late_is_told_and_goes_on_behind_what_it_has() {
    let patience = Duration::from_millis(300);
    let app = app_with(|config| config.stream.patience = patience).await;
    fill(&app, 20);
    for spelling in BOTH {
        let ids = loop {
            // It is told between the first patience and the second; who sleeps longer tries again.
            let late = patience + patience / 3;
            let told = match spelling {
                Spelling::Events => late_with_events(&app, late).await,
                Spelling::Socket => late_with_a_socket(&app, late).await,
            };
            if let Some(ids) = told {
                break ids;
            }
        };
        let last = ids.len() as u64;
        assert_eq!(ids, (1..=last).collect::<Vec<_>>(), "{spelling:?}");
        let mut back = Reader::open(&app, spelling, &format!("?after={last}")).await;
        assert_eq!(back.ids(1).await, [last + 1], "{spelling:?}");
    }
}

/// What a reader has when its stream ends; none when it was cut.
async fn late_with_events(app: &App, late: Duration) -> Option<Vec<u64>> {
    let mut stream = stalled(app, "/chat/stream?after=0").await;
    tokio::time::sleep(late).await;
    let read = answer(&mut stream).await;
    let id = |line: &str| line.strip_prefix("id: ")?.parse().ok();
    let ids = read.lines().filter_map(id).collect();
    read.ends_with("\r\n0\r\n\r\n").then_some(ids)
}

async fn late_with_a_socket(app: &App, late: Duration) -> Option<Vec<u64>> {
    let mut socket = begun_socket(app).await;
    tokio::time::sleep(late).await;
    let (ids, end) = timeout(HANG, rest(&mut socket)).await.unwrap();
    let told = SocketMessage::Close(1008, "reader_stalled".to_owned());
    (end == told).then_some(ids)
}

async fn rest(socket: &mut Socket) -> (Vec<u64>, SocketMessage) {
    let mut ids = Vec::new();
    loop {
        match socket.next().await {
            SocketMessage::Json(message) => ids.push(message["id"].as_u64().unwrap()),
            SocketMessage::Ping => {}
            end @ (SocketMessage::Close(..) | SocketMessage::Gone) => return (ids, end),
        }
    }
}
