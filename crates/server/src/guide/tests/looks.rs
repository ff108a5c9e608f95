//! What a look at the files costs, and what it sees when something cannot be read.

use std::sync::atomic::Ordering;

use super::*;

// proves MD-16
#[test]
fn a_program_that_many_skills_need_is_looked_for_once_in_a_look() {
    let desk = Desk::new();
    let needs: Vec<_> = (0..16).map(|n| format!("absent-{n}")).collect();
    let front = |needs: &[String]| format!("---\nrequires: [{}]\n---\nText.", needs.join(", "));
    for name in 0..10 {
        desk.write(&format!("ws/skills/s{name}.md"), front(&needs));
    }
    let searches = || desk.guide.needs.searches.load(Ordering::Relaxed);
    assert_eq!(desk.skills().lines().count(), 10);
    assert_eq!(searches(), 16);
    desk.write("bin/absent-3", "");
    let program = desk.path("bin/absent-3");
    fs::set_permissions(program, PermissionsExt::from_mode(0o755)).unwrap();
    assert!(
        !desk.skills().contains("absent-3,"),
        "the next look sees it"
    );
    assert_eq!(searches(), 32);
    desk.skills();
    assert_eq!(searches(), 47, "what was found is not looked for again");

    let many: Vec<_> = (0..25_000).map(|n| format!("a{n}")).collect();
    desk.write("ws/skills/many.md", front(&many));
    assert!(!desk.skills().contains("many"));
    assert!(desk.skill_problems().join("\n").contains("many.md"));
}

// proves MD-6
#[test]
fn a_file_that_could_not_be_read_is_tried_again_although_it_has_not_changed() {
    let desk = Desk::new();
    let agent = Audience {
        agent: "tester".to_owned(),
        ..master()
    };
    let soul = || desk.tell(&agent).soul;
    let (set, aside) = (desk.path("own/agents/tester"), desk.path("aside"));
    desk.write("own/agents/tester/SOUL.md", "A tester.");
    fs::rename(&set, &aside).unwrap();
    // A link to the folder with the file, which no link may lead to.
    symlink(&aside, &set).unwrap();
    assert_eq!((soul(), desk.problems()), (None, 1));
    let back = || {
        fs::remove_file(&set).unwrap();
        fs::rename(&aside, &set).unwrap();
    };
    back();
    assert_eq!((soul().as_deref(), desk.problems()), (Some("A tester."), 0));

    // A link to itself: not even the state of the file is known.
    fs::rename(&set, &aside).unwrap();
    symlink(&set, &set).unwrap();
    assert_eq!((soul().as_deref(), desk.problems()), (Some("A tester."), 3));
    back();
    assert_eq!((soul().as_deref(), desk.problems()), (Some("A tester."), 0));
}

// proves MD-17
#[test]
fn a_link_to_a_persons_folder_of_skills_is_followed_and_what_is_no_folder_is_told() {
    let desk = Desk::new();
    desk.write("dotfiles/tea.md", "Tea.");
    symlink(desk.path("dotfiles"), desk.path("own/skills")).unwrap();
    assert_eq!(desk.skills(), "tea — Tea. (read_skill)");
    desk.write("dotfiles/new.md", "New.");
    assert_eq!(
        desk.skills().lines().count(),
        2,
        "it is seen behind the link"
    );

    fs::remove_file(desk.path("own/skills")).unwrap();
    desk.write("own/skills", "no folder");
    assert_eq!(desk.skills(), "");
    let problems = desk.skill_problems();
    assert!(
        problems.len() == 1 && problems[0].contains("own/skills"),
        "{problems:?}"
    );
    fs::remove_file(desk.path("own/skills")).unwrap();
    desk.write("own/skills/tea.md", "Tea.");
    assert_eq!(
        (desk.skills().lines().count(), desk.skill_problems().len()),
        (1, 0)
    );
}

// proves MD-16
#[test]
fn of_more_than_a_thousand_entries_the_first_by_name_count_and_that_is_told() {
    let desk = Desk::new();
    // Written in an order that is not theirs.
    for number in (0..1_001).map(|at| at * 375 % 1_001) {
        desk.write(&format!("ws/skills/s{number:04}.md"), "One of many.");
    }
    let told = desk.skills();
    assert!(told.starts_with("s0000 ") && told.contains("\ns0999 "));
    assert_eq!(told.lines().count(), 1_000, "s1000 is left out");
    let problems = desk.skill_problems();
    assert!(
        problems.len() == 1 && problems[0].contains("1000 entries"),
        "{problems:?}"
    );
    fs::remove_file(desk.path("ws/skills/s0500.md")).unwrap();
    assert!(desk.skills().contains("\ns1000 ") && desk.skill_problems().is_empty());
}

// proves MD-18
#[test]
fn what_the_gate_asks_of_a_call_is_known_without_a_look() {
    let desk = Desk::new();
    desk.write("ws/skills/tea.md", "Tea.");
    desk.write("own/skills/own.md", "Own.");
    let tool = tool::read_skill(desk.guide.clone());
    let is_outside = |name: &str| {
        let args = serde_json::json!({"name": name});
        let call = ToolCall::new(CallId::new("c").unwrap(), READ_SKILL.to_owned(), args);
        // Another turn is looking meanwhile.
        let _looks = lock(&desk.guide.skills);
        tool.facts(&call).unwrap().outside.is_some()
    };
    assert!(is_outside("own"), "nothing is known yet");
    desk.skills();
    assert!(is_outside("tea") && !is_outside("own"));
}
