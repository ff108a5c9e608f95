//! What a host knows and nobody else may.

use serde_json::{Value, json};

use crate::support::{Bench, fields, gets, is_quiet, message, reply};

/// The key at five depths, in objects and arrays.
fn planted() -> Value {
    json!({
        "backendData": {"token": "SECRET"},
        "role": "host",
        "sessionId": "r",
        "code": "UNKNOWN_TOOL",
        "message": "no",
        "uiSpec": {
            "backendData": "SECRET",
            "items": [{"backendData": ["SECRET"]}, [[{"id": "m1", "backendData": "SECRET"}]]],
            "state": {"a": {"b": {"c": {"backendData": null, "kept": true}}}},
        },
    })
}

fn hidden() -> Value {
    json!({
        "role": "host",
        "sessionId": "r",
        "code": "UNKNOWN_TOOL",
        "message": "no",
        "uiSpec": {
            "items": [{}, [[{"id": "m1"}]]],
            "state": {"a": {"b": {"c": {"kept": true}}}},
        },
    })
}

// proves RL-12
#[tokio::test]
async fn backend_data_is_in_nothing_that_anybody_gets_and_in_no_log() {
    let bench = Bench::new();
    let host = bench.relay.enter(samovar_relay::Pass::Any);
    host.say(message("relay.join", None, planted())).await;
    let mut host = host;
    gets(&mut host).await;
    let mut agent = bench.joins("agent", "r").await;
    let mut requests = 0;
    for kind in [
        "session.started",
        "snapshot.state",
        "tool.result",
        "error",
        "session.ended",
        "state.updated",
        "user.message",
        "tool.call",
        "relay.joined",
    ] {
        for is_reply in [true, false] {
            let asked = match kind {
                "session.started" => "session.start",
                "snapshot.state" => "snapshot.get",
                "session.ended" => "session.end",
                _ => "tool.call",
            };
            requests += 1;
            let id = format!("q{requests}");
            agent
                .say(message(asked, Some(&id), json!({"toolName": "t"})))
                .await;
            while !is_quiet(&mut host).await {}
            let said = message(kind, None, planted());
            host.say(said.replying_to(is_reply.then_some(id))).await;
        }
    }
    host.say(reply("tool.result", "nobody's", planted())).await;
    bench.relay.close().await;
    let (mut got, mut whole) = (0, 0);
    while let Ok(envelope) = agent.next().await {
        let text = Value::Object(envelope.payload.clone()).to_string();
        assert!(
            !text.contains("backendData") && !text.contains("SECRET"),
            "{text}"
        );
        got += 1;
        whole += usize::from(envelope.payload == fields(hidden()));
    }
    assert!(got > 18 && whole >= 12, "{whole} of {got} came whole");
    for folder in ["room", "study"] {
        for file in bench.files(folder) {
            let text =
                std::fs::read_to_string(bench.path("logs").join(folder).join(&file)).unwrap();
            assert!(
                !text.contains("backendData") && !text.contains("SECRET"),
                "{file}"
            );
        }
    }
    assert_eq!(bench.files("study").len(), 2);
}
