//! Samovar: core.
