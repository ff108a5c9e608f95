//! Bytes of a journal that flip, hundreds of them.

use std::fs;

use crate::damage::{JOURNAL, KilledData};

/// Flips of each kind.
const FLIPS: usize = 256;

// proves DU-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_byte_that_flips_in_any_record_costs_its_session_at_most_and_is_told() {
    assert!(KilledData::new().await.flip_records(FLIPS).await > 0);
}

// proves DU-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_byte_that_flips_in_a_page_never_keeps_the_server_from_serving() {
    let left = KilledData::new().await;
    let length = fs::metadata(left.data.join(JOURNAL)).unwrap().len();
    let pages = usize::try_from(length).unwrap() / 4096;
    // The heads of pages, and the nodes that stand at their ends.
    let place = |number: usize| {
        let page = number % pages * 4096;
        match number % 3 {
            0 => page + number * 7 % 48,
            1 => page + 4095 - number * 13 % 400,
            _ => page + number * 40_503 % 4096,
        }
    };
    assert!(left.flip((0..FLIPS).map(place).collect()).await > 0);
}
