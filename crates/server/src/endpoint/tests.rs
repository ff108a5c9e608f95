use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{FutureExt, poll};
use samovar_wire::agent::NoParams;
use tokio::sync::Semaphore;

use super::*;
use crate::at_work::AT_WORK;

/// Counts those that came this far, and has no end.
async fn endless(call: Call<Arc<AtomicUsize>>, _: NoParams) -> Result<(), Error> {
    call.state.fetch_add(1, Ordering::Relaxed);
    std::future::pending().await
}

/// How many of three long bodies of a kind are handled at once, and how many when one has ended.
async fn handled(is_message: bool) -> [usize; 2] {
    let at = "/long".to_owned();
    let handler = Endpoint::changing(at, "Takes something long.", endless).handler;
    let (places, begun) = (Arc::new(Semaphore::new(AT_WORK)), Arc::default());
    let call = || Call {
        state: Arc::clone(&begun),
        engine: EngineCell::new().1,
        by: Guest::stranger(),
        segments: Vec::new(),
        last_event_id: None,
        view: None,
        stalled: Stalled::default(),
        ping_every: Duration::ZERO,
        query: Vec::new(),
        body: Bytes::new(),
        admission: None,
        place: Some(Place::new(places.clone(), is_message)),
        upgrade: None,
    };
    let mut calls: Vec<_> = (0..=AT_WORK).map(|_| handler(Verb::Post, call())).collect();
    for call in &mut calls {
        assert!(poll!(call).is_pending());
    }
    let at_once = begun.load(Ordering::Relaxed);
    drop(calls.remove(0));
    for call in &mut calls {
        assert!(call.now_or_never().is_none());
    }
    [at_once, begun.load(Ordering::Relaxed)]
}

// proves PF-1
#[tokio::test]
async fn only_so_many_long_messages_are_worked_on_at_once_and_what_may_take_long_waits_for_none() {
    assert_eq!(handled(true).await, [AT_WORK, AT_WORK + 1]);
    assert_eq!(handled(false).await, [AT_WORK + 1; 2]);
}
