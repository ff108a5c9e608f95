//! Samovar: testkit.
