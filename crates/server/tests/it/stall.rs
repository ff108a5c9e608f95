//! Readers that take nothing, or too little: what they cost, and what becomes of them.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::{getpeername, getsockname, sockopt};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use samovar_model_server::{Gate, Script, say};
use samovar_testkit::{App, AppBuilder};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::raw::{HANG, Response, rest};
use crate::resume::{back, read, whole};

/// More than all buffers on the way hold together.
const LONG_BYTES: usize = 2 * 1024 * 1024;
const STALLED: usize = 12;
const MIB: usize = 1024 * 1024;

/// Answers that are long, and begin with one piece; the rest comes once the gate is open.
fn long_answers(gate: &Gate) -> Script {
    let long = say("all that is said ".repeat(LONG_BYTES / 17)).deltas_of(8 * 1024);
    [long.hold_after(1, gate).forever()].into()
}

async fn start(patience: Duration, gate: &Gate) -> (App, String) {
    let app = AppBuilder::new()
        .with(|config| config.stream.patience = patience)
        .start(long_answers(gate))
        .await;
    let session = app.session().await;
    (app, session)
}

/// A reader of the turn that runs which takes nothing, not even the head of the answer.
async fn stall(app: &App, session: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(app.address()).await.unwrap();
    let request = back(app, session, "").set("connection", "keep-alive");
    stream.write_all(&request.bytes()).await.unwrap();
    // The answer has begun, and waits to be taken.
    stream.readable().await.unwrap();
    stream
}

/// What the system holds for a client: the state of the server's end, and bytes that are not taken.
fn held(app: &App, client: &TcpStream) -> Option<(u8, usize)> {
    let ends = [app.address().port(), client.local_addr().unwrap().port()];
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let port = |end: &str| u16::from_str_radix(end.split_once(':')?.1, 16).ok();
    table.lines().skip(1).find_map(|line| {
        let columns: Vec<_> = line.split_whitespace().collect();
        let found = [port(columns[1])?, port(columns[2])?];
        let state = u8::from_str_radix(columns[3], 16).ok()?;
        let (unsent, _) = columns[4].split_once(':')?;
        let unsent = usize::from_str_radix(unsent, 16).ok()?;
        (found == ends).then_some((state, unsent))
    })
}

/// Bytes of memory that this process has, without the files that it has mapped.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.unwrap().trim().trim_end_matches(" kB");
    kib.parse::<usize>().unwrap() * 1024
}

/// Says something, and waits until its answer has begun.
async fn begin(app: &App, session: &str) -> samovar_testkit::EventStream {
    let mut stream = app
        .stream(json!({"sessionId": session, "content": "go"}))
        .await;
    stream.until("text_delta").await;
    stream
}

/// Adds readers that take nothing, and waits until nothing moves any more: the most that the system
/// holds for one of them.
async fn settle(app: &App, session: &str, stalled: &mut Vec<TcpStream>, more: usize) -> usize {
    for _ in 0..more {
        stalled.push(stall(app, session).await);
    }
    let unsent = |reader: &TcpStream| held(app, reader).map_or(0, |(_, unsent)| unsent);
    let mut last = Vec::new();
    loop {
        read(back(app, session, "")).await;
        let now: Vec<_> = stalled.iter().map(unsent).collect();
        if now == last && now.iter().all(|unsent| *unsent > 0) {
            return now.into_iter().max().unwrap_or_default();
        }
        last = now;
    }
}

// proves DU-8
#[tokio::test]
async fn a_turn_waits_for_no_reader_and_one_that_takes_nothing_costs_less_than_a_mebibyte() {
    let gate = Gate::new("more");
    let (app, session) = start(Duration::from_hours(1), &gate).await;
    let mut first = begin(&app, &session).await;
    let mut stalled = vec![stall(&app, &session).await];
    app.model.open(&gate).unwrap();
    let shown = first.rest().await;
    assert!(shown.last().unwrap().is_done(), "the turn waits");

    // What the first of them leave behind in the allocator, the others find there.
    settle(&app, &session, &mut stalled, STALLED).await;
    let before = resident();
    let most = settle(&app, &session, &mut stalled, 2 * STALLED).await;
    let mine = resident().saturating_sub(before) / (2 * STALLED);
    assert!(mine + most < MIB, "{mine} of ours, {most} of the system's");
}

// proves DU-8
#[tokio::test]
async fn a_reader_that_takes_nothing_for_long_is_cut_off_and_goes_on_where_it_was() {
    let gate = Gate::new("more");
    let (app, session) = start(Duration::from_millis(100), &gate).await;
    let mut first = begin(&app, &session).await;
    let stalled = stall(&app, &session).await;
    app.model.open(&gate).unwrap();
    first.rest().await;

    let established = |held: Option<(u8, usize)>| held.is_some_and(|(state, _)| state == 1);
    let cut = async {
        while established(held(&app, &stalled)) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(HANG, cut).await.expect("it is cut off");

    let (mut stalled, _) = stalled.into_split();
    let got = Response::read(&rest(&mut stalled).await).unwrap().body;
    let uncut = read(back(&app, &session, "")).await;
    let (end, id) = whole(got.as_bytes());
    assert!(end < uncut.len() && !got.contains("[DONE]"));
    let again = read(back(&app, &session, "").with("last-event-id", id.unwrap())).await;
    assert!(format!("{}{again}", &got[..end]) == uncut, "behind {id:?}");
}

/// What comes until a whole answer is there, or until the end.
pub(crate) async fn answer(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    let mut piece = vec![0; 16 * 1024];
    while !read.ends_with(b"\r\n0\r\n\r\n") {
        match timeout(HANG, stream.read(&mut piece)).await.unwrap() {
            Ok(0) | Err(_) => break,
            Ok(bytes) => read.extend_from_slice(&piece[..bytes]),
        }
    }
    String::from_utf8_lossy(&read).into_owned()
}

// proves DU-8
#[tokio::test]
async fn a_reader_that_was_told_where_to_go_on_does_so_over_the_same_connection() {
    let (gate, patience) = (Gate::new("more"), Duration::from_millis(300));
    let (app, session) = start(patience, &gate).await;
    let mut first = begin(&app, &session).await;
    app.model.open(&gate).unwrap();
    let mut ids = first.rest().await.into_iter().filter_map(|frame| frame.id);
    let last = ids.nth_back(2).unwrap();

    let mut reader = loop {
        let mut reader = stall(&app, &session).await;
        // It is told between the first patience and the second; who sleeps longer tries again.
        tokio::time::sleep(patience + patience / 3).await;
        if answer(&mut reader).await.contains("reader_stalled") {
            break reader;
        }
    };

    let again = back(&app, &session, "").set("connection", "keep-alive");
    let again = again.with("last-event-id", last);
    reader.write_all(&again.bytes()).await.unwrap();
    let rest = answer(&mut reader).await;
    assert!(rest.contains("200 OK") && rest.contains("[DONE]"), "{rest}");
    assert!(!rest.contains("reader_stalled"), "{rest}");
}

/// Every connection of this process, with both its ends.
fn connections() -> Vec<(OwnedFd, SocketAddr, SocketAddr)> {
    let own = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
    let listed = std::fs::read_dir("/proc/self/fd").unwrap();
    let numbers = listed.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let copies = numbers.filter_map(|it| pidfd_getfd(&own, it, PidfdGetfdFlags::empty()).ok());
    let connected = copies.filter_map(|socket| {
        let ends = (getsockname(&socket).ok()?, getpeername(&socket).ok()?);
        Some((socket, ends.0.try_into().ok()?, ends.1?.try_into().ok()?))
    });
    connected.collect()
}

// proves PF-2
#[tokio::test]
async fn no_connection_of_a_turn_waits_until_it_has_more_to_send() {
    let gate = Gate::new("more");
    let (app, session) = start(Duration::from_mins(1), &gate).await;
    let reader = begin(&app, &session).await;

    let connections = connections();
    let is_ours = |(_, from, to): &&(_, SocketAddr, SocketAddr)| {
        *from == app.address() || *to == app.model.address()
    };
    let ours: Vec<_> = connections.iter().filter(is_ours).collect();
    for (socket, from, to) in &ours {
        let is_immediate = sockopt::tcp_nodelay(socket).unwrap();
        assert!(is_immediate, "from {from} to {to}");
    }
    let from = |address| ours.iter().any(|(_, from, _)| *from == address);
    let to = |address| ours.iter().any(|(_, _, to)| *to == address);
    assert!(from(app.address()) && to(app.model.address()), "{ours:?}");
    drop((reader, gate));
}
