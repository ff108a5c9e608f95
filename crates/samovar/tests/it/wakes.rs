//! How many threads a word wakes, as the system counts it.

use std::fs;
use std::time::Duration;

use samovar_model_server::say;
use samovar_testkit::Serving;

use crate::setup::with_model;

const WORDS: usize = 200;

/// How often threads of the server have gone to sleep.
fn sleeps(server: &Serving) -> usize {
    let tasks = fs::read_dir(format!("/proc/{}/task", server.pid().as_raw_nonzero())).unwrap();
    let counts = tasks.map(|task| {
        let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        let mut lines = status.lines();
        let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        count.unwrap().trim().parse::<usize>().unwrap()
    });
    counts.sum()
}

// proves PF-2
#[tokio::test]
async fn a_word_of_a_slow_model_wakes_one_thread_of_the_server() {
    let slow = say("word ".repeat(WORDS)).deltas_of(5);
    let slow = slow.pace(Duration::from_millis(5)).forever();
    let (program, _model) = with_model([slow]).await;
    let server = program.serve(&[]).await;
    let session = server.session().await;
    server.turn(&session, "warm up").await;
    let before = sleeps(&server);
    let frames = server.turn(&session, "go").await;
    let slept = sleeps(&server) - before;
    assert!(frames.len() > WORDS, "{frames:?}");
    // A second thread for each word would sleep as often.
    assert!(slept < WORDS * 3 / 2, "{slept} times");
}
