//! Hosts of this process: how they come, what a person does at them, how they go.

use samovar_core::Code;
use samovar_core::relay::HostKind;
use samovar_core::relay::{
    Envelope, Host, HostContext, MessageKind, PersonDeed, RelayCode, SCREEN,
};
use samovar_movie_host::MovieHost;
use samovar_relay::RelayConfig;
use serde_json::json;

use crate::support::{Bench, error_of, fields, gets, is_quiet, kinds, message};

/// Answers a snapshot with whatever is wrong, and all that it hears of its own faults.
struct WrongHost;

impl Host for WrongHost {
    fn hear(&mut self, said: &Envelope, _: &HostContext) -> Vec<Envelope> {
        let reply_to = said.id.clone();
        vec![
            message("tool.call", Some("x"), json!({"backendData": 1})),
            message("session.started", None, json!({})).replying_to(reply_to.clone()),
            message("snapshot.state", None, json!({"seen": said.kind.as_str()}))
                .replying_to(reply_to.clone()),
            message("snapshot.state", None, json!({"again": true})).replying_to(reply_to),
        ]
    }

    fn person(
        &mut self,
        deed: &PersonDeed,
        _: &HostContext,
    ) -> Result<Vec<Envelope>, (RelayCode, String)> {
        match deed {
            PersonDeed::Says(text) => {
                Ok(vec![message("user.message", None, json!({"text": text}))])
            }
            PersonDeed::Calls { tool, .. } => Err((RelayCode::UnknownTool, format!("no {tool}"))),
        }
    }
}

// proves RL-3, RL-9, RL-26
#[tokio::test]
async fn a_booking_at_a_host_of_this_process_goes_through_its_room() {
    let bench = Bench::new();
    bench
        .relay
        .attach(" movies ", Box::new(MovieHost::new()))
        .unwrap();
    assert_eq!(bench.relay.rooms()[0].host, Some(HostKind::BuiltIn));
    let mut agent = bench.joins("agent", "movies").await;
    agent
        .say(message("session.start", Some("a"), json!({})))
        .await;
    let started = gets(&mut agent).await;
    assert!(
        started.starts_with("session.started >a {\"sessionId\":\"s-20260213-001\""),
        "{started}"
    );
    while !is_quiet(&mut agent).await {}
    let call = |id: &str, tool: &str| {
        message(
            "tool.call",
            Some(id),
            json!({"toolName": tool, "params": {}, "reason": "so"}),
        )
    };
    agent.say(call("b", "next")).await;
    assert_eq!(error_of(&mut agent).await.1.as_deref(), Some("b"));
    assert!(
        is_quiet(&mut agent).await,
        "a call that failed changes nothing"
    );
    let words = PersonDeed::Says("two seats".to_owned());
    bench.relay.person("movies", &words).unwrap();
    let said = gets(&mut agent).await;
    assert!(said.starts_with("user.message >"), "{said}");
    drop(agent);
    assert_eq!(bench.relay.rooms().len(), 1, "it stays when it is empty");
    assert!(!SCREEN.is_empty());
    let rows = kinds(&bench.rows("study/s-20260213-001.jsonl"));
    assert_eq!(
        rows[..2],
        ["in session.start agent.1", "out session.start host"]
    );
}

// proves RL-6, RL-7
#[tokio::test]
async fn a_host_of_this_process_is_refused_what_every_host_is_and_never_in_a_circle() {
    let bench = Bench::new();
    bench.relay.attach("r", Box::new(WrongHost)).unwrap();
    let mut agent = bench.joins("agent", "r").await;
    agent
        .say(message("snapshot.get", Some("q"), json!({})))
        .await;
    assert_eq!(
        gets(&mut agent).await,
        r#"snapshot.state >q {"seen":"snapshot.get"}"#
    );
    assert!(is_quiet(&mut agent).await);
    let rows = kinds(&bench.room_rows());
    assert_eq!(
        rows[rows.len() - 10..],
        [
            "in snapshot.get agent.1",
            "out snapshot.get host",
            "internal message.refused host",
            "out error host",
            "internal message.refused host",
            "out error host",
            "in snapshot.state host",
            "out snapshot.state agent.1",
            "in snapshot.state host",
            "internal reply.dropped host",
        ]
    );

    let deed = PersonDeed::Calls {
        tool: "fly".to_owned(),
        params: fields(json!({})),
    };
    let refused = bench.relay.person("r", &deed).unwrap_err();
    assert_eq!(
        (refused.code, &*refused.message),
        (Code::UnknownTool, "no fly")
    );
    assert_eq!(refused.details, Some(json!({"relayCode": "UNKNOWN_TOOL"})));
    let nowhere = bench.relay.person("elsewhere", &deed).unwrap_err();
    assert_eq!(nowhere.code, Code::UnknownRoom);
}

// proves RL-4
#[tokio::test]
async fn a_host_on_a_socket_takes_the_place_of_one_of_this_process_and_the_other_way_round() {
    let bench = Bench::new();
    bench.relay.attach("r", Box::new(WrongHost)).unwrap();
    let agent = bench.joins("agent", "r").await;
    let mut host = bench.joins("host", "r").await;
    assert_eq!(bench.relay.rooms()[0].host, Some(HostKind::Socket));
    let deed = PersonDeed::Says("hi".to_owned());
    assert_eq!(
        bench.relay.person("r", &deed).unwrap_err().code,
        Code::UnknownRoom
    );
    agent
        .say(message("snapshot.get", Some("q"), json!({})))
        .await;
    assert_eq!(gets(&mut host).await, "snapshot.get q> {}");
    bench.relay.attach("r", Box::new(WrongHost)).unwrap();
    assert_eq!(error_of(&mut host).await.0, "SESSION_NOT_ACTIVE");
    drop(host);
    assert_eq!(bench.relay.rooms()[0].host, Some(HostKind::BuiltIn));
    bench.joins("host", "r").await;
    drop(agent);
    assert_eq!(bench.relay.rooms(), [], "nothing is left of it");
}

#[tokio::test]
async fn a_host_of_this_process_comes_into_no_room_that_cannot_be() {
    let config = RelayConfig {
        max_rooms: 1,
        ..RelayConfig::default()
    };
    let bench = Bench::with(config);
    let attach = |room: &str| bench.relay.attach(room, Box::new(MovieHost::new()));
    assert_eq!(attach(" ").unwrap_err().code, Code::InvalidParams);
    assert_eq!(
        attach(&"x".repeat(201)).unwrap_err().code,
        Code::InvalidParams
    );
    std::fs::write(bench.path("logs"), "a file where the folder must be").unwrap();
    assert_eq!(attach("r").unwrap_err().code, Code::StoreFailed);
    assert_eq!(bench.relay.rooms(), []);
    std::fs::remove_file(bench.path("logs")).unwrap();
    attach("r").unwrap();
    assert_eq!(attach("another").unwrap_err().code, Code::Busy);
    attach("r").unwrap();
    bench.relay.close().await;
    assert_eq!(attach("r").unwrap_err().code, Code::Busy);
}

// proves RL-7, RL-14
#[tokio::test]
async fn a_hundred_rooms_with_two_agents_of_the_same_ids_mix_nothing_up() {
    let bench = Bench::new();
    let mut pairs = Vec::new();
    for n in 0..100 {
        let room = format!("room {n}");
        bench.relay.attach(&room, Box::new(WrongHost)).unwrap();
        pairs.push((
            bench.joins("agent", &room).await,
            bench.joins("agent", &room).await,
        ));
    }
    for call in 0..20 {
        let id = format!("{call}");
        let ask = || message("snapshot.get", Some(&id), json!({}));
        for (one, other) in &mut pairs {
            one.say(ask()).await;
            other.say(ask()).await;
            for agent in [one, other] {
                let reply = agent.next().await.unwrap();
                assert_eq!(reply.kind, MessageKind::SnapshotState);
                assert_eq!(reply.reply_to.as_ref(), Some(&id));
                assert!(is_quiet(agent).await);
            }
        }
    }
    drop(pairs);
    let files = bench.files("room");
    assert_eq!(files.len(), 100);
    for file in files {
        let rows = bench.rows(&format!("room/{file}"));
        let answered = rows
            .iter()
            .filter(|row| row.kind == "snapshot.state" && row.member.is_some());
        assert_eq!(answered.count(), 40);
    }
}
