//! The booking of a movie as a host of the relay, in the server's own process (RL-18 to RL-21).
//!
//! Here: the stages from the movie to the confirmation, what the screen shows at each, the tools that
//! can be called there, and what they change.
//! Not here: rooms, sockets, a clock, the log; it answers what it is told, and nothing else.
