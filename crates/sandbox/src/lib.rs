//! Samovar: sandbox.
