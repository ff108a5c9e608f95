//! What to do without a free descriptor: try again after a pause, because another user of one will
//! be done soon.

use std::cell::Cell;
use std::error::Error;
use std::io;
use std::thread;
use std::time::Duration;

/// How long an operation is tried again, in all. Descriptors are held for much less by a file that
/// is read or a connection that is closed, so after this long the limit itself is too low.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The first pause; each one after it is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(5);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_millis(320);

/// The system's own table of files is full.
const ENFILE: i32 = 23;
/// The process has as many descriptors as it may have.
const EMFILE: i32 = 24;
/// The system has no memory for another socket.
const ENOBUFS: i32 = 105;

/// Whether an error number says that no descriptor was free.
pub fn is_exhausted(errno: i32) -> bool {
    matches!(errno, ENFILE | EMFILE | ENOBUFS)
}

/// Whether an error, or one that it stems from, says that no descriptor was free.
pub fn stems_from_exhaustion(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let errno = error.downcast_ref().and_then(io::Error::raw_os_error);
        if errno.is_some_and(is_exhausted) {
            return true;
        }
        next = error.source();
    }
    false
}

/// The pauses between attempts, [`PATIENCE`] in all.
pub fn pauses() -> impl Iterator<Item = Duration> + Send {
    pauses_within(PATIENCE)
}

fn pauses_within(mut left: Duration) -> impl Iterator<Item = Duration> + Send {
    let mut pause = FIRST_PAUSE;
    std::iter::from_fn(move || {
        let next = pause.min(left);
        left -= next;
        pause = (pause * 2).min(LONGEST_PAUSE);
        (!next.is_zero()).then_some(next)
    })
}

thread_local! {
    /// What is left of the patience that the work of this thread shares, if it does.
    static SHARED: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// Does work of several operations on a blocking thread: all that it tries again waits no longer than
/// this in all, where each operation would have [`PATIENCE`] for itself.
pub fn with_patience<T>(patience: Duration, work: impl FnOnce() -> T) -> T {
    struct Restored(Option<Duration>);
    impl Drop for Restored {
        fn drop(&mut self) {
            SHARED.set(self.0);
        }
    }
    let _restored = Restored(SHARED.replace(Some(patience)));
    work()
}

/// Tries an operation of a blocking thread until it finds a free descriptor, or its patience is over:
/// [`PATIENCE`], or what [`with_patience`] has left.
///
/// # Errors
/// What the last attempt failed with.
pub fn retry<T, E: Copy + Into<io::Error>>(
    mut attempt: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    for pause in pauses_within(SHARED.get().unwrap_or(PATIENCE)) {
        match attempt() {
            Err(error) if error.into().raw_os_error().is_some_and(is_exhausted) => {
                thread::sleep(pause);
                SHARED.set(SHARED.get().map(|left| left.saturating_sub(pause)));
            }
            ended => return ended,
        }
    }
    attempt()
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    /// An error in a library's own words.
    #[derive(Debug)]
    struct Wrapped(io::Error);

    impl fmt::Display for Wrapped {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("wrapped")
        }
    }

    impl Error for Wrapped {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn exhaustion_is_found_below_other_errors() {
        for (errno, wanted) in [
            (23, true),
            (24, true),
            (105, true),
            (2, false),
            (111, false),
        ] {
            let error = || io::Error::from_raw_os_error(errno);
            assert_eq!(stems_from_exhaustion(&error()), wanted, "{errno}");
            assert_eq!(stems_from_exhaustion(&Wrapped(error())), wanted, "{errno}");
            let boxed = io::Error::other(Wrapped(error()));
            assert_eq!(stems_from_exhaustion(&boxed), wanted, "{errno}");
        }
    }

    #[test]
    fn pauses_grow_and_end_after_the_whole_patience() {
        let all: Vec<_> = pauses().collect();
        assert_eq!(all.iter().sum::<Duration>(), PATIENCE);
        assert_eq!(all[..3], [5, 10, 20].map(Duration::from_millis));
        assert!(all.iter().all(|pause| *pause <= LONGEST_PAUSE));
    }

    #[test]
    fn only_exhaustion_is_tried_again() {
        for (errno, wanted) in [(24, 4), (2, 1)] {
            let mut attempts = 0;
            let ended = retry(|| {
                attempts += 1;
                let errno = rustix::io::Errno::from_raw_os_error(errno);
                if attempts < 4 { Err(errno) } else { Ok(()) }
            });
            assert_eq!((attempts, ended.is_ok()), (wanted, wanted == 4));
        }
    }

    #[test]
    fn operations_that_share_their_patience_wait_for_it_once() {
        let count = |attempts: &mut u32| {
            *attempts += 1;
            Err::<(), _>(rustix::io::Errno::MFILE)
        };
        // The pauses of 5 and 10 ms, and one of the 5 that are left.
        for (patience, wanted) in [(20, [4, 1]), (0, [1, 1])] {
            let attempts = with_patience(Duration::from_millis(patience), || {
                [(), ()].map(|()| {
                    let mut attempts = 0;
                    assert!(retry(|| count(&mut attempts)).is_err());
                    attempts
                })
            });
            assert_eq!(attempts, wanted);
            assert_eq!(SHARED.get(), None);
        }
    }
}
