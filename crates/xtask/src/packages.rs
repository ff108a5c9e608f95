//! The packages that the programs in TypeScript and Python are tested with, and the programs of the
//! machine that tests need.
//!
//! Where such a program is missing, its tests are left out, because there is more to test than that.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// The folder of the client, from the root.
pub(crate) const CLIENT: &str = "clients/typescript";

/// The folder of the agent in TypeScript, from the root.
pub(crate) const NODE_AGENT: &str = "examples/relay-typescript";

/// The folder of the web page, from the root.
pub(crate) const WEB: &str = "web";

/// The folder of the page with `useChat`, from the root.
pub(crate) const PAGE: &str = "examples/use-chat";

/// The folder of the clients of the AI SDK, from the root.
pub(crate) const AI_SDK: &str = "clients/ai-sdk";

/// The folder of the readers of event streams, from the root.
pub(crate) const READERS: &str = "lab/readers";

/// The folder for packages of Python, the readers' too, from the root.
const PYTHON_FOLDER: &str = "examples/relay-python/.venv";

/// A program that some tests need and no task installs.
struct Need {
    /// The program, and what else belongs to it.
    name: &'static str,
    is_there: fn() -> bool,
    /// Debian's packages.
    packages: &'static str,
    /// What the name of each of its tests has.
    mark: &'static str,
}

const NEEDS: [Need; 6] = [
    Need {
        name: "npm",
        is_there: || is_there(npm()),
        packages: "nodejs npm",
        mark: "needs_npm_",
    },
    Need {
        name: "python3 with venv",
        is_there: has_python,
        packages: "python3-venv",
        mark: "needs_python_",
    },
    Need {
        name: "curl",
        is_there: || is_there(at_root("curl".as_ref())),
        packages: "curl",
        mark: "needs_curl_",
    },
    Need {
        name: "bash",
        is_there: || is_there(at_root("bash".as_ref())),
        packages: "bash",
        mark: "needs_bash_",
    },
    Need {
        name: "git",
        is_there: || is_there(at_root("git".as_ref())),
        packages: "git",
        mark: "needs_git_",
    },
    Need {
        name: "chromium",
        is_there: || is_there(at_root("chromium".as_ref())),
        packages: "chromium",
        mark: "needs_browser_",
    },
];

fn missing() -> Vec<&'static Need> {
    NEEDS.iter().filter(|need| !(need.is_there)()).collect()
}

/// The words for nextest that leave out the tests of missing programs.
pub(crate) fn left_out_tests() -> Vec<String> {
    let marks: Vec<_> = missing().iter().map(|need| need.mark).collect();
    if marks.is_empty() {
        return Vec::new();
    }
    vec!["-E".to_owned(), format!("not test(/{}/)", marks.join("|"))]
}

/// What was left out because a program is missing, and how to install it, in one line.
pub(crate) fn left_out_line() -> Option<String> {
    let missing = missing();
    let list = |part: fn(&Need) -> &str, between: &str| {
        let parts: Vec<_> = missing.iter().map(|need| part(need)).collect();
        parts.join(between)
    };
    let (names, packages) = (
        list(|need| need.name, ", "),
        list(|need| need.packages, " "),
    );
    (!missing.is_empty()).then(|| {
        format!(
            "left out the tests that need {names}, which this machine does not have; on Debian: \
             apt-get install {packages}"
        )
    })
}

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
    (!has_python()).then_some("python3 with venv is not installed")
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

/// Whether Python can make a folder for packages.
fn has_python() -> bool {
    let mut python = python();
    python
        .args(["-c", "import ensurepip, venv"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    python.status().is_ok_and(|status| status.success())
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
