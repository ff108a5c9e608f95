//! Makes `fuzzing` a known condition, which `cargo fuzz` sets.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(fuzzing)");
}
