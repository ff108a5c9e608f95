//! Runs every target on its part of the corpus.

mod proof;

use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use samovar_fuzz::TARGETS;

/// Files of one target, and bytes of one of them, at most: the corpus is a part of every clone.
const MAX_FILES: usize = 60;
const MAX_BYTES: usize = 4096;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("a folder of the corpus");
    let names = entries.map(|entry| entry.expect("an entry of the corpus").file_name());
    names
        .map(|name| name.into_string().expect("a plain name"))
        .collect()
}

// proves TL-16
#[test]
fn every_parser_of_foreign_bytes_keeps_its_promises_on_its_corpus() {
    let mut failed = Vec::new();
    for (name, target) in TARGETS {
        let folder = corpus().join(name);
        let inputs = names(&folder).into_iter().map(|file| {
            let data = fs::read(folder.join(&file)).expect("a file of the corpus");
            (file, data)
        });
        for (file, data) in inputs.chain([("nothing".to_owned(), Vec::new())]) {
            if catch_unwind(|| target(&data)).is_err() {
                failed.push(format!("{name}/{file}"));
            }
        }
    }
    assert!(failed.is_empty(), "these fail, as said above: {failed:#?}");
}

// proves TL-16
#[test]
fn every_target_has_a_small_corpus_and_every_corpus_a_target() {
    let targets: BTreeSet<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(targets.len(), TARGETS.len(), "a name is there twice");
    assert_eq!(names(&corpus()), targets);
    for name in targets {
        let folder = corpus().join(&name);
        let files = names(&folder);
        assert!(
            (1..=MAX_FILES).contains(&files.len()),
            "{name} has {}",
            files.len()
        );
        for file in files {
            let bytes = fs::metadata(folder.join(&file))
                .expect("a file of the corpus")
                .len();
            assert!(bytes <= MAX_BYTES as u64, "{name}/{file} has {bytes} bytes");
        }
    }
}
