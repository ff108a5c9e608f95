//! The hidden and the read-only.

use std::fs;

use samovar_sandbox::{Jail, Protected};

use crate::yard::{Yard, list, read, snapshot, verdict, write};

// proves TL-8
#[test]
fn the_data_directory_stays_hidden_under_every_name() {
    let yard = Yard::new();
    let jail = yard.jail();
    assert_eq!(list(&jail, "").unwrap(), ["a", "plain.txt"]);

    for name in ["renamed", "a/b/moved", "a/.samovar"] {
        let before = names_of_data(&yard);
        fs::rename(&before, yard.ws(name)).unwrap();

        let inside = format!("{name}/token");
        assert_eq!(verdict(&read(&jail, name)), "not found");
        assert_eq!(verdict(&read(&jail, &inside)), "not found");
        assert_eq!(verdict(&write(&jail, &inside, "x")), "protected");
        assert_eq!(verdict(&write(&jail, name, "x")), "protected");
        assert_eq!(verdict(&list(&jail, name)), "not found");
        let parent = name.rsplit_once('/').map_or("", |(parent, _)| parent);
        assert!(!list(&jail, parent).unwrap().contains(&name.to_owned()));
    }
    fs::rename(yard.ws("a"), yard.ws("z")).unwrap();
    assert_eq!(verdict(&read(&jail, "z/.samovar/token")), "not found");
    assert_eq!(fs::read(yard.ws("z/.samovar/token")).unwrap(), b"secret");
}

fn names_of_data(yard: &Yard) -> std::path::PathBuf {
    ["data", "renamed", "a/b/moved"]
        .map(|name| yard.ws(name))
        .into_iter()
        .find(|path| path.exists())
        .unwrap()
}

// proves TL-8
#[test]
fn another_directory_at_the_hidden_ones_old_name_is_an_ordinary_one() {
    let yard = Yard::new();
    let jail = yard.jail();
    fs::rename(yard.ws("data"), yard.outside("data")).unwrap();
    fs::create_dir(yard.ws("data")).unwrap();

    write(&jail, "data/mine.txt", "mine").unwrap();

    assert_eq!(list(&jail, "data").unwrap(), ["data/mine.txt"]);
}

// proves TL-8
#[test]
fn a_folder_that_is_to_be_hidden_is_hidden_also_when_it_is_made_later() {
    let yard = Yard::new();
    let jail = yard.jail_with(&[yard.ws("later")], &[]).unwrap();
    fs::create_dir(yard.ws("later")).unwrap();
    fs::write(yard.ws("later/token"), "secret").unwrap();
    assert_eq!(verdict(&read(&jail, "later/token")), "not found");
    assert!(!list(&jail, "").unwrap().contains(&"later".to_owned()));
}

// proves TL-8
#[test]
fn a_workspace_in_the_data_directory_is_refused() {
    let yard = Yard::new();
    for hidden in [yard.ws(""), yard.top()] {
        assert_eq!(verdict(&yard.jail_with(&[hidden], &[])), "inside hidden");
    }
    assert_eq!(verdict(&yard.jail_with(&[yard.outside("")], &[])), "ok");
}

// proves TL-18
#[test]
fn configuration_and_memory_are_read_and_never_written() {
    let yard = Yard::new();
    for file in [
        "samovar.toml",
        "SOUL.md",
        "USER.md",
        "AGENTS.md",
        "MEMORY.md",
    ] {
        fs::write(yard.ws(file), "theirs").unwrap();
    }
    for folder in ["skills/tea", "agents", "memory"] {
        fs::create_dir_all(yard.ws(folder)).unwrap();
        fs::write(yard.ws(folder).join("x.md"), "theirs").unwrap();
    }
    let before = snapshot(&yard.ws(""));
    let jail = yard.jail();
    let absolute = yard.ws("samovar.toml").to_str().unwrap().to_owned();

    for raw in [
        "samovar.toml",
        "./samovar.toml",
        "skills/../samovar.toml",
        "./skills/../a/.././samovar.toml",
        "missing/../samovar.toml",
        &absolute,
        "SOUL.md",
        "USER.md",
        "AGENTS.md",
        "MEMORY.md",
        "skills/tea/x.md",
        "a/../skills/tea/x.md",
        "agents/x.md",
        "memory/x.md",
    ] {
        assert_eq!(read(&jail, raw).unwrap(), b"theirs", "{raw}");
        assert_eq!(verdict(&write(&jail, raw, "mine")), "protected", "{raw}");
    }
    for raw in [
        "skills",
        "skills/",
        "skills/new.md",
        "skills/new/SKILL.md",
        "memory/today.md",
    ] {
        assert_eq!(verdict(&write(&jail, raw, "mine")), "protected", "{raw}");
    }
    assert_eq!(snapshot(&yard.ws("")), before);
}

// proves TL-18
#[test]
fn a_protected_name_that_does_not_exist_yet_cannot_be_made() {
    let yard = Yard::new();
    let jail = yard.jail();
    let before = snapshot(&yard.ws(""));

    for raw in [
        "samovar.toml",
        "skills",
        "skills/tea/SKILL.md",
        "memory/2026-01-01.md",
        // What a file system that folds names would take for a protected one.
        "SAMOVAR.toml",
        "samovar.toml.",
        "\u{17f}amovar.toml",
        "sa\u{200d}movar.toml",
        "Agents.md",
        "SKILLS",
    ] {
        assert_eq!(verdict(&write(&jail, raw, "mine")), "protected", "{raw:?}");
    }
    assert_eq!(snapshot(&yard.ws("")), before);
}

// proves TL-18
#[test]
fn names_are_protected_at_the_root_alone() {
    let yard = Yard::new();
    let jail = yard.jail();

    for raw in [
        "a/samovar.toml",
        "a/skills/x.md",
        "src/memory/mod.rs",
        "skills.md",
        "my-AGENTS.md",
    ] {
        assert_eq!(verdict(&write(&jail, raw, "mine")), "ok", "{raw}");
    }
}

// proves TL-18
#[test]
fn what_a_protected_link_leads_to_is_protected_too() {
    let yard = Yard::new();
    fs::write(yard.ws("CLAUDE.md"), "theirs").unwrap();
    fs::create_dir_all(yard.ws("a/skills")).unwrap();
    yard.link("AGENTS.md", "CLAUDE.md");
    yard.link("skills", "a/skills");
    let jail = yard.jail();

    for raw in ["CLAUDE.md", "a/skills/new.md", "a/skills/new/x.md"] {
        assert_eq!(verdict(&write(&jail, raw, "mine")), "protected", "{raw}");
    }
    assert_eq!(verdict(&write(&jail, "a/other.md", "mine")), "ok");
    assert_eq!(read(&jail, "CLAUDE.md").unwrap(), b"theirs");
}

// proves TL-18
#[test]
fn a_jail_can_be_read_only_as_a_whole() {
    let yard = Yard::new();
    let jail = yard.jail_with(&[], &["."]).unwrap();

    assert_eq!(verdict(&write(&jail, "plain.txt", "mine")), "protected");
    assert_eq!(verdict(&write(&jail, "new/x.txt", "mine")), "protected");
    assert_eq!(read(&jail, "plain.txt").unwrap(), b"plain");
}

// proves TL-8
#[test]
fn two_jails_on_one_folder_do_not_disturb_each_other() {
    let yard = Yard::new();
    let strict = yard.jail();
    let open = Jail::open(&yard.ws(""), &Protected::default()).unwrap();

    write(&open, "samovar.toml", "by the operator").unwrap();

    assert_eq!(read(&strict, "samovar.toml").unwrap(), b"by the operator");
    assert_eq!(
        verdict(&write(&strict, "samovar.toml", "mine")),
        "protected"
    );
}
