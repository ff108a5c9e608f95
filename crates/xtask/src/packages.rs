//! The packages that the programs in TypeScript and Python are tested with.
//!
//! Where one of these languages is not there, the tests of its program say what is missing, for
//! there is more to test than that.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// The folder of the client, from the root.
pub(crate) const CLIENT: &str = "clients/typescript";

/// The folder of the agent in TypeScript, from the root.
pub(crate) const NODE_AGENT: &str = "examples/relay-typescript";

/// The folder that the agent in Python has for its packages, from the root.
const PYTHON_FOLDER: &str = "examples/relay-python/.venv";

/// Why the packages of a folder are not installed by npm now.
pub(crate) fn node_left_out(folder: &str) -> Option<&'static str> {
    let folder = root().join(folder);
    // npm writes the first when all packages are there.
    let installed = changed(&folder.join("node_modules/.package-lock.json"));
    if installed.is_some() && installed >= changed(&folder.join("package-lock.json")) {
        return Some("they are there");
    }
    (!is_there(npm())).then_some("npm is not installed")
}

/// Why Python makes no folder for packages now.
pub(crate) fn folder_left_out() -> Option<&'static str> {
    if has_pip() {
        return Some("it is there");
    }
    (!is_there(python())).then_some("python3 is not installed")
}

/// Why no packages of Python are installed now.
pub(crate) fn python_left_out() -> Option<&'static str> {
    (!has_pip()).then_some("there is no folder for them")
}

/// The npm of the machine, in the root.
pub(crate) fn npm() -> Command {
    at_root("npm".as_ref())
}

/// The Python of the machine, in the root.
pub(crate) fn python() -> Command {
    at_root("python3".as_ref())
}

/// The pip of the folder for packages, in the root.
pub(crate) fn pip() -> Command {
    at_root(&root().join(PYTHON_FOLDER).join("bin/pip"))
}

/// Whether the folder for packages is whole, and of a Python that is still there.
fn has_pip() -> bool {
    let programs = root().join(PYTHON_FOLDER).join("bin");
    programs.join("pip").exists() && programs.join("python").exists()
}

fn is_there(mut program: Command) -> bool {
    program
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    program.status().is_ok()
}

fn at_root(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
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
