use super::*;

const FULL: &str = "\
---
name: tester
displayName: The \"tester\": careful
model: {provider: openai, modelId: gpt-5, params: {temperature: 0.2, maxTokens: 900}}
toolKeys: [read_file, open-url]
allowedSubAgents:
  - browser
maxDepth: 2
maxSteps: 20
enabled: false
pageIds: [home]
skills: [deploy]
memory: true
workspaceId: w1
approval: read-only
---

You test things.
---
This line is a part of the prompt.
";

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

// proves SA-2
#[test]
fn a_file_says_everything_that_a_definition_has() {
    let wanted = Draft {
        display_name: Some("The \"tester\": careful".to_owned()),
        system_prompt: "You test things.\n---\nThis line is a part of the prompt.".to_owned(),
        model: Some(ModelDraft {
            provider: Some("openai".to_owned()),
            model_id: "gpt-5".to_owned(),
            temperature: Some(0.2),
            max_tokens: Some(900),
        }),
        tool_keys: words(&["read_file", "open-url"]),
        allowed_sub_agents: words(&["browser"]),
        max_depth: Some(2),
        max_steps: Some(20),
        approval: Some(Approval::ReadOnly),
        workspace_id: Some("w1".to_owned()),
        page_ids: words(&["home"]),
        skills: Some(words(&["deploy"])),
        memory: true,
    };
    // The display name needs quotes in YAML, because of its colon.
    let full = FULL.replace("The \"tester\": careful", "'The \"tester\": careful'");
    let windows = format!("\u{feff}{}", full.replace('\n', "\r\n"));
    assert_eq!(parse("tester", &full), Ok((wanted.clone(), false)));
    let (draft, _) = parse("tester", &windows).unwrap();
    assert_eq!(draft.tool_keys, wanted.tool_keys);
    assert!(parse("tester", FULL).is_err());
}

// proves SA-2
#[test]
fn a_short_file_is_enough() {
    let (draft, enabled) = parse("x", "---\nmodel: demo\n---\nHello.").unwrap();
    assert!(enabled);
    assert_eq!(draft.system_prompt, "Hello.");
    assert_eq!(draft.model.unwrap().model_id, "demo");
    assert_eq!(
        (draft.tool_keys, draft.allowed_sub_agents),
        (vec![], vec![])
    );
    assert!(parse("x", "---\nmaxSteps: 3\n---").is_ok());
}

// proves SA-2
#[test]
fn a_broken_file_says_why_in_one_line() {
    let bomb = "pageIds: &a [x, x]\ntoolKeys: [*a, *a]";
    let rows = [
        ("", "front matter"),
        ("You are a helper.", "front matter"),
        ("---\ntoolKeys: []\nno end", "front matter"),
        ("---\n---\nHello.", "front matter"),
        ("---\n# nothing\n---\nHello.", "front matter"),
        ("---\ntoolkeys: [read_file]\n---\n", "toolkeys"),
        ("---\nname: other\n---\n", "rename the file"),
        (
            "---\nmaxSteps: many\n---\n",
            "too large at line 2, column 11",
        ),
        ("---\nmaxSteps: -1\n---\n", "not a whole number"),
        ("---\nmaxSteps: 99999999999\n---\n", "not a whole number"),
        ("---\nenabled: yes\n---\n", "true or false"),
        ("---\napproval: root\n---\n", "root"),
        ("---\nmodel: {modelId: m, params: {topP: 1}}\n---\n", "topP"),
        ("---\nmodel: [a]\n---\n", "model"),
        ("---\nmaxSteps: 1\nmaxSteps: 2\n---\n", "maxSteps"),
        (
            "---\ntoolKeys: &keys [read_file]\nallowedSubAgents: []\n---\n",
            "anchor",
        ),
        ("---\ntoolKeys: *keys\n---\n", "unknown value"),
        ("---\nmodel: {<<: {modelId: m}}\n---\n", "erge"),
        ("---\ndisplayName: !env HOME\n---\n", "tag"),
        ("---\n[a, b]\n---\n", "front matter"),
        ("---\ndisplayName: \"open\n---\n", "front matter"),
        (&format!("---\n{bomb}\n---\n"), "anchor"),
        (
            &format!("---\ntoolKeys: {}\n---\n", "[".repeat(5000)),
            "front matter",
        ),
    ];
    for (content, part) in rows {
        let shown = &content[..content.len().min(80)];
        let why = parse("x", content).expect_err(shown);
        assert!(why.contains(part), "{why:?} of {shown:?}");
        assert!(
            !why.contains('\n') && why.len() < 400,
            "{why:?} of {shown:?}"
        );
    }
}
