//! What `samovar doctor` says of the relay.

use samovar_testkit::Program;
use serde_json::{Value, json};

use super::Agent;
use crate::setup::program;

/// The finding of this name; none where there is none.
async fn finding(program: &Program, what: &str) -> Option<Value> {
    let said = program.run(["doctor", "--json"]).await;
    let document: Value = serde_json::from_str(&said.stdout).unwrap();
    let mut findings = document["findings"].as_array().unwrap().iter();
    findings.find(|finding| finding["what"] == what).cloned()
}

// proves FC-1, RL-16
#[tokio::test]
async fn doctor_tells_where_the_relay_is_who_is_in_it_and_what_its_logs_take() {
    let program = program().set("DATA_DIR", "data");
    let none = finding(&program, "relay").await.unwrap();
    let fact = "no room opens with a host or an agent at start";
    assert_eq!((&none["ok"], &none["fact"]), (&json!(true), &json!(fact)));
    assert_eq!(finding(&program, "studies").await, None);

    let program = program.set("SAMOVAR__RELAY__MOVIE_ROOMS", "cinema, hall");
    let server = program.serve(&[]).await;
    let mut agent = Agent::join(&server, "cinema").await;
    agent.study().await;
    agent.ask("session.start", json!({})).await;

    let set = finding(&program, "relay").await.unwrap();
    let fact = "rooms opened at start: with movie booking cinema, hall; with the \
                built-in agent none; with the server's tools none";
    assert_eq!(set["fact"], fact);
    let rooms = finding(&program, "rooms").await.unwrap();
    let url = format!("ws://{}/agent/ws", server.address);
    assert_eq!(
        rooms["fact"],
        format!("2 rooms at {url}; agents 1, studies 1")
    );
    assert_eq!(rooms["command"], "samovar relay rooms");
    let studies = finding(&program, "studies").await.unwrap();
    let fact = studies["fact"].as_str().unwrap();
    assert!(fact.starts_with("2 study logs, 1 MiB in "), "{fact}");
    assert!(fact.ends_with("/data/logs/study"), "{fact}");
    assert_eq!(studies["command"], "samovar relay logs");
}
