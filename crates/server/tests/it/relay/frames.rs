//! Frames and floods: what a socket of the relay bears.

use std::time::Duration;

use samovar_testkit::SocketMessage;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::{Peer, app, app_with, call, closed, envelope};
use crate::raw::HANG;

const MAX_BYTES: usize = 1024 * 1024;

/// A frame of a client whose mask is zero.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    if let Ok(length @ 0..=125) = u8::try_from(payload.len()) {
        frame.push(0x80 | length);
    } else if let Ok(length) = u16::try_from(payload.len()) {
        frame.push(0xfe);
        frame.extend(length.to_be_bytes());
    } else {
        frame.push(0xff);
        frame.extend((payload.len() as u64).to_be_bytes());
    }
    frame.extend([0; 4]);
    frame.extend(payload);
    frame
}

/// A message of exactly so many bytes.
fn message(bytes: usize) -> String {
    let empty = envelope("agent.message", "big", json!({"text": ""})).to_string();
    let text = "x".repeat(bytes - empty.len());
    envelope("agent.message", "big", json!({ "text": text })).to_string()
}

// proves RL-2
#[tokio::test]
async fn frames_that_break_the_rules_close_with_their_code() {
    let app = app().await;
    let unmasked = [&[0x81, 2][..], b"{}"].concat();
    let too_large = frame(0x81, message(MAX_BYTES + 1).as_bytes());
    let half = message(MAX_BYTES / 2 + 1);
    let in_parts = [frame(0x01, half.as_bytes()), frame(0x80, half.as_bytes())].concat();
    for (bytes, code) in [
        (unmasked, 1002),
        (frame(0x83, b"{}"), 1002),
        (frame(0x8b, b""), 1002),
        (frame(0xc1, b"{}"), 1002),
        (frame(0x80, b"{}"), 1002),
        (frame(0x09, b"half a ping"), 1002),
        (frame(0x89, &[0; 126]), 1002),
        (frame(0x81, b"\"\xff\xfe\""), 1007),
        (too_large, 1009),
        (in_parts, 1009),
    ] {
        let peer = Peer::agent(&app).await;
        let (mut reader, mut writer) = peer.socket.into_inner().into_split();
        let shown: Vec<u8> = bytes.iter().copied().take(20).collect();
        // Who has closed may not take the rest.
        let write = async {
            let _was_taken = writer.write_all(&bytes).await.is_ok();
            writer
        };
        let read = async {
            let mut head = [0; 4];
            reader.read_exact(&mut head).await.unwrap();
            assert_eq!(head[0], 0x88, "a close");
            u16::from_be_bytes([head[2], head[3]])
        };
        let (_writer, given) = timeout(HANG, async { tokio::join!(write, read) })
            .await
            .unwrap();
        assert_eq!(given, code, "{shown:x?}");
    }
}

// proves RL-2
#[tokio::test]
async fn who_sends_far_too_much_still_hears_why_it_is_closed() {
    let app = app().await;
    for bytes in [2 * MAX_BYTES, 8 * MAX_BYTES] {
        let mut agent = Peer::agent(&app).await;
        agent.say_text(message(bytes)).await;
        assert_eq!(agent.end().await, closed(1009, "body_too_large"));
    }
}

// proves RL-1, RL-2
#[tokio::test]
async fn a_message_may_be_bytes_and_as_large_as_it_may_be() {
    let app = app().await;
    let mut host = Peer::host(&app).await;
    let mut agent = Peer::agent(&app).await;
    let text = call("as bytes").to_string();
    agent.socket.say(text.into_bytes()).await;
    assert_eq!(host.hears_a("tool.call").await["id"], "as bytes");
    agent.socket.say(vec![0xff_u8, 0xfe]).await;
    assert_eq!(agent.refused().await.0, "INVALID_MESSAGE");

    let largest = message(MAX_BYTES);
    assert_eq!(largest.len(), MAX_BYTES);
    agent.say_text(largest.clone()).await;
    let heard = host.hears_a("agent.message").await;
    assert_eq!(heard, serde_json::from_str::<Value>(&largest).unwrap());
    agent.heard_nothing().await;
}

// proves RL-2
#[tokio::test]
async fn a_message_in_ten_thousand_fragments_is_one_message() {
    let app = app().await;
    let mut host = Peer::host(&app).await;
    let agent = Peer::agent(&app).await;
    let text = message(10_000);
    let mut bytes = Vec::new();
    for (at, byte) in text.as_bytes().iter().enumerate() {
        let kind = u8::from(at == 0);
        let last = if at + 1 == text.len() { 0x80 } else { 0 };
        bytes.extend(frame(kind | last, &[*byte]));
        if at % 1000 == 0 {
            bytes.extend(frame(0x89, b"between"));
        }
    }
    let mut raw = agent.socket.into_inner();
    timeout(HANG, raw.write_all(&bytes)).await.unwrap().unwrap();
    assert_eq!(
        host.hears().await,
        serde_json::from_str::<Value>(&text).unwrap()
    );
    raw.write_all(&frame(0x88, &[])).await.unwrap();
    host.heard_nothing().await;
}

// proves RL-2, RL-8
#[tokio::test]
async fn a_host_that_answers_no_ping_has_left() {
    let app = app_with(|config| config.relay_ping = Duration::from_millis(200)).await;
    let host = Peer::host(&app).await;
    // It is connected, and reads nothing any more.
    let half_open = host.socket.into_inner();
    let mut agent = Peer::agent(&app).await;
    agent.say(call("c")).await;
    let (code, reply_to, _) = agent.refused().await;
    assert_eq!(
        (code.as_str(), reply_to),
        ("SESSION_NOT_ACTIVE", json!("c"))
    );
    let (mut reader, _writer) = half_open.into_split();
    let mut said = Vec::new();
    let read = timeout(HANG, reader.read_to_end(&mut said)).await;
    // Closed, with or without ceremony.
    let _how = read.unwrap().is_ok();
    let pings = said.windows(2).filter(|two| *two == [0x89, 0]).count();
    assert_eq!(pings, 2, "{said:x?}");
}

// proves RL-2
#[tokio::test]
async fn who_answers_pings_stays_and_is_asked_also_while_it_is_written_to() {
    let app = app_with(|config| config.relay_ping = Duration::from_millis(200)).await;
    let mut host = Peer::host(&app).await;
    let mut agent = Peer::agent(&app).await;
    let mut pings = 0;
    while pings < 4 {
        host.say(json!({"type": "state.updated", "payload": {}}))
            .await;
        let heard = timeout(HANG, agent.socket.next()).await.unwrap();
        match heard {
            SocketMessage::Ping => pings += 1,
            SocketMessage::Json(_) => {}
            other => panic!("{other:?}"),
        }
    }
    agent.say(call("still here")).await;
    assert_eq!(host.hears_a("tool.call").await["id"], "still here");
}

// proves RL-2, RL-8
#[tokio::test]
async fn a_host_that_takes_nothing_of_a_flood_is_closed_and_its_askers_are_answered() {
    let app = app_with(|config| config.relay_bounds.queue_bytes = 256 * 1024).await;
    let mut host = Peer::host(&app).await;
    let mut waiting = Peer::agent(&app).await;
    let mut flooding = Peer::agent(&app).await;
    waiting.say(call("waits")).await;
    host.hears_a("tool.call").await;

    let text = "x".repeat(20_000);
    // As much as it takes: what the system holds for the host, and then what the relay does.
    let flood = async {
        loop {
            let words = json!({ "text": text });
            flooding.say(envelope("agent.message", "f", words)).await;
        }
    };
    let refused = tokio::select! {
        () = flood => panic!("it never ends"),
        refused = waiting.refused() => refused,
    };
    let (code, reply_to, _) = refused;
    assert_eq!(
        (code.as_str(), reply_to),
        ("SESSION_NOT_ACTIVE", json!("waits"))
    );
    assert_eq!(waiting.code_of(call("after")).await, "SESSION_NOT_ACTIVE");
    assert_eq!(host.end().await, closed(1013, "reader_stalled"));
}

// proves RL-2, RL-10
#[tokio::test]
async fn of_states_that_nobody_took_the_newest_is_left_and_nothing_else_is_lost() {
    let app = app_with(|config| config.relay_bounds.queue_bytes = 128 * 1024).await;
    let mut host = Peer::host(&app).await;
    let mut agent = Peer::agent(&app).await;
    let text = "x".repeat(20_000);
    let say = |text: &str| {
        let words = json!({"text": text, "stage": "time"});
        json!({"type": "user.message", "payload": words})
    };
    for number in 0..400 {
        let state = json!({"n": number, "uiSpec": text});
        host.say(json!({"type": "state.updated", "payload": state}))
            .await;
        if number % 100 == 0 {
            host.say(say(&number.to_string())).await;
        }
    }
    host.say(say("end")).await;
    host.heard_nothing().await;

    let (mut states, mut words) = (Vec::new(), Vec::new());
    while words.last().is_none_or(|word| word != "end") {
        let heard = agent.hears().await;
        if heard["type"] == "state.updated" {
            states.push(heard["payload"]["n"].as_u64().unwrap());
        } else {
            words.push(heard["payload"]["text"].clone());
        }
    }
    assert_eq!(words, ["0", "100", "200", "300", "end"]);
    assert!(
        states.is_sorted() && states.last() == Some(&399),
        "{states:?}"
    );
    assert!(states.len() < 400, "some were left out");
    agent.heard_nothing().await;
}

// proves RL-2
#[tokio::test]
async fn a_server_that_stops_says_so_to_everybody_in_a_room() {
    let app = app().await;
    let mut peers = [
        Peer::open(&app).await,
        Peer::host(&app).await,
        Peer::agent(&app).await,
    ];
    let reading = async {
        for peer in &mut peers {
            assert_eq!(peer.end().await, closed(1001, "server_restart"));
        }
    };
    let stopped = async { tokio::join!(app.stop(), reading) };
    timeout(HANG, stopped).await.unwrap();
}
