//! The booking of a movie as a host of the relay, in the server's own process (RL-18 to RL-21).
//!
//! Here: the stages from the movie to the confirmation, what the screen shows at each, the tools that
//! can be called there, and what they change. The state of a booking is in [`MovieHost`] alone.
//! Not here: rooms, sockets, a clock, the log; it answers what it is told, and nothing else.
//!
//! Start with `host`: it reads a message and has the `screen` do what it asks for. `choices` are what
//! is booked in the end, `modification` only changes how it is shown, and `catalogue` is the cinema.

mod catalogue;
mod choices;
mod history;
mod host;
mod item;
mod modification;
mod schema;
mod screen;
mod stage;
mod tools;

pub use host::MovieHost;
