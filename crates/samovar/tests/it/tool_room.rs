//! An external agent that uses the server's tools, and a kill amid one of its calls.

use reqwest::Method;
use samovar_testkit::Serving;
use serde_json::{Value, json};

use crate::hook::Hook;
use crate::rooms::Agent;
use crate::setup::program;

const ROOM: &str = "lab";
/// The variable that names the point at which the server is killed.
const ARMED: &str = "SAMOVAR_FAILPOINT";
const SENDS: &str = "[tools.policy.count]\ntool = \"count\"\nverdict = \"allow\"\nsends = true\n";
const SERVE: [&str; 2] = ["--approval", "auto"];

/// The last call that the room tells of, once its end is known.
async fn last_call(agent: &mut Agent) -> Value {
    loop {
        let state = agent.ask("snapshot.get", json!({})).await.unwrap();
        let history = state["payload"]["messageHistory"].as_array();
        if let Some(call) = history.and_then(|calls| calls.last())
            && call["status"] != "open"
        {
            return call.clone();
        }
    }
}

async fn register(server: &Serving, hook: &Hook) {
    let tool = json!({"name": "count", "description": "Counts.", "url": hook.url(),
        "effect": "unsafe"});
    let made = server.request(Method::POST, "/api/tools").json(&tool);
    made.send().await.unwrap().error_for_status().unwrap();
}

// proves RL-24, DU-5
#[tokio::test]
async fn a_call_of_an_external_agent_that_a_kill_cut_is_told_as_unknown_and_not_made_again() {
    let hook = Hook::open().await;
    let program = program()
        .set("DATA_DIR", "data")
        .set("SAMOVAR__RELAY__TOOL_ROOMS", ROOM)
        .set("SAMOVAR__EGRESS__ALLOW", &hook.address().to_string())
        .set(ARMED, "tool.unsafe.after");
    // What the tool answers comes from outside, and no person is asked about a room's next call.
    let folder = program.home().join(".config/samovar");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("samovar.toml"), SENDS).unwrap();
    let server = program.serve(&SERVE).await;
    register(&server, &hook).await;
    let mut agent = Agent::join_room(&server, ROOM).await.unwrap();
    let call = json!({"toolName": "count", "params": {"up": 1}, "reason": "to count"});
    // The host of the tools comes in a moment after the door is open.
    while agent.ask("tool.call", call.clone()).await.is_some() {}
    assert_eq!(server.end().await.code, None, "it was killed");

    // It has the folder, and removes it at its end.
    let program = program.set(ARMED, "");
    let server = program.serve(&SERVE).await;
    let mut agent = Agent::join_room(&server, ROOM).await.unwrap();
    let cut = last_call(&mut agent).await;

    assert_eq!(
        (&cut["toolName"], &cut["status"]),
        (&json!("count"), &json!("unknown"))
    );
    assert!(
        cut["text"].as_str().unwrap().contains("outcome unknown"),
        "{cut}"
    );
    assert_eq!(hook.keys().len(), 1, "it was not made again");
    let again = agent.ask("tool.call", call).await.unwrap();
    assert_eq!(
        (&again["type"], &again["payload"]["result"]),
        (&json!("tool.result"), &json!("counted")),
        "{again}"
    );
    assert_eq!(last_call(&mut agent).await["status"], "done");
    server.kill().await;
}
