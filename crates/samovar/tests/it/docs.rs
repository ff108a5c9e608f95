//! The commands of the pages, run as a reader would run them.

use std::path::Path;

use reqwest::Method;
use samovar_testkit::{Finished, Program, Serving};
use serde_json::Value;
use tokio::process::Command;

const BINARY: &str = env!("CARGO_BIN_EXE_samovar");

/// The shell blocks of a page of the repository.
fn blocks(page: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(page)).unwrap();
    let blocks = text.split("```sh\n").skip(1);
    let blocks: Vec<_> = blocks
        .map(|block| block.split("```").next().unwrap().to_owned())
        .collect();
    assert!(!blocks.is_empty(), "{page} has no commands");
    blocks
}

async fn shell(folder: &Path, script: &str) -> Finished {
    let mut command = Command::new("bash");
    let command = command
        .args(["-euo", "pipefail", "-c", script])
        .stdin(std::process::Stdio::null())
        .current_dir(folder);
    let output = command.output().await.unwrap();
    Finished {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// What a script of a page finds before it: the program on the path, and a home.
fn around(program: &Program) -> String {
    let folder = Path::new(BINARY).parent().unwrap().display();
    let home = program.home().display().to_string();
    format!("export PATH={folder}:$PATH HOME={home} SAMOVAR__MODELS__PROBE=false\n")
}

/// Like the page, but a refusal fails the command.
fn strict(script: &str, port: &str) -> String {
    script
        .replace("4747", port)
        .replace("curl ", "curl --fail-with-body ")
}

#[tokio::test]
async fn needs_curl_the_curl_lines_of_the_readme_end_with_an_approved_write() {
    let program = Program::new(BINARY);
    let server = program.serve(&[]).await;
    let port = server.address.rsplit(':').next().unwrap();
    let blocks = blocks("README.md");
    let curls: Vec<_> = blocks
        .iter()
        .filter(|block| block.contains("curl") && block.contains("/services/"))
        .collect();
    let [streamed, approved] = curls[..] else {
        panic!("{curls:?}");
    };
    let script = around(&program) + &strict(streamed, port);
    let said = shell(&program.folder(), &script).await.exits(0);
    assert!(said.stdout.contains("\"type\":\"text_delta\""), "{said:?}");
    assert!(said.stdout.contains("data: [DONE]\n"), "{said:?}");

    let script = format!(
        "{}TOKEN=$(samovar token show)\n{}\nuntil grep -q b w.txt; do sleep 0.05; done",
        around(&program),
        strict(approved, port)
    );
    shell(&program.folder(), &script).await.exits(0);
}

#[tokio::test]
async fn needs_curl_every_command_of_the_protocol_page_is_answered() {
    let program = Program::new(BINARY);
    let server = program.serve(&[]).await;
    let port = server.address.rsplit(':').next().unwrap();
    let mut blocks = blocks("docs/protocols.md").into_iter();
    let setup = around(&program) + "TOKEN=$(samovar token show)\n" + &blocks.next().unwrap();
    let session =
        r#"call "$BASE/createSession" -d '{"sessionId": "notes", "metadata": {"source": "docs"}}'"#;

    for block in blocks {
        let script = format!("{setup}\n{session} >&2\n{block}");
        let said = shell(&program.folder(), &strict(&script, port)).await;
        assert_eq!(said.code, Some(0), "{block}\n{said:?}");
        assert!(!said.stdout.is_empty(), "{block}");
    }
}

#[tokio::test]
async fn the_first_command_of_the_readme_does_what_it_says() {
    let blocks = blocks("README.md");
    let (install, first) = blocks[0].split_once('\n').unwrap();
    assert_eq!(install, "cargo install --locked --path crates/samovar");
    let program = Program::new(BINARY);
    for (name, bytes) in [("a.bin", 10), ("b c.bin", 40), ("d.bin", 30), ("e.bin", 20)] {
        program.file(name, vec![0; bytes]);
    }

    let said = shell(&program.folder(), &(around(&program) + first))
        .await
        .exits(0);
    let place = |name| said.stdout.find(name).unwrap_or(usize::MAX);
    let places = ["b c.bin", "d.bin", "e.bin", "\u{0}"].map(place);
    assert!(places.is_sorted(), "{said:?}");
    assert!(!said.stdout.contains("a.bin"), "{said:?}");
    assert!(
        said.stderr.contains("demo"),
        "it says which model: {said:?}"
    );
    let left = std::fs::read_dir(program.folder()).unwrap().count();
    assert_eq!(left, 4, "it leaves nothing in the folder");
}

// proves FC-5
#[tokio::test]
async fn needs_curl_the_question_of_the_readme_is_answered_as_it_says() {
    let blocks = blocks("README.md");
    let asking = blocks.iter().find(|block| block.contains("ask me"));
    let line = asking
        .and_then(|block| block.strip_prefix("samovar run \""))
        .unwrap();
    let prompt = line.trim_end().strip_suffix('"').unwrap();
    let answering = blocks
        .iter()
        .find(|block| block.contains("/chat/"))
        .unwrap();
    let program = Program::new(BINARY);
    let server = program.serve(&[]).await;
    let port = server.address.rsplit(':').next().unwrap();
    let asks = program.at_terminal(["run", prompt]);
    asks_in_the_chat(&server, "master").await;

    let token = "TOKEN=$(samovar token show)\n".to_owned();
    let script = around(&program) + &token + &strict(answering, port);
    let answered = shell(&program.folder(), &script).await.exits(0);
    assert!(
        answered.stdout.contains("\"text\":\"What is your name?\""),
        "{answered:?}"
    );
    let asked = asks.leaves().await.exits(0);
    assert!(asked.screen.contains("Hello, Olena!"), "{asked:?}");
}

// proves FC-5, CH-9
#[tokio::test]
async fn what_is_said_while_nobody_asks_wakes_an_agent_that_may_ask_in_turn() {
    let program = Program::new(BINARY);
    let server = program.serve(&[]).await;
    let say = |text: &'static str| program.run(["chat-global", "say", text]);

    say("ask me my name and greet me").await;
    asks_in_the_chat(&server, "AdaptiveAgent").await;
    say("Olena").await;

    let greeted = loop {
        let history = server.request(Method::GET, "/chat/history").send().await;
        let history: Vec<Value> = history.unwrap().json().await.unwrap();
        if history.len() == 5 {
            break history;
        }
        tokio::task::yield_now().await;
    };
    let said = greeted
        .iter()
        .map(|message| message["text"].as_str().unwrap());
    let note = "[demo: rules, not a language model]";
    let expected = [
        "ask me my name and greet me",
        "I have a question.",
        "What is your name?",
        "Olena",
        &format!("{note} Hello, Olena!"),
    ];
    assert_eq!(said.collect::<Vec<_>>(), expected);
}

/// Waits until an agent asks in the chat.
async fn asks_in_the_chat(server: &Serving, agent: &str) {
    loop {
        let state = server.request(Method::GET, "/chat/state").send().await;
        let state: Value = state.unwrap().json().await.unwrap();
        if state["pending_input"]["requested_by"] == agent {
            return;
        }
        tokio::task::yield_now().await;
    }
}

// proves FC-1
#[tokio::test]
async fn every_command_of_the_pages_about_the_terminal_runs() {
    let mut tried = 0;
    for page in [
        "docs/cli.md",
        "docs/agents.md",
        "docs/relay.md",
        "README.md",
    ] {
        for block in blocks(page) {
            // The last one needs a person at the terminal.
            let others = ["serve", "relay agent", "relay say", "ask me my name"];
            if !block.lines().all(|line| line.starts_with("samovar "))
                || others.iter().any(|other| block.contains(other))
            {
                continue;
            }
            let program = Program::new(BINARY);
            // The chat and the rooms are a server's.
            let of_server = ["chat-global", "samovar relay"];
            let _server = if of_server.iter().any(|command| block.contains(command)) {
                Some(program.serve(&[]).await)
            } else {
                None
            };
            // Like the page, but `head` does not end the writer with a failure, and what takes a
            // minute takes seconds.
            let block = block.replace("--kills 200", "--kills 4");
            let script = around(&program) + "set +o pipefail\n" + &block;
            let said = shell(&program.folder(), &script).await;
            assert_eq!(said.code, Some(0), "{block}\n{said:?}");
            assert!(!said.stdout.is_empty(), "{block}");
            tried += 1;
        }
    }
    assert_eq!(tried, 15);
}

#[tokio::test]
async fn the_relay_lines_of_the_readme_bring_an_agent_before_it_is_spoken_to() {
    let blocks = blocks("README.md");
    let relay: Vec<_> = blocks
        .iter()
        .filter(|block| block.starts_with("samovar relay "))
        .collect();
    let [opens, joins, speaks] = relay.as_slice() else {
        panic!("{relay:?}");
    };
    let program = Program::new(BINARY);
    let server = program.serve(&[]).await;
    let in_folder = async |block: &str| shell(&program.folder(), &(around(&program) + block)).await;

    assert_eq!(in_folder(opens).await.code, Some(0));
    let joins = joins.trim().strip_prefix("samovar ").unwrap();
    let agent = program.command(joins.split(' ')).spawn().unwrap();
    let rooms = async || {
        let rooms = server.request(Method::GET, "/api/relay/rooms").send().await;
        rooms.unwrap().json::<Value>().await.unwrap()
    };
    while rooms().await[0]["agents"] != 1 {
        tokio::task::yield_now().await;
    }
    in_folder(speaks).await.exits(0);
    drop(agent);
}
