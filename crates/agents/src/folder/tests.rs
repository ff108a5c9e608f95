use tempfile::TempDir;

use super::*;

const GOOD: &str = "---\ntoolKeys: [read_file]\n---\nHello.";

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, content) in files {
        fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

fn files(folder: &TempDir) -> Files {
    Files::new(folder.path().to_owned())
}

fn listed(files: &Files) -> Vec<(String, bool)> {
    let all = files.definitions();
    all.map(|one| (one.agent.name.to_string(), one.invalid.is_none()))
        .collect()
}

fn named(names: &[(&str, bool)]) -> Vec<(String, bool)> {
    names
        .iter()
        .map(|(name, is_valid)| ((*name).to_owned(), *is_valid))
        .collect()
}

// proves SA-2
#[test]
fn broken_files_are_listed_with_the_reason_beside_those_that_work() {
    let large = vec![b'x'; 256 * 1024 + 1];
    let folder = folder(&[
        ("good.md", GOOD.as_bytes()),
        ("README.md", b"# Agents"),
        ("my agent.md", GOOD.as_bytes()),
        ("-.md", GOOD.as_bytes()),
        ("large.md", &large),
        ("binary.md", b"---\n\xff\n---\n"),
        ("notes.txt", GOOD.as_bytes()),
        (".hidden", GOOD.as_bytes()),
        ("itself.md", b"---\nallowedSubAgents: [itself]\n---\n"),
    ]);
    fs::create_dir(folder.path().join("folder.md")).unwrap();
    let mut files = files(&folder);
    files.refresh(Millis(0));
    let wanted = named(&[
        ("README", false),
        ("binary", false),
        ("folder", false),
        ("good", true),
        ("itself", false),
        ("large", false),
        ("my-agent", false),
        ("nameless", false),
    ]);
    assert_eq!(listed(&files), wanted);
    for found in files.definitions().filter(|one| one.invalid.is_some()) {
        let why = found.invalid.as_deref().unwrap();
        assert!(why.contains(".md: "), "{why}");
        assert_eq!(found.agent.tools, ToolKeys::none(), "{why}");
        assert_eq!(found.agent.sub_agents, SubAgents::none(), "{why}");
    }
    let large = files.find("large").unwrap().invalid.clone().unwrap();
    assert!(large.contains("262144"), "{large}");
    assert_eq!(read_folder(folder.path()).len(), 8);
    assert_eq!(read_folder(&folder.path().join("none")), []);
}

// proves SA-2
#[test]
fn a_changed_file_counts_a_second_later_without_a_restart() {
    let folder = folder(&[("a.md", GOOD.as_bytes()), ("b.md", GOOD.as_bytes())]);
    let mut files = files(&folder);
    files.refresh(Millis(5_000));
    fs::write(folder.path().join("a.md"), "---\nmaxSteps: 7\n---\nBye.").unwrap();
    fs::remove_file(folder.path().join("b.md")).unwrap();
    fs::write(folder.path().join("c.md"), "---\n").unwrap();

    files.refresh(Millis(5_999));
    assert_eq!(listed(&files), named(&[("a", true), ("b", true)]));

    files.refresh(Millis(6_000));
    assert_eq!(listed(&files), named(&[("a", true), ("c", false)]));
    let changed = &files.find("a").unwrap().agent;
    assert_eq!(
        (changed.max_steps, changed.system_prompt.as_str()),
        (Some(7), "Bye.")
    );

    fs::write(folder.path().join("c.md"), GOOD).unwrap();
    // A clock that was set back does not stop the looking.
    files.refresh(Millis(1_000));
    assert_eq!(listed(&files), named(&[("a", true), ("c", true)]));
}

// proves SA-2
#[test]
fn so_many_files_are_read_and_no_more() {
    let folder = TempDir::new().unwrap();
    for number in 0..210 {
        fs::write(folder.path().join(format!("a{number:03}.md")), GOOD).unwrap();
    }
    let mut files = files(&folder);
    files.refresh(Millis(0));
    assert_eq!(listed(&files).len(), MAX_FILES);
    assert!(files.find("a199").is_some() && files.find("a200").is_none());
}
