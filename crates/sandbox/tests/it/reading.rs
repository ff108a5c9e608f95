//! What an open file tells.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, UNIX_EPOCH};

use crate::yard::{Yard, place, verdict};

// proves TL-2
#[test]
fn a_file_is_read_in_pieces_and_tells_its_size_time_and_mode() {
    let yard = Yard::new();
    let path = yard.ws("digits");
    fs::write(&path, "0123456789").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o751)).unwrap();
    let changed = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(changed)
        .unwrap();
    let jail = yard.jail();

    let file = jail.open_file(&place(&jail, "digits")).unwrap();

    assert_eq!(
        (file.len(), file.mode(), file.modified()),
        (10, 0o751, changed)
    );
    for (offset, cap, expected) in [
        (0, 3, "012"),
        (3, 4, "3456"),
        (8, 9, "89"),
        (10, 1, ""),
        (99, 1, ""),
        (u64::MAX, 1, ""),
        (0, 0, ""),
    ] {
        assert_eq!(file.read_at(offset, cap).unwrap(), expected.as_bytes());
    }
    assert_eq!(file.into_bytes(10).unwrap(), b"0123456789");
}

// proves TL-8
#[test]
fn a_file_above_the_cap_is_refused_with_both_numbers() {
    let yard = Yard::new();
    let jail = yard.jail();

    let refusal = jail
        .open_file(&place(&jail, "plain.txt"))
        .unwrap()
        .into_bytes(4)
        .unwrap_err();

    let sentence = r#""plain.txt" has 5 bytes and the limit is 4; work on a part of it"#;
    assert_eq!(refusal.to_string(), sentence);
}

// proves TL-8
#[test]
fn a_file_that_grows_while_it_is_read_does_not_pass_the_cap() {
    let yard = Yard::new();
    let jail = yard.jail();
    let file = jail.open_file(&place(&jail, "plain.txt")).unwrap();

    File::options()
        .append(true)
        .open(yard.ws("plain.txt"))
        .unwrap()
        .write_all(b" and more")
        .unwrap();

    assert_eq!(verdict(&file.into_bytes(5)), "too large");
}

// proves TL-8
#[test]
fn an_enormous_file_with_nothing_in_it_costs_no_memory() {
    let yard = Yard::new();
    File::create(yard.ws("sparse"))
        .unwrap()
        .set_len(1 << 42)
        .unwrap();
    let jail = yard.jail();
    let file = jail.open_file(&place(&jail, "sparse")).unwrap();

    assert_eq!(file.read_at(1 << 41, 8).unwrap(), [0; 8]);
    assert_eq!(verdict(&file.into_bytes(1 << 20)), "too large");
}
