//! How often each worker of a runtime goes to sleep.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::{pass, serve};

const TIMES: u64 = 200;

fn runtime() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap()
}

/// How often the second worker went to sleep while a task ran: the one that did so less often.
fn second_sleeps(runtime: &Runtime, task: impl Future<Output = ()> + Send + 'static) -> u64 {
    let slept = |worker| runtime.metrics().worker_park_count(worker);
    let before = [slept(0), slept(1)];
    runtime.block_on(runtime.spawn(task)).unwrap();
    let counts = [slept(0) - before[0], slept(1) - before[1]];
    counts.into_iter().min().unwrap()
}

/// Yields again and again, each time after all workers have gone to sleep.
async fn yields() {
    for _ in 0..TIMES {
        tokio::time::sleep(Duration::from_millis(1)).await;
        pass().await;
    }
}

/// One test, because a process has one descriptor: without it, with it, and after the end of its
/// runtime.
// proves PF-2
#[test]
fn a_yield_wakes_no_second_worker() {
    let plain = runtime();
    let before = second_sleeps(&plain, yields());

    let served = runtime();
    served.spawn(serve().unwrap().unwrap());
    assert!(serve().unwrap().is_none(), "one for each process");
    let now = second_sleeps(&served, yields());
    assert!(now < TIMES / 10, "{before} before, {now} now");

    // After the end of that runtime, wakes are Tokio's own again.
    served.shutdown_background();
    second_sleeps(&plain, yields());
}
