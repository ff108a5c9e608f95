//! Samovar: providers.
