//! Ways out, and ways to get stuck.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use samovar_sandbox::{Jail, Protected};

use crate::yard::{Yard, list, names, read, snapshot, verdict, write};

/// What reading, writing and listing must come to.
type Verdicts = [&'static str; 3];

fn check(jail: &Jail, rows: &[(String, Verdicts)]) {
    for (raw, expected) in rows {
        let verdicts = [
            verdict(&read(jail, raw)),
            verdict(&write(jail, raw, "overwritten")),
            verdict(&list(jail, raw)),
        ];
        assert_eq!(verdicts, *expected, "read, write, list of {raw:.200?}");
    }
}

fn set_traps(yard: &Yard) -> UnixListener {
    yard.link("link-file", yard.outside("secret.txt"));
    yard.link("link-dir", yard.outside("folder"));
    yard.link("link-relative", "../outside/secret.txt");
    yard.link("link-inside", "plain.txt");
    yard.link("link-root", ".");
    yard.link("link-up", "..");
    yard.link("link-proc", "/proc/self/root");
    yard.link("link-cwd", "/proc/self/cwd");
    yard.link("dangling", yard.outside("new.txt"));
    yard.link("dangling-dir", yard.outside("new"));
    yard.link("loop", "loop");
    yard.link("a/chain", "../link-dir");
    fs::create_dir(yard.top().join("ws-twin")).unwrap();
    fs::write(yard.top().join("ws-twin/secret.txt"), "secret").unwrap();
    fs::hard_link(yard.outside("secret.txt"), yard.ws("hard")).unwrap();
    mknodat(
        CWD,
        yard.ws("pipe"),
        FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )
    .unwrap();
    UnixListener::bind(yard.ws("socket")).unwrap()
}

/// Checks the rows in a yard full of traps, which must be the same afterwards.
fn check_in_yard(rows: impl FnOnce(&Yard) -> Vec<(String, Verdicts)>) {
    let yard = Yard::new();
    let _listener = set_traps(&yard);
    let before = snapshot(&yard.top());

    check(&yard.jail(), &rows(&yard));

    assert_eq!(snapshot(&yard.top()), before);
}

// proves TL-8
#[test]
fn no_dots_and_no_absolute_path_lead_out() {
    let absolute = |path: PathBuf| (path.to_str().unwrap().to_owned(), ["outside"; 3]);
    let relative = |raw: &str| (raw.to_owned(), ["outside"; 3]);
    check_in_yard(|yard| {
        vec![
            relative(".."),
            relative("../"),
            relative("../ws/plain.txt"),
            relative("../outside/secret.txt"),
            relative("./.././outside/secret.txt"),
            relative("a/../../outside/secret.txt"),
            relative("a/b/../../../outside/secret.txt"),
            relative("missing/../../outside/secret.txt"),
            relative("plain.txt/../../outside/secret.txt"),
            relative("/"),
            relative("/etc/passwd"),
            relative("//etc//passwd"),
            relative("/proc/self/root/etc/passwd"),
            absolute(yard.top()),
            absolute(yard.outside("secret.txt")),
            absolute(yard.top().join("ws-twin/secret.txt")),
            absolute(yard.ws("../outside/secret.txt")),
            absolute(yard.ws("a/../../ws/plain.txt")),
        ]
    });
}

// proves TL-8
#[test]
fn no_link_is_followed_wherever_it_leads() {
    check_in_yard(|yard| {
        let inside = yard.ws("link-dir/secret.txt").to_str().unwrap().to_owned();
        let link = |raw: &str| (raw.to_owned(), ["symlink"; 3]);
        vec![
            link(&inside),
            link("link-file"),
            link("link-relative"),
            link("link-inside"),
            link("link-dir"),
            link("link-dir/secret.txt"),
            link("link-dir/new.txt"),
            link("link-dir/new/new.txt"),
            link("link-root/plain.txt"),
            link("link-up/outside/secret.txt"),
            link("link-proc/etc/passwd"),
            link("link-cwd/Cargo.toml"),
            link("dangling"),
            link("dangling-dir/new.txt"),
            link("loop"),
            link("loop/x"),
            link("a/chain/secret.txt"),
            ("link-file/".to_owned(), ["symlink", "directory", "symlink"]),
        ]
    });
}

/// Ways to a folder outside.
fn doors(yard: &Yard) -> Vec<String> {
    let folder = yard.outside("folder").to_str().unwrap().to_owned();
    let relative = [
        "../outside/folder",
        "./.././outside/folder",
        "a/../../outside/folder",
        "a/b/../../../outside/folder",
        "link-dir",
        "./link-dir/.",
        "link-dir/../folder",
        "a/../link-dir",
        "a/chain",
        "link-up/outside/folder",
        "link-root/link-dir",
        "link-root/../outside/folder",
        "link-root/a/chain",
    ];
    let absolute = [
        folder.clone(),
        format!("/{folder}"),
        format!("/.{folder}"),
        format!("/proc/self/root{folder}"),
        format!("link-proc{folder}"),
    ];
    let relative = relative.into_iter().map(str::to_owned);
    relative.chain(absolute).collect()
}

// proves TL-8
#[test]
fn no_way_to_a_folder_outside_is_open_and_all_are_without_the_jail() {
    let yard = Yard::new();
    let _listener = set_traps(&yard);
    let jail = yard.jail();
    let before = snapshot(&yard.outside(""));
    let reads = [
        "secret.txt",
        "./secret.txt",
        "/secret.txt",
        "../folder/secret.txt",
        "../secret.txt",
    ];
    let writes = ["new.txt", "./new.txt", "../folder/new.txt"];
    let doors = doors(&yard);
    let mut held = 0;
    for door in &doors {
        let at = |end: &&str| format!("{door}/{end}");
        for path in reads.iter().map(at) {
            assert!(read(&jail, &path).is_err(), "{path}");
        }
        for path in writes.iter().map(at) {
            // Where `..` takes the link out of the path, the rest is a path inside.
            let _inside = write(&jail, &path, "new");
            assert_eq!(snapshot(&yard.outside("")), before, "{path}");
        }
        let listed = list(&jail, door).unwrap_or_default().concat();
        assert!(!listed.contains("secret.txt"), "{door}");
        held += reads.len() + writes.len() + 1;
    }
    assert!(held >= 100, "{held}");

    // As the system takes a path.
    for door in &doors {
        let at = |end: &&str| yard.ws("").join(format!("{door}/{end}"));
        for path in reads.iter().map(at) {
            assert_eq!(fs::read(&path).unwrap(), b"secret", "{path:?}");
        }
        for path in writes.iter().map(at) {
            fs::write(&path, "new").unwrap();
            fs::remove_file(yard.outside("folder/new.txt")).unwrap();
        }
        let mut listed = fs::read_dir(yard.ws("").join(door)).unwrap().flatten();
        assert!(
            listed.any(|entry| entry.file_name() == "secret.txt"),
            "{door}"
        );
    }
}

// proves TL-8
#[test]
fn what_is_no_regular_file_is_neither_opened_nor_waited_for_nor_replaced() {
    let special = ["not regular", "not regular", "no directory"];
    let folder = ["directory", "directory", "ok"];
    let slashed_file = ["no directory", "directory", "no directory"];
    let hidden = ["not found", "protected", "not found"];
    check_in_yard(|_| {
        let rows = [
            ("pipe", special),
            ("socket", special),
            ("pipe/x", ["no directory"; 3]),
            ("plain.txt/x", ["no directory"; 3]),
            ("plain.txt/", slashed_file),
            ("plain.txt/.", slashed_file),
            ("missing/", ["not found", "directory", "not found"]),
            ("a", folder),
            ("a/", folder),
            ("", folder),
            (".", folder),
            ("a/..", folder),
            ("hard", ["ok", "hard-linked", "no directory"]),
            ("data", hidden),
            ("data/token", hidden),
            ("data/new/deep", hidden),
            ("./a/../data/token", hidden),
            (".samovar-0123456789abcdef.tmp", hidden),
        ];
        rows.map(|(raw, verdicts)| (raw.to_owned(), verdicts))
            .to_vec()
    });
}

// proves TL-8
#[test]
fn what_no_file_can_be_called_is_refused_before_the_kernel_is_asked() {
    let yard = Yard::new();
    let jail = yard.jail();
    for (raw, expected) in [
        ("nul\0.txt".to_owned(), "nul"),
        ("../outside/secret.txt\0.png".to_owned(), "nul"),
        ("n".repeat(300), "too long"),
        (format!("{}/x", "n".repeat(256)), "too long"),
        ("ж".repeat(200), "too long"),
        ("a/".repeat(2500), "too long"),
        ("../".repeat(2500), "too long"),
        ("n".repeat(5000), "too long"),
    ] {
        assert_eq!(verdict(&jail.place(&raw)), expected, "{raw:.200?}");
    }
}

// proves TL-8
#[test]
fn what_a_model_may_reasonably_write_is_the_file_it_means() {
    let yard = Yard::new();
    let jail = yard.jail();
    let absolute = yard.ws("abs/x.txt").to_str().unwrap().to_owned();
    let doubled = absolute.replace("/ws/", "//ws/./");
    let longest = "n".repeat(255);
    for (raw, on_disk) in [
        ("a b.txt", "a b.txt"),
        ("./a/./c.txt", "a/c.txt"),
        ("a//b///d.txt", "a/b/d.txt"),
        ("a/b/../e.txt", "a/e.txt"),
        ("missing/../f.txt", "f.txt"),
        ("naïve/日本語 ☕.txt", "naïve/日本語 ☕.txt"),
        (" lead", " lead"),
        ("...", "..."),
        ("..a/b..", "..a/b.."),
        ("-rf", "-rf"),
        ("~/x", "~/x"),
        ("%2e%2e/x", "%2e%2e/x"),
        ("back\\slash", "back\\slash"),
        ("two\nlines", "two\nlines"),
        (&longest, &longest),
        (&absolute, "abs/x.txt"),
        (&doubled, "abs/x.txt"),
    ] {
        write(&jail, raw, raw).unwrap();

        assert_eq!(fs::read_to_string(yard.ws(on_disk)).unwrap(), raw);
        assert_eq!(read(&jail, raw).unwrap(), raw.as_bytes());
    }
}

#[test]
fn the_workspace_may_be_spelled_through_the_link_it_was_given_by() {
    let yard = Yard::new();
    let link = yard.top().join("home");
    std::os::unix::fs::symlink(yard.ws(""), &link).unwrap();
    let jail = Jail::open(&link, &Protected::default()).unwrap();

    for root in [link, yard.ws("")] {
        let path = root.join("plain.txt").to_str().unwrap().to_owned();
        assert_eq!(read(&jail, &path).unwrap(), b"plain");
    }
    assert_eq!(jail.root_path(), yard.top().join("ws"));
}

// proves TL-8
#[test]
fn devices_are_neither_opened_nor_replaced() {
    let jail = Jail::open(Path::new("/dev"), &Protected::default()).unwrap();
    let device = |name: &str| {
        (
            name.to_owned(),
            ["not regular", "not regular", "no directory"],
        )
    };

    check(&jail, &["null", "tty", "zero"].map(device));
}

// proves TL-8
#[test]
fn the_kernels_own_doors_stay_shut_even_when_the_jail_is_the_whole_machine() {
    let jail = Jail::open(Path::new("/"), &Protected::default()).unwrap();
    for magic in [
        "proc/self/root/etc/passwd",
        "/proc/self/cwd/Cargo.toml",
        "proc/self/exe",
    ] {
        assert_eq!(verdict(&read(&jail, magic)), "symlink", "{magic}");
    }
    let thread = format!("proc/{}/root/etc/passwd", std::process::id());
    assert_eq!(verdict(&read(&jail, &thread)), "symlink");
    let pid = std::process::id();
    for file in ["mem", "environ", "maps", "fdinfo/0"] {
        let path = format!("/proc/{pid}/{file}");
        assert_eq!(verdict(&read(&jail, &path)), "not regular", "{path}");
    }
}

#[test]
fn a_refusal_is_a_sentence_that_helps() {
    let yard = Yard::new();
    yard.link("a/link", yard.outside("secret.txt"));
    fs::hard_link(yard.ws("plain.txt"), yard.ws("twin")).unwrap();
    let jail = yard.jail();
    for (raw, sentence) in [
        (
            "a/b/c/d.txt",
            r#""a/b/c" does not exist; the nearest folder that does is "a/b""#,
        ),
        (
            "c",
            r#""c" does not exist; the nearest folder that does is ".""#,
        ),
        (
            "../x\u{202e}",
            r#""../x\u{202e}" is outside the workspace; give a path inside it, relative to its root"#,
        ),
        (
            "a/link/x",
            r#""a/link" is a symbolic link, and links are not followed; give the path it stands for"#,
        ),
        (
            "plain.txt/x",
            r#""plain.txt" is not a directory; give a folder, or read it as a file"#,
        ),
        ("a", r#""a" is a directory; give the path of a file in it"#),
    ] {
        assert_eq!(read(&jail, raw).unwrap_err().to_string(), sentence);
    }
    for (raw, sentence) in [
        (
            "SOUL.md",
            r#""SOUL.md" is protected and no tool can change it; write somewhere else"#,
        ),
        (
            "twin",
            r#""twin" has 2 hard links; write to a new file instead"#,
        ),
    ] {
        assert_eq!(write(&jail, raw, "x").unwrap_err().to_string(), sentence);
    }
}

#[test]
fn a_root_that_cannot_be_a_jail_is_refused_at_once() {
    let yard = Yard::new();
    let open = |path: &Path| verdict(&Jail::open(path, &Protected::default()));

    assert_eq!(open(&yard.ws("plain.txt")), "no directory");
    assert_eq!(open(&yard.ws("missing")), "io");
    assert_eq!(
        verdict(&yard.jail_with(&[yard.ws("plain.txt")], &[])),
        "no directory"
    );
    assert_eq!(verdict(&yard.jail_with(&[], &["../x"])), "outside");
    assert_eq!(names(&yard.ws("")), ["a", "data", "plain.txt"]);
}
