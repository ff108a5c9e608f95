use std::fs;
use std::sync::atomic::{AtomicI64, Ordering};

use samovar_core::AgentName;
use samovar_core::agent::{SubAgents, ToolKeys};
use tempfile::TempDir;

use super::*;

/// Two seconds a look, so that files are always looked at.
#[derive(Default)]
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Millis {
        Millis(self.0.fetch_add(2_000, Ordering::Relaxed))
    }
}

fn row(name: &str, keys: &[&str]) -> AgentRow {
    let agent = Agent {
        name: AgentName::new(name).unwrap(),
        display_name: format!("row {name}"),
        tools: ToolKeys::Only(keys.iter().map(ToString::to_string).collect()),
        sub_agents: SubAgents::none(),
        version: 3,
        ..Agent::master()
    };
    AgentRow {
        id: name.to_owned(),
        agent,
        enabled: name != "off",
        updated_at: Millis(7),
    }
}

fn catalogue(folder: &TempDir) -> (Catalogue, Arc<Mutex<BTreeSet<String>>>) {
    let tools = Arc::new(Mutex::new(BTreeSet::from(["read_file".to_owned()])));
    let shown = tools.clone();
    let names: ToolNames = Arc::new(move || lock(&shown).clone());
    // The data directory's, and the person's own.
    let folders = [folder.path().to_owned(), folder.path().join("own")];
    (
        Catalogue::new(folders.to_vec(), names, Arc::new(Ticking::default())),
        tools,
    )
}

fn names(entries: &[AgentEntry]) -> Vec<String> {
    entries
        .iter()
        .map(|entry| entry.agent.name.to_string())
        .collect()
}

// proves MD-6, SA-2
#[test]
fn a_file_of_the_persons_own_folder_counts_after_that_of_the_data_directory() {
    let folder = TempDir::new().unwrap();
    let (catalogue, _) = catalogue(&folder);
    std::fs::create_dir(folder.path().join("own")).unwrap();
    for (name, prompt) in [
        ("own/both", "Own."),
        ("own/mine", "Mine."),
        ("both", "Data."),
    ] {
        let text = format!("---\nskills: [deploy]\n---\n{prompt}");
        std::fs::write(folder.path().join(format!("{name}.md")), text).unwrap();
    }

    let found = |name: &str| {
        catalogue
            .get(name)
            .unwrap()
            .entry
            .agent
            .system_prompt
            .clone()
    };
    assert_eq!(
        (found("both").as_str(), found("mine").as_str()),
        ("Data.", "Mine.")
    );
    let all = catalogue.all().into_iter().map(|listed| listed.entry);
    let both: Vec<_> = all
        .filter(|entry| entry.agent.name.as_str() == "both")
        .collect();
    assert_eq!(both.len(), 2);
    assert!(both[0].invalid.is_none() && both[1].invalid.is_some());
}

// proves SA-2
#[test]
fn code_counts_before_files_and_files_before_rows() {
    let folder = TempDir::new().unwrap();
    let file = "---\ndisplayName: A file\n---\n";
    for name in ["browser", "both"] {
        fs::write(folder.path().join(format!("{name}.md")), file).unwrap();
    }
    let (catalogue, _) = catalogue(&folder);
    catalogue.set_rows(vec![
        row("both", &[]),
        row("browser", &[]),
        row("mine", &[]),
        row("off", &[]),
    ]);

    let rows = [
        ("browser", AgentOrigin::Code, "Browser"),
        ("both", AgentOrigin::File, "A file"),
        ("mine", AgentOrigin::Row, "row mine"),
        ("master", AgentOrigin::Code, "Master"),
    ];
    for (name, origin, shown) in rows {
        let found = catalogue.find(name).unwrap();
        assert_eq!(
            (found.origin, found.agent.display_name.as_str()),
            (origin, shown)
        );
        assert!(found.is_usable());
    }
    assert_eq!(
        names(&catalogue.list()),
        ["both", "browser", "master", "mine", "off"]
    );
    assert!(!catalogue.find("off").unwrap().is_usable());
    assert!(catalogue.find("nothing").is_none());

    let all = catalogue.all();
    let hidden = all.iter().filter(|one| one.entry.invalid.is_some());
    let hidden: Vec<_> = hidden
        .map(|one| (one.entry.agent.name.as_str(), one.entry.origin))
        .collect();
    let wanted = [
        ("both", AgentOrigin::Row),
        ("browser", AgentOrigin::File),
        ("browser", AgentOrigin::Row),
    ];
    assert_eq!(hidden, wanted);

    fs::remove_file(folder.path().join("both.md")).unwrap();
    assert_eq!(catalogue.find("both").unwrap().origin, AgentOrigin::Row);
}

// proves SA-2
#[test]
fn a_broken_file_hides_a_row_too() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("both.md"), "oops").unwrap();
    let (catalogue, _) = catalogue(&folder);
    catalogue.set_rows(vec![row("both", &["read_file"])]);
    assert!(!catalogue.find("both").unwrap().is_usable());
}

// proves SA-2, SA-3
#[test]
fn the_agent_of_the_chat_is_shown_to_people_and_not_to_agents() {
    let (catalogue, _) = catalogue(&TempDir::new().unwrap());
    assert!(catalogue.get(ADAPTIVE).is_some());
    assert!(catalogue.find(ADAPTIVE).is_none());
    assert_eq!(names(&catalogue.list()), ["browser", "master"]);
}

// proves SA-3
#[test]
fn tools_that_come_and_go_make_definitions_valid_and_invalid() {
    let folder = TempDir::new().unwrap();
    let (catalogue, tools) = catalogue(&folder);
    catalogue.set_rows(vec![row("mine", &["hook", "open_url", "read_file"])]);

    let found = catalogue.find("mine").unwrap();
    assert!(found.invalid.unwrap().contains("\"hook\""));
    lock(&tools).insert("hook".to_owned());
    let found = catalogue.find("mine").unwrap();
    assert_eq!(
        (found.invalid.as_deref(), found.missing.as_slice()),
        (None, &["open_url".to_owned()][..])
    );
    lock(&tools).insert("open_url".to_owned());
    assert_eq!(catalogue.find("mine").unwrap().missing, [""; 0]);

    let browser = catalogue.find("browser").unwrap();
    assert!(
        browser.is_usable() && browser.missing.contains(&"web_search".to_owned()),
        "{browser:?}"
    );
}

// proves SA-3
#[test]
fn a_row_that_another_version_wrote_is_checked_again() {
    let (catalogue, _) = catalogue(&TempDir::new().unwrap());
    let mut old = row("mine", &[]);
    old.agent.system_prompt = "{{moon}}".to_owned();
    catalogue.set_rows(vec![old]);
    assert!(
        catalogue
            .find("mine")
            .unwrap()
            .invalid
            .unwrap()
            .contains("moon")
    );
}
