//! Signals that ask the program to stop.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Failure;

/// Ctrl-C, SIGTERM, and the end of the terminal, each time they come.
pub(crate) struct Stop {
    interrupt: Signal,
    terminate: Signal,
    /// None where it was ignored from the start, as `nohup` does.
    hang_up: Option<Signal>,
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
        })
    }

    /// Waits for the next one. Safe to drop halfway.
    pub(crate) async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            () = hung_up(self.hang_up.as_mut()) => {}
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
