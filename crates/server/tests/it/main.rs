//! The server, driven over its real socket.

mod durability;
mod turns;
