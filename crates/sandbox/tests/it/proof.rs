//! What takes too long for each run of the gate.

use std::fs;

use crate::races::while_swapping;
use crate::yard::{Yard, list, read, snapshot, verdict, write};

/// Tries of each kind. A write waits for the disk.
const READS: usize = 950_000;
const LISTINGS: usize = 49_000;
const WRITES: usize = 1_000;

// proves TL-8
#[test]
fn a_million_tries_against_a_folder_that_becomes_a_link_all_stay_inside() {
    let yard = Yard::new();
    fs::write(yard.ws("a/secret.txt"), "mine").unwrap();
    yard.link("trap", yard.outside("folder"));
    let jail = yard.jail();
    let before = snapshot(&yard.outside(""));
    let (mut fine, mut refused, mut open) = (0, 0, 0);
    let mut meet = |verdict: &str| match verdict {
        "ok" => fine += 1,
        "symlink" => refused += 1,
        // The swap came between two looks at the same name.
        "not found" | "no directory" => {}
        other => panic!("{other}"),
    };
    while_swapping(&yard.ws("a"), &yard.ws("trap"), || {
        for _ in 0..READS {
            let content = read(&jail, "a/secret.txt");
            assert!(content.as_ref().map_or(true, |content| content == b"mine"));
            meet(verdict(&content));
        }
        for _ in 0..LISTINGS {
            meet(verdict(&list(&jail, "a")));
        }
        for _ in 0..WRITES {
            meet(verdict(&write(&jail, "a/secret.txt", "mine")));
        }
        // Without the jail the same race is lost at once.
        for _ in 0..READS / 100 {
            let content = fs::read(yard.ws("a/secret.txt"));
            open += usize::from(content.is_ok_and(|content| content == b"secret"));
        }
    });
    assert_eq!(snapshot(&yard.outside("")), before);
    let all = READS + LISTINGS + WRITES;
    assert_eq!(all, 1_000_000);
    assert!(fine > all / 100 && refused > all / 100, "{fine} {refused}");
    assert!(open > 0);
}
