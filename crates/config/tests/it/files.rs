//! Files that are none, or that nobody should read whole.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use samovar_config::MAX_FILE_BYTES;

use crate::desk::Desk;

#[track_caller]
fn cannot_be_read(desk: &Desk, why: &str) {
    let file = desk.here("samovar.toml");
    let sentence = format!("{} cannot be read: {why}", file.display());
    desk.refuses("config_unreadable", &sentence);
}

// proves FC-3
#[test]
fn what_stands_in_a_files_place_is_refused_and_never_waited_for() {
    let desk = Desk::new();
    fs::create_dir(desk.here("samovar.toml")).unwrap();
    cannot_be_read(&desk, "it is a folder; it must be a file");

    let desk = Desk::new();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, desk.here("samovar.toml"), kind, mode, 0).unwrap();
    cannot_be_read(&desk, "it is not a regular file");

    let desk = Desk::new();
    symlink("/dev/zero", desk.here("samovar.toml")).unwrap();
    cannot_be_read(&desk, "it is not a regular file");

    let desk = Desk::new();
    symlink("samovar.toml", desk.here("samovar.toml")).unwrap();
    cannot_be_read(&desk, "it is a link to itself");

    let desk = Desk::new();
    symlink("gone.toml", desk.here("samovar.toml")).unwrap();
    cannot_be_read(&desk, "it is a link to a file that does not exist");

    let desk = Desk::new();
    let _socket = UnixListener::bind(desk.here("samovar.toml")).unwrap();
    assert_eq!(desk.refusal().code(), "config_unreadable");
}

// proves FC-3
#[test]
fn a_file_has_its_bound_to_the_byte() {
    let of = |bytes: u64| {
        let comment = "#".repeat(usize::try_from(bytes).unwrap());
        Desk::new().here_says(comment)
    };
    of(MAX_FILE_BYTES).resolve();
    let why = format!("it is larger than {MAX_FILE_BYTES} bytes");
    cannot_be_read(&of(MAX_FILE_BYTES + 1), &why);

    // Ten megabytes that are no file of anybody's: nothing of it is read.
    let desk = Desk::new();
    let file = fs::File::create(desk.here("samovar.toml")).unwrap();
    file.set_len(10 * 1024 * 1024).unwrap();
    cannot_be_read(&desk, &why);
}

// proves FC-3
#[test]
fn bad_utf_8_is_told_by_its_line() {
    let desk = Desk::new().here_says(b"log = \"info\"\n\nx = \"\xff\"\n");
    cannot_be_read(&desk, "line 3 is not UTF-8; save it as UTF-8");
}

#[test]
fn tables_that_are_nested_too_deep_are_refused() {
    let depth = 100_000;
    for text in [
        format!("x = {}", "[".repeat(depth)),
        format!("x = {}", "{a=".repeat(depth / 3)),
        format!("[{}a]", "a.".repeat(depth)),
    ] {
        let code = Desk::new().here_says(text).refusal().code();
        assert!(
            ["config_syntax", "config_unknown_key"].contains(&code),
            "{code}"
        );
    }
}

#[test]
fn what_editors_leave_behind_does_no_harm() {
    for text in [
        "",
        "\n",
        "\u{feff}language = \"en\"",
        "language = \"en\"\r\n[defaults]\r\n",
        "# only this",
    ] {
        Desk::new().here_says(text).resolve();
    }
}

#[test]
fn a_link_to_a_file_is_read() {
    let desk = Desk::new();
    fs::write(
        desk.home().join("shared.toml"),
        "[defaults]\nmax_tokens = 7\n",
    )
    .unwrap();
    symlink(desk.home().join("shared.toml"), desk.here("samovar.toml")).unwrap();
    assert_eq!(desk.resolve().settings.defaults.max_tokens, 7);
}

#[test]
fn the_users_file_has_the_same_bounds() {
    let desk = Desk::new();
    fs::create_dir(desk.user("samovar.toml")).unwrap();
    let file = desk.user("samovar.toml");
    let sentence = format!(
        "{} cannot be read: it is a folder; it must be a file",
        file.display()
    );
    desk.refuses("config_unreadable", &sentence);
    let desk = Desk::new().user_says("[server]\nprot = 1\n");
    let place = desk.user("samovar.toml:2:1");
    let sentence = format!(
        "{}: there is no key \"server.prot\"; did you mean server.port?",
        place.display()
    );
    desk.refuses("config_unknown_key", &sentence);
}
