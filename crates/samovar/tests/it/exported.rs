//! Sessions leave a store as a file and come into another one.

use samovar_model_server::{call, say};
use samovar_testkit::Program;
use serde_json::{Value, json};

use crate::setup::with_model;

/// The lines of an export without ids, their checksums, and the times of an import.
fn shape(export: &str) -> Vec<Value> {
    let mut ids = Vec::new();
    let mut lines: Vec<Value> = export
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for line in &mut lines {
        line.as_object_mut().unwrap().remove("sum");
        if let Some(session) = line.get_mut("session") {
            session["updated_at"] = Value::Null;
            session["created_at"] = Value::Null;
            session["id"] = Value::Null;
        }
        if let Some(message) = line.get_mut("message") {
            let own = message["id"].as_str().unwrap().to_owned();
            let parent = ids.iter().position(|id| *id == message["parent"]);
            message["parent"] = json!(parent);
            message["id"] = json!(ids.len());
            ids.push(Value::from(own));
        }
    }
    lines
}

// proves AS-29
#[tokio::test]
async fn an_exported_session_comes_into_another_store_and_out_again_as_it_was() {
    let task = json!({"name": "browser", "task": "look"});
    let replies = [call("subAgent", task), say("it is blue"), say("blue, then")];
    let (program, _model) = with_model(replies).await;
    let run = async |data: &str, args: &[&str]| {
        let args = args.iter().copied().chain(["--data-dir", data]);
        program.run(args.collect::<Vec<_>>()).await
    };
    run("data", &["run", "--approval", "auto", "what colour is it?"]).await;
    let exported = run("data", &["sessions", "export", "--all"]).await.stdout;
    assert_eq!(
        exported.matches("\"master/browser\"").count(),
        2,
        "{exported}"
    );
    program.file("one.jsonl", &exported);

    let told = run("other", &["sessions", "import", "one.jsonl"]).await;

    assert!(
        told.stdout.contains("was imported, with 6 messages"),
        "{told:?}"
    );
    for (place, data) in [("-", "of stdin"), ("/dev/stdin", "of a pipe")] {
        let args = ["sessions", "import", place, "--data-dir", data];
        let input = Some(exported.clone().into_bytes());
        let told = program.run_with_stdin(args, input).await.exits(0);
        assert!(told.stdout.contains("with 6 messages"), "{told:?}");
    }
    let again = run("other", &["sessions", "export", "--all"]).await.stdout;
    assert_eq!(shape(&again), shape(&exported));
    let [first, second] = [&exported, &again].map(|export| export.lines().nth(2).unwrap());
    let id = |line: &str| serde_json::from_str::<Value>(line).unwrap()["message"]["id"].clone();
    assert_eq!(id(first), id(second), "ids that are free stay");

    // Once more, it is another session, which is said.
    let told = run("other", &["sessions", "import", "one.jsonl", "--json"]).await;
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    let one = &told["sessions"][0];
    assert_ne!(one["sessionId"], one["from"]);
    assert_eq!((&one["messages"], &one["renamed"]), (&6.into(), &6.into()));
    let listed = run("other", &["sessions", "list", "--json"]).await;
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    for session in listed["items"].as_array().unwrap() {
        assert_eq!(
            (&session["tainted"], &session["messageCount"]),
            (&true.into(), &6.into())
        );
        assert_eq!(session["approval"], Value::Null);
        assert_eq!(session["tokens"], listed["items"][0]["tokens"]);
    }
}

// proves AS-29
#[tokio::test]
async fn a_cut_file_comes_in_to_its_last_whole_message_and_no_export_does_not() {
    let (program, _model) = with_model([say("an answer").forever()]).await;
    let run = async |args: &[&str]| {
        let args = args.iter().copied().chain(["--data-dir", "data"]);
        program.run(args.collect::<Vec<_>>()).await
    };
    run(&["run", "one"]).await;
    run(&["run", "two"]).await;
    let exported = run(&["sessions", "export", "--all"]).await.stdout;
    let end = exported.rfind("an answer").unwrap();
    program.file("cut.jsonl", &exported[..end]);
    program.file("none.jsonl", "{}");

    let told = run(&["sessions", "import", "cut.jsonl"]).await.exits(2);

    assert!(told.stdout.contains("with 2 messages"), "{told:?}");
    assert!(told.stdout.contains("with 1 message,"), "{told:?}");
    assert!(
        told.stderr.contains("line 9 is cut or was changed"),
        "{told:?}"
    );
    // Two exports of five lines each.
    let lines: Vec<_> = exported.split_inclusive('\n').collect();
    let mark = "\u{feff}".to_owned();
    for (name, text, why) in [
        (
            "at an end",
            lines[..3].concat(),
            "lines are missing after line 3;",
        ),
        (
            "before the second",
            lines[..2].concat() + &lines[5..].concat(),
            "lines are missing after line 2;",
        ),
        (
            "in a head",
            lines[..5].concat() + &lines[5][..20],
            "line 6 is cut",
        ),
        (
            "a mark",
            mark + &lines[..3].concat() + &lines[3][..9],
            "line 4 is cut",
        ),
    ] {
        program.file(name, text);
        let told = run(&["sessions", "import", name]).await.exits(2);
        assert!(told.stderr.contains(why), "{name}: {told:?}");
        assert!(told.stdout.contains("was imported"), "{name}: {told:?}");
    }
    for (file, code) in [
        ("none.jsonl", "import_unusable"),
        ("nowhere", "import_unusable"),
    ] {
        let told = run(&["sessions", "import", file]).await;
        assert_eq!(told.code, Some(2), "{told:?}");
        assert!(told.stderr.contains(code), "{told:?}");
    }
}

// proves AS-29
#[tokio::test]
async fn an_import_refuses_a_newer_file_whole_and_tells_of_one_that_is_cut_between_lines() {
    let (program, _model) = with_model([say("hi")]).await;
    let run = async |data: &str, args: &[&str]| {
        let args = args.iter().copied().chain(["--data-dir", data]);
        program.run(args.collect::<Vec<_>>()).await
    };
    run("data", &["run", "hello"]).await.exits(0);
    let exported = run("data", &["sessions", "export", "--all"]).await.stdout;
    let newer = exported.replace("\"version\":1", "\"version\":2");
    let head = exported.lines().next().unwrap();
    for (name, text, told) in [
        ("newer", format!("{exported}{newer}"), "is of version 2"),
        (
            "other",
            format!("{exported}{{\"schema\"garbage\n"),
            "no export",
        ),
        ("empty", String::new(), "no export"),
    ] {
        program.file(name, text);
        let data = format!("of {name}");
        let refused = run(&data, &["sessions", "import", name]).await.exits(2);
        assert!(refused.stderr.contains(told), "{refused:?}");
        let none = run(&data, &["sessions", "list", "--jsonl"]).await;
        assert!(!none.stdout.contains("createdAt"), "{name}: {none:?}");
    }
    program.file("cut", format!("{exported}{head}\n"));
    let told = run("of cut", &["sessions", "import", "cut"]).await.exits(2);
    assert!(
        told.stdout.contains("was imported, with 2 messages"),
        "{told:?}"
    );
    assert!(told.stderr.contains("missing after line 6;"), "{told:?}");
}

// proves AS-29
#[tokio::test]
async fn of_all_sessions_a_damaged_one_is_left_out_of_an_export_and_named() {
    let (program, _model) = with_model([say("an answer").forever()]).await;
    let run = async |args: &[&str]| {
        let args = args.iter().copied().chain(["--data-dir", "data"]);
        program.run(args.collect::<Vec<_>>()).await
    };
    for said in ["the first one", "the second one", "the third one"] {
        run(&["run", said]).await.exits(0);
    }
    // In the message and not in the preview, so that the session is still listed.
    replace(&program, "\"the second one\"", "\"the Second one\"");

    let told = run(&["sessions", "export", "--all"]).await.exits(1);

    assert!(told.stderr.contains("is left out"), "{told:?}");
    for (said, is_there) in [("first", true), ("econd", false), ("third", true)] {
        assert_eq!(told.stdout.contains(said), is_there, "{said}");
    }

    replace(&program, "the third one", "the Third one");

    for (offset, shown, more) in [("0", "", "1 of 3"), ("1", "the second one", "2 of 3")] {
        let args = ["sessions", "list", "--limit", "1", "--offset", offset];
        let listed = run(&args).await.exits(0);
        assert!(listed.stdout.contains(shown), "{listed:?}");
        for said in [more, "1 session is damaged"] {
            assert!(listed.stderr.contains(said), "{listed:?}");
        }
    }
    let terminal = program.at_terminal(["sessions", "list", "--data-dir", "data"]);
    let listed = terminal.leaves().await.exits(0).screen;
    assert!(listed.contains("1 session is damaged"), "{listed}");
    for left_out in ["ERROR", "are shown"] {
        assert!(!listed.contains(left_out), "{listed}");
    }
    let all = ["sessions", "list", "--all", "--data-dir", "data"];
    let all = program.run(all).await.exits(0);
    assert!(
        all.stdout.contains("1 damaged session is not listed"),
        "{all:?}"
    );
}

/// Replaces these bytes in the history.
fn replace(program: &Program, old: &str, new: &str) {
    let history = program.folder().join("data/history.db");
    let mut bytes = std::fs::read(&history).unwrap();
    for at in 0..bytes.len() - old.len() {
        if bytes[at..].starts_with(old.as_bytes()) {
            bytes[at..][..old.len()].copy_from_slice(new.as_bytes());
        }
    }
    std::fs::write(history, bytes).unwrap();
}
