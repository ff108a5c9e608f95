//! The named points and the faults to plant, as they stand in the sources, against their tables.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use samovar_core::failpoint::POINTS;
use samovar_core::plant::{Detection, FAULTS};

/// The names behind this in all sources, as often as they stand there.
fn marks(before: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut names = Vec::new();
    for member in root.join("crates").read_dir().unwrap() {
        collect(&member.unwrap().path().join("src"), before, &mut names);
    }
    collect(&root.join("lab/doubles/src"), before, &mut names);
    names
}

fn collect(path: &PathBuf, before: &str, names: &mut Vec<String>) {
    if let Ok(entries) = path.read_dir() {
        entries.for_each(|entry| collect(&entry.unwrap().path(), before, names));
    } else if let Ok(source) = std::fs::read_to_string(path) {
        let code = source
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let marks = code.filter_map(|line| line.split_once(before));
        names.extend(marks.filter_map(|(_, mark)| Some(mark.split_once('"')?.0.to_owned())));
    }
}

#[test]
fn every_named_point_stands_in_the_table_and_once_in_the_code() {
    let mut points = marks("failpoint!(\"");
    for edge in marks("edge!(\"") {
        points.extend([format!("{edge}.before"), format!("{edge}.after")]);
    }
    points.sort();
    let mut names: Vec<_> = POINTS.iter().map(|point| point.name).collect();
    names.sort_unstable();

    assert_eq!(points, names);
    names.dedup();
    assert_eq!(names.len(), POINTS.len());
}

#[test]
fn every_planted_fault_stands_in_the_table_and_in_the_code() {
    let marks: BTreeSet<_> = marks("planted!(\"").into_iter().collect();
    let names: BTreeSet<_> = FAULTS.iter().map(|fault| fault.name.to_owned()).collect();

    assert_eq!(marks, names);
    assert_eq!(names.len(), FAULTS.len());
    assert!(names.len() >= 12, "{names:?}");
}

#[test]
fn a_fault_is_seen_at_a_point_that_there_is() {
    for fault in FAULTS {
        if let Detection::At(name) = fault.seen {
            assert!(POINTS.iter().any(|point| point.name == name), "{fault:?}");
        }
    }
}
