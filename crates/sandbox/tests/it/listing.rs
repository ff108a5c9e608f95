//! Lists and walks.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{self as rfs, Mode, OFlags};
use samovar_sandbox::{JailPath, Kind, Visit, WalkLimits, WalkOmissions};

use crate::yard::{Yard, place, read, verdict, write};

const FAR: WalkLimits = WalkLimits {
    depth: 64,
    entries: 10_000,
};

// proves TL-2
#[test]
fn a_list_has_names_kinds_and_sizes_in_order_and_follows_no_link() {
    let yard = Yard::new();
    yard.link("link", yard.outside("folder"));
    let _socket = std::os::unix::net::UnixListener::bind(yard.ws("socket")).unwrap();
    let jail = yard.jail();

    let listing = jail.list(&JailPath::root(), 100).unwrap();

    let seen: Vec<_> = listing
        .entries
        .iter()
        .map(|e| (e.place.to_string(), e.kind, e.size))
        .collect();
    let expected = [
        ("a", Kind::Directory, 0),
        ("link", Kind::Symlink, 0),
        ("plain.txt", Kind::File, 5),
        ("socket", Kind::Other, 0),
    ];
    assert_eq!(
        seen,
        expected.map(|(name, kind, size)| (name.to_owned(), kind, size))
    );
    assert_eq!(listing.more, 0);
}

// proves TL-2
#[test]
fn a_list_is_cut_at_its_cap_and_says_how_much_is_missing() {
    let yard = Yard::new();
    for number in 0..20 {
        fs::write(yard.ws(&format!("a/b/{number:02}")), "").unwrap();
    }
    let jail = yard.jail();

    let listing = jail.list(&place(&jail, "a/b"), 3).unwrap();

    let names: Vec<_> = listing
        .entries
        .iter()
        .map(|e| e.place.to_string())
        .collect();
    assert_eq!(names, ["a/b/00", "a/b/01", "a/b/02"]);
    assert_eq!(listing.more, 17);
}

// proves TL-8
#[test]
fn a_name_that_is_not_utf8_is_listed_marked_and_opened_only_by_its_entry() {
    let yard = Yard::new();
    let name = OsStr::from_bytes(b"caf\xe9.txt");
    fs::write(yard.ws("a/b").join(name), "noir").unwrap();
    let jail = yard.jail();

    let entry = jail
        .list(&place(&jail, "a/b"), 10)
        .unwrap()
        .entries
        .remove(0);

    assert_eq!(entry.place.to_string(), "a/b/caf\u{fffd}.txt");
    assert!(entry.place.is_lossy());
    assert_eq!(entry.place.name(), Some(name));
    assert_eq!(
        jail.open_file(&entry.place).unwrap().into_bytes(9).unwrap(),
        b"noir"
    );
    let as_text = entry.place.to_string();
    assert_eq!(verdict(&read(&jail, &as_text)), "not utf-8");
    assert_eq!(verdict(&write(&jail, &as_text, "x")), "not utf-8");
    assert_eq!(verdict(&write(&jail, "caf\u{fffd}/x", "x")), "not utf-8");
    assert_eq!(
        jail.list(&place(&jail, "a/b"), 10).unwrap().entries,
        [entry]
    );
}

fn tree() -> Yard {
    let yard = Yard::new();
    for file in [
        "a/1",
        "a/b/2",
        "a/b/c/3",
        "target/4",
        "target/deep/5",
        "z/6",
    ] {
        let path = yard.ws(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file).unwrap();
    }
    yard.link("a/out", yard.outside("folder"));
    yard.link("a/round", "..");
    fs::rename(yard.ws("data"), yard.ws("z/data")).unwrap();
    yard
}

// proves TL-8
#[test]
fn a_walk_sees_the_whole_tree_and_nothing_behind_a_link_or_hidden() {
    let yard = tree();
    let jail = yard.jail_with(&[yard.ws("z/data")], &[]).unwrap();

    let mut seen = Vec::new();
    let walked = jail.walk(&JailPath::root(), FAR, |entry| {
        seen.push(entry.place.to_string());
        Visit::Enter
    });

    assert_eq!(walked.unwrap(), WalkOmissions::default());
    let expected = "a a/1 a/b a/b/2 a/b/c a/b/c/3 a/out a/round plain.txt target target/4 \
                    target/deep target/deep/5 z z/6";
    assert_eq!(seen.join(" "), expected);
}

// proves TL-2
#[test]
fn a_visitor_reads_through_the_jail_and_decides_what_is_entered() {
    let yard = tree();
    fs::write(yard.ws("ignored"), "target\nz\n").unwrap();
    let jail = yard.jail_with(&[yard.ws("z/data")], &[]).unwrap();

    let mut seen = Vec::new();
    jail.walk(&place(&jail, ""), FAR, |entry| {
        let ignored = String::from_utf8(read(&jail, "ignored").unwrap()).unwrap();
        if ignored
            .lines()
            .any(|line| entry.place.name() == Some(OsStr::new(line)))
        {
            return Visit::Pass;
        }
        seen.push(entry.place.to_string());
        if entry.place.name() == Some(OsStr::new("plain.txt")) {
            Visit::Stop
        } else {
            Visit::Enter
        }
    })
    .unwrap();

    assert_eq!(
        seen.join(" "),
        "a a/1 a/b a/b/2 a/b/c a/b/c/3 a/out a/round ignored plain.txt"
    );
}

// proves TL-8
#[test]
fn a_walk_ends_at_its_limits_and_counts_what_it_left_out() {
    let yard = tree();
    let jail = yard.jail_with(&[yard.ws("z/data")], &[]).unwrap();
    let walk = |from: &str, depth, entries| {
        let mut seen = 0;
        let walked = jail.walk(&place(&jail, from), WalkLimits { depth, entries }, |_| {
            seen += 1;
            Visit::Enter
        });
        (seen, walked.unwrap())
    };

    assert_eq!(
        walk("", 1, 99),
        (
            4,
            WalkOmissions {
                too_deep: 3,
                ..WalkOmissions::default()
            }
        )
    );
    assert_eq!(
        walk("a", 2, 99),
        (
            6,
            WalkOmissions {
                too_deep: 1,
                ..WalkOmissions::default()
            }
        )
    );
    // The four of the first list use up the budget but one; `a` has four.
    assert_eq!(
        walk("", 9, 5),
        (
            5,
            WalkOmissions {
                more: 7,
                ..WalkOmissions::default()
            }
        )
    );
    assert_eq!(
        walk("", 9, 0),
        (
            0,
            WalkOmissions {
                more: 4,
                ..WalkOmissions::default()
            }
        )
    );
}

// proves TL-8
#[test]
fn a_directory_that_vanishes_during_a_walk_is_counted_and_the_walk_goes_on() {
    let yard = tree();
    let jail = yard.jail_with(&[yard.ws("z/data")], &[]).unwrap();

    let mut last = String::new();
    let walked = jail.walk(&JailPath::root(), FAR, |entry| {
        if entry.place.to_string() == "target" {
            fs::remove_dir_all(yard.ws("target")).unwrap();
        }
        last = entry.place.to_string();
        Visit::Enter
    });

    assert_eq!(
        walked.unwrap(),
        WalkOmissions {
            unreadable: 1,
            ..WalkOmissions::default()
        }
    );
    assert_eq!(last, "z/6");
}

// proves TL-8
#[test]
fn a_tree_deeper_than_any_path_is_walked_to_its_end() {
    let yard = Yard::new();
    let name = "d".repeat(200);
    let mut dir = rfs::open(yard.ws(""), OFlags::PATH, Mode::empty()).unwrap();
    for _ in 0..40 {
        rfs::mkdirat(&dir, &name, Mode::RWXU).unwrap();
        dir = rfs::openat(&dir, &name, OFlags::PATH, Mode::empty()).unwrap();
    }
    let jail = yard.jail();

    let mut deepest = 0;
    let walked = jail.walk(&JailPath::root(), FAR, |entry| {
        deepest = deepest.max(entry.place.as_path().components().count());
        Visit::Enter
    });

    assert_eq!((walked.unwrap(), deepest), (WalkOmissions::default(), 40));
}
