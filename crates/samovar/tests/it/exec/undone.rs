//! What commands changed is taken back, also after a kill around one.

use super::*;

// proves TL-2
#[cfg(feature = "failpoints")]
#[tokio::test]
async fn what_a_command_changed_is_taken_back_after_a_kill_around_it() {
    if !is_provable("what_a_command_changed_is_taken_back_after_a_kill_around_it").await {
        return;
    }
    let command = "echo new > a.txt; rm gone.txt; mkdir new; ln -s ../a.txt new/b; echo x > ~/x";
    for point in [
        "undo.recording.before",
        "undo.recording.after",
        "undo.command.before",
        "undo.command.after",
    ] {
        let calls = call("exec", json!({ "command": command }));
        let (program, _model) = with_model([Rule::from(calls), say("done").forever()]).await;
        let program = program.set("SAMOVAR_FAILPOINT", &format!("{point}:1"));
        program.file("a.txt", "old").file("gone.txt", "g");
        let serve = [&SERVE[..], &["--approval", "auto"]].concat();
        let server = program.serve(&serve).await;
        server.ok("createSession", json!({"sessionId": "s"})).await;
        let post = json!({"sessionId": "s", "messageId": "m", "content": "go"});
        let mut stream = server.stream(post.clone()).await;
        stream.rest().await;
        assert_eq!(server.end().await.code, None, "{point} is not reached");

        let program = program.set("SAMOVAR_FAILPOINT", "");
        let server = program.serve(&serve).await;
        server.stream(post).await.rest().await;
        let made = program.folder().join("new/b");
        assert_eq!(
            made.is_symlink(),
            point.starts_with("undo.command"),
            "{point}"
        );
        let undone = server
            .ok("undo", json!({"sessionId": "s", "files": true}))
            .await;

        let content = |name: &str| fs::read_to_string(program.folder().join(name)).unwrap();
        assert_eq!(
            (&*content("a.txt"), &*content("gone.txt")),
            ("old", "g"),
            "{undone}"
        );
        assert!(!program.folder().join("new").exists(), "{point}: {undone}");
        server.kill().await;
    }
}

// proves TL-2
#[tokio::test]
async fn what_an_undo_takes_back_of_commands_is_told_to_programs() {
    if !is_provable("what_an_undo_takes_back_of_commands_is_told_to_programs").await {
        return;
    }
    let calls = call("exec", json!({"command": "echo new > a.txt; rm gone.txt"}));
    let (program, _model) = with_model([Rule::from(calls), Rule::from(say("done"))]).await;
    program
        .file("a.txt", "old")
        .file("gone.txt", "g")
        .file("sub/.git/HEAD", "");

    let told = program
        .run(["run", "-o", "json", "--data-dir", "data", "go"])
        .await;
    let document: Value = serde_json::from_str(&told.stdout).unwrap();

    assert_eq!(
        document["changed"],
        json!(["a.txt", "gone.txt"]),
        "{told:?}"
    );
    let session = document["sessionId"].as_str().unwrap();
    let args = [
        "sessions",
        "undo",
        session,
        "--files",
        "--json",
        "--data-dir",
        "data",
    ];
    let undone: Value = serde_json::from_str(&program.run(args).await.stdout).unwrap();
    let files = json!([
        {"path": "a.txt", "change": "restored"},
        {"path": "gone.txt", "change": "restored"},
    ]);
    assert_eq!(undone["files"], files, "{undone}");
    // A repository below the folder is not covered, which is said before.
    assert_eq!(undone["remainingTools"], json!(["exec"]), "{undone}");
    let note = "undo cannot take back what the command changes in these repositories below the folder: \"sub\"\n";
    assert!(told.stderr.contains(note), "{told:?}");
}
