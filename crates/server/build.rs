//! Puts the built web page, `web/dist`, into this crate as one table.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Where the page lies, from this crate.
const FOLDER: &str = "../../web/dist";

fn main() -> Result<(), io::Error> {
    println!("cargo::rerun-if-changed={FOLDER}");
    let folder = fs::canonicalize(FOLDER)?;
    let mut files = Vec::new();
    gather(&folder, &mut files)?;
    files.sort();
    let mut table = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(&folder).map_err(io::Error::other)?;
        let name = name.to_string_lossy();
        let path = match name.as_ref() {
            "index.html" => "/".to_owned(),
            name => format!("/ui/{}", name.strip_prefix("ui/").unwrap_or(name)),
        };
        let file = file.to_str();
        let file = file.ok_or_else(|| io::Error::other("the page's folder is not UTF-8"))?;
        // Writing to a string cannot fail.
        let _infallible = writeln!(table, "({path:?}, {name:?}, include_bytes!({file:?})),");
    }
    table.push(']');
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo names no OUT_DIR"))?;
    fs::write(PathBuf::from(out).join("page.rs"), table)
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), io::Error> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        println!("cargo::rerun-if-changed={}", path.display());
        if path.is_dir() {
            gather(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
