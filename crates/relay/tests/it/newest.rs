//! The newest rows of a room's own file.

use serde_json::json;

use crate::studies::pair;
use crate::support::{Bench, message};

// proves RL-14
#[tokio::test]
async fn of_a_room_s_long_file_the_newest_rows_are_read_and_each_is_whole() {
    let bench = Bench::new();
    assert!(
        bench
            .relay
            .logs()
            .room_rows("r", None, 10)
            .unwrap()
            .is_empty()
    );
    let (host, mut agent) = pair(&bench).await;
    for at in 0..6 {
        let screen = json!({"source": "host", "uiSpec": "x".repeat(700_000), "at": at,
            "messageHistory": [], "toolSchema": []});
        host.say(message("state.updated", None, screen)).await;
        agent.next().await.unwrap();
    }
    let all = bench.rows(&format!("room/{}", bench.files("room")[0]));

    let newest = bench.relay.logs().room_rows(" r ", None, 100).unwrap();

    assert!(
        !newest.is_empty() && newest.len() < all.len(),
        "{}",
        newest.len()
    );
    assert_eq!(newest, all[all.len() - newest.len()..]);
    let after = Some(newest[0].event_index);
    let page = bench.relay.logs().room_rows("r", after, 1).unwrap();
    assert_eq!(page, newest[1..2]);
}
