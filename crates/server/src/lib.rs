//! Samovar: server.
