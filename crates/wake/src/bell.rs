//! The descriptor, and the tasks that are to be woken through it.

use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::task::{Poll, Waker};

use rustix::event::{EventfdFlags, eventfd};
use tokio::net::unix::pipe::Receiver;

/// The process has one, and one runtime serves it.
static BELL: OnceLock<Bell> = OnceLock::new();

struct Bell {
    fd: OwnedFd,
    /// The tasks that are to be woken; `None` once the runtime is gone, or a write has failed.
    waiting: Mutex<Option<Vec<Waker>>>,
}

impl Bell {
    fn new() -> io::Result<Self> {
        Ok(Self {
            fd: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            waiting: Mutex::new(Some(Vec::new())),
        })
    }

    /// Has the worker that polls wake a task. If others wait, the descriptor is ready already.
    fn ring(&self, task: Waker) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(tasks) = waiting.as_mut() else {
            drop(waiting);
            return task.wake();
        };
        tasks.push(task);
        let is_first = tasks.len() == 1;
        // Before the write: the worker takes the lock at once.
        drop(waiting);
        if is_first && rustix::io::write(&self.fd, &1_u64.to_ne_bytes()).is_err() {
            self.wake(None);
        }
    }

    /// Wakes all waiting tasks; later ones get this list.
    fn wake(&self, next: Option<Vec<Waker>>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let tasks = std::mem::replace(&mut *waiting, next);
        drop(waiting);
        tasks.into_iter().flatten().for_each(Waker::wake);
    }
}

/// Wakes all that wait when the task that serves the bell ends; later wakes are Tokio's own.
struct Closing(&'static Bell);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.wake(None);
    }
}

/// Makes the descriptor, and the future that wakes tasks for as long as it runs; it should run as
/// long as its runtime. `None` if the process has a descriptor already.
///
/// # Errors
/// No descriptor is free.
pub fn serve() -> io::Result<Option<impl Future<Output = ()> + Send>> {
    let bell = Bell::new()?;
    let polled = bell.fd.try_clone()?;
    if BELL.set(bell).is_err() {
        return Ok(None);
    }
    let Some(bell) = BELL.get() else {
        return Ok(None);
    };
    let closing = Closing(bell);
    Ok(Some(async move {
        let Closing(bell) = &closing;
        // Tokio polls the end of a pipe without unsafe code. It is never read: the system reports each
        // write, also while the counter is not zero.
        let Ok(polled) = Receiver::from_owned_fd_unchecked(polled) else {
            return;
        };
        while polled.readable().await.is_ok() {
            // Tells the runtime to wait for the next write.
            let emptied = polled.try_io(|| Err::<(), _>(io::ErrorKind::WouldBlock.into()));
            drop(emptied);
            bell.wake(Some(Vec::new()));
        }
    }))
}

/// Gives way to the tasks that are ready, as [`tokio::task::yield_now`] does, until the runtime polls
/// its descriptors; with several busy workers that may be sooner than all of them have run.
pub async fn pass() {
    let Some(bell) = BELL.get() else {
        return tokio::task::yield_now().await;
    };
    let mut has_passed = false;
    poll_fn(|context| {
        if has_passed {
            return Poll::Ready(());
        }
        has_passed = true;
        bell.ring(context.waker().clone());
        Poll::Pending
    })
    .await;
}
