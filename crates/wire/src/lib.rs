//! Samovar: wire.
