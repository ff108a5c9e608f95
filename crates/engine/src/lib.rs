//! Samovar: engine.
