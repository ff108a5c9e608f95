//! A killed server on a disk that is full when it starts again.

use reqwest::Method;
use samovar_model_server::{Gate, say};
use samovar_testkit::{EventStream, SmallDisk};
use serde_json::{Value, json};

use crate::setup::{last, messages, text, with_model};

const MIB: u64 = 1 << 20;

// proves DU-6, DU-12
#[tokio::test]
async fn a_turn_that_a_kill_cut_waits_on_a_full_disk_and_goes_on_when_there_is_room() {
    let name = "full::a_turn_that_a_kill_cut_waits_on_a_full_disk_and_goes_on_when_there_is_room";
    let Some(disk) = SmallDisk::of_test(name, 48 * MIB) else {
        return;
    };
    let never = Gate::new("never");
    let (program, model) = with_model([
        say("half of it").deltas_of(4).hold_after(1, &never),
        say("the whole answer"),
        say("another answer"),
    ])
    .await;
    let data = disk.path().join("data");
    let program = program.set("DATA_DIR", data.to_str().unwrap());
    let server = program.serve(&[]).await;
    let session = server.session().await;
    let mut stream = server.say(&session, "first").await;
    let shown = stream.until("text_delta").await;
    server.kill().await;
    drop(stream);
    disk.fill();

    let server = program.serve(&[]).await;

    let ask = async |path: &str| server.answer(server.request(Method::GET, path)).await.body;
    // It was taken up, and waits before it touches the world.
    while ask("/api/recovery").await["continued"] != 1 {}
    assert_eq!(ask("/api/server").await["store"]["isFull"], true);
    let refused = server.call("createSession", json!({})).await;
    assert_eq!((refused.status, refused.code()), (507, "store_full"));
    assert_eq!(messages(&server, &session).await, ["user: first"]);
    assert_eq!(model.prompts().len(), 1, "nobody is asked yet");
    let told = program.run(["doctor", "--json"]).await;
    assert_eq!(told.code, Some(1), "{told:?}");
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    let mut findings = told["findings"].as_array().unwrap().iter();
    let found = findings.find(|finding| finding["what"] == "disk").unwrap();
    assert_eq!(found["ok"], false, "{found}");

    disk.make_room();
    let after = shown.last().unwrap().id.clone().unwrap();
    let path = format!("/services/agent/sendMessage/stream?sessionId={session}&after={after}");
    let again = server.request(Method::GET, &path).send().await.unwrap();
    let again = EventStream::new(again).rest().await;
    assert_eq!(last(&again)["type"], "completed", "{again:?}");
    assert_eq!(text(&again), "the whole answer");
    let rows = messages(&server, &session).await;
    assert_eq!(rows, ["user: first", "assistant: the whole answer"]);
}
