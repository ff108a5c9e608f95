//! A person's own files for agents, and what a model was told, as commands show them.

use std::fs;

use samovar_model_server::{call, say};
use samovar_testkit::Finished;
use serde_json::{Value, json};

use crate::setup::{program, with_model};

#[track_caller]
fn document(said: &Finished) -> Value {
    assert_eq!(said.code, Some(0), "{said:?}");
    serde_json::from_str(&said.stdout).unwrap()
}

// proves MD-6, MD-22
#[tokio::test]
async fn init_writes_a_persons_files_as_comments_and_show_and_doctor_say_which_count() {
    let (program, model) = with_model([say("Arr."), say("Arr.")]).await;
    let own = program.home().join(".config/samovar");
    let said = document(&program.run(["init", "--json"]).await);
    assert_eq!(said["texts"].as_array().unwrap().len(), 3);
    for name in ["SOUL.md", "USER.md", "AGENTS.md"] {
        let text = fs::read_to_string(own.join(name)).unwrap();
        assert!(
            text.starts_with("<!--\n") && text.ends_with("-->\n"),
            "{text}"
        );
    }
    let told = |said: &Finished| said.stdout.contains("the built-in text");
    assert!(told(&program.run(["config", "show"]).await));
    assert_eq!(program.run(["run", "hello"]).await.code, Some(0));
    let prompt = |at: usize| model.prompts()[at].body().to_string();
    assert!(!prompt(0).contains("<!--") && !prompt(0).contains("Write below"));

    fs::write(own.join("SOUL.md"), "You are a pirate.").unwrap();
    fs::write(own.join("USER.md"), b"\xff").unwrap();
    program.run(["init"]).await;
    let soul = own.join("SOUL.md").display().to_string();
    assert!(program.run(["config", "show"]).await.stdout.contains(&soul));
    let doctor = program.run(["doctor", "-v"]).await;
    assert!(doctor.stdout.contains(&soul), "{doctor:?}");
    assert!(doctor.stdout.contains("USER.md is not UTF-8"), "{doctor:?}");
    assert_eq!(program.run(["run", "hello"]).await.code, Some(0));
    assert!(prompt(1).contains("You are a pirate."));
}

// proves MD-8, MD-16
#[tokio::test]
async fn skills_and_what_a_model_was_told_are_shown() {
    let program = program();
    let own = program.home().join(".config/samovar/skills");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("tea.md"), "# Tea\n\nBoil water.\n").unwrap();
    let listed = program.run(["skills", "list"]).await;
    assert!(listed.stdout.contains("tea") && listed.stdout.contains("Boil water."));
    let shown = program.run(["skills", "show", "tea"]).await;
    assert_eq!(
        shown.stdout,
        "tea (yours; available)\n\n# Tea\n\nBoil water.\n"
    );
    let path = program.run(["skills", "path"]).await.stdout;
    assert!(path.starts_with(&format!("{}\n", own.display())), "{path}");
    let gone = program.run(["skills", "show", "../tea"]).await;
    assert!(gone.code != Some(0) && gone.stderr.contains("unknown_skill"));

    let said = program.run(["run", "what does the skill tea say?"]).await;
    assert!(
        said.stdout
            .contains("The skill tea says:\n# Tea\n\nBoil water."),
        "{said:?}"
    );
    let sessions = document(&program.run(["sessions", "list", "--json"]).await);
    let id = sessions["items"][0]["id"].as_str().unwrap().to_owned();
    let context = program.run(["sessions", "context", &id]).await;
    assert!(context.stdout.contains("\n--- soul\n"), "{context:?}");
    assert!(context.stdout.contains("tea — Boil water. (read_skill)"));
}

// proves MD-16
#[tokio::test]
async fn a_list_says_whose_skills_are_and_what_is_wrong_with_others_and_a_run_says_neither() {
    let (program, _model) = with_model([say("Hello.")]).await;
    let program = program.set("SAMOVAR__TOOLS__TRUST_WORKSPACE", "false");
    let own = program.home().join(".config/samovar/skills");
    let folder = program.folder().join("skills");
    for (path, text) in [
        (own.join("tea.md"), "Tea."),
        (own.join("bad.md"), "---\nname: [\n---\ntext"),
        (folder.join("build.md"), "How to build."),
        (folder.join("Tea.md"), "Their tea."),
    ] {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let listed = program.run(["skills", "list"]).await;
    let line = |name: &str| {
        let mut lines = listed.stdout.lines();
        lines
            .find(|line| line.starts_with(name))
            .unwrap_or_default()
    };
    assert!(line("tea").contains("yours"), "{listed:?}");
    assert!(
        line("build").contains("of this folder, not trusted"),
        "{listed:?}"
    );
    assert!(line("review").contains("built in"), "{listed:?}");
    for told in [
        "bad.md is not used",
        "correct the file",
        "Tea.md is not used",
        "another name",
    ] {
        assert!(listed.stderr.contains(told), "{told}: {listed:?}");
    }
    assert!(!listed.stderr.contains("WARN"), "{listed:?}");
    let shown = program.run(["skills", "show", "build"]).await.stdout;
    assert!(
        shown.starts_with("build (of this folder, not trusted; available)"),
        "{shown}"
    );

    let said = program.run(["run", "hello"]).await;
    assert!(
        said.code == Some(0) && !said.stderr.contains("bad.md"),
        "{said:?}"
    );
    let doctor = program.run(["doctor"]).await;
    assert!(doctor.stdout.contains("bad.md is not used"), "{doctor:?}");
}

// proves MD-13
#[tokio::test]
async fn a_memory_is_seen_corrected_and_taken_back_at_the_command_line() {
    let program = program();
    let none = program.run(["memory", "list"]).await;
    assert!(none.stdout.is_empty() && none.stderr.contains("nothing is remembered yet"));
    let kept = [
        "tools",
        "call",
        "remember",
        r#"{"text": "The person likes tea."}"#,
    ];
    assert_eq!(program.run(kept).await.code, Some(0));
    let all = document(&program.run(["memory", "list", "--json"]).await);
    let id = all["items"][0]["id"].as_str().unwrap().to_owned();
    let listed = program.run(["memory", "list"]).await;
    assert!(listed.stdout.contains(&id) && listed.stdout.contains("The person likes tea."));
    let edit = ["memory", "edit", &id, "The person likes coffee."];
    assert_eq!(program.run(edit).await.code, Some(0));
    let found = document(&program.run(["memory", "search", "coffee", "--json"]).await);
    assert_eq!(found["items"][0]["id"], id.as_str(), "{found}");
    let path = program.run(["memory", "path"]).await.stdout;
    let file = path.lines().next().unwrap();
    assert!(
        fs::read_to_string(file)
            .unwrap()
            .contains("likes coffee. <!-- ")
    );
    assert_eq!(program.run(["memory", "forget", &id]).await.code, Some(0));
    let shown = program.run(["memory", "show", &id]).await;
    assert!(
        shown.code != Some(0) && shown.stderr.contains("unknown_memory"),
        "{shown:?}"
    );
    assert!(!fs::read_to_string(file).unwrap().contains("coffee"));
    assert_eq!(program.run(["audit", "verify"]).await.code, Some(0));
}

// proves MD-11, MD-13
#[tokio::test]
async fn what_still_says_a_deleted_memory_is_told_and_what_a_server_cannot_read() {
    let remember = call("remember", json!({"text": "Likes walrus tea."}));
    let (program, _model) = with_model([remember, say("Walrus tea, likes noted.")]).await;
    let server = program.serve(&[]).await;
    let session = server.session().await;
    server.turn(&session, "I like it: walrus tea!").await;
    let list = document(&program.run(["memory", "list", "--json"]).await);
    let id = list["items"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(program.run(["backup", "saved"]).await.code, Some(0));

    let said = program.run(["memory", "forget", &id]).await.stdout;
    for line in [
        format!("the call that wrote it is in session {session}"),
        format!("assistant in session {session}: Walrus tea, likes noted."),
        "exports and backups that were made before may have it, too".to_owned(),
    ] {
        assert!(said.contains(&line), "{line}: {said}");
    }
    let path = program.run(["memory", "path"]).await.stdout;
    let file = path.lines().next().unwrap();
    fs::write(file, b"- caf\xe9\n").unwrap();
    let doctor = program.run(["doctor"]).await.stdout;
    assert!(doctor.contains("it is not UTF-8"), "{doctor}");
    let found = document(&program.run(["memory", "search", "walrus", "--json"]).await);
    let hit = &found["items"][0];
    assert_eq!(
        (&hit["source"], &hit["sessionId"]),
        (&json!("exchange"), &json!(session))
    );
    let shown = program.run(["memory", "search", "walrus"]).await.stdout;
    assert!(
        shown.contains(&format!("exchange in session {session}")),
        "{shown}"
    );

    let restored = program
        .run(["restore", "saved", "--data-dir", "elsewhere"])
        .await;
    assert!(
        restored.stdout.contains("memories that were deleted since"),
        "{restored:?}"
    );
}
