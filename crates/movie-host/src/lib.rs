//! The movie booking as a host of the relay, inside the server's process (RL-18 to RL-21).
//!
//! Here: the stages from the movie to the confirmation, the screen at each stage, the tools that
//! can be called there, and their effects. [`MovieHost`] alone holds the state of a booking. Not
//! here: rooms, sockets, a clock, the log; the host only answers messages.
//!
//! Start with `host`: it reads a message and passes it to the `screen`. `choices` are what is
//! finally booked, `modification` only changes how it is shown, and `catalogue` is the cinema.

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
