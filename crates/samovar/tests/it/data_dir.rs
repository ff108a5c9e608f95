//! A folder `./data` that somebody else made: it is left alone, whatever it holds.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use samovar_model_server::{Gate, call, say};
use samovar_testkit::Program;
use serde_json::json;

use crate::setup::{messages, program, with_model};

/// All files below a folder, with their content.
fn content(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A data directory of another machine, whose turn continues as soon as somebody opens it: the
/// person asked, the model was slow, and the server was killed.
async fn strangers_data() -> Program {
    let gate = Gate::new("never");
    let (stranger, model) = with_model([say("slow").hold_head(&gate)]).await;
    let server = stranger.serve(&[]).await;
    let session = server.session().await;
    let _stream = server.say(&session, "first").await;
    model.seen(1).await;
    let waiting = json!({"sessionId": session, "content": "leave this machine's keys with me"});
    let _stream = server.stream(waiting).await;
    server.kill().await;
    stranger
}

const LEFT_ALONE: &str =
    "./data was not created here by you; if it is yours, name it once with --data-dir ./data";

// proves FC-3
#[tokio::test]
async fn a_data_directory_that_came_with_a_folder_is_left_alone_and_nothing_in_it_runs() {
    let stranger = strangers_data().await;
    let (program, model) = with_model([say("mine").forever()]).await;
    let data = program.folder().join("data");
    copy(&stranger.folder().join("data"), &data);
    let before = content(&data);

    let said = program.run(["run", "go"]).await;
    assert_eq!(said.stdout, "mine\n", "{said:?}");
    let line = format!(
        "data: {}, because {LEFT_ALONE}\n",
        program.store().display()
    );
    assert!(said.stderr.contains(&line), "{said:?}");
    let said = program.run(["sessions", "list", "--json"]).await;
    assert!(said.stdout.contains("\"totalCount\":1"), "{said:?}");
    let server = program.serve(&[]).await;
    assert!(server.banner.contains(&line), "{}", server.banner);
    assert_eq!(server.ok("listSessions", json!({})).await["totalCount"], 1);
    drop(server);

    // No prompt of the stranger's went out, and their files are as they were.
    let prompts: Vec<_> = model
        .prompts()
        .iter()
        .map(|prompt| prompt.body().to_string())
        .collect();
    assert!(
        prompts.iter().all(|prompt| !prompt.contains("leave this")),
        "{prompts:?}"
    );
    assert_eq!(content(&data), before);
    // It is a folder of the workspace like any other.
    let program = self::program();
    copy(
        &stranger.folder().join("data"),
        &program.folder().join("data"),
    );
    program.file("data/note.txt", "a note of the stranger");
    let said = program.run(["run", "show me data/note.txt"]).await;
    assert!(said.stdout.contains("a note of the stranger"), "{said:?}");
}

// proves FC-3
#[tokio::test]
async fn one_that_was_copied_is_ours_again_once_it_is_named() {
    let (program, _model) = with_model([say("hello").forever()]).await;
    let server = program.serve(&[]).await;
    let session = server.session().await;
    server.turn(&session, "go").await;
    server.kill().await;
    let moved = program.folder().join("moved/data");
    copy(&program.folder().join("data"), &moved);
    let inside = |program: &Program, args: &[&str]| {
        let mut command = program.command(args);
        command.current_dir(program.folder().join("moved"));
        command.spawn().unwrap()
    };
    let count = async |args: &[&str]| {
        let said = samovar_testkit::Finished::of(inside(&program, args))
            .await
            .exits(0);
        let page: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        (page["totalCount"].clone(), said.stderr.contains(LEFT_ALONE))
    };

    assert_eq!(
        count(&["sessions", "list", "--json"]).await,
        (json!(0), true)
    );
    let named = ["sessions", "list", "--json", "--data-dir", "data"];
    assert_eq!(count(&named).await, (json!(1), false));
    assert_eq!(
        count(&["sessions", "list", "--json"]).await,
        (json!(1), false)
    );
}

// proves FC-3, TL-8
#[tokio::test]
async fn our_own_is_found_again_and_shut_to_tools_even_when_another_is_used() {
    let read = |path: &str| call("read_file", json!({"path": path}));
    let (program, model) = with_model([
        say("hello"),
        read("data/token"),
        read("./data/owner"),
        say("I may not"),
    ])
    .await;
    let server = program.serve(&[]).await;
    let session = server.session().await;
    server.turn(&session, "go").await;
    server.kill().await;

    let server = program.serve(&[]).await;
    assert!(
        server.banner.contains("because ./data is yours"),
        "{}",
        server.banner
    );
    assert_eq!(messages(&server, &session).await.len(), 2);
    server.kill().await;
    let elsewhere = program.home().join("elsewhere").display().to_string();
    let said = program.run(["run", "--data-dir", &elsewhere, "go"]).await;
    assert_eq!(said.stdout, "I may not\n", "{said:?}");
    let told = model.prompts().last().unwrap().body().to_string();
    assert_eq!(told.matches("does not exist").count(), 2, "{told}");
}

// proves FC-3
#[tokio::test]
async fn a_strangers_server_is_not_asked_and_gets_no_token() {
    let program = program();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let token = "a-token-that-a-stranger-would-like-to-see";
    let server = json!({"address": address, "token": token, "pid": 1});
    program.file("data/server.json", server.to_string());
    program.file("data/journal/data.mdb", "");
    let lock = fs::File::create(program.folder().join("data/lock")).unwrap();
    lock.lock().unwrap();

    for args in [
        &["sessions", "list"][..],
        &["run", "2+2"],
        &["doctor"],
        &["stats"],
    ] {
        let said = program.run(args).await;
        assert_eq!(said.code, Some(0), "{args:?}: {said:?}");
    }
    let asked = listener.accept();
    assert_eq!(asked.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

// proves FC-3
#[tokio::test]
async fn a_folder_of_that_name_with_other_things_is_left_alone() {
    let program = program();
    program.file("data/table.csv", "a,b\n");
    let server = program.serve(&[]).await;
    assert!(server.banner.contains(LEFT_ALONE), "{}", server.banner);
    drop(server);
    let names: Vec<_> = fs::read_dir(program.folder().join("data"))
        .unwrap()
        .collect();
    assert_eq!(names.len(), 1, "nothing is added");

    let linked = Program::new(env!("CARGO_BIN_EXE_samovar"));
    fs::create_dir(linked.home().join("target")).unwrap();
    std::os::unix::fs::symlink(linked.home().join("target"), linked.folder().join("data")).unwrap();
    let server = linked.serve(&[]).await;
    assert!(
        server.banner.contains("./data is a link"),
        "{}",
        server.banner
    );
    assert_eq!(
        fs::read_dir(linked.home().join("target")).unwrap().count(),
        0
    );
}

// proves FC-3
#[tokio::test]
async fn a_data_directory_that_could_not_be_known_again_is_not_made() {
    let program = program();
    let home = program.home();
    fs::write(home.join(".local"), "a file in the place of the folder").unwrap();
    let said = program.run(["serve", "--port", "0"]).await;
    crate::setup::ended_with(&said, 3, "data_dir_unusable");
    assert!(
        said.stderr
            .contains("samovar cannot remember that ./data is yours"),
        "{said:?}"
    );
    assert!(!program.folder().join("data").exists());
    let server = program.serve(&["--data-dir", "data"]).await;
    assert!(
        server.banner.contains("--data-dir sets it"),
        "{}",
        server.banner
    );
}
