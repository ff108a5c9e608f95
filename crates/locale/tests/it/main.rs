//! The catalogue: its files, what the build refuses in them, and the functions that it makes.

#[path = "../../build/compiler.rs"]
mod compiler;
mod faults;
mod files;
mod plural;
mod second_language;
mod secrets;

use compiler::{File, compile};

/// A file of a made-up catalogue.
fn file(name: &str, text: &str) -> File {
    File {
        name: name.to_owned(),
        text: text.to_owned(),
    }
}

/// What the compiler says against these files, a line a fault.
fn faults(files: &[(&str, &str)]) -> Vec<String> {
    let files: Vec<File> = files.iter().map(|(name, text)| file(name, text)).collect();
    let faults = compile(&files).expect_err("these files are wrong");
    faults.iter().map(ToString::to_string).collect()
}
