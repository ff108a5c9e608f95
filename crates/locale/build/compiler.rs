//! From the catalogue's files to Rust: reads them, checks them against each other, writes functions.
//!
//! The build script and this crate's tests include this module; it is no part of the crate.

mod catalogue;
mod check;
#[expect(unreachable_pub, reason = "the crate itself exports the same file")]
#[path = "../src/plural.rs"]
mod plural;
mod rust;
mod sentence;

use std::fmt;

use catalogue::Catalogue;

/// The language that every other one is held against.
const ENGLISH: &str = "en";

/// A file of the catalogue: `ru.json` and what stands in it.
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    file: String,
    /// The sentence, where the fault is in one.
    key: Option<String>,
    what: String,
}

impl Fault {
    fn in_file(file: &str, what: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            key: None,
            what: what.into(),
        }
    }

    fn at(file: &str, key: &str, what: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            key: Some(key.to_owned()),
            what: what.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "{}: {key}: {}", self.file, self.what),
            None => write!(f, "{}: {}", self.file, self.what),
        }
    }
}

/// The functions of all sentences in all languages.
///
/// # Errors
/// Everything that is wrong with the files, so that one run shows it all.
pub(crate) fn compile(files: &[File]) -> Result<String, Vec<Fault>> {
    let mut catalogues = Vec::new();
    let mut faults = Vec::new();
    for file in files {
        match Catalogue::read(file) {
            Ok(catalogue) => catalogues.push(catalogue),
            Err(found) => faults.extend(found),
        }
    }
    // English first, the others by their names: the order of the folder means nothing.
    catalogues.sort_by_key(|catalogue| (catalogue.tag != ENGLISH, catalogue.tag.clone()));
    let is_english = |catalogue: &&Catalogue| catalogue.tag == ENGLISH;
    match catalogues.first().filter(is_english) {
        Some(english) => {
            let each = catalogues.iter();
            faults.extend(each.flat_map(|other| check::against(english, other)));
        }
        None if faults.is_empty() => {
            let what = "is missing; every other language is held against it";
            faults.push(Fault::in_file("en.json", what));
        }
        // It is there and cannot be read, which was said.
        None => {}
    }
    if faults.is_empty() {
        Ok(rust::write(&catalogues))
    } else {
        Err(faults)
    }
}
