use proptest::prelude::*;
use samovar_core::AgentName;
use samovar_core::agent::AgentModel;

use super::*;
use crate::draft::{ALL, Draft, ModelDraft};

fn name(raw: &str) -> AgentName {
    AgentName::new(raw).unwrap()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn available() -> BTreeSet<String> {
    words(&["read_file", "write_file", "open_url"])
        .into_iter()
        .collect()
}

/// Why the definition of an agent `helper` is invalid.
fn refused(draft: Draft) -> Option<String> {
    draft.define(name("helper")).err()
}

fn prompt(text: &str) -> Draft {
    Draft {
        system_prompt: text.to_owned(),
        ..Draft::default()
    }
}

fn with(change: fn(&mut Draft)) -> Draft {
    let mut draft = Draft::default();
    change(&mut draft);
    draft
}

/// Each is refused with a sentence that has this part.
fn all_refused(rows: impl IntoIterator<Item = (Draft, &'static str)>) {
    for (draft, part) in rows {
        let shown = format!("{draft:.200?}");
        let why = refused(draft).unwrap_or_else(|| panic!("valid: {shown}"));
        assert!(
            why.contains(part) && !why.contains('\n'),
            "{why:?} of {shown}"
        );
    }
}

// proves SA-3, SA-17
#[test]
fn bad_lists_and_prompts_are_invalid_and_say_why() {
    all_refused([
        (
            with(|one| one.allowed_sub_agents = words(&["a", "helper"])),
            "itself",
        ),
        (with(|one| one.allowed_sub_agents = words(&["a/b"])), "a/b"),
        (
            with(|one| one.allowed_sub_agents = words(&[ALL, "a"])),
            "alone",
        ),
        (
            with(|one| one.allowed_sub_agents = (0..201).map(|n| format!("a{n}")).collect()),
            "200",
        ),
        (
            with(|one| one.tool_keys = words(&["read_file", ALL])),
            "toolKeys",
        ),
        (
            with(|one| one.tool_keys = (0..129).map(|n| format!("t{n}")).collect()),
            "128",
        ),
        (
            prompt(&"x".repeat(1 << 20)),
            "1048576 bytes; the limit is 65536",
        ),
        (prompt("Today is {{date}}, in {{secret}}."), "\"secret\""),
        (prompt("{{}}"), "\"\""),
        (prompt("{{tab.url}} {{ 7 * 7 }}"), "7 * 7"),
    ]);
}

// proves SA-3, SA-20
#[test]
fn bad_numbers_and_names_are_invalid_and_say_why() {
    let model = |temperature| {
        let model = ModelDraft {
            model_id: "gpt".to_owned(),
            temperature,
            ..ModelDraft::default()
        };
        Draft {
            model: Some(model),
            ..Draft::default()
        }
    };
    all_refused([
        (
            with(|one| one.max_depth = Some(9)),
            "maxDepth must be between 0 and 8",
        ),
        (
            with(|one| one.max_steps = Some(0)),
            "maxSteps must be between 1 and 1000",
        ),
        (with(|one| one.max_steps = Some(1001)), "maxSteps"),
        (
            with(|one| one.display_name = Some(" ".to_owned())),
            "displayName",
        ),
        (
            with(|one| one.display_name = Some("a\nb".to_owned())),
            "displayName",
        ),
        (
            with(|one| one.workspace_id = Some(String::new())),
            "workspaceId",
        ),
        (
            with(|one| one.page_ids = words(&["home", &"x".repeat(129)])),
            "pageIds",
        ),
        (model(Some(2.5)), "temperature"),
        (model(Some(f32::NAN)), "temperature"),
        (
            with(|one| one.model = Some(ModelDraft::default())),
            "modelId",
        ),
    ]);
}

// proves SA-3, SA-17
#[test]
fn a_good_definition_is_valid() {
    let rows = [
        Draft::default(),
        prompt("{{workspace}} {{tab.url}} {{tab.title}} {{ mode }} {{date}} {{agent.name}} {a}"),
        prompt("an open {{ brace is text"),
        prompt(&"x".repeat(64 * 1024)),
        Draft {
            // Others need not exist: they may be made later, and a cycle is refused when it runs.
            allowed_sub_agents: words(&["made_later", "master"]),
            max_depth: Some(0),
            max_steps: Some(1000),
            ..Draft::default()
        },
    ];
    for draft in rows {
        assert_eq!(refused(draft.clone()), None, "{draft:.200?}");
    }
}

// proves SA-3
#[test]
fn three_agents_may_name_each_other_in_a_circle() {
    for (one, next) in [("a", "b"), ("b", "c"), ("c", "a")] {
        let draft = Draft {
            allowed_sub_agents: words(&[next]),
            ..Draft::default()
        };
        let agent = draft.define(name(one)).unwrap();
        assert!(agent.sub_agents.has(next) && !agent.sub_agents.has(one));
    }
}

// proves SA-2, SA-19, SA-20
#[test]
fn what_is_not_said_is_not_allowed_and_old_names_of_tools_are_understood() {
    let agent = Draft::default().define(name("helper")).unwrap();
    assert_eq!(agent.tools, ToolKeys::none());
    assert_eq!(agent.sub_agents, SubAgents::none());
    assert_eq!(agent.display_name, "helper");

    let draft = Draft {
        tool_keys: words(&[
            "open-url",
            "getCurrentTab",
            "getTabs",
            "read_file",
            "subAgent",
        ]),
        allowed_sub_agents: words(&[ALL]),
        model: Some(ModelDraft {
            provider: Some("openai".to_owned()),
            model_id: "gpt-5".to_owned(),
            ..ModelDraft::default()
        }),
        ..Draft::default()
    };
    let agent = draft.define(name("helper")).unwrap();
    let keys = ["get_current_tab", "get_tabs", "open_url", "read_file"];
    assert_eq!(
        agent.tools,
        ToolKeys::Only(words(&keys).into_iter().collect())
    );
    assert_eq!(agent.sub_agents, SubAgents::All);
    let model = AgentModel {
        name: "openai/gpt-5".to_owned(),
        temperature: None,
        max_tokens: None,
    };
    assert_eq!(agent.model, Some(model));
}

// proves SA-3
#[test]
fn an_unknown_tool_makes_a_definition_invalid_and_a_missing_one_only_incomplete() {
    let of = |keys: &[&str]| {
        let draft = Draft {
            tool_keys: words(keys),
            ..Draft::default()
        };
        tools(&draft.define(name("helper")).unwrap(), &available())
    };
    assert_eq!(of(&["read_file", "open_url"]), (None, vec![]));
    assert_eq!(
        of(&["read_file", "web_fetch"]),
        (None, words(&["web_fetch"]))
    );
    let rows = [
        ("raed_file", "did you mean read_file?"),
        ("websearch", "did you mean web_search?"),
        ("frobnicate", "GET /api/tools lists them"),
    ];
    for (key, part) in rows {
        let (invalid, missing) = of(&["read_file", key]);
        let why = invalid.unwrap();
        assert!(why.contains(key) && why.contains(part), "{why}");
        assert_eq!(missing, [""; 0]);
    }
    assert_eq!(of(&[ALL]), (None, vec![]));
}

proptest! {
    // proves SA-17
    #[test]
    fn no_prompt_makes_the_check_panic_or_lets_another_name_through(
        parts in proptest::collection::vec("(\\{\\{|\\}\\}|date|x|é| )", 0..20),
    ) {
        let text = parts.concat();
        let is_valid = refused(prompt(&text)).is_none();
        let inside = text.split("{{").skip(1).filter_map(|part| part.split_once("}}"));
        let mut names = inside.map(|(name, _)| name.trim());
        if is_valid {
            prop_assert!(names.all(|name| name == "date"), "{text}");
        }
    }
}
