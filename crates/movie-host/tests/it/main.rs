//! The movie host as an agent and the person meet it: by the messages of the protocol alone.

// Marked as tests, so that what clippy allows in tests holds for their helpers too.
#[cfg(test)]
mod booking;
#[cfg(test)]
mod bounds;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod modifying;
#[cfg(test)]
mod table;
#[cfg(test)]
mod theater;
#[cfg(test)]
mod walk;
