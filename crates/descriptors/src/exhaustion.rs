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
    /// Inside of [`repeat_within`]: whether an operation of this thread found no free descriptor.
    static LACKED: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Does work of a blocking thread that holds locks, or has many operations. None of them waits; the work
/// is done again from its beginning as long as one finds no free descriptor, for `patience` at most.
/// Returns what it did last, and whether a descriptor was lacking even then. Inside of other such work it is
/// done once, and the other is repeated.
pub fn repeat_within<T>(patience: Duration, mut work: impl FnMut() -> T) -> (T, bool) {
    if LACKED.get().is_some() {
        let (done, lacked) = without_waiting(work);
        LACKED.set(LACKED.get().map(|before| before || lacked));
        return (done, lacked);
    }
    for pause in pauses_within(patience) {
        match without_waiting(&mut work) {
            (_, true) => thread::sleep(pause),
            ended => return ended,
        }
    }
    without_waiting(work)
}

fn without_waiting<T>(work: impl FnOnce() -> T) -> (T, bool) {
    struct Restored(Option<bool>);
    impl Drop for Restored {
        fn drop(&mut self) {
            LACKED.set(self.0);
        }
    }
    let _restored = Restored(LACKED.replace(Some(false)));
    let done = work();
    (done, LACKED.get() == Some(true))
}

/// Tries an operation of a blocking thread until it finds a free descriptor, or [`PATIENCE`] is over;
/// once inside of [`repeat_within`].
///
/// # Errors
/// What the last attempt failed with.
pub fn retry<T, E: Copy + Into<io::Error>>(
    mut attempt: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let is_lacking = |error: E| error.into().raw_os_error().is_some_and(is_exhausted);
    let patience = LACKED.get().map_or(PATIENCE, |_| Duration::ZERO);
    for pause in pauses_within(patience) {
        match attempt() {
            Err(error) if is_lacking(error) => thread::sleep(pause),
            ended => return ended,
        }
    }
    let last = attempt();
    if LACKED.get().is_some() && last.as_ref().is_err_and(|error| is_lacking(*error)) {
        LACKED.set(Some(true));
    }
    last
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
    fn work_is_repeated_as_a_whole_while_a_part_of_it_lacks_a_descriptor() {
        use rustix::io::Errno;
        // When the second of three operations finds one, and what comes of that.
        for (found_at, wanted) in [(1, (1, false)), (3, (3, false)), (99, (4, true))] {
            let mut times = 0;
            let (done, lacked) = repeat_within(Duration::from_millis(20), || {
                times += 1;
                let mut attempts = 0;
                let second = retry(|| {
                    attempts += 1;
                    let is_found = times >= found_at;
                    is_found.then_some(()).ok_or(Errno::MFILE)
                });
                assert_eq!(attempts, 1, "it waits outside");
                let others = [Ok(()), Err(Errno::NOENT)].map(|other| retry(|| other));
                assert_eq!(others, [Ok(()), Err(Errno::NOENT)]);
                (times, second.is_err())
            });
            assert_eq!((done.0, lacked), wanted);
            assert_eq!(done.1, lacked);
        }
        // Inside of other work the outer one is repeated.
        let (mut outer, mut inner) = (0, 0);
        let ((), lacked) = repeat_within(Duration::from_millis(20), || {
            outer += 1;
            let (_, lacked) = repeat_within(Duration::from_millis(20), || {
                inner += 1;
                retry(|| Err::<(), _>(Errno::MFILE)).is_err()
            });
            assert!(lacked);
            let ((), lacked) = repeat_within(Duration::ZERO, || ());
            assert!(!lacked, "the other work found one");
        });
        assert_eq!((outer, inner, lacked), (4, 4, true));
        assert_eq!(LACKED.get(), None);
    }
}
