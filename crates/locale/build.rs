//! Makes this crate's functions from `locales/*.json`, and fails with every fault in them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use compiler::File;

#[path = "build/compiler.rs"]
mod compiler;

/// Where the catalogue lies, from this crate.
const FOLDER: &str = "../../locales";

fn main() -> Result<ExitCode, io::Error> {
    tell(&format!("rerun-if-changed={FOLDER}"));
    let files = read(Path::new(FOLDER))?;
    let source = match compiler::compile(&files) {
        Ok(source) => source,
        Err(faults) => {
            for fault in faults {
                tell(&format!("error=locales/{fault}"));
            }
            return Ok(ExitCode::FAILURE);
        }
    };
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo names no OUT_DIR"))?;
    fs::write(PathBuf::from(out).join("catalogue.rs"), source)?;
    Ok(ExitCode::SUCCESS)
}

/// The files of all languages.
fn read(folder: &Path) -> Result<Vec<File>, io::Error> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        tell(&format!("rerun-if-changed={}", path.display()));
        let name = path.file_name().unwrap_or_default();
        files.push(File {
            name: name.to_string_lossy().into_owned(),
            text: fs::read_to_string(&path)?,
        });
    }
    Ok(files)
}

/// Cargo reads what a build script prints.
fn tell(instruction: &str) {
    println!("cargo::{instruction}");
}
