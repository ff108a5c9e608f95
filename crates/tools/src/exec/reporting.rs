//! What clients are shown of a command while it runs.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use samovar_core::tool::{MAX_PROGRESS_BYTES, Progress, ProgressSink};
use tokio::time::{Instant, sleep};

use super::screen::plain;

/// How often a command is reported that writes, in its first minute.
const OFTEN: Duration = Duration::from_secs(2);
/// How often it is reported later, or when it writes nothing.
const SELDOM: Duration = Duration::from_secs(10);
/// How long it is reported often.
const FIRST: Duration = Duration::from_mins(1);
/// Bytes of its output that are held: sequences for the terminal take a part of them.
const MAX_HELD: usize = 4 * MAX_PROGRESS_BYTES;

/// The end of what a command has written so far.
#[derive(Default)]
pub(super) struct Latest(Mutex<Held>);

#[derive(Default)]
struct Held {
    bytes: u64,
    last: VecDeque<u8>,
}

impl Latest {
    pub(super) fn add(&self, bytes: &[u8]) {
        let mut held = self.held();
        held.bytes += bytes.len() as u64;
        let rest = &bytes[bytes.len().saturating_sub(MAX_HELD)..];
        let over = (held.last.len() + rest.len()).saturating_sub(MAX_HELD);
        held.last.drain(..over);
        held.last.extend(rest);
    }

    fn progress(&self, elapsed: Duration) -> Progress {
        let mut held = self.held();
        let output_bytes = held.bytes;
        let is_cut = output_bytes > held.last.len() as u64;
        let mut last: &[u8] = held.last.make_contiguous();
        if is_cut {
            // What is left of a line may be the rest of a sequence or of a key.
            let end = last.iter().position(|byte| b"\r\n".contains(byte));
            last = &last[end.map_or(MAX_PROGRESS_BYTES, |end| end + 1)..];
        }
        Progress {
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            output_bytes,
            last: plain(last),
            note: None,
        }
    }

    fn bytes(&self) -> u64 {
        self.held().bytes
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reports a command until it is dropped.
pub(super) async fn report(latest: &Latest, sink: &ProgressSink) -> Infallible {
    let began = Instant::now();
    let (mut shown_at, mut shown_bytes) = (began, 0);
    loop {
        let is_new = began.elapsed() < FIRST;
        sleep(if is_new { OFTEN } else { SELDOM }).await;
        let bytes = latest.bytes();
        if bytes != shown_bytes || shown_at.elapsed() >= SELDOM {
            (shown_at, shown_bytes) = (Instant::now(), bytes);
            sink.show(latest.progress(began.elapsed()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::time::timeout;

    use super::*;

    // proves TL-2
    #[tokio::test(start_paused = true)]
    async fn a_command_is_reported_when_it_writes_and_every_ten_seconds() {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let sink = {
            let shown = shown.clone();
            ProgressSink::new(move |progress| shown.lock().unwrap().push(progress))
        };
        let latest = Latest::default();
        latest.add(b"\x1b[32mone\x1b[0m\n");
        let writing = async {
            sleep(Duration::from_secs(5)).await;
            latest.add(b"two\n");
            sleep(Duration::from_secs(85)).await;
            latest.add(b"three\n");
            std::future::pending::<()>().await;
        };
        let both = async { tokio::join!(report(&latest, &sink), writing) };
        assert!(timeout(Duration::from_secs(101), both).await.is_err());

        let shown = shown.lock().unwrap();
        let seconds: Vec<u64> = shown.iter().map(|it| it.elapsed_ms / 1000).collect();
        assert_eq!(seconds, [2, 6, 16, 26, 36, 46, 56, 70, 80, 90, 100]);
        assert_eq!((&*shown[0].last, shown[0].output_bytes), ("one\n", 13));
        assert_eq!((&*shown[1].last, shown[1].output_bytes), ("one\ntwo\n", 17));
        assert_eq!(&*shown[10].last, "one\ntwo\nthree\n");
    }

    #[test]
    fn of_a_long_output_whole_lines_of_its_end_are_shown() {
        let latest = Latest::default();
        for number in 0..1000 {
            latest.add(format!("line {number}\n").as_bytes());
        }
        let Progress { last, .. } = latest.progress(Duration::ZERO);
        assert!(last.starts_with("line ") && last.ends_with("line 999\n"));
        assert!((MAX_HELD - 20..=MAX_HELD).contains(&last.len()));
        latest.add(&[b'x'; 3 * MAX_HELD]);
        let shown = latest.progress(Duration::ZERO).last;
        assert_eq!(shown.len(), MAX_HELD - MAX_PROGRESS_BYTES);
    }
}
