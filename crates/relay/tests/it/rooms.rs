//! Coming into rooms, going, and what comes to whom, over the relay as a whole.

use std::collections::BTreeSet;
use std::time::Duration;

use samovar_core::relay::HostKind;
use samovar_core::relay::RelayRole;
use samovar_relay::row::{Direction, Row};
use samovar_relay::{Disconnected, Pass, RelayConfig};
use serde_json::json;

use crate::support::{Bench, error_of, gets, gone, is_quiet, join, kinds, message, passes, reply};

fn refused(code: &str, id: &str) -> (String, Option<String>) {
    (code.to_owned(), Some(id.to_owned()))
}

// proves RL-3
#[tokio::test]
async fn a_room_is_made_by_who_joins_and_gone_with_who_leaves() {
    let bench = Bench::new();
    let mut early = bench.relay.enter(Pass::Any);
    early
        .say(message("snapshot.get", Some("a"), json!({})))
        .await;
    assert_eq!(
        error_of(&mut early).await,
        refused("SESSION_NOT_ACTIVE", "a")
    );
    early.malformed(Some("b".to_owned()), "it is no JSON".to_owned());
    assert_eq!(error_of(&mut early).await, refused("INVALID_MESSAGE", "b"));
    assert!(
        !bench.path("logs").exists(),
        "no file before the first room"
    );

    let mut host = bench.joins("host", "r").await;
    let mut agent = bench.joins("agent", " r ").await;
    let rooms = bench.relay.rooms();
    assert_eq!(rooms.len(), 1);
    assert_eq!((rooms[0].room.as_str(), rooms[0].agents), ("r", 1));
    assert_eq!(rooms[0].host, Some(HostKind::Socket));
    assert!(is_quiet(&mut early).await);

    agent.say(join("agent", "elsewhere")).await;
    assert_eq!(
        gets(&mut agent).await,
        r#"relay.joined >join-001 {"role":"agent","sessionId":"elsewhere"}"#
    );
    host.say(message("user.message", None, json!({"text": "hi"})))
        .await;
    assert!(is_quiet(&mut agent).await, "it has moved");
    agent
        .say(message("snapshot.get", Some("c"), json!({})))
        .await;
    assert_eq!(
        error_of(&mut agent).await,
        refused("SESSION_NOT_ACTIVE", "c")
    );
    agent.say(join("agent", "elsewhere")).await;
    gets(&mut agent).await;
    assert_eq!(bench.relay.rooms().len(), 2);
    agent.say(join("host", "r")).await;
    gets(&mut agent).await;
    assert_eq!(bench.relay.rooms().len(), 1);
    assert_eq!(
        error_of(&mut host).await,
        ("SESSION_NOT_ACTIVE".to_owned(), None)
    );
    assert_eq!(gone(&mut host).await, Disconnected::Replaced);
    host.say(join("host", "r")).await;
    assert_eq!(
        gone(&mut host).await,
        Disconnected::Replaced,
        "it does not come back on this way"
    );
    drop(host);
    assert_eq!(bench.relay.rooms()[0].host, Some(HostKind::Socket));
    drop(agent);
    assert_eq!(bench.relay.rooms(), []);
}

// proves RL-5
#[tokio::test]
async fn a_pass_for_one_room_and_role_is_one_for_no_other() {
    let bench = Bench::new();
    let pass = Pass::Only {
        room: "mine".to_owned(),
        role: RelayRole::Agent,
    };
    let mut member = bench.relay.enter(pass);
    for (role, room) in [("host", "mine"), ("agent", "yours"), ("agent", "")] {
        member.say(join(role, room)).await;
        assert_eq!(
            error_of(&mut member).await,
            refused("SESSION_NOT_ACTIVE", "join-001")
        );
    }
    assert_eq!(bench.relay.rooms(), []);
    member.say(join("agent", " mine")).await;
    assert!(gets(&mut member).await.starts_with("relay.joined"));
    member.say(join("agent", "yours")).await;
    error_of(&mut member).await;
    assert_eq!(
        bench.relay.rooms()[0].room,
        "mine",
        "and it stays where it is"
    );
    let last = ["internal message.refused agent.1", "out error agent.1"];
    assert_eq!(kinds(&bench.room_rows())[3..], last);
}

#[tokio::test]
async fn there_are_no_more_rooms_and_members_than_there_may_be() {
    let config = RelayConfig {
        max_rooms: 1,
        max_members: 2,
        ..RelayConfig::default()
    };
    let bench = Bench::with(config);
    let mut first = bench.joins("agent", "r").await;
    let mut second = bench.joins("agent", "r").await;
    let mut third = bench.relay.enter(Pass::Any);
    third.say(join("agent", "r")).await;
    assert_eq!(
        error_of(&mut third).await,
        refused("SESSION_NOT_ACTIVE", "join-001")
    );
    third.say(join("host", "r")).await;
    assert!(
        gets(&mut third).await.starts_with("relay.joined"),
        "a host has its place"
    );
    second.say(join("agent", "another")).await;
    assert_eq!(
        error_of(&mut second).await,
        refused("SESSION_NOT_ACTIVE", "join-001")
    );
    assert!(is_quiet(&mut first).await);
    assert_eq!(bench.relay.rooms()[0].agents, 2, "who cannot go stays");
    drop((first, second, third));
    bench.joins("agent", "another").await;
}

// proves RL-7, RL-8
#[tokio::test(start_paused = true)]
async fn whoever_waits_for_an_answer_gets_one_in_time() {
    let config = RelayConfig {
        reply_timeout: Duration::from_millis(1500),
        ..RelayConfig::default()
    };
    let bench = Bench::with(config);
    let mut host = bench.joins("host", "r").await;
    let mut agent = bench.joins("agent", "r").await;
    let mut other = bench.joins("agent", "r").await;
    let get = || message("snapshot.get", Some("1"), json!({}));
    assert_eq!(passes(&agent, get(), &mut host).await, "snapshot.get 1> {}");
    assert_eq!(
        passes(&other, get(), &mut host).await,
        "snapshot.get relay-1> {}"
    );
    let state = reply("snapshot.state", "relay-1", json!({"for": "other"}));
    let wanted = r#"snapshot.state >1 {"for":"other"}"#;
    assert_eq!(passes(&host, state, &mut other).await, wanted);

    assert_eq!(
        error_of(&mut agent).await,
        refused("TOOL_EXECUTION_FAILED", "1")
    );
    host.say(reply("snapshot.state", "1", json!({"late": 1})))
        .await;
    assert!(is_quiet(&mut agent).await && is_quiet(&mut other).await);
    passes(&agent, get(), &mut host).await;
    drop(host);
    assert_eq!(
        error_of(&mut agent).await,
        refused("SESSION_NOT_ACTIVE", "1")
    );
    assert!(is_quiet(&mut other).await);
    let rows = kinds(&bench.room_rows());
    for row in [
        "internal request.timeout agent.1",
        "internal reply.dropped host",
    ] {
        assert!(rows.contains(&row.to_owned()), "{row} in {rows:?}");
    }
}

// proves RL-2
#[tokio::test]
async fn a_full_queue_closes_its_member_and_older_states_make_room_for_newer_ones() {
    let config = RelayConfig {
        queue_bytes: 8000,
        ..RelayConfig::default()
    };
    let bench = Bench::with(config);
    let mut slow = bench.joins("agent", "r").await;
    let host = bench.joins("host", "r").await;
    let state = |n: u64| {
        message(
            "state.updated",
            None,
            json!({"n": n, "pad": "x".repeat(872)}),
        )
    };
    for n in 0..100 {
        host.say(state(n)).await;
    }
    host.say(message(
        "user.message",
        None,
        json!({"text": "still there?"}),
    ))
    .await;
    let mut seen = Vec::new();
    while !is_quiet_after(&mut slow, &mut seen).await {}
    assert!(seen.len() <= 3, "{} are left", seen.len());
    let words = seen.pop().unwrap();
    assert_eq!(words, r#"user.message > {"text":"still there?"}"#);
    assert!(seen[seen.len() - 1].starts_with("state.updated > {\"n\":99,"));
    let kept = kept_states(&bench.room_rows());
    assert_eq!(kept, seen.len(), "the rows tell which it got");

    for n in 0..100 {
        let text = format!("{n} {}", "x".repeat(900));
        host.say(message("user.message", None, json!({"text": text})))
            .await;
    }
    assert_eq!(gone(&mut slow).await, Disconnected::Overrun);
    let rows = bench.room_rows();
    let left = rows.iter().find(|row| row.kind == "relay.left").unwrap();
    assert_eq!(
        (left.member, &left.payload["undelivered"]),
        (Some(1), &json!(8))
    );
    assert_eq!(bench.relay.rooms()[0].agents, 0);
}

/// How many states agents got, as the rows tell.
fn kept_states(rows: &[Row]) -> usize {
    let is_out = |row: &&Row| row.kind == "state.updated" && row.direction == Direction::Out;
    let sent: BTreeSet<u64> = rows
        .iter()
        .filter(is_out)
        .map(|row| row.event_index)
        .collect();
    let coalesced = rows.iter().filter(|row| row.kind == "state.coalesced");
    let mut taken = BTreeSet::new();
    for row in coalesced {
        let indexes = row.payload["eventIndexes"].as_array().unwrap();
        taken.extend(indexes.iter().map(|index| index.as_u64().unwrap()));
    }
    assert!(!taken.is_empty() && taken.is_subset(&sent));
    sent.len() - taken.len()
}

/// Takes what waits; whether nothing did.
async fn is_quiet_after(member: &mut samovar_relay::Member, seen: &mut Vec<String>) -> bool {
    tokio::select! {
        biased;
        next = gets(member) => { seen.push(next); false }
        () = std::future::ready(()) => true,
    }
}

// proves RL-8, RL-14
#[tokio::test]
async fn a_relay_that_closes_tells_everybody_and_writes_all_of_it() {
    let bench = Bench::new();
    let mut host = bench.joins("host", "r").await;
    let mut idle = bench.relay.enter(Pass::Any);
    let agent = bench.joins("agent", "r").await;
    agent
        .say(message("agent.message", None, json!({"text": "bye"})))
        .await;
    bench.relay.close().await;
    assert!(
        gets(&mut host).await.starts_with("agent.message"),
        "what waits is still taken"
    );
    assert_eq!(gone(&mut host).await, Disconnected::Closed);
    assert_eq!(gone(&mut idle).await, Disconnected::Closed);
    let mut late = bench.relay.enter(Pass::Any);
    late.say(join("agent", "r")).await;
    error_of(&mut late).await;
    assert_eq!(gone(&mut late).await, Disconnected::Closed);
    drop((host, agent));
    let rows = kinds(&bench.room_rows());
    let last = ["internal relay.left host", "internal relay.left agent.1"];
    assert_eq!(rows[rows.len() - 2..], last);
}
