//! `samovar doctor`.

use samovar_model_server::{Gate, When, call, say};
use samovar_testkit::Finished;
use serde_json::{Value, json};

use crate::setup::{program, with_model};

/// The one document on stdout.
fn document(said: &Finished) -> Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

/// The finding of this name.
fn finding<'a>(document: &'a Value, what: &str) -> &'a Value {
    let mut findings = document["findings"].as_array().unwrap().iter();
    findings.find(|finding| finding["what"] == what).unwrap()
}

// proves FC-1, FC-4
#[tokio::test]
async fn every_finding_is_a_fact_a_reason_and_a_command() {
    let program = program();

    let said = program.run(["doctor", "--json"]).await;

    let found = document(&said);
    assert_eq!(
        (said.code, &found["ok"]),
        (Some(0), &json!(true)),
        "{said:?}"
    );
    let findings = found["findings"].as_array().unwrap();
    let names: Vec<_> = findings.iter().map(|finding| &finding["what"]).collect();
    let expected = [
        "data",
        "durability",
        "descriptors",
        "workspace",
        "trust",
        "texts",
        "skills",
        "meaning",
        "search",
        "sandbox",
        "model",
        "chat",
        "relay",
        "local",
        "providers",
    ];
    assert_eq!(names, expected);
    for finding in findings {
        assert!(!finding["fact"].as_str().unwrap().is_empty(), "{finding}");
        assert!(!finding["reason"].as_str().unwrap().is_empty(), "{finding}");
    }
    let model = finding(&found, "model");
    assert_eq!(model["fact"], "demo (rules, not a language model) answers");
    assert_eq!(model["command"], "export OPENAI_API_KEY=YOUR_KEY");
}

// proves FC-1, AS-14
#[tokio::test]
async fn a_fallback_model_that_cannot_be_asked_is_told_before_it_is_needed() {
    let program = program()
        .set(
            "SAMOVAR__DEFAULTS__FALLBACK",
            "demo, gpt-5-mini, no-such-model",
        )
        .set("AGENT_MODEL", "demo");

    let said = program.run(["doctor", "--json"]).await;

    let found = document(&said);
    let findings = found["findings"].as_array().unwrap().iter();
    let fallbacks: Vec<_> = findings
        .filter(|finding| finding["what"] == "fallback")
        .map(|finding| (&finding["ok"], &finding["command"]))
        .collect();
    let [demo, keyless, unknown] = fallbacks.as_slice() else {
        panic!("{found}");
    };
    assert_eq!(*demo, (&json!(true), &Value::Null));
    assert_eq!(
        *keyless,
        (&json!(false), &json!("export OPENAI_API_KEY=YOUR_KEY"))
    );
    let explain = json!("samovar config explain defaults.fallback");
    assert_eq!(*unknown, (&json!(false), &explain));
    assert_eq!(said.code, Some(3), "{said:?}");
}

// proves FC-4
#[tokio::test]
async fn a_key_that_nothing_can_use_is_named() {
    let program = program()
        .set("COHERE_API_KEY", "co-something")
        .set("AZURE_OPENAI_API_KEY", "az-something")
        .set("OPENAI_APIKEY", "sk-something");

    let said = program.run(["doctor", "--json"]).await;

    let found = document(&said);
    let findings = found["findings"].as_array().unwrap().iter();
    let keys: Vec<_> = findings
        .filter(|finding| finding["what"] == "key")
        .map(|finding| (&finding["fact"], &finding["command"]))
        .collect();
    let [(azure, azure_command), (cohere, cohere_command)] = keys.as_slice() else {
        panic!("{found}");
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    assert!(text(azure).starts_with("AZURE_OPENAI_API_KEY is set"));
    assert_eq!(text(azure_command), "export AZURE_OPENAI_BASE_URL=ADDRESS");
    assert!(text(cohere).starts_with("COHERE_API_KEY is set"));
    let command = "export CUSTOM_BASE_URL=https://api.cohere.ai/compatibility/v1";
    assert_eq!(text(cohere_command), command);
    assert!(!said.stdout.contains("something"), "{said:?}");

    let listed = program.run(["models", "list"]).await.exits(0);
    let mistyped = "the variable OPENAI_APIKEY sets no key; did you mean OPENAI_API_KEY?";
    for fact in [&text(azure), &text(cohere), mistyped] {
        assert!(listed.stderr.contains(fact), "{listed:?}");
    }
}

// proves FC-1
#[tokio::test]
async fn text_for_people_says_the_same() {
    let said = program()
        .set("OPENAI_API_KEY", "sk-something")
        .run(["doctor", "-v"])
        .await
        .exits(0);
    assert!(
        said.stdout.contains("\nok   model: gpt-5-mini answers\n"),
        "{said:?}"
    );
    assert!(
        said.stdout
            .contains("     why: the key of OpenAI is set in OPENAI_API_KEY\n"),
        "{said:?}"
    );
    // What is not there needs no praise.
    assert!(said.stdout.contains("\n-    local models: "), "{said:?}");
    assert_eq!(said.stderr, "");
}

// proves FC-1
#[tokio::test]
async fn it_makes_nothing_and_mends_what_can_be_mended_when_it_is_told_to() {
    use std::os::unix::fs::PermissionsExt;

    let program = program();
    program.run(["doctor", "-v"]).await.exits(0);
    assert!(program.home().read_dir().unwrap().next().is_none());

    assert_eq!(program.run(["run", "hello"]).await.code, Some(0));
    let token = program.store().join("token");
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o644)).unwrap();

    let said = program.run(["doctor", "--json"]).await;
    let found = document(&said);
    let secrets = finding(&found, "modes");
    assert_eq!((said.code, &secrets["ok"]), (Some(3), &json!(false)));
    assert_eq!(secrets["command"], "samovar doctor --fix");

    let said = program.run(["doctor", "--json", "--fix"]).await;
    let found = document(&said);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(finding(&found, "modes")["mended"], true);
    let mode = std::fs::metadata(&token).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = document(&program.run(["doctor", "--json", "--fix"]).await);
    assert_eq!(finding(&again, "modes")["mended"], false);
}

// proves FC-1, TL-14
#[tokio::test]
async fn every_file_that_others_may_read_is_found_and_closed() {
    use std::os::unix::fs::PermissionsExt;

    let program = program();
    assert_eq!(program.run(["run", "hello"]).await.code, Some(0));
    let data = program.store();
    let open = ["history.db", "journal", "journal/data.mdb", "spool"];
    for name in open {
        std::fs::set_permissions(data.join(name), PermissionsExt::from_mode(0o755)).unwrap();
    }

    let said = program.run(["doctor", "--json"]).await;

    let found = document(&said);
    let modes = finding(&found, "modes");
    assert_eq!((said.code, &modes["ok"]), (Some(3), &json!(false)));
    for name in open {
        let path = data.join(name).display().to_string();
        assert!(modes["fact"].as_str().unwrap().contains(&path), "{modes}");
    }
    assert_eq!(program.run(["doctor", "--fix"]).await.code, Some(0));
    for name in open {
        let mode = std::fs::metadata(data.join(name)).unwrap().permissions();
        assert_eq!(mode.mode() & 0o077, 0, "{name}");
    }
}

// proves FC-1, TL-14
#[tokio::test]
async fn a_link_among_the_files_is_found_and_not_followed() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let program = program();
    assert_eq!(program.run(["run", "hello"]).await.code, Some(0));
    let data = program.store();
    let victim = program.home().join("victim");
    std::fs::write(&victim, "theirs").unwrap();
    std::fs::set_permissions(&victim, PermissionsExt::from_mode(0o644)).unwrap();
    symlink(&victim, data.join("tokens.json")).unwrap();

    let said = program.run(["doctor", "--json", "--fix"]).await;

    let found = document(&said);
    let links = finding(&found, "links");
    assert_eq!((said.code, &links["ok"]), (Some(3), &json!(false)));
    assert!(links["fact"].as_str().unwrap().contains("tokens.json"));
    assert_eq!(finding(&found, "modes")["ok"], true);
    assert_eq!(finding(&found, "tokens")["ok"], false);
    let mode = std::fs::metadata(&victim).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
}

// proves FC-1, DU-3, DU-12
#[tokio::test]
async fn it_says_how_much_room_there_is_and_what_an_accepted_message_outlives() {
    let program = program();
    assert_eq!(program.run(["run", "hello"]).await.code, Some(0));
    let found = document(&program.run(["doctor", "--json"]).await);
    let fact = |found: &Value, what| finding(found, what)["fact"].as_str().unwrap().to_owned();
    let room = fact(&found, "disk");
    let (free, dir) = room.split_once(" MiB are free for ").unwrap();
    assert!(free.parse::<u64>().is_ok(), "{room}");
    assert!(dir.starts_with('/'), "{room}");
    assert_eq!(
        fact(&found, "durability"),
        "accepted messages survive a power cut"
    );

    let program = program.set("SAMOVAR__STORE__DURABILITY", "process");
    let found = document(&program.run(["doctor", "--json"]).await);
    let kept = fact(&found, "durability");
    assert!(
        kept.starts_with("accepted messages survive a killed process;"),
        "{kept}"
    );
}

// proves FC-1, DU-13
#[tokio::test]
async fn what_lies_aside_is_told_with_its_size_and_the_command_that_removes_it() {
    let program = program();
    let run = ["run", "hello", "--data-dir", "data"];
    assert_eq!(program.run(run).await.code, Some(0));
    let data = program.folder().join("data");
    for folder in ["replaced-7", "damaged/journal-7"] {
        std::fs::create_dir_all(data.join(folder)).unwrap();
        std::fs::write(data.join(folder).join("big"), vec![1; 3 << 20]).unwrap();
    }

    let found = document(
        &program
            .run(["doctor", "--json", "--data-dir", "data"])
            .await,
    );

    let findings = found["findings"].as_array().unwrap().iter();
    let aside: Vec<_> = findings
        .filter(|finding| finding["what"] == "aside")
        .collect();
    let [journal, replaced] = aside.as_slice() else {
        panic!("{found:#}");
    };
    for (finding, name) in [(journal, "damaged/journal-7"), (replaced, "replaced-7")] {
        let path = data.join(name).canonicalize().unwrap();
        let fact = finding["fact"].as_str().unwrap();
        // A folder takes a little itself, on some systems.
        let sizes = ["3 MiB", "4 MiB"].map(|size| format!("{name} takes {size}"));
        assert!(sizes.iter().any(|told| fact.ends_with(told)), "{fact}");
        let command = finding["command"].as_str().unwrap();
        assert!(command.starts_with("rm -r '"), "{command}");
        let mut shell = std::process::Command::new("sh");
        let shell = shell.args(["-c", command]).current_dir(program.folder());
        assert!(shell.status().unwrap().success());
        assert!(!path.exists());
    }
}

// proves FC-1
#[tokio::test]
async fn a_token_that_stops_every_command_is_a_finding() {
    for (name, content) in [("token", "short"), ("tokens.json", "{")] {
        let program = program();
        assert_eq!(program.run(["run", "hello"]).await.code, Some(0));
        let data = program.store();
        std::fs::write(data.join(name), content).unwrap();
        assert_eq!(program.run(["run", "hello"]).await.code, Some(3));

        let said = program.run(["doctor", "--json"]).await;

        let found = document(&said);
        let tokens = finding(&found, "tokens");
        assert_eq!((said.code, &tokens["ok"]), (Some(3), &json!(false)));
        assert!(tokens["fact"].as_str().unwrap().contains(name), "{tokens}");
    }
}

// proves FC-2
#[tokio::test]
async fn what_is_wrong_decides_the_exit_code() {
    for (name, value, what, exit) in [
        ("AGENT_MODEL", "command-x", "model", 4),
        ("DATA_DIR", "/dev/null", "data", 3),
        ("SAMOVAR_TOKEN", "short", "configuration", 3),
    ] {
        let said = program().set(name, value).run(["doctor", "--json"]).await;
        let found = document(&said);
        assert_eq!(
            (said.code, &found["ok"]),
            (Some(exit), &json!(false)),
            "{said:?}"
        );
        assert_eq!(finding(&found, what)["ok"], false, "{said:?}");
    }
    let said = program()
        .run(["doctor", "--json", "--workspace", "nowhere"])
        .await;
    assert_eq!(said.code, Some(3));
    assert_eq!(finding(&document(&said), "workspace")["ok"], false);
}

#[tokio::test]
async fn a_server_that_runs_is_no_complaint() {
    let program = program();
    let server = program.serve(&[]).await;
    let said = program.run(["doctor", "--json"]).await.exits(0);
    let found = document(&said);
    let fact = finding(&found, "data")["fact"].as_str().unwrap().to_owned();
    assert!(fact.ends_with("is in use by another samovar"), "{fact}");
    let server_found = finding(&found, "server")["fact"].as_str().unwrap();
    let place = format!("has served it at http://{} since 20", server.address);
    assert!(server_found.contains(&place), "{server_found}");
}

#[tokio::test]
async fn it_starts_no_turn_that_waits_in_the_data_directory() {
    let never = Gate::new("never");
    let (program, model) = with_model([
        say("half").hold_after(1, &never).when(When::user("first")),
        say("done").when(When::user("second")),
    ])
    .await;
    let server = program.serve(&[]).await;
    let session = server.session().await;
    let mut first = server.say(&session, "first").await;
    first.until("text_delta").await;
    let second = server.say(&session, "second").await;
    server.kill().await;
    drop((first, second));

    program.run(["doctor", "-v"]).await.exits(0);
    assert_eq!(model.prompts().len(), 1);
    let _server = program.serve(&[]).await;
    model.seen(2).await;
}

// proves MD-27, FC-1
#[tokio::test]
async fn instructions_that_agents_are_not_told_of_are_named_at_the_start_of_a_turn_too() {
    let not_text = "is not UTF-8, so agents are not told what it says; save it as UTF-8";
    for (agents, claude, wanted) in [
        (&b"Use tabs."[..], None, None),
        (b" \n", None, None),
        (
            b" \n",
            Some("Use tabs."),
            Some("AGENTS.md is empty, so agents are told what CLAUDE.md says".to_owned()),
        ),
        (b"\xff\xfeU", None, Some(format!("AGENTS.md {not_text}"))),
    ] {
        let program = program();
        program.file("AGENTS.md", agents);
        if let Some(claude) = claude {
            program.file("CLAUDE.md", claude);
        }

        let ran = program.run(["run", "hi"]).await;
        let found = document(&program.run(["doctor", "--json"]).await);

        let told: Vec<_> = ran.stderr.lines().filter(|l| l.contains(".md")).collect();
        assert_eq!(told, Vec::from_iter(wanted.as_deref()), "{ran:?}");
        let mut findings = found["findings"].as_array().unwrap().iter();
        let finding = findings.find(|finding| finding["what"] == "instructions");
        let fact = finding.map(|finding| finding["fact"].as_str().unwrap());
        assert_eq!(fact, wanted.as_deref(), "{found}");
    }
}

// proves CH-4, CH-12, FC-1
#[tokio::test]
async fn it_tells_who_hears_the_global_chat_what_it_begins_with_and_who_waits_there() {
    let asks = call("ask_user", json!({"question": "When?"}));
    let (program, _model) = with_model([asks.clone(), asks]).await;
    let program = program
        .set("SAMOVAR__CHAT__AGENT", "nobody")
        .set("SAMOVAR__CHAT__GREETING", "Good morning.");
    let before = document(&program.run(["doctor", "--json"]).await);
    assert!(
        finding(&before, "chat")["fact"]
            .as_str()
            .unwrap()
            .starts_with("messages in the global chat reach no agent")
    );
    let greets = finding(&before, "greeting")["fact"].as_str().unwrap();
    assert!(greets.ends_with("Good morning."), "{greets}");

    let server = program.serve(&[]).await;
    let session = server.session().await;
    drop(server.say(&session, "go").await);
    let state = async || server.get("/chat/state").await.body;
    while state().await["pending_input"].is_null() {
        tokio::task::yield_now().await;
    }

    let during = document(&program.run(["doctor", "--json"]).await);
    let waits = finding(&during, "question");
    let alone = "master is waiting for an answer in the global chat";
    assert_eq!(waits["fact"], alone);
    assert_eq!(waits["command"], "samovar chat-global history");

    let session = server.session().await;
    drop(server.say(&session, "go").await);
    while state().await["waiting"] != 1 {
        tokio::task::yield_now().await;
    }
    let during = document(&program.run(["doctor", "--json"]).await);
    let behind = format!("{alone}; 1 more question is queued");
    assert_eq!(finding(&during, "question")["fact"], behind);
}

// proves FC-1
#[tokio::test]
async fn a_data_directory_that_is_named_and_missing_is_told_with_one_of_a_near_name() {
    let program = program();
    program
        .run(["run", "hello", "--data-dir", "sessions"])
        .await
        .exits(0);
    for (typed, near) in [("sesions", Some("sessions")), ("elsewhere", None)] {
        let said = program.run(["doctor", "--data-dir", typed]).await.exits(0);

        let missing = format!("{typed} does not exist; the first command");
        assert!(said.stdout.contains(&missing), "{said:?}");
        let near = near.map(|near| format!("/{near}\n"));
        let is_named = near.is_some_and(|near| said.stdout.contains(&near));
        assert_eq!(is_named, typed == "sesions", "{said:?}");
        let listed = ["sessions", "list", "--data-dir", typed];
        let listed = program.run(listed).await.exits(0);
        assert!(listed.stderr.contains("does not exist yet"), "{listed:?}");
        assert!(!program.folder().join(typed).exists());
    }
}

// proves DU-13, FC-1
#[tokio::test]
async fn what_it_says_of_a_damaged_row_is_typed_and_then_nothing_is_damaged() {
    let program = program();
    for said in ["keep this", "flip this"] {
        let run = ["run", said, "--model", "demo", "--data-dir", "a dir"];
        program.run(run).await;
    }
    let journal = program.folder().join("a dir/journal/data.mdb");
    let mut bytes = std::fs::read(&journal).unwrap();
    for at in 0..bytes.len() {
        if bytes[at..].starts_with(b"flip this") {
            bytes[at] ^= 1;
        }
    }
    std::fs::write(journal, bytes).unwrap();
    let look = ["doctor", "--deep", "--json", "--data-dir", "a dir"];
    let found = document(&program.run(look).await.exits(1));
    let told = finding(&found, "rows")["command"].as_str().unwrap();
    let (command, dir) = told.split_once(" --data-dir ").unwrap();
    let typed = command.split(' ').skip(1).chain(["--yes", "--data-dir"]);
    let typed = typed.chain([dir.trim_matches('\'')]);

    program.run(typed.collect::<Vec<_>>()).await.exits(0);

    program.run(look).await.exits(0);
    let listed = ["sessions", "list", "--data-dir", "a dir"];
    let listed = program.run(listed).await.exits(0).stdout;
    assert!(
        listed.contains("keep this") && !listed.contains("lip this"),
        "{listed}"
    );
}
