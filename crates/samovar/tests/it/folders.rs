//! One store for each folder: two terminals in two projects work, and nothing gets lost.

use std::fs;
use std::path::{Path, PathBuf};

use samovar_testkit::{Finished, Program};
use serde_json::{Value, json};

use crate::setup::{ended_with, program};

/// A folder beside the program's own, or in it.
fn folder(program: &Program, name: &str) -> PathBuf {
    let folder = program.folder().join("..").join(name);
    fs::create_dir_all(&folder).unwrap();
    folder.canonicalize().unwrap()
}

async fn run_in(program: &Program, folder: &Path, args: &[&str]) -> Finished {
    let mut command = program.command(args);
    Finished::of(command.current_dir(folder).spawn().unwrap()).await
}

async fn ok(program: &Program, folder: &Path, args: &[&str]) -> Finished {
    let said = run_in(program, folder, args).await;
    assert_eq!(said.code, Some(0), "{args:?}: {said:?}");
    said
}

/// Every store of the user, as `--all` lists them from this folder.
async fn all(program: &Program, folder: &Path) -> Vec<Value> {
    let said = ok(program, folder, &["sessions", "list", "--all", "--json"]).await;
    let listed: Value = serde_json::from_str(&said.stdout).unwrap();
    listed["items"].as_array().unwrap().clone()
}

fn store_of<'a>(stores: &'a [Value], folder: &Path) -> &'a Value {
    let mut stores = stores.iter();
    let found = stores.find(|store| store["folder"] == folder.display().to_string());
    found.unwrap_or_else(|| panic!("{} is not listed", folder.display()))
}

// proves FC-10
#[tokio::test]
async fn two_folders_work_at_once_and_each_lists_its_own_sessions() {
    let program = program();
    let (work, nested) = (folder(&program, "work"), folder(&program, "work/nested"));
    let chat = program.at_terminal(["chat"]);
    chat.sees("Ctrl-D leaves").await;
    chat.enters("what is 1+1").await;
    chat.sees("1+1 = 2").await;

    ok(&program, &nested, &["run", "what is 2+2"]).await;
    let listed = ok(&program, &nested, &["sessions", "list"]).await.stdout;
    assert!(
        listed.contains("what is 2+2") && !listed.contains("1+1"),
        "{listed}"
    );
    // The store of the folder above is read through the chat that holds it.
    let stores = all(&program, &nested).await;
    assert_eq!(stores.len(), 2, "{stores:?}");
    assert_eq!(
        stores[0]["folder"],
        nested.display().to_string(),
        "its own first"
    );
    assert_eq!(
        store_of(&stores, &work)["sessions"][0]["preview"],
        "what is 1+1"
    );

    let last = ok(&program, &nested, &["run", "--continue", "what is 3+3"]).await;
    assert!(last.stdout.contains("3+3 = 6"), "{last:?}");
    let found = ok(&program, &nested, &["sessions", "show", "What is 2"])
        .await
        .stdout;
    assert!(found.contains("messages: 4"), "{found}");
    ok(&program, &nested, &["run", "what is 4+4"]).await;
    let several = run_in(&program, &nested, &["sessions", "show", "what is"]).await;
    ended_with(&several, 2, "ambiguous_session");
    let line = "samovar: \"what is\" matches 2 sessions: ";
    assert!(several.stderr.starts_with(line), "{several:?}");
    assert!(several.stderr.contains("(what is 4+4)"), "{several:?}");
}

// proves FC-10
#[tokio::test]
async fn a_store_that_is_gone_or_broken_is_listed_and_does_not_hide_the_others() {
    let program = program();
    let work = folder(&program, "work");
    let [kept, moved, broken] = ["kept", "moved", "broken"].map(|name| folder(&program, name));
    for folder in [&kept, &moved, &broken] {
        ok(&program, folder, &["run", "what is 2+3"]).await;
    }
    let of_user = program.home().join(".local/share/samovar");
    let stores = all(&program, &work).await;
    let changed = stores
        .iter()
        .map(|store| &store["sessions"][0]["updatedAt"]);
    let changed: Vec<_> = changed.map(|at| at.as_i64().unwrap()).collect();
    assert!(changed.is_sorted_by(|a, b| a >= b), "the last used first");
    let store = |folder: &Path| {
        store_of(&stores, folder)["dataDir"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let (of_moved, of_broken) = (store(&moved), store(&broken));
    fs::rename(&moved, moved.with_file_name("new place")).unwrap();
    fs::write(Path::new(&of_broken).join("token"), "short").unwrap();
    fs::write(of_user.join("stores/a file"), "").unwrap();
    fs::create_dir(of_user.join("stores/an empty folder")).unwrap();

    let stores = all(&program, &work).await;
    assert_eq!(stores.len(), 3, "{stores:?}");
    assert_eq!(store_of(&stores, &kept)["totalCount"], 1);
    assert_eq!(store_of(&stores, &moved)["isThere"], false);
    assert_eq!(store_of(&stores, &moved)["totalCount"], 1);
    let error = store_of(&stores, &broken)["error"].as_str().unwrap();
    assert!(error.contains("token"), "{error}");
    let said = ok(&program, &work, &["sessions", "list", "--all"])
        .await
        .stdout;
    assert!(
        said.contains(&format!("sessions move --from {of_moved}")),
        "{said}"
    );

    let place = moved.with_file_name("new place");
    let server = program.serve(&["--data-dir", &of_moved]).await;
    let busy = run_in(&program, &place, &["sessions", "move", "--from", &of_moved]).await;
    ended_with(&busy, 8, "data_dir_busy");
    server.kill().await;
    ok(&program, &place, &["sessions", "move", "--from", &of_moved]).await;
    let said = ok(&program, &place, &["run", "--continue", "what is 1+1"]).await;
    assert!(said.stdout.contains("1+1 = 2"), "{said:?}");
    assert!(!Path::new(&of_moved).exists());
}

// proves FC-10
#[tokio::test]
async fn a_data_folder_that_is_made_later_names_the_earlier_store_and_takes_its_sessions() {
    let program = program();
    let work = folder(&program, "work");
    ok(&program, &work, &["run", "what is 2+3"]).await;
    let store = program.store();
    drop(program.serve(&[]).await);

    let said = ok(&program, &work, &["sessions", "list"]).await;
    assert!(
        said.stderr.contains("there are no sessions here yet"),
        "{said:?}"
    );
    let line = format!("earlier sessions of this folder are in {}", store.display());
    assert!(said.stderr.contains(&line), "{said:?}");
    let server = program.serve(&[]).await;
    assert!(server.banner.contains(&line), "{}", server.banner);
    let busy = run_in(&program, &work, &["sessions", "move"]).await;
    ended_with(&busy, 8, "data_dir_busy");
    let token = fs::read(work.join("data/token")).unwrap();
    server.kill().await;

    let kept = ["logs/study/a.jsonl", "damaged/a", "replaced-1/token"];
    for path in kept {
        fs::create_dir_all(store.join(path).parent().unwrap()).unwrap();
        fs::write(store.join(path), path).unwrap();
    }
    fs::write(store.join("tools.json"), "[]").unwrap();
    ok(&program, &work, &["sessions", "move"]).await;
    let data = work.join("data");
    for path in kept {
        assert_eq!(fs::read_to_string(data.join(path)).unwrap(), path);
    }
    assert!(data.join("tools.json").exists());
    assert_eq!(fs::read(data.join("token")).unwrap(), token, "for clients");
    let said = ok(&program, &work, &["sessions", "list", "--json"]).await;
    assert!(
        said.stdout.contains("\"preview\":\"what is 2+3\""),
        "{said:?}"
    );
    assert!(!said.stderr.contains("earlier sessions"), "{said:?}");
    let none = run_in(&program, &work, &["sessions", "move"]).await;
    ended_with(&none, 2, "unknown_store");
    let stores = all(&program, &work).await;
    assert_eq!(stores.len(), 1, "{stores:?}");

    // What has sessions already is not mixed with others.
    let other = folder(&program, "other");
    ok(&program, &other, &["run", "what is 7+7"]).await;
    let from = other.display().to_string();
    let full = run_in(&program, &work, &["sessions", "move", "--from", &from]).await;
    ended_with(&full, 2, "store_not_empty");
}

// proves FC-10
#[tokio::test]
async fn the_data_folder_of_one_folder_is_never_that_of_its_workspace() {
    let program = program();
    let (work, other) = (folder(&program, "work"), folder(&program, "other"));
    ok(&program, &other, &["run", "what is 2+3"]).await;
    program.serve(&[]).await.kill().await;
    let workspace = ["--workspace", "../other"];

    let args = [&["sessions", "list"][..], &workspace].concat();
    let said = ok(&program, &work, &args).await;
    assert!(!said.stderr.contains("earlier sessions"), "{said:?}");
    let args = [&["sessions", "move"][..], &workspace].concat();
    let moved = run_in(&program, &work, &args).await;
    ended_with(&moved, 2, "unknown_store");
}

// proves FC-10
#[tokio::test]
async fn two_hundred_stores_are_listed() {
    let program = program();
    let work = folder(&program, "work");
    ok(&program, &work, &["run", "what is 2+3"]).await;
    let store = program.store();
    for number in 1..200 {
        let copy = store.with_file_name(format!("copy-{number}"));
        fs::create_dir_all(copy.join("journal")).unwrap();
        for name in ["history.db", "journal/data.mdb", "token"] {
            fs::copy(store.join(name), copy.join(name)).unwrap();
        }
        fs::write(copy.join("folder"), format!("/gone/{number}\n")).unwrap();
    }
    let stores = all(&program, &work).await;
    assert_eq!(stores.len(), 200);
    let mut stores = stores.iter();
    let bad = stores.find(|store| store["totalCount"] != 1 || !store["error"].is_null());
    assert_eq!(bad, None);
}

// proves FC-10
#[tokio::test]
async fn the_home_folder_has_to_be_typed_and_a_look_makes_no_store() {
    let program = program();
    let home = program.home().canonicalize().unwrap();
    let refused_there = async || {
        for args in [
            &["run", "hi"][..],
            &["chat"],
            &["tools", "call", "list_dir"],
            &["serve", "--port", "0"],
        ] {
            let said = run_in(&program, &home, args).await;
            ended_with(&said, 2, "workspace_too_wide");
        }
    };
    refused_there().await;
    let refused = run_in(&program, Path::new("/"), &["run", "hi"]).await;
    ended_with(&refused, 2, "workspace_too_wide");
    ok(&program, &home, &["sessions", "list"]).await;
    ok(&program, &home, &["sessions", "list", "--all"]).await;
    ok(&program, &home, &["models", "list"]).await;
    for made in ["data", ".local/share"] {
        assert!(!home.join(made).exists(), "{made}");
    }
    let typed = home.display().to_string();
    let said = ok(&program, &home, &["run", "--workspace", &typed, "2+2"]).await;
    assert!(said.stdout.contains("2+2 = 4"), "{said:?}");
    ok(&program, &home, &["run", "--data-dir", "data", "2+2"]).await;
    assert!(home.join("data").exists());
    refused_there().await;
}

// proves FC-10
#[tokio::test]
async fn a_session_in_which_nothing_was_said_is_deleted_by_the_command_that_began_it() {
    let program = program();
    let server = program.serve(&[]).await;
    let of_api = server.session().await;
    let chat = program.at_terminal(["chat"]);
    chat.sees("Ctrl-D leaves").await;
    let count = async || server.ok("listSessions", json!({})).await["totalCount"].clone();
    assert_eq!(count().await, 2);
    chat.enters("/quit").await;
    assert_eq!(chat.leaves().await.code, Some(0));
    assert_eq!(count().await, 1);
    let refused = ["run", "--model", "openai/gpt-5", "hi"];
    assert_eq!(program.run(refused).await.code, Some(4));
    assert_eq!(count().await, 1);
    server.ok("getSession", json!({"sessionId": of_api})).await;
    // A deadline may pass at any moment of the beginning.
    for milliseconds in 1..25 {
        let seconds = format!("{:.3}", f64::from(milliseconds) / 1000.0);
        program.run(["run", "--timeout", &seconds, "hi"]).await;
    }
    let listed = server.ok("listSessions", json!({})).await;
    let empty = listed["items"].as_array().unwrap().iter();
    let mut empty = empty.filter(|session| session["messageCount"] == 0);
    assert_eq!(empty.next().unwrap()["id"], of_api);
    assert_eq!(empty.next(), None);
}

// proves FC-10
#[tokio::test]
async fn the_last_session_has_a_message_and_what_deletes_is_named_exactly() {
    let program = program();
    let work = folder(&program, "work");
    ok(&program, &work, &["run", "what is 2+3"]).await;
    let chat = program.at_terminal(["chat"]);
    chat.sees("Ctrl-D leaves").await;
    let last = ok(&program, &work, &["run", "--continue", "what is 1+1"]).await;
    assert!(last.stdout.contains("1+1 = 2"), "{last:?}");
    chat.enters("/quit").await;
    chat.leaves().await;

    for args in [
        &["sessions", "delete", "--yes", "what is"][..],
        &["sessions", "cancel", "what is"],
    ] {
        ended_with(&run_in(&program, &work, args).await, 2, "ambiguous_session");
    }
    let listed = ok(&program, &work, &["sessions", "list"]).await.stdout;
    let end = listed.split_whitespace().next().unwrap();
    ok(&program, &work, &["sessions", "delete", "--yes", end]).await;
    let none = ok(&program, &work, &["sessions", "list", "--json"]).await;
    assert!(none.stdout.contains("\"totalCount\":0"), "{none:?}");
}

// proves FC-4
#[tokio::test]
async fn a_running_server_whose_models_are_not_those_of_this_shell_is_named() {
    let program = program();
    let server = program.serve(&[]).await;
    for args in [
        &["run", "what is 2+3"][..],
        &["run", "--model", "demo", "what is 2+3"],
        &["run", "--continue", "what is 2+3"],
    ] {
        let mut command = program.command(args);
        if args.len() > 2 {
            command.env("AGENT_MODEL", "custom/other");
        }
        let quiet = Finished::of(command.spawn().unwrap()).await;
        assert!(!quiet.stderr.contains("asking process"), "{quiet:?}");
    }

    for (sets, lacks) in [
        (&[("OPENAI_API_KEY", "sk-x")][..], "OPENAI_API_KEY"),
        (
            &[
                ("OLLAMA_HOST", "http://127.0.0.1:9"),
                ("AGENT_MODEL", "ollama/x"),
            ],
            "OLLAMA_HOST",
        ),
    ] {
        let with = async |args: &[&str]| {
            let mut command = program.command(args);
            Finished::of(command.envs(sets.iter().copied()).spawn().unwrap()).await
        };
        for args in [
            &["run", "--model", "demo", "hello"][..],
            &["models", "list"],
        ] {
            let said = with(args).await.exits(0);
            let line = said
                .stderr
                .lines()
                .find(|line| line.contains("asking process"));
            let line = line.unwrap_or_else(|| panic!("{args:?}: {said:?}"));
            assert!(line.contains("; it was started without"), "{line}");
            let is_listed = args[0] == "models";
            assert_eq!(line.contains("whose model is demo"), is_listed, "{line}");
            assert!(line.contains(lacks) && line.contains(" since 20"), "{line}");
        }
        let told = with(&["doctor", "-v"]).await.exits(3);
        assert!(told.stdout.contains("whose model is demo"), "{told:?}");
    }
    drop(server);
}

// proves FC-10
#[tokio::test]
async fn folders_that_share_a_data_directory_see_the_same_list_and_continue_their_own_session() {
    let program = program();
    let (one, two) = (folder(&program, "work"), folder(&program, "two"));
    // From here on, the first folder's commands use its `data` without being told.
    program.serve(&[]).await.kill().await;
    let shared = one.join("data");
    let shared = shared.to_str().unwrap();
    ok(&program, &one, &["run", "what is 1+1"]).await;
    ok(
        &program,
        &two,
        &["run", "what is 2+2", "--data-dir", shared],
    )
    .await;
    for (here, typed, own, other) in [
        (&one, &[][..], "what is 1+1", "what is 2+2 (in "),
        (
            &one,
            &["--data-dir", shared],
            "what is 1+1",
            "what is 2+2 (in ",
        ),
        (
            &two,
            &["--data-dir", shared],
            "what is 2+2",
            "what is 1+1 (in ",
        ),
    ] {
        let listed = [&["sessions", "list"], typed].concat();
        let listed = ok(&program, here, &listed).await.stdout;
        assert!(listed.contains(&format!("{own}\n")), "{listed}");
        assert!(listed.contains(other), "{listed}");
        let again = [&["run", "--continue", "again", "-o", "json"], typed].concat();
        let again = run_in(&program, here, &again).await;
        let again: Value = serde_json::from_str(&again.stdout).unwrap();
        let session = again["sessionId"].as_str().unwrap();
        let shown = [&["sessions", "show", session], typed].concat();
        let shown = ok(&program, here, &shown).await.stdout;
        assert!(shown.contains(own), "{shown}");
    }
}

// proves FC-10
#[tokio::test]
async fn a_list_without_a_line_says_why() {
    let program = program();
    let none = program.run(["turns", "list"]).await.exits(0);
    assert!(none.stderr.contains("there are no turns here"), "{none:?}");
    program.run(["run", "what is 1+1"]).await.exits(0);
    for (args, why) in [
        (
            &["sessions", "list", "--offset", "7"][..],
            "there is only 1 session",
        ),
        (
            &["sessions", "list", "--query", "zz"][..],
            "no session has \"zz\"",
        ),
        (
            &["sessions", "list", "--all", "--query", "zz"],
            "no session has \"zz\"",
        ),
        (&["approvals", "list"], "no call waits"),
        (&["approvals", "rules"], "nothing is allowed for good"),
    ] {
        let said = program.run(args).await.exits(0);
        assert!(said.stderr.contains(why), "{said:?}");
        assert_eq!(said.stdout, "", "{args:?}");
    }
}
