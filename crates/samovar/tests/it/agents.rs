//! `samovar agents`.

use samovar_model_server::say;
use serde_json::{Value, json};

use crate::setup::{ended_with, program, with_model};

/// The one document that a command printed.
fn document(stdout: &str) -> Value {
    serde_json::from_str(stdout).unwrap()
}

// proves SA-2, SA-4, FC-1
#[tokio::test]
async fn an_agent_of_ones_own_is_added_shown_edited_and_removed() {
    let program = program();
    program.file("prompt.md", "You test on {{date}}.\n");
    let added = program
        .run([
            "agents",
            "add",
            "tester",
            "--prompt",
            "@prompt.md",
            "--tools",
            "read_file, open-url, web_fetch",
            "--agents",
            "browser",
            "--max-steps",
            "7",
            "--display-name",
            "The tester",
            "--model",
            "openai/gpt-5",
        ])
        .await
        .exits(0);
    assert_eq!(
        added.stdout,
        "tester can be called from the next delegation on\n"
    );

    let edited = program
        .run([
            "agents",
            "edit",
            "tester",
            "--max-depth",
            "2",
            "--agents",
            "",
        ])
        .await
        .exits(0);
    assert!(edited.stdout.contains("version 2"), "{edited:?}");
    let shown = program.run(["agents", "show", "tester", "--json"]).await;
    let mut shown = document(&shown.stdout);
    assert!(shown["updatedAt"].is_i64(), "{shown}");
    shown["updatedAt"] = Value::Null;
    let wanted = json!({
        "schema": "samovar.agent/1", "name": "tester", "displayName": "The tester",
        "systemPrompt": "You test on {{date}}.\n",
        "model": {"provider": "openai", "modelId": "gpt-5", "params": {}},
        "toolKeys": ["open_url", "read_file", "web_fetch"], "allowedSubAgents": [], "maxDepth": 2, "maxSteps": 7,
        "enabled": true, "pageIds": [], "version": 2, "origin": "row", "updatedAt": null,
    });
    assert_eq!(shown, wanted);
    let text = program.run(["agents", "show", "tester"]).await.stdout;
    for part in [
        "openai/gpt-5",
        "open_url, read_file, web_fetch",
        "You test on {{date}}.",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

// proves SA-4
#[tokio::test]
async fn an_added_agent_is_listed_until_it_is_removed() {
    let program = program();
    let added = ["agents", "add", "tester", "--display-name", "The tester"];
    program.run(added).await;
    let list = program.run(["agents", "list"]).await.stdout;
    let tester = list
        .lines()
        .find(|line| line.starts_with("tester"))
        .unwrap();
    let words: Vec<_> = tester.split_whitespace().collect();
    assert_eq!(words, ["tester", "row", "on", "The", "tester"]);
    let removed = program.run(["agents", "remove", "tester"]).await;
    assert_eq!(
        (removed.code, removed.stdout.as_str()),
        (Some(0), "tester was removed\n")
    );
    let gone = program.run(["agents", "show", "tester"]).await;
    ended_with(&gone, 2, "unknown_agent");
}

// proves SA-2
#[tokio::test]
async fn doctor_counts_the_files_that_define_agents_and_names_those_that_do_not() {
    let program = program();
    program.run(["agents", "add", "first"]).await;
    let agents = program.store().join("agents");
    std::fs::create_dir_all(&agents).unwrap();
    std::fs::write(agents.join("good.md"), "---\nmaxSteps: 3\n---\n").unwrap();
    let all_good = program.run(["doctor", "-v"]).await.stdout;
    assert!(
        all_good.contains("1 agent is defined in a file"),
        "{all_good}"
    );
    std::fs::write(agents.join("bad.md"), "---\nmaxSteps: 0\n---\n").unwrap();
    let broken = program.run(["doctor", "-v"]).await.exits(3);
    assert!(
        broken
            .stdout
            .contains("bad.md: maxSteps must be between 1 and 1000"),
        "{broken:?}"
    );
    assert!(!broken.stdout.contains("good.md"), "{broken:?}");
}

// proves SA-3, SA-4
#[tokio::test]
async fn what_cannot_be_done_to_an_agent_says_so_in_its_exit_code() {
    let program = program();
    let rows = [
        (&["agents", "add", "browser"][..], "agent_conflict"),
        (
            &["agents", "add", "x", "--tools", "raed_file"],
            "invalid_params",
        ),
        (&["agents", "add", "x", "--agents", "x"], "invalid_params"),
        (
            &["agents", "add", "x", "--prompt", "{{moon}}"],
            "invalid_params",
        ),
        (
            &["agents", "add", "x", "--prompt", "@nothing.md"],
            "invalid_params",
        ),
        (
            &["agents", "add", "x", "--prompt", "@/dev/zero"],
            "invalid_params",
        ),
        (&["agents", "edit", "x"], "invalid_params"),
        (
            &["agents", "edit", "x", "--enabled", "false"],
            "unknown_agent",
        ),
        (
            &["agents", "edit", "master", "--enabled", "false"],
            "agent_conflict",
        ),
        (&["agents", "remove", "master"], "agent_conflict"),
    ];
    for (args, code) in rows {
        let ended = program.run(args).await;
        ended_with(&ended, 2, code);
    }
}

// proves SA-4
#[tokio::test]
async fn a_prompt_in_a_file_is_sent_whole_or_refused() {
    let program = program();
    program
        .file("longest.md", "ж".repeat(32 * 1024))
        .file("longer.md", format!("{}x", "ж".repeat(32 * 1024)))
        .file("no-text.md", [0xff; 9]);
    let add = |file| ["agents", "add", "x", "--prompt", file];

    let longer = program.run(add("@longer.md")).await;
    ended_with(&longer, 2, "invalid_params");
    assert!(
        longer.stderr.contains("more than 65536 bytes"),
        "{longer:?}"
    );
    let no_text = program.run(add("@no-text.md")).await;
    ended_with(&no_text, 2, "invalid_params");
    assert!(
        no_text.stderr.contains("cannot be read from"),
        "{no_text:?}"
    );
    program.run(add("@longest.md")).await.exits(0);
    let shown = program.run(["agents", "show", "x", "--json"]).await;
    let shown = document(&shown.stdout);
    assert_eq!(shown["systemPrompt"], "ж".repeat(32 * 1024));
}

// proves SA-4, SA-19
#[tokio::test]
async fn the_graph_is_a_tree_of_who_may_call_which_agent() {
    let program = program();
    for (name, calls) in [("a", "b"), ("b", "c"), ("c", "a")] {
        program
            .run(["agents", "add", name, "--agents", calls, "--max-depth", "8"])
            .await;
    }
    program
        .run(["agents", "add", "off", "--enabled", "false"])
        .await;
    let graph = program.run(["agents", "graph"]).await.exits(0);
    let expected = "\
master
  a
    b
      c
  b
    c
      a
  browser
  c
    a
      b
";
    assert!(graph.stdout.starts_with(expected), "{}", graph.stdout);
    assert!(graph.stdout.ends_with("\noff (off)\n"), "{}", graph.stdout);
    let json = document(&program.run(["agents", "graph", "--json"]).await.stdout);
    assert_eq!(
        json["items"][1],
        json!({"name": "a", "depth": 1, "cycle": false})
    );
    assert_eq!(json["cut"], false);
}

// proves SA-1, MD-27
#[tokio::test]
async fn a_run_names_the_agent_of_its_session_and_what_that_is_told() {
    let (program, model) = with_model([say("fine"), say("fine again")]).await;
    program.file("prompt.md", "Speak French.\n");
    let added = ["agents", "add", "tester", "--prompt", "You test."];
    assert_eq!(program.run(added).await.code, Some(0));

    let told = ["--agent", "tester", "--system-prompt", "@prompt.md"];
    let said = program.run([&["run"][..], &told, &["go"]].concat()).await;
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), "fine\n"));
    program.run(["run", "--continue", "go on"]).await.exits(0);
    for prompt in model.prompts() {
        let body = prompt.body().to_string();
        assert!(body.contains("You test.") && body.contains("Speak French."));
    }

    let gone = program.run(["run", "--agent", "gone", "go"]).await;
    ended_with(&gone, 2, "unknown_agent");
    for other in ["--continue", "--session=x"] {
        program
            .run(["run", other, "--agent", "tester", "go"])
            .await
            .exits(2);
    }
}
