//! The files of the catalogue as they lie in the tree.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

fn files() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../locales");
    let entries = fs::read_dir(folder).expect("the catalogue is there");
    let paths = entries.map(|entry| entry.expect("an entry can be read").path());
    paths
        .map(|path| (path.clone(), fs::read_to_string(path).expect("it is text")))
        .collect()
}

#[test]
fn the_folder_holds_catalogues_alone() {
    let files = files();
    assert!(files.iter().any(|(path, _)| path.ends_with("en.json")));
    for (path, _) in files {
        assert_eq!(
            path.extension().and_then(|end| end.to_str()),
            Some("json"),
            "{path:?}"
        );
    }
}

#[test]
fn keys_stand_in_the_order_of_the_alphabet_so_that_a_change_is_a_line() {
    for (path, text) in files() {
        let entries: Map<String, Value> = serde_json::from_str(&text).expect("it is an object");
        let mut keys: Vec<_> = entries.keys().cloned().collect();
        let given = keys.clone();
        keys.sort_by_key(|key| {
            key.split_once('.')
                .map(|(area, name)| (area.to_owned(), name.to_owned()))
        });
        assert_eq!(given, keys, "{path:?}");
        let mut written = serde_json::to_string_pretty(&entries).expect("it is JSON");
        written.push('\n');
        assert_eq!(
            text, written,
            "{path:?} is written otherwise than JSON is printed"
        );
    }
}
