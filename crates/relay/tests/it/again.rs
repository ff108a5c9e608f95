//! A study over a restart of the server.

use samovar_core::relay::MessageKind;
use samovar_movie_host::MovieHost;
use samovar_relay::{Member, RelayConfig};
use serde_json::{Value, json};

use crate::support::{Bench, kinds, message};

const ROOM: &str = "movies";

/// The payload of the answer to this, whatever else comes before.
async fn asks(member: &mut Member, kind: &str) -> Value {
    member.say(message(kind, Some("q"), json!({}))).await;
    loop {
        let said = member.next().await.unwrap();
        if said.reply_to.is_some() {
            assert_ne!(said.kind, MessageKind::Error, "{said:?}");
            return Value::Object(said.payload.clone());
        }
    }
}

/// A room whose host is one of ours, and an agent in it.
async fn booked(bench: &Bench) -> Member {
    let host = Box::new(MovieHost::new());
    bench.relay.attach(ROOM, host).unwrap();
    bench.joins("agent", ROOM).await
}

// proves RL-15, RL-28
#[tokio::test]
async fn a_study_goes_on_and_ends_at_a_host_of_ours_that_begins_anew() {
    let bench = Bench::new();
    let mut agent = booked(&bench).await;
    let study = asks(&mut agent, "session.start").await["sessionId"].clone();

    let bench = bench.again(RelayConfig::default()).await;
    let mut agent = booked(&bench).await;
    let state = asks(&mut agent, "snapshot.get").await;
    let ended = asks(&mut agent, "session.end").await;

    assert_eq!(state["sessionId"], study);
    assert_eq!(ended["sessionId"], study);
    let file = format!("study/{}.jsonl", study.as_str().unwrap());
    assert_eq!(ended["logFile"], *format!("logs/{file}"));
    let kinds = kinds(&bench.rows(&file));
    let restarted = |kind: &&String| *kind == "internal server.restarted -";
    assert_eq!(kinds.iter().filter(restarted).count(), 1, "{kinds:#?}");
    assert_eq!(kinds.last().unwrap(), "internal session.end -");
}

// proves RL-28
#[tokio::test]
async fn a_study_whose_end_was_asked_for_when_the_server_died_is_open_still() {
    let bench = Bench::new();
    let mut agent = booked(&bench).await;
    let study = asks(&mut agent, "session.start").await["sessionId"].clone();
    asks(&mut agent, "session.end").await;
    let file = format!("study/{}.jsonl", study.as_str().unwrap());
    let rows = kinds(&bench.rows(&file));
    let asked = rows.iter().position(|kind| kind == "out session.end host");
    let mark = bench.files("room").into_iter().next().unwrap();
    let mark = mark.replace(".jsonl", ".json");

    // The server died right behind the request.
    let log = bench.path("logs").join(&file);
    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<_> = text.lines().take(asked.unwrap() + 1).collect();
    std::fs::write(log, lines.join("\n") + "\n").unwrap();
    let mark = bench.path("logs/room").join(mark);
    std::fs::write(mark, format!(r#"{{"study":{study},"run":"1"}}"#)).unwrap();
    let bench = bench.again(RelayConfig::default()).await;
    let mut agent = booked(&bench).await;

    assert_eq!(asks(&mut agent, "session.end").await["sessionId"], study);
    let rows = kinds(&bench.rows(&file));
    assert!(rows.contains(&"internal server.restarted -".to_owned()));
}

// proves RL-28
#[tokio::test]
async fn a_study_that_another_takes_the_place_of_is_over_before_that_one_can_go_on() {
    let bench = Bench::new();
    let mut agent = booked(&bench).await;
    let first = asks(&mut agent, "session.start").await["sessionId"].clone();
    let second = asks(&mut agent, "session.start").await["sessionId"].clone();
    assert_ne!(first, second);

    // A crash has left the mark of the one before.
    let mark = bench.files("room");
    let mut mark = mark.iter().filter(|name| !name.ends_with('l'));
    let mark = mark.next().unwrap();
    let mark = bench.path("logs/room").join(mark);
    let text = std::fs::read_to_string(&mark).unwrap();
    let old = text.replace(second.as_str().unwrap(), first.as_str().unwrap());
    assert_ne!(text, old);
    std::fs::write(&mark, old).unwrap();
    let bench = bench.again(RelayConfig::default()).await;
    let mut agent = booked(&bench).await;

    let state = asks(&mut agent, "snapshot.get").await;
    assert_eq!(state["sessionId"], "movies");
    let file = format!("study/{}.jsonl", first.as_str().unwrap());
    let last = kinds(&bench.rows(&file)).pop().unwrap();
    assert_eq!(last, "internal session.replaced -");
}
