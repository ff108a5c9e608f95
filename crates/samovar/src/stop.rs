//! Signals that ask the program to stop.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Failure;
use crate::keyboard::is_gone;

/// How long turns get to end after the terminal has gone.
const AFTER_HANG_UP: Duration = Duration::from_millis(500);

/// Ctrl-C and SIGTERM, each time they come, and once the end of the terminal: a shell that ends with
/// it sends a second SIGHUP.
pub(crate) struct Stop {
    interrupt: Signal,
    terminate: Signal,
    /// `None` where it was ignored from the start, as `nohup` does, and once it has come.
    hang_up: Option<Signal>,
    is_final: bool,
    has_hung_up: bool,
}

impl Stop {
    /// Begins to listen; from here on the signals end nothing by themselves.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|error| Failure::broken(&error));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: if is_hang_up_ignored() {
                None
            } else {
                Some(listen(SignalKind::hangup())?)
            },
            is_final: false,
            has_hung_up: false,
        })
    }

    /// Waits for the next one. Safe to drop halfway.
    pub(crate) async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => self.is_final = true,
            () = hung_up(self.hang_up.as_mut()) => {
                self.hang_up = None;
                (self.is_final, self.has_hung_up) = (true, true);
            }
        }
    }

    /// Whether the program itself is to end, not only what it is doing.
    pub(crate) fn is_final(&self) -> bool {
        self.is_final
    }

    /// As [`Stop::asked`]; also returns soon after the terminal has gone.
    pub(crate) async fn asked_or_alone(&mut self) {
        if !(self.has_hung_up || is_gone()) {
            return self.asked().await;
        }
        tokio::select! {
            () = self.asked() => {}
            () = tokio::time::sleep(AFTER_HANG_UP) => {}
        }
    }
}

/// Lets a write beyond the size that a file may have fail like one on a full disk; the signal that
/// the kernel sends with it would end the process.
pub(crate) fn outlive_file_size_limit() -> Result<(), Failure> {
    let kind = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    // The handler stays when this is dropped.
    let handled = signal(kind).map(drop);
    handled.map_err(|error| Failure::broken(&error))
}

async fn hung_up(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether SIGHUP, the first signal, is among those that this process was started to ignore.
fn is_hang_up_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 == 1)
}
