//! The `samovar` program.
fn main() {}
