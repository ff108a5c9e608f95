//! `samovar config` and `init`, and what the configuration does to every other command.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use samovar_model_server::{call, say};
use samovar_testkit::{Finished, Program, keys};
use serde_json::{Value, json};

use crate::setup::{ended_with, program, with_model};

/// Writes the user's own configuration.
fn user_says(program: &Program, text: &str) {
    let folder = program.home().join(".config/samovar");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("samovar.toml"), text).unwrap();
}

#[track_caller]
fn document(said: &Finished) -> Value {
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(said.stderr, "");
    serde_json::from_str(&said.stdout).unwrap()
}

// proves FC-3
#[tokio::test]
async fn a_key_of_each_of_the_five_places_is_explained_with_where_it_comes_from() {
    let program = program()
        .set("AGENT_MODEL", "of-variable")
        .set("SAMOVAR_PORT", "4848");
    program.file(
        "samovar.toml",
        "[defaults]\nmodel = \"of-here\"\nmax_tokens = 5\n",
    );
    user_says(
        &program,
        "[defaults]\nmax_tokens = 6\n[server]\ndrain_seconds = 7\n",
    );
    let here = program
        .folder()
        .canonicalize()
        .unwrap()
        .join("samovar.toml");
    let user = program.home().join(".config/samovar/samovar.toml");
    let explain = async |args: &[&str]| {
        let args = ["config", "explain", "--json"].iter().chain(args);
        let said = document(&program.run(args).await);
        assert_eq!(said["schema"], "samovar.key/1");
        (said["value"].clone(), said["origin"].clone())
    };

    assert_eq!(
        explain(&["defaults.model", "--model", "of-flag"]).await,
        (json!("of-flag"), json!({"from": "flag", "name": "--model"}))
    );
    assert_eq!(
        explain(&["server.port"]).await,
        (
            json!(4848),
            json!({"from": "variable", "name": "SAMOVAR_PORT"})
        )
    );
    assert_eq!(
        explain(&["defaults.maxTokens"]).await,
        (
            json!(5),
            json!({"from": "here", "file": here, "line": 3, "column": 1})
        )
    );
    assert_eq!(
        explain(&["server.drain_seconds"]).await,
        (
            json!(7),
            json!({"from": "user", "file": user, "line": 4, "column": 1})
        )
    );
    assert_eq!(
        explain(&["session.max_history_messages"]).await,
        (json!(50), json!({"from": "default"}))
    );
    let said = program.run(["config", "explain", "defaults.model"]).await;
    assert_eq!(
        said.stdout,
        "defaults.model = \"of-variable\"\n\
         from: AGENT_MODEL\n\
         overrides: \"of-here\" (./samovar.toml:2:1)\n\
         default: not set\n\
         purpose: The model for sessions that name none; by default samovar looks for one.\n\
         accepts: a line of 1 to 256 characters\n\
         variables: SAMOVAR__DEFAULTS__MODEL, AGENT_MODEL\n"
    );
}

// proves FC-2, FC-3
#[tokio::test]
async fn a_key_that_is_none_exits_2_and_names_the_nearest() {
    let said = program().run(["config", "explain", "defaults.modle"]).await;
    ended_with(&said, 2, "config_unknown_key");
    assert!(
        said.stderr.contains("did you mean defaults.model?"),
        "{said:?}"
    );
}

// proves FC-3, TL-14
#[tokio::test]
async fn what_holds_is_shown_and_no_secret_with_it() {
    let program = program()
        .set("OPENAI_API_KEY", "sk-secret-of-variable")
        .set("SAMOVAR_TOKEN", "sk-secret-of-the-server");
    user_says(
        &program,
        "[providers.anthropic]\napi_key = \"sk-secret-of-user\"\n",
    );
    for args in [
        &["config", "show"][..],
        &["config", "show", "--json"],
        &["config", "show", "--jsonl"],
        &["config", "list"],
        &["config", "explain"],
    ] {
        let said = program.run(args).await.exits(0);
        let both = format!("{}{}", said.stdout, said.stderr);
        assert!(!both.contains("sk-secret"), "{both}");
        assert!(both.contains("providers.anthropic.api_key"), "{both}");
        assert!(both.contains("OPENAI_API_KEY"), "{both}");
        // Values that hold although no source sets them.
        let is_for_people = args.len() == 2;
        let folder = format!("{:?}", program.folder());
        assert_eq!(both.contains(&folder), is_for_people, "{both}");
    }
    let said = document(&program.run(["config", "show", "--json"]).await);
    assert_eq!(said["schema"], "samovar.key/1");
    assert!(said["items"].as_array().unwrap().len() > 20);
    assert!(
        !program.folder().join("data").exists(),
        "showing makes nothing"
    );
}

// proves FC-3
#[tokio::test]
async fn what_is_set_in_a_file_is_what_is_done() {
    let (program, model) = with_model([say("one"), say("two")]).await;
    user_says(
        &program,
        "[defaults]\nmax_tokens = 321\ntemperature = 0.25\n[server]\ndata_dir = \"kept\"\n",
    );
    let said = program.run(["run", "-v", "go"]).await.exits(0);
    let kept = program.home().join(".config/samovar/kept");
    assert!(kept.join("journal").is_dir(), "{said:?}");
    assert!(said.stderr.contains("samovar.toml:5:1 sets it"), "{said:?}");
    let prompt = &model.prompts()[0];
    assert_eq!(prompt.body()["max_tokens"], 321);
    assert_eq!(prompt.body()["temperature"], 0.25);
}

// proves FC-3
#[tokio::test]
async fn a_strangers_file_that_moves_a_base_url_is_refused_and_nothing_is_sent() {
    let (program, mine) = with_model([say("mine")]).await;
    let stranger = samovar_model_server::ModelServer::start([say("theirs")])
        .await
        .unwrap();
    let program = program.set("OPENAI_API_KEY", "sk-mine");
    let text = format!(
        "[defaults]\nmodel = \"openai/gpt-5-mini\"\n[providers.openai]\napi_base = \"{}\"\n",
        stranger.base_url()
    );
    program.file("samovar.toml", &text);

    for args in [
        &["run", "go"][..],
        &["chat"],
        &["serve", "--port", "0"],
        &["sessions", "list"],
        &["models", "list"],
        &["config", "show"],
        &[],
    ] {
        let said = program.run(args).await;
        ended_with(&said, 3, "config_untrusted");
        let line = "./samovar.toml:4:1: only a trusted file may set \
                    providers.openai.api_base; read it, then type: samovar config trust";
        assert!(said.stderr.contains(line), "{args:?}: {said:?}");
        assert_eq!(said.stdout, "");
    }
    let said = program.run(["doctor", "-v"]).await.exits(3);
    assert!(
        said.stdout.contains("type: samovar config trust"),
        "{said:?}"
    );
    assert!(stranger.requests().is_empty() && mine.requests().is_empty());
    assert!(!program.home().join(".local").exists(), "nothing is made");
}

// proves FC-3
#[tokio::test]
async fn trust_shows_what_it_opens_asks_at_a_terminal_and_ends_with_the_next_change() {
    let (program, model) = with_model([say("hello")]).await;
    let text = format!(
        "[providers.openai]\napi_base = \"{}\"\napi_key = \"sk-theirs\"\n",
        model.base_url()
    );
    program.file("samovar.toml", &text);
    let shown = format!(
        "providers.openai.api_base  \"{}\"  ./samovar.toml:2:1\n\
         providers.openai.api_key   \"***\"  ./samovar.toml:3:1\n",
        model.base_url()
    );
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");

    let said = program.run(["config", "trust"]).await;
    ended_with(&said, 2, "invalid_params");
    assert_eq!(squeezed(&said.stdout), squeezed(&shown));
    ended_with(&program.run(["run", "go"]).await, 3, "config_untrusted");

    let terminal = program.at_terminal(["config", "trust"]);
    terminal.sees("[y/N]").await;
    terminal.types(keys::ENTER).await;
    let left = terminal.leaves().await;
    assert!(left.screen.contains("was not trusted"), "{left:?}");
    ended_with(&program.run(["run", "go"]).await, 3, "config_untrusted");

    program.run(["config", "trust", "--yes"]).await.exits(0);
    let list = program.home().join(".config/samovar/trusted.toml");
    let mode = fs::metadata(&list).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let said = program.run(["run", "go"]).await;
    assert_eq!(said.stdout, "hello\n", "{said:?}");

    program.file("samovar.toml", format!("{text}# changed\n"));
    ended_with(&program.run(["run", "go"]).await, 3, "config_untrusted");
    let terminal = program.at_terminal(["config", "trust"]);
    terminal.sees("[y/N]").await;
    terminal.types("y").await;
    terminal.types(keys::ENTER).await;
    assert!(terminal.leaves().await.screen.contains("is now trusted"));
    let again = program.run(["config", "trust"]).await;
    assert!(again.stderr.contains("is already trusted"), "{again:?}");
}

// proves FC-3
#[tokio::test]
async fn the_files_that_count_are_told_whatever_stands_in_them() {
    let program = program();
    let paths = async |program: &Program| {
        let said = document(&program.run(["config", "path", "--json"]).await);
        said["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["state"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(paths(&program).await, ["absent", "absent"]);
    program.file("samovar.toml", "[tools]\napproval = \"auto\"\n");
    user_says(&program, "bogus = 1\n");
    assert_eq!(paths(&program).await, ["untrusted", "wrong"]);
    let said = program.run(["config", "path"]).await;
    assert!(
        said.stdout.contains("there is no key \"bogus\""),
        "{said:?}"
    );
    program.file("samovar.toml", "");
    user_says(&program, "");
    assert_eq!(paths(&program).await, ["used", "used"]);
}

// proves FC-3
#[tokio::test]
async fn what_cannot_be_read_exits_3_and_keeps_no_command_from_helping() {
    let much = vec![b'#'; 10 * 1024 * 1024];
    for (name, content) in [
        ("samovar.toml", much.as_slice()),
        ("samovar.toml", b"log = \"\xff\""),
        ("samovar.toml/in/its/place", b""),
    ] {
        let program = program();
        program.file(name, content);
        for args in [
            &["run", "go"][..],
            &["serve"],
            &["sessions", "list"],
            &["config", "trust"],
        ] {
            ended_with(&program.run(args).await, 3, "config_unreadable");
        }
        assert_eq!(program.run(["doctor", "-v"]).await.code, Some(3));
        for args in [
            &["--help"][..],
            &["config", "path"],
            &["config", "schema"],
            &["init"],
            &["completions", "bash"],
        ] {
            assert_eq!(program.run(args).await.code, Some(0), "{args:?}");
        }
    }
}

// proves FC-3
#[tokio::test]
async fn the_schema_is_printed_as_it_is_published() {
    let said = program().run(["config", "schema"]).await;
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/samovar.schema.json"
    );
    assert_eq!(said.stdout, fs::read_to_string(page).unwrap());
}

// proves FC-1, FC-3
#[tokio::test]
async fn init_writes_a_file_that_sets_nothing_and_leaves_one_that_is_there() {
    let program = program();
    let said = document(&program.run(["init", "--json"]).await);
    assert_eq!(said["made"], true);
    let file = program.folder().join("samovar.toml");
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        samovar_config::template()
    );
    let names: Vec<_> = fs::read_dir(program.folder()).unwrap().collect();
    assert_eq!(names.len(), 1, "nothing else is made");
    assert_eq!(program.run(["run", "hello"]).await.code, Some(0));

    fs::write(&file, "# mine\n").unwrap();
    let said = program.run(["init"]).await;
    assert_eq!(said.code, Some(0));
    assert!(said.stdout.contains("was not changed"), "{said:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "# mine\n");
    let link = Program::new(env!("CARGO_BIN_EXE_samovar"));
    std::os::unix::fs::symlink("elsewhere", link.folder().join("samovar.toml")).unwrap();
    assert!(link.run(["init"]).await.stdout.contains("was not changed"));
    assert!(!link.folder().join("elsewhere").exists());
}

// proves FC-3, TL-8
#[tokio::test]
async fn a_system_that_is_opened_to_tools_is_said_aloud() {
    let path = |program: &Program| program.home().join("note.txt").display().to_string();
    let (program, model) = with_model([] as [samovar_model_server::Reply; 0]).await;
    fs::write(program.home().join("note.txt"), "beyond the workspace").unwrap();
    model.push(call("read_file", json!({"path": path(&program)})));
    model.push(say("I see"));
    let program = program.set("SAMOVAR__TOOLS__RESTRICT_TO_WORKSPACE", "false");

    let said = program.run(["run", "go"]).await;

    let warning = "file tools can reach every file that you can, because \
                   SAMOVAR__TOOLS__RESTRICT_TO_WORKSPACE allows it";
    assert!(said.stderr.contains(warning), "{said:?}");
    assert_eq!(said.stdout, "I see\n");
    let told = model.prompts()[1].body().to_string();
    assert!(told.contains("beyond the workspace"), "{told}");
    let server = program.serve(&[]).await;
    assert!(server.banner.contains(warning), "{}", server.banner);
}

// proves FC-3, TL-18
#[tokio::test]
async fn an_agent_in_the_home_folder_can_neither_read_the_keys_nor_trust_itself() {
    let (program, model) = with_model([] as [samovar_model_server::Reply; 0]).await;
    user_says(
        &program,
        "[providers.groq]\napi_key = \"sk-secret-of-user\"\n",
    );
    for (name, args) in [
        ("read_file", json!({"path": ".config/samovar/samovar.toml"})),
        (
            "write_file",
            json!({"path": ".config/samovar/trusted.toml", "content": "x"}),
        ),
        (
            "write_file",
            json!({"path": ".local/state/samovar/owner-key", "content": "x"}),
        ),
        ("search_files", json!({"path": ".", "pattern": "secret"})),
    ] {
        model.push(call(name, args));
    }
    model.push(say("I may not"));
    let home = program.home().display().to_string();

    let said = program.run(["run", "--workspace", &home, "go"]).await;

    assert_eq!(said.stdout, "I may not\n", "{said:?}");
    let told = model.prompts().last().unwrap().body().to_string();
    assert!(!told.contains("sk-secret"), "{told}");
    assert!(!program.home().join(".config/samovar/trusted.toml").exists());
    let key = fs::read_to_string(program.home().join(".local/state/samovar/owner-key"));
    assert!(key.is_ok_and(|key| key.trim().len() == 64));
}

// proves FC-3
#[tokio::test]
async fn a_greeting_that_nobody_could_see_is_told_with_its_place() {
    let program = program();
    user_says(&program, "[chat]\ngreeting = \" \u{200b}\"\n");
    let said = program.run(["stats"]).await;
    ended_with(&said, 3, "config_wrong_value");
    assert!(
        said.stderr.contains("/samovar.toml:2:1: chat.greeting is "),
        "{said:?}"
    );
}

// proves FC-3, RL-3
#[tokio::test]
async fn a_room_that_nobody_could_join_is_told_with_its_place() {
    for name in ["   ", &"ж".repeat(101)] {
        let program = program();
        user_says(&program, &format!("[relay]\nagent_rooms = [\"{name}\"]\n"));
        let said = program.run(["stats"]).await;
        ended_with(&said, 3, "config_wrong_value");
        assert!(
            said.stderr
                .contains("/samovar.toml:2:1: relay.agent_rooms is "),
            "{said:?}"
        );
    }
}
