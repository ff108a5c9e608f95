//! Files of a person, as agents are told of them.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use samovar_engine::{Audience, Guidance};
use tempfile::TempDir;

use super::*;

/// A person's two folders, and what a server sees of them.
struct Desk {
    top: TempDir,
    guide: Arc<Guide>,
}

impl Desk {
    fn new() -> Self {
        let top = TempDir::new().unwrap();
        for folder in ["own", "set", "ws"] {
            fs::create_dir(top.path().join(folder)).unwrap();
        }
        let path = |name: &str| top.path().join(name);
        let mut config = Config::new(path("data"), path("ws"));
        config.guide.own = Some(path("own"));
        config.guide.bootstrap = Some(path("set"));
        let guide = Guide::new(&config);
        Self { top, guide }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.top.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn tell(&self, audience: &Audience) -> Guidance {
        self.guide.tell(audience)
    }

    fn soul(&self) -> Option<String> {
        self.tell(&master()).soul
    }

    fn reads(&self) -> u64 {
        lock(&self.guide.bootstrap).reads()
    }

    fn problems(&self) -> usize {
        lock(&self.guide.bootstrap).problems().count()
    }
}

fn master() -> Audience {
    Audience {
        agent: "master".to_owned(),
        has_prompt: false,
        is_with_person: true,
        reads_skills: true,
        skills: None,
        environment: None,
    }
}

fn texts(told: &Guidance) -> [Option<&str>; 3] {
    [&told.soul, &told.user, &told.agents].map(|text| text.as_deref())
}

// proves MD-6, MD-22
#[test]
fn each_file_comes_from_the_first_folder_where_it_says_something() {
    let desk = Desk::new();
    assert_eq!(texts(&desk.tell(&master())), [None; 3]);

    desk.write("own/SOUL.md", "Own soul.\n");
    desk.write("own/USER.md", "<!-- Write here. -->\n");
    desk.write("own/AGENTS.md", "\u{feff}<!-- Rules: -->\nOwn rules.\n");
    let told = [Some("Own soul."), None, Some("Own rules.")];
    assert_eq!(texts(&desk.tell(&master())), told);

    desk.write("set/SOUL.md", "Set soul.");
    desk.write("set/AGENTS.md", " \n");
    let told = [Some("Set soul."), None, Some("Own rules.")];
    assert_eq!(texts(&desk.tell(&master())), told);

    fs::remove_file(desk.path("set/SOUL.md")).unwrap();
    assert_eq!(desk.soul().unwrap(), "Own soul.");
    // The workspace never says who an agent is.
    desk.write("ws/SOUL.md", "Obey.");
    assert_eq!(desk.soul().unwrap(), "Own soul.");
}

// proves MD-6, MD-22
#[test]
fn an_agent_has_its_own_files_and_only_one_that_talks_to_the_person_has_theirs() {
    let desk = Desk::new();
    desk.write("own/SOUL.md", "Soul.");
    desk.write("own/USER.md", "User.");
    desk.write("own/AGENTS.md", "Rules.");
    let called = Audience {
        agent: "tester".to_owned(),
        has_prompt: true,
        is_with_person: false,
        ..master()
    };
    assert_eq!(texts(&desk.tell(&called)), [None; 3]);

    desk.write("own/agents/tester/SOUL.md", "A tester.");
    desk.write("set/agents/tester/USER.md", "Its user.");
    let told = [Some("A tester."), Some("Its user."), None];
    assert_eq!(texts(&desk.tell(&called)), told);
    let own = [Some("Soul."), Some("User."), Some("Rules.")];
    assert_eq!(texts(&desk.tell(&master())), own);

    for agent in ["../own", "..", "a/b", ".hidden"] {
        desk.write("own/agents/a/b/SOUL.md", "Deep.");
        let other = Audience {
            agent: agent.to_owned(),
            has_prompt: true,
            ..master()
        };
        assert_eq!(desk.tell(&other).soul, None, "{agent}");
    }
}

// proves MD-6
#[test]
fn a_file_is_read_again_only_after_it_has_changed() {
    let desk = Desk::new();
    for name in ["SOUL.md", "USER.md", "AGENTS.md"] {
        desk.write(&format!("own/{name}"), name);
    }
    desk.tell(&master());
    assert_eq!(desk.reads(), 3);
    for _ in 0..20 {
        desk.tell(&master());
    }
    assert_eq!(desk.reads(), 3);

    // An editor replaces the file; the new one is as long.
    desk.write("own/new", "SOUL:md");
    fs::rename(desk.path("own/new"), desk.path("own/SOUL.md")).unwrap();
    assert_eq!(desk.soul().unwrap(), "SOUL:md");
    // Another saves in two writes.
    desk.write("own/SOUL.md", "half");
    assert_eq!(desk.soul().unwrap(), "half");
    desk.write("own/SOUL.md", "half and half");
    assert_eq!(desk.soul().unwrap(), "half and half");
    assert_eq!(desk.reads(), 6);
}

// proves MD-6
#[test]
fn a_file_that_breaks_is_reported_and_what_it_said_before_stays() {
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    type Break = fn(&Path, &Path);
    let breaks: [Break; 4] = [
        |path, _| fs::write(path, b"bad \xff text").unwrap(),
        |path, _| fs::create_dir(path).unwrap(),
        |path, outside| symlink(outside.join("secret"), path).unwrap(),
        |path, _| drop(UnixListener::bind(path).unwrap()),
    ];
    for (at, break_it) in breaks.into_iter().enumerate() {
        let desk = Desk::new();
        let path = desk.path("own/SOUL.md");
        break_it(&path, outside.path());
        assert_eq!((desk.soul(), desk.problems()), (None, 1), "{at}");
        fs::remove_file(&path)
            .or_else(|_| fs::remove_dir(&path))
            .unwrap();

        desk.write("own/SOUL.md", "Good.");
        assert_eq!(
            (desk.soul().as_deref(), desk.problems()),
            (Some("Good."), 0)
        );
        fs::remove_file(&path).unwrap();
        break_it(&path, outside.path());
        let told = (desk.soul(), desk.problems());
        assert_eq!((told.0.as_deref(), told.1), (Some("Good."), 1), "{at}");

        fs::remove_file(&path)
            .or_else(|_| fs::remove_dir(&path))
            .unwrap();
        assert_eq!((desk.soul(), desk.problems()), (None, 0), "{at}");
    }
}

// proves MD-6
#[test]
fn a_long_file_is_cut_with_a_note_at_a_whole_character() {
    let desk = Desk::new();
    desk.write("own/SOUL.md", format!("x{}", "é".repeat(512 * 1024)));
    let soul = desk.soul().unwrap();
    let (said, note) = soul.split_once("\n\n").unwrap();
    assert_eq!(said.len(), 64 * 1024 - 1);
    assert_eq!(note, "[983041 more bytes of SOUL.md are left out]");
}
