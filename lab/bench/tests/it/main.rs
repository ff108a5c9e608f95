//! The tests of the bench.

mod bench;
