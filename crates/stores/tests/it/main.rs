//! The stores through their ports, on real files.

// Marked as tests, so that what clippy allows in tests holds for their helpers too.
#[cfg(test)]
mod format;
#[cfg(test)]
mod history;
#[cfg(test)]
mod journal;
