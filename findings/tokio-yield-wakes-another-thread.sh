#!/usr/bin/env bash
# A task of an idle Tokio runtime that yields, or that wakes two others, wakes another thread for it each time.
#
# tokio 1.54.1, the runtime of several threads. A server that passes on the words of a model has for each of them
# a task that reads, one that handles and one that writes, all on one thread, as one would think: nothing else is
# to be done, and `yield_now` is said to give way on the same thread. It is not so. A worker that found nothing to
# steal and then runs the task that had yielded calls a sleeping worker in its place, and a poll that wakes two
# tasks calls one for the second. With a word each 2 ms a thread wakes and falls asleep for each of them. A chain
# in which each task wakes one other calls no second thread.
#
# Seen, how often threads fell asleep in 500 rounds beyond once a round: chain 12, yield 918, pair 920.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >Cargo.toml <<'TOML'
[package]
name = "yields"
version = "0.0.0"
edition = "2021"
[dependencies]
tokio = { version = "=1.54.1", features = ["rt-multi-thread", "time", "sync"] }
TOML
mkdir src
cat >src/main.rs <<'RS'
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

const ROUNDS: u64 = 500;

/// How often all workers together have gone to sleep.
fn switches() -> u64 {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let of = |thread: std::io::Result<std::fs::DirEntry>| {
        let path = thread.unwrap().path();
        let is_worker = std::fs::read_to_string(path.join("comm")).unwrap().starts_with("worker");
        let status = std::fs::read_to_string(path.join("status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        if is_worker { line.unwrap().trim().parse::<u64>().unwrap() } else { 0 }
    };
    threads.map(of).sum()
}

/// A task that does its part whenever it is woken.
fn listener(then: Option<Arc<Notify>>) -> Arc<Notify> {
    let notify = Arc::new(Notify::new());
    let own = Arc::clone(&notify);
    tokio::spawn(async move {
        loop {
            own.notified().await;
            if let Some(next) = &then {
                next.notify_one();
            }
        }
    });
    notify
}

#[derive(Clone, Copy, PartialEq)]
enum Way { Chain, Yield, Pair }

async fn rounds(way: Way) -> u64 {
    let last = listener(None);
    let first = listener(Some(Arc::clone(&last)));
    tokio::time::sleep(Duration::from_millis(200)).await;
    let before = switches();
    for _ in 0..ROUNDS {
        tokio::time::sleep(Duration::from_millis(2)).await;
        if way == Way::Yield {
            tokio::task::yield_now().await;
        }
        if way == Way::Pair {
            last.notify_one();
        }
        first.notify_one();
    }
    switches() - before
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2).enable_time().thread_name("worker").build().unwrap();
    for (name, way) in [("chain", Way::Chain), ("yield", Way::Yield), ("pair", Way::Pair)] {
        let all = runtime.block_on(runtime.spawn(rounds(way))).unwrap();
        // One switch a round is that of the thread that waits for the clock.
        println!("{name} {}", all.saturating_sub(ROUNDS));
    }
}
RS
cargo build --release --quiet
said=$(./target/release/yields)
echo "$said"
count() { awk -v name="$1" '$1 == name { print $2 }' <<<"$said"; }
[ "$(count chain)" -lt 150 ] && [ "$(count yield)" -gt 300 ] && [ "$(count pair)" -gt 300 ]
echo "as seen"
