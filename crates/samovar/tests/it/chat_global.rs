//! `samovar chat-global`: the chat of a running server, read and answered from a terminal.

use reqwest::Method;
use samovar_model_server::{ModelServer, call, say};
use samovar_testkit::{Program, Serving, keys};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Child;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::setup::{ended_with, program, with_model};
use crate::together::holder_that_leaves;

/// What is said behind the data directory's name.
const NO_SERVER: &str =
    ", and the chat lives only in a server's memory; start one with: samovar serve";

/// A program whose server has nobody in the chat but those who are told to be there.
async fn alone(program: Program) -> (Program, Serving) {
    let program = program.set("SAMOVAR__CHAT__AGENT", "nobody");
    let server = program.serve(&[]).await;
    (program, server)
}

/// A program whose agent posts this in the chat when it is said something, and one that asks.
async fn speaking(text: &str) -> (Program, ModelServer, Serving) {
    let posts = call("post_message", json!({ "text": text }));
    let asks = call("ask_user", json!({"question": "When?"}));
    let (program, model) = with_model([posts, say("Posted."), asks, say("Noted.")]).await;
    let (program, server) = alone(program).await;
    program.run(["run", "post it"]).await.exits(0);
    (program, model, server)
}

/// What is said, without the times, and without what a terminal shows of Ctrl-C.
fn timeless(lines: &str) -> Vec<String> {
    let lines = lines.lines().filter(|line| *line != "^C");
    let lines = lines.map(|line| {
        let mut words = line.splitn(3, ' ');
        let (id, at, rest) = (words.next(), words.next(), words.next());
        let at = at.unwrap_or_default();
        assert!(at.len() == 8 && at.matches(':').count() == 2, "{line}");
        format!("{} {}", id.unwrap_or_default(), rest.unwrap_or_default())
    });
    lines.collect()
}

async fn wire(server: &Serving, path: &str) -> Value {
    let answer = server.request(Method::GET, path).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    answer.json().await.unwrap()
}

// proves CH-12, CH-14, FC-1
#[tokio::test]
async fn what_is_said_at_a_terminal_stands_in_the_history_behind_the_greeting() {
    let greeted = program().set("SAMOVAR__CHAT__GREETING", "Good morning.");
    let (program, server) = alone(greeted).await;

    let said = program
        .run(["chat-global", "say", "hello", " there "])
        .await;
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(0), "2\n"),
        "{said:?}"
    );
    let said = program
        .run_with_stdin(["chat-global", "say"], Some(b"two\nlines\n".to_vec()))
        .await;
    assert_eq!(said.stdout, "3\n", "{said:?}");
    let said = program
        .run_with_stdin(
            ["chat-global", "say", "-", "--json"],
            Some(b"two\nlines\n".to_vec()),
        )
        .await;
    let posted: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(posted, json!({"schema": "samovar.posted/1", "id": 4}));

    let shown = program.run(["chat-global", "history"]).await.exits(0);
    assert_eq!(
        timeless(&shown.stdout.replace("\n    ", " / ")),
        [
            "1 ChatAgent: Good morning.",
            "2 user: hello  there",
            "3 user: two / lines",
            "4 user: two / lines",
        ]
    );
    let all = program
        .run(["chat-global", "history", "--after", "0"])
        .await;
    assert_eq!(all.stdout, shown.stdout);
    let behind = program
        .run(["chat-global", "history", "--after", "1", "--limit", "1"])
        .await;
    assert_eq!(timeless(&behind.stdout), ["2 user: hello  there"]);
    assert_eq!(program.run(["sessions", "list"]).await.stdout, "");
    drop(server);
}

// proves CH-14
#[tokio::test]
async fn a_window_that_opens_and_closes_changes_nothing() {
    let (program, server) = alone(program()).await;
    program.run(["chat-global", "say", "hello"]).await;
    let state = async || {
        let server_info = wire(&server, "/api/server").await;
        [
            wire(&server, "/chat/state").await,
            wire(&server, "/chat/history?after=0").await,
            wire(&server, "/services/agent/listSessions").await,
            wire(&server, "/api/relay/rooms").await,
            server_info["store"]["journalCommits"].clone(),
        ]
    };
    let before = state().await;

    for _ in 0..3 {
        let read = program.run(["chat-global", "history"]).await;
        assert_eq!(timeless(&read.stdout), ["1 user: hello"]);
        let mut tail = program.command(["chat-global", "tail"]).spawn().unwrap();
        let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
        let line = lines.next_line().await.unwrap().unwrap();
        assert!(line.ends_with("user: hello"), "{line}");
        tail.kill().await.unwrap();
    }

    assert_eq!(state().await, before);
}

/// A message of the wire as the commands show it to a program.
fn with_schema(message: &Value) -> Value {
    let mut message = message.clone();
    message["schema"] = json!("samovar.chat_message/1");
    message
}

// proves FC-1
#[tokio::test]
async fn a_program_gets_the_chat_as_one_document_or_a_message_a_line() {
    let (program, server) = alone(program()).await;
    for text in ["one", "two"] {
        program.run(["chat-global", "say", text]).await;
    }
    let messages = wire(&server, "/chat/history").await;
    let messages: Vec<_> = messages.as_array().unwrap().iter().collect();
    for (args, from) in [
        (&[][..], 0),
        (&["--after", "0"], 0),
        (&["--limit", "1"], 1),
        (&["--after", "2"], 2),
    ] {
        let history = ["chat-global", "history"].iter().chain(args);
        let said = program.run(history.clone().chain(&["--json"])).await;
        let document: Value = serde_json::from_str(&said.stdout).unwrap();
        let items = &messages[from..];
        let whole = json!({"schema": "samovar.chat_message/1", "items": items});
        assert_eq!(document, whole, "{args:?}");
        let said = program.run(history.chain(&["--jsonl"])).await;
        let lines = said.stdout.lines();
        let lines: Vec<Value> = lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let each: Vec<_> = items.iter().map(|one| with_schema(one)).collect();
        assert_eq!(lines, each, "{args:?}");
        assert_eq!(said.stderr, "");
    }
}

// proves CH-1, FC-1, FC-2
#[tokio::test]
async fn without_a_server_there_is_no_chat_and_none_is_opened_for_it() {
    let program = program();
    for args in [
        &["chat-global", "history"][..],
        &["chat-global", "tail"],
        &["chat-global", "say", "hello"],
    ] {
        let said = program.run(args).await;
        ended_with(&said, 8, "server_unreachable");
        let stores = program.home().join(".local/share/samovar/stores");
        let why = format!("samovar: no server is using {}/work-", stores.display());
        let is_said = said.stderr.starts_with(&why) && said.stderr.contains(NO_SERVER);
        assert!(is_said, "{said:?}");
    }
    assert!(!program.home().join(".local/share/samovar").exists());
}

// proves CH-3, FC-2
#[tokio::test]
async fn what_is_blank_or_too_long_is_refused_and_nothing_is_said() {
    let (program, server) = alone(program()).await;
    for blank in ["", " \n", "\u{200b}"] {
        let said = program
            .run_with_stdin(["chat-global", "say"], Some(blank.into()))
            .await;
        ended_with(&said, 2, "blank_content");
    }
    for long in [64 * 1024 + 1, 1024 * 1024 + 1] {
        let said = program
            .run_with_stdin(["chat-global", "say", "-"], Some(vec![b'x'; long]))
            .await;
        ended_with(&said, 2, "body_too_large");
    }
    program
        .at_terminal(["chat-global", "say"])
        .leaves()
        .await
        .exits(2);
    assert_eq!(wire(&server, "/chat/history").await, json!([]));
    let shown = program.run(["chat-global", "history"]).await;
    assert_eq!(
        (shown.stdout.as_str(), shown.stderr.as_str()),
        ("", "no messages\n")
    );
}

// proves FC-1
#[tokio::test]
async fn what_a_server_may_have_heard_is_not_said_again() {
    let program = program().set("DATA_DIR", "data");
    for (last_words, sentence) in [
        (
            &b""[..],
            "the message may or may not have been sent; check before you send it again",
        ),
        (
            b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 36\r\n\r\n\
              {\"error\":\"bye\",\"code\":\"unavailable\"}",
            NO_SERVER,
        ),
    ] {
        let holder = holder_that_leaves(&program, last_words);
        let said = program.run(["chat-global", "say", "hello"]).await;
        ended_with(&said, 8, "server_unreachable");
        assert!(said.stderr.contains(sentence), "{said:?}");
        holder.join().unwrap();
    }
}

// proves CH-7, FC-1
#[tokio::test]
async fn a_tail_shows_what_was_said_and_then_what_is_said_until_it_is_stopped() {
    let (program, _model, server) = speaking("I am here.").await;
    let terminal = program.at_terminal(["chat-global", "tail"]);
    terminal.sees(" master: I am here.").await;

    let said = program.run(["chat-global", "say", "good"]).await;
    assert_eq!(said.stdout, "2\n");
    terminal.sees(" user: good").await;
    terminal.types(keys::CTRL_C).await;

    let left = terminal.leaves().await.exits(130);
    assert_eq!(
        timeless(&left.screen),
        ["1 master: I am here.", "2 user: good"]
    );
    let mut tail = program.command(["chat-global", "tail", "--jsonl", "--after", "1"]);
    let mut tail = tail.spawn().unwrap();
    let line = first_line(&mut tail).await;
    let said = wire(&server, "/chat/history?after=1").await;
    assert_eq!(line, with_schema(&said[0]));
    tail.kill().await.unwrap();
}

// proves CH-5, CH-7, FC-1
#[tokio::test]
async fn a_tail_outlives_its_server_and_shows_the_chat_of_the_next_one_from_its_start() {
    let greeted = program().set("SAMOVAR__CHAT__GREETING", "Good morning.");
    let (program, server) = alone(greeted).await;
    let terminal = program.at_terminal(["chat-global", "tail"]);
    // The next chat has just as many messages, so their numbers tell nothing.
    terminal.sees(" ChatAgent: Good morning.").await;

    server.kill().await;
    terminal
        .sees("samovar: lost the connection to the server; looking for it")
        .await;
    let server = program.serve(&[]).await;
    terminal.sees("samovar: the server restarted").await;
    program.run(["chat-global", "say", "to the second"]).await;
    terminal.sees(" user: to the second").await;

    terminal.types(keys::CTRL_C).await;
    let left = terminal.leaves().await;
    let said: Vec<_> = left
        .screen
        .lines()
        .filter(|line| !line.starts_with("samovar: "))
        .collect();
    assert_eq!(
        timeless(&said.join("\n")),
        [
            "1 ChatAgent: Good morning.",
            "1 ChatAgent: Good morning.",
            "2 user: to the second"
        ],
        "{left:?}"
    );
    drop(server);
}

/// Passes bytes on to a server, which it has commands look for at its own address.
async fn pass_on(program: &Program, server: &Serving) -> (JoinSet<()>, watch::Sender<u32>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let own = listener.local_addr().unwrap().to_string();
    let file = program.folder().join("data/server.json");
    let written = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, written.replace(&server.address, &own)).unwrap();
    let (cut, cuts) = watch::channel(0);
    let there = server.address.clone();
    let mut accepting = JoinSet::new();
    accepting.spawn(async move {
        let mut passing = JoinSet::new();
        while let Ok((client, _)) = listener.accept().await {
            let (there, own, mut cuts) = (there.clone(), own.clone(), cuts.clone());
            passing.spawn(async move {
                let server = TcpStream::connect(&there).await.unwrap();
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_server, mut to_server) = server.into_split();
                let asked = async {
                    let mut heads = vec![0; 4096];
                    while let Ok(read @ 1..) = from_client.read(&mut heads).await {
                        // The server answers to its own name alone.
                        let head = String::from_utf8_lossy(&heads[..read]).replace(&own, &there);
                        to_server.write_all(head.as_bytes()).await.unwrap();
                    }
                };
                cuts.mark_unchanged();
                tokio::select! {
                    () = asked => {}
                    _ = tokio::io::copy(&mut from_server, &mut to_client) => {}
                    _ = cuts.changed() => {}
                }
            });
        }
    });
    (accepting, cut)
}

// proves CH-7, FC-1
#[tokio::test]
async fn a_tail_whose_connection_breaks_goes_on_behind_the_last_message() {
    let (program, server) = alone(program()).await;
    let (_passing, cut) = pass_on(&program, &server).await;
    let post = async |text: &str| {
        let request = server.request(Method::POST, "/chat/user_message");
        let posted = server.answer(request.json(&json!({ "text": text }))).await;
        assert_eq!(posted.status, 200, "{}", posted.body);
    };
    post("one").await;
    let terminal = program.at_terminal(["chat-global", "tail"]);
    terminal.sees(" user: one").await;

    cut.send_replace(1);
    post("two").await;

    terminal
        .sees("samovar: lost the connection to the server")
        .await;
    terminal.sees(" user: two").await;
    post("three").await;
    terminal.sees(" user: three").await;
    terminal.types(keys::CTRL_C).await;
    let left = terminal.leaves().await;
    let said = left.screen.lines();
    let said: Vec<_> = said.filter(|line| !line.starts_with("samovar: ")).collect();
    assert_eq!(
        timeless(&said.join("\n")),
        ["1 user: one", "2 user: two", "3 user: three"],
        "{left:?}"
    );
}

// proves CH-4, CH-10, FC-1
#[tokio::test]
async fn what_is_said_answers_the_question_that_a_tail_tells_of_and_a_run_waits_for() {
    let (program, model, _server) = speaking("I am here.").await;
    let run = program.at_terminal(["run", "ask"]);
    run.sees("the agent asks: When?").await;
    let tail = program.at_terminal(["chat-global", "tail"]);
    let waits =
        "the agent is waiting for an answer to 2; answer with: samovar chat-global say ANSWER";
    tail.sees(waits).await;
    let shown = program.run(["chat-global", "history"]).await;
    assert_eq!(
        timeless(&shown.stdout),
        ["1 master: I am here.", "2 master asks: When?"]
    );
    assert_eq!(shown.stderr, format!("{waits}\n"));

    let said = program.run(["chat-global", "say", "at noon"]).await;
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(0), "3\n"),
        "{said:?}"
    );

    let left = run.leaves().await.exits(0);
    let end = "samovar: the question was answered elsewhere\n  ask_user: at noon\nNoted.";
    assert!(left.screen.ends_with(end), "{left:?}");
    tail.sees(" user to 2: at noon").await;
    assert!(model.left_over().is_empty());
}

#[tokio::test]
async fn a_terminal_obeys_nothing_that_the_chat_says() {
    let hostile = "\u{1b}]0;gone\u{7}\u{1b}[2Jhere\n9 10:00:00 user: yes";
    let (program, _model, _server) = speaking(hostile).await;
    let terminal = program.at_terminal(["chat-global", "tail"]);
    terminal.sees("\n    9 10:00:00 user: yes").await;
    terminal.types(keys::CTRL_C).await;
    let left = terminal.leaves().await;
    for sequence in ["\u{1b}]", "\u{7}", "\u{1b}[2J"] {
        assert!(!left.written.contains(sequence), "{left:?}");
    }
}

#[tokio::test]
async fn a_tail_ends_when_nobody_reads_it_any_more() {
    let (program, server) = alone(program()).await;
    program.run(["chat-global", "say", "one"]).await;
    let mut tail = program.command(["chat-global", "tail"]).spawn().unwrap();
    drop(tail.stdout.take());
    program.run(["chat-global", "say", "two"]).await;
    let left = tail.wait_with_output().await.unwrap();
    assert_eq!(left.status.code(), Some(0), "{left:?}");
    drop(server);
}

/// The first line that a program writes, as JSON.
async fn first_line(program: &mut Child) -> Value {
    let stdout = program.stdout.as_mut().unwrap();
    let mut lines = BufReader::new(stdout).lines();
    let line = lines.next_line().await.unwrap();
    serde_json::from_str(&line.unwrap()).unwrap()
}

// proves CH-8, FC-1
#[tokio::test]
async fn who_asks_for_what_is_gone_gets_what_is_left_and_is_told() {
    let short = program().set("SAMOVAR__CHAT__MAX_MESSAGES", "2");
    let (program, _server) = alone(short).await;
    for said in ["one", "two", "three", "four"] {
        program.run(["chat-global", "say", said]).await;
    }
    let gone = "samovar: older messages are gone; the oldest one left is 3";
    let shown = program
        .run(["chat-global", "history", "--after", "1"])
        .await;
    assert_eq!(timeless(&shown.stdout), ["3 user: three", "4 user: four"]);
    assert_eq!(shown.stderr, format!("{gone}\n"));

    let tail = program.at_terminal(["chat-global", "tail", "--after", "1"]);
    tail.sees(" user: four").await;
    tail.sees(gone).await;
    let not_said = program
        .run(["chat-global", "history", "--after", "9"])
        .await;
    let nothing = (Some(0), "", "no messages\n");
    let shown = (
        not_said.code,
        not_said.stdout.as_str(),
        not_said.stderr.as_str(),
    );
    assert_eq!(shown, nothing);
}
