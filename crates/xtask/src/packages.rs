//! The packages that the tests of the TypeScript client are compiled with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// The folder of the client, from the root.
pub(crate) const CLIENT: &str = "clients/typescript";

/// Why they are not installed now: they need not be, or there is no npm. In the second case the
/// tests say what is missing, for there is more to test than the client.
pub(crate) fn left_out() -> Option<&'static str> {
    let folder = root().join(CLIENT);
    // npm writes the first when all packages are there.
    let installed = changed(&folder.join("node_modules/.package-lock.json"));
    if installed.is_some() && installed >= changed(&folder.join("package-lock.json")) {
        return Some("they are there");
    }
    let mut probe = npm();
    probe
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    probe.status().is_err().then_some("npm is not installed")
}

/// The npm of the machine, in the root.
pub(crate) fn npm() -> Command {
    let mut npm = Command::new("npm");
    npm.current_dir(root());
    npm
}

fn changed(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|data| data.modified()).ok()
}

/// Where the workspace is: `cargo run` says where this package is.
pub(crate) fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR");
    let package = package.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    PathBuf::from(package).join("../..")
}
