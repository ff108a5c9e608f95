//! A jail that is open to the rest of the system: what it opens, and what stays shut.

use std::fs;
use std::path::Path;

use samovar_sandbox::{Jail, Protected, Visit, WalkLimits};

use crate::yard::{Yard, list, place, read, snapshot, verdict, write};

fn open_jail(yard: &Yard) -> Jail {
    let protected = Protected {
        hidden: vec![yard.ws("data")],
        read_only: vec!["samovar.toml".into(), yard.outside("config")],
        ..Protected::default()
    };
    Jail::open_to_system(&yard.ws(""), &protected).unwrap()
}

// proves TL-8
#[test]
fn what_lies_beyond_the_workspace_is_reached_by_its_absolute_path_or_by_climbing() {
    let yard = Yard::new();
    let jail = open_jail(&yard);
    let beyond = yard.outside("secret.txt").to_str().unwrap().to_owned();

    for raw in [
        &beyond,
        "../outside/secret.txt",
        "a/../../outside/./secret.txt",
    ] {
        assert_eq!(read(&jail, raw).unwrap(), b"secret", "{raw}");
        assert_eq!(place(&jail, raw).to_string(), beyond, "{raw}");
        assert!(place(&jail, raw).is_beyond());
    }
    // What is shown can be given back.
    let folder = yard.outside("folder").to_str().unwrap().to_owned();
    assert_eq!(
        list(&jail, &folder).unwrap(),
        [format!("{folder}/secret.txt")]
    );
    write(&jail, &format!("{folder}/new/deep.txt"), "new").unwrap();
    assert_eq!(
        fs::read(yard.outside("folder/new/deep.txt")).unwrap(),
        b"new"
    );
    assert!(
        list(&jail, "/")
            .unwrap()
            .iter()
            .all(|path| path.starts_with('/'))
    );
    // More steps up than there are folders end at the top, as the system has it.
    let far = format!("{}{beyond}", "../".repeat(60));
    assert_eq!(read(&jail, &far).unwrap(), b"secret");
}

// proves TL-8
#[test]
fn the_workspace_keeps_its_relative_paths() {
    let yard = Yard::new();
    let jail = open_jail(&yard);
    let absolute = yard.ws("plain.txt").to_str().unwrap().to_owned();
    for raw in [
        "plain.txt",
        &absolute,
        "../ws/plain.txt",
        "a/../../ws/./plain.txt",
    ] {
        assert_eq!(place(&jail, raw).to_string(), "plain.txt", "{raw}");
        assert!(!place(&jail, raw).is_beyond());
        assert_eq!(read(&jail, raw).unwrap(), b"plain");
    }
    assert_eq!(list(&jail, "..").unwrap().len(), 2);
    assert_eq!(list(&jail, "").unwrap(), ["a", "plain.txt"]);
}

// proves TL-8, TL-18
#[test]
fn what_is_protected_stays_so_by_every_path() {
    let yard = Yard::new();
    fs::write(yard.ws("samovar.toml"), "theirs").unwrap();
    fs::create_dir(yard.outside("config")).unwrap();
    fs::write(yard.outside("config/samovar.toml"), "theirs").unwrap();
    let before = snapshot(&yard.top());
    let jail = open_jail(&yard);
    let top = yard.top().to_str().unwrap().to_owned();

    for raw in [
        "data/token",
        "../ws/data/token",
        &format!("{top}/ws/data/token"),
    ] {
        assert_eq!(verdict(&read(&jail, raw)), "not found", "{raw}");
        assert_eq!(verdict(&write(&jail, raw, "x")), "protected", "{raw}");
    }
    for raw in [
        "samovar.toml",
        "../ws/samovar.toml",
        &format!("{top}/ws/samovar.toml"),
    ] {
        assert_eq!(verdict(&write(&jail, raw, "x")), "protected", "{raw}");
    }
    for raw in [
        &format!("{top}/outside/config/samovar.toml"),
        &format!("{top}/outside/config/new.toml"),
        "../outside/config/samovar.toml",
        "../outside/Config/new.toml/../x/../../config/x",
    ] {
        assert_eq!(verdict(&write(&jail, raw, "x")), "protected", "{raw}");
    }
    let shown = list(&jail, &format!("{top}/ws")).unwrap();
    assert!(
        !shown.iter().any(|path| path.ends_with("data")),
        "{shown:?}"
    );
    assert_eq!(snapshot(&yard.top()), before);
}

// proves TL-8
#[test]
fn links_and_doors_into_the_kernel_stay_shut() {
    let yard = Yard::new();
    yard.link("link", yard.outside("secret.txt"));
    let jail = open_jail(&yard);
    let link = yard.ws("link").to_str().unwrap().to_owned();
    for (raw, expected) in [
        ("link", "symlink"),
        (link.as_str(), "symlink"),
        ("/proc/self/environ", "symlink"),
        ("/dev/zero", "not regular"),
        ("/", "directory"),
        ("/no/such/file", "not found"),
    ] {
        assert_eq!(verdict(&read(&jail, raw)), expected, "{raw}");
    }
    let own = format!("/proc/{}/environ", std::process::id());
    assert_eq!(verdict(&read(&jail, &own)), "not regular");
}

// proves TL-8
#[test]
fn a_walk_beyond_the_workspace_passes_by_what_is_hidden() {
    let yard = Yard::new();
    let jail = open_jail(&yard);
    let limits = WalkLimits {
        depth: 9,
        entries: 1_000,
    };
    let mut seen = Vec::new();
    let top = place(&jail, yard.top().to_str().unwrap());
    jail.walk(&top, limits, |entry| {
        seen.push(entry.place.as_path().to_owned());
        Visit::Enter
    })
    .unwrap();
    assert!(
        seen.contains(&yard.outside("folder/secret.txt")),
        "{seen:?}"
    );
    assert!(!seen.iter().any(|path| path.ends_with("token")), "{seen:?}");
}

// proves TL-8
#[test]
fn a_place_beyond_is_of_no_use_in_a_jail_that_is_not_open() {
    let yard = Yard::new();
    let (open, shut) = (open_jail(&yard), yard.jail());
    let beyond = place(&open, yard.outside("secret.txt").to_str().unwrap());
    assert_eq!(verdict(&shut.open_file(&beyond).map(drop)), "outside");
    assert_eq!(verdict(&shut.write(&beyond, b"x", 9).map(drop)), "outside");
    assert_eq!(verdict(&shut.list(&beyond, 9).map(drop)), "outside");
    assert_eq!(fs::read(yard.outside("secret.txt")).unwrap(), b"secret");
}

#[test]
fn a_workspace_that_is_the_whole_system_is_the_same_with_both() {
    let yard = Yard::new();
    let jail = Jail::open_to_system(Path::new("/"), &Protected::default()).unwrap();
    let file = yard.outside("secret.txt").to_str().unwrap().to_owned();
    assert_eq!(
        place(&jail, &file).to_string(),
        file.trim_start_matches('/')
    );
    assert_eq!(read(&jail, &file).unwrap(), b"secret");
}
