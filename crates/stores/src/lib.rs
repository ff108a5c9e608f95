//! Samovar: stores.
