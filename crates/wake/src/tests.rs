//! How often each worker of a runtime goes to sleep.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::{from_thread, pass, serve};

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

/// Asks a thread and waits for its answer, again and again.
async fn asks() {
    let (ask, asked) = mpsc::sync_channel::<oneshot::Sender<()>>(1);
    let answering = thread::spawn(move || asked.iter().for_each(|to| to.send(()).unwrap()));
    for _ in 0..TIMES {
        let (to, answer) = oneshot::channel();
        ask.send(to).unwrap();
        from_thread(answer).await.unwrap();
    }
    drop(ask);
    answering.join().unwrap();
}

/// One test, because a process has one descriptor: without it, with it, and after the end of its
/// runtime.
// proves PF-2
#[test]
fn a_yield_and_an_answer_of_a_thread_wake_no_second_worker() {
    let plain = runtime();
    let (yielded, asked) = (
        second_sleeps(&plain, yields()),
        second_sleeps(&plain, asks()),
    );

    let served = runtime();
    served.spawn(serve().unwrap().unwrap());
    assert!(serve().unwrap().is_none(), "one for each process");
    for (what, before, now) in [
        ("yields", yielded, second_sleeps(&served, yields())),
        ("answers", asked, second_sleeps(&served, asks())),
    ] {
        assert!(now < TIMES / 10, "{what}: {before} before, {now} now");
    }

    // After the end of that runtime, wakes are Tokio's own again.
    served.shutdown_background();
    second_sleeps(&plain, yields());
    second_sleeps(&plain, asks());
}
