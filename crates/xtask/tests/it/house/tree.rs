//! The tree as it lies on the disk, and what cargo knows about it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use proc_macro2::TokenStream;
use serde_json::Value;

use super::Violation;
use super::source::Source;

/// Every text file of the project by its path from the root, which is written with `/`.
#[derive(Default)]
pub(super) struct Tree {
    files: BTreeMap<String, String>,
    pub(super) rust: Vec<RustFile>,
    /// The files that end in `.rs` and are no Rust.
    pub(super) unread: Vec<Violation>,
}

/// A Rust file, read once for all rules.
pub(super) struct RustFile {
    pub(super) path: String,
    pub(super) text: String,
    pub(super) tokens: TokenStream,
    pub(super) source: Source,
}

impl RustFile {
    pub(super) fn read(path: &str, text: &str) -> Result<RustFile, Violation> {
        let tokens = TokenStream::from_str(text)
            .map_err(|cause| Violation::new(path, format!("cannot be read as Rust: {cause}")))?;
        Ok(RustFile {
            path: path.to_owned(),
            text: text.to_owned(),
            source: Source::of(tokens.clone()),
            tokens,
        })
    }
}

impl Tree {
    /// Reads all but `.git` and what the root's `.gitignore` anchors there.
    pub(super) fn read() -> Tree {
        let root = root();
        let ignored = fs::read_to_string(root.join(".gitignore")).expect("the root has one");
        let mut skipped: Vec<PathBuf> = ignored
            .lines()
            .filter_map(|line| line.strip_prefix('/'))
            .map(|x| root.join(x))
            .collect();
        skipped.push(root.join(".git"));

        let mut tree = Tree::default();
        tree.walk(&root, &root, &skipped);
        for (path, text) in tree.files.iter().filter(|(path, _)| is_rust(path)) {
            match RustFile::read(path, text) {
                Ok(file) => tree.rust.push(file),
                Err(violation) => tree.unread.push(violation),
            }
        }
        tree
    }

    fn walk(&mut self, root: &Path, folder: &Path, skipped: &[PathBuf]) {
        for entry in fs::read_dir(folder).expect("a folder of the tree can be read") {
            let entry = entry.expect("an entry of the tree can be read");
            let path = entry.path();
            let kind = entry.file_type().expect("an entry of the tree has a type");
            if skipped.contains(&path) {
                continue;
            }
            if kind.is_dir() {
                self.walk(root, &path, skipped);
            } else if kind.is_file()
                && let Ok(text) = fs::read_to_string(&path)
            {
                let path = path.strip_prefix(root).expect("the walk began at the root");
                self.files
                    .insert(path.to_string_lossy().replace('\\', "/"), text);
            }
        }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The manifests of the members, without the workspace's own.
    pub(super) fn manifests(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files()
            .filter(|(path, _)| path.ends_with("/Cargo.toml"))
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }
}

fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|end| end == "rs")
}

/// What `cargo metadata` says about the members alone; it needs no network.
pub(super) fn metadata() -> Value {
    ask_cargo(&["--no-deps", "--offline"]).expect("cargo can read the members")
}

/// What `cargo metadata` says about everything that is built for a platform.
///
/// What was never downloaded, as the crates of another machine's platform, is downloaded now.
///
/// # Errors
/// It cannot be downloaded, or `Cargo.lock` does not fit the manifests.
pub(super) fn metadata_of(platform: &str) -> Result<Value, Violation> {
    let all = ["--locked", "--all-features", "--filter-platform", platform];
    let offline = [all.as_slice(), &["--offline"]].concat();
    ask_cargo(&offline)
        .or_else(|_| ask_cargo(&all))
        .map_err(|complaint| {
            let breach = format!(
                "its dependencies cannot be read; with a network, \
             `cargo fetch --locked --target {platform}` provides them: {complaint}"
            );
            Violation::new(platform, breach)
        })
}

fn ask_cargo(options: &[&str]) -> Result<Value, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1"])
        .args(options)
        .current_dir(root())
        .output()
        .expect("cargo started this test and can be started again");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Ok(serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("this crate is in crates/xtask")
        .to_owned()
}
