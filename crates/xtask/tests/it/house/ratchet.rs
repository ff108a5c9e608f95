//! The figures of the tree against docs/mass.md.

use std::process::Command;

#[test]
fn no_figure_rises_above_its_page() {
    let output = Command::new(env!("CARGO_BIN_EXE_samovar-xtask"))
        .args(["mass", "--check"])
        .env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the binary under test was just built");

    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
}
