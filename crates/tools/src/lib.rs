//! Samovar: tools.
