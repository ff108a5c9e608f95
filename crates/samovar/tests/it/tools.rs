//! `samovar tools`.

use samovar_testkit::Program;
use serde_json::{Value, json};

use crate::hook::Hook;
use crate::setup::{ended_with, program};

// proves FC-1
#[tokio::test]
async fn a_person_calls_a_tool_through_the_gate_that_a_model_passes_with_and_without_a_server() {
    let program = program();
    program
        .file("notes.txt", "one\ntwo\n")
        .file("data/.keep", "");
    std::fs::remove_file(program.folder().join("data/.keep")).unwrap();
    let alone = program
        .run(["tools", "call", "read_file", r#"{"path": "notes.txt"}"#])
        .await
        .exits(0);
    assert_eq!(alone.stdout, "     1\tone\n     2\ttwo\n");

    let server = program.serve(&[]).await;
    let beside = program
        .run(["tools", "call", "read_file", r#"{"path": "notes.txt"}"#])
        .await;
    assert_eq!((beside.code, &beside.stdout), (Some(0), &alone.stdout));
    let stats = server.ok("getStats", json!({})).await;
    assert_eq!(stats["messages"], 0, "it belongs to no session");
}

// proves FC-1, FC-2
#[tokio::test]
async fn a_call_that_fails_or_is_denied_says_so_in_its_exit_code() {
    let program = program();
    let write = r#"{"path": "a.txt", "content": "x"}"#;
    let args = ["tools", "call", "write_file", write, "--json"];
    let denied = program
        .run(args.iter().chain(&["--approval", "read-only"]))
        .await
        .exits(6);
    let document: Value = serde_json::from_str(&denied.stdout).unwrap();
    assert_eq!(document["schema"], "samovar.tool_result/1");
    assert_eq!(document["status"], "denied");
    assert!(!program.folder().join("a.txt").exists());

    program
        .run(["tools", "call", "read_file", r#"{"path": "no.txt"}"#])
        .await
        .exits(1);
    let wrong = program
        .run(["tools", "call", "read_file", "{}"])
        .await
        .exits(1);
    assert!(wrong.stdout.contains("path"), "{wrong:?}");
    let unknown = program.run(["tools", "call", "nothing"]).await;
    ended_with(&unknown, 2, "unknown_tool");
    let garbage = program.run(["tools", "call", "read_file", "["]).await;
    ended_with(&garbage, 2, "invalid_params");
}

// proves TL-1, TL-17
#[tokio::test]
async fn a_tool_of_ones_own_is_added_shown_called_and_removed() {
    let hook = Hook::open().await;
    let program = program().set("SAMOVAR__EGRESS__ALLOW", &hook.address().to_string());
    let add = |name: &str, more: &[&str]| {
        let url = hook.url();
        let words = [
            "tools",
            "add",
            name,
            "--description",
            "Counts.",
            "--url",
            &url,
        ];
        let words = words.iter().chain(more).map(ToString::to_string);
        words.collect::<Vec<_>>()
    };
    let schema = r#"{"type": "object", "required": ["up"]}"#;
    let added = program
        .run(add("count", &["--parameters", schema, "--effect", "read"]))
        .await;
    assert_eq!(
        (added.code, added.stdout.as_str()),
        (Some(0), "count is available from the next turn on\n"),
        "{added:?}"
    );

    let shown = program.run(["tools", "show", "count", "--json"]).await;
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(
        (&shown["origin"], &shown["effect"]),
        (&json!("registered"), &json!("read"))
    );
    let text = program.run(["tools", "show", "count"]).await.stdout;
    assert!(
        text.contains("registered") && text.contains("Counts.") && text.contains("\"up\""),
        "{text}"
    );
    let called = program
        .run(["tools", "call", "count", r#"{"up": 1}"#])
        .await;
    assert_eq!(
        (called.code, called.stdout.as_str()),
        (Some(0), "counted\n"),
        "{called:?}"
    );
    assert_eq!(hook.keys().len(), 1);
    let wrong = program.run(["tools", "call", "count", "{}"]).await;
    assert_ne!(wrong.code, Some(0), "{wrong:?}");

    let taken = program.run(add("read_file", &[])).await;
    assert!(taken.stderr.contains("already"), "{taken:?}");
    let broken = program.run(add("broken", &["--parameters", "{"])).await;
    assert!(
        broken.stderr.contains("the parameters are not JSON"),
        "{broken:?}"
    );
    program
        .run(["tools", "add", "x", "--description", "X."])
        .await
        .exits(2);

    program.run(["tools", "remove", "count"]).await.exits(0);
    let gone = program.run(["tools", "show", "count"]).await;
    assert!(gone.stderr.contains("there is no such tool"), "{gone:?}");
    assert_eq!(hook.keys().len(), 1);
}

// proves TL-17
#[tokio::test]
async fn doctor_names_the_tools_whose_address_may_not_be_asked() {
    let program = program();
    let tools = "[tools.custom.near]\ndescription = \"x\"\nurl = \"http://10.1.2.3/?key=s3cret\"\n\
                 [tools.custom.far]\ndescription = \"x\"\nurl = \"http://8.8.8.8/\"\n";
    configure(&program, tools);

    let said = program.run(["doctor", "--json"]).await;

    let said: Value = serde_json::from_str(&said.stdout).unwrap();
    let findings = said["findings"].as_array().unwrap().iter();
    let found: Vec<_> = findings
        .filter(|finding| finding["what"] == "tool")
        .collect();
    assert_eq!(found.len(), 2, "{said:#}");
    for finding in found {
        let fact = finding["fact"].as_str().unwrap();
        assert_eq!(finding["ok"], fact.starts_with("far"), "{fact}");
        assert!(!fact.contains("s3cret"), "{fact}");
    }
}

// proves TL-17
#[tokio::test]
async fn a_configuration_that_lacks_what_a_tool_needs_is_told_with_its_place() {
    for (text, words) in [
        (
            "[tools.custom.book]\nurl = \"http://example.com\"\n",
            "tools.custom.book.description",
        ),
        (
            "[tools.custom.book]\ndescription = \"x\"\n",
            "tools.custom.book.url",
        ),
        ("[egress]\nallow = [\"10.0.0.1/8\"]\n", "10.2.0.0/16"),
    ] {
        let program = program();
        configure(&program, text);
        let said = program.run(["tools", "list"]).await.exits(3);
        assert!(
            said.stderr.contains(words) && said.stderr.contains("samovar.toml:"),
            "{said:?}"
        );
    }
}

const RULES: &str = r#"
[tools.policy.keep-docs]
tool = "write_*"
path = "docs/**"
verdict = "deny"
[tools.policy.notes]
tool = "write_file"
path = "notes/*"
verdict = "allow"
[tools.policy.secrets]
tool = "read_file"
path = "**/.env"
verdict = "ask"
"#;

// proves TL-4
#[tokio::test]
async fn rules_of_the_configuration_deny_ask_about_and_allow_calls() {
    let program = program();
    configure(&program, RULES);
    program
        .file("app/.env", "KEY=1")
        .file("docs/a.md", "as it was");
    let write = |path: &str| json!({"path": path, "content": "x"});
    for (tool, args, level, code, words) in [
        (
            "write_file",
            write("docs/a.md"),
            "auto",
            6,
            "tools.policy.keep-docs",
        ),
        (
            "write_file",
            write("./DOCS/x/../b.md"),
            "auto",
            6,
            "tools.policy.keep-docs",
        ),
        (
            "write_file",
            write("notes/a.md"),
            "supervised",
            0,
            "notes/a.md",
        ),
        (
            "write_file",
            write("notes/a.md"),
            "read-only",
            6,
            "read-only",
        ),
        (
            "write_file",
            write("b.md"),
            "supervised",
            6,
            "changes files",
        ),
        (
            "read_file",
            json!({"path": "app/.env"}),
            "auto",
            6,
            "tools.policy.secrets",
        ),
        (
            "read_file",
            json!({"path": "docs/a.md"}),
            "supervised",
            0,
            "as it was",
        ),
    ] {
        let args = args.to_string();
        let said = program
            .run(["tools", "call", tool, &args, "--approval", level])
            .await;
        assert_eq!(said.code, Some(code), "{args} {level}: {said:?}");
        assert!(said.stdout.contains(words), "{args} {level}: {said:?}");
    }
}

// proves TL-4
#[tokio::test]
async fn a_rule_that_lacks_what_it_needs_is_told_with_its_place() {
    let program = program();
    for (rule, words) in [
        ("verdict = \"deny\"", "tools.policy.x.tool"),
        ("tool = \"exec\"", "tools.policy.x.verdict"),
        ("tool = \"[\"\nverdict = \"deny\"", "tools.policy.x.tool"),
        (
            "tool = \"a\"\nverdict = \"deny\"\npath = \"{\"",
            "tools.policy.x.path",
        ),
        ("tool = \"a\"\nverdict = \"never\"", "allow, ask, deny"),
        (
            "tool = \"a\"\nverdict = \"deny\"\nmode = \"odd\"",
            "default, settings",
        ),
    ] {
        configure(&program, &format!("[tools.policy.x]\n{rule}\n"));
        let said = program.run(["tools", "list"]).await.exits(3);
        assert!(said.stderr.contains(words), "{rule}: {said:?}");
    }
}

fn configure(program: &Program, text: &str) {
    let folder = program.home().join(".config/samovar");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("samovar.toml"), text).unwrap();
}
