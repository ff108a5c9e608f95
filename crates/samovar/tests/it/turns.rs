//! Agents that work for another one: drawn by `run`, listed and stopped by `turns`, answered at the
//! terminal.

use std::time::Duration;

use samovar_model_server::{Gate, ModelServer, Reply, When, call, say};
use samovar_testkit::{Program, Serving, keys};
use serde_json::{Value, json};

use crate::setup::{ended_with, with_model};

/// What a person sees before they type.
const HOW: &str = "type the answer; Ctrl-D sends none, Ctrl-C stops the turn";

fn order(name: &str, task: &str) -> Value {
    json!({"name": name, "task": task})
}

/// Adds `outer`, which may call `inner`, which reads files and asks the person.
async fn add_agents(program: &Program) {
    program.file("tea.txt", "green\n");
    let inner = ["agents", "add", "inner", "--tools", "read_file,ask_user"];
    // An agent passes on only the tools that it has itself.
    let outer = ["agents", "add", "outer", "--tools", "read_file"];
    let calls = ["--agents", "inner"];
    for args in [&inner[..], &[&outer[..], &calls].concat()] {
        program.run(args).await.exits(0);
    }
}

/// The master calls `inner`, which asks the person; then the model says this.
async fn asking<const N: usize>(then: [Reply; N]) -> (Program, ModelServer) {
    let asks = [
        call("subAgent", order("inner", "find out")),
        call("ask_user", json!({"question": "Which tea?"})),
    ];
    with_model(asks.into_iter().chain(then).collect::<Vec<_>>()).await
}

/// The master calls `outer`, which calls an agent that is unknown and then `inner`, which reads a
/// file.
async fn three_deep() -> (Program, ModelServer) {
    let (program, model) = with_model([
        say("I ask. ").and_call("subAgent", order("outer", "what kind of tea is it?")),
        call("subAgent", order("absent", "read the file with the tea")),
        call("subAgent", order("inner", "read the file with the tea")),
        call("read_file", json!({"path": "tea.txt"})),
        say("The file says that the tea is green."),
        say("It is green tea."),
        say("Green."),
    ])
    .await;
    add_agents(&program).await;
    (program, model)
}

/// Lines with `ID`, `TIME` and `N` for what each run has its own.
fn masked(text: &str) -> String {
    let mask = |word: &str| match word {
        _ if word.len() == 36 && word.matches('-').count() == 4 => "ID".to_owned(),
        _ if word.parse::<u64>().is_ok() => "N".to_owned(),
        _ if word.parse::<f32>().is_ok() => "TIME".to_owned(),
        _ => word.to_owned(),
    };
    let line = |line: &str| line.split(' ').map(mask).collect::<Vec<_>>().join(" ");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The turns of the folder, oldest first.
async fn turns(program: &Program) -> Vec<Value> {
    let listed = program.run(["turns", "list", "--json"]).await;
    let mut listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    serde_json::from_value(listed["items"].take()).unwrap()
}

/// The id of the turn of `inner`.
async fn inner_turn(program: &Program) -> String {
    let turns = turns(program).await;
    let inner = turns.iter().find(|turn| turn["name"] == "inner").unwrap();
    inner["turnId"].as_str().unwrap().to_owned()
}

/// A tree at a terminal of 200 columns.
const WIDE: [&str; 2] = [
    r#"I ask.
• subAgent name: outer task: what kind of tea is it?
  → outer: what kind of tea is it?
  • subAgent name: absent task: read the file with the tea
  ! subAgent: there is no agent "absent"; there are: inner [SUBAGENT_UNKNOWN]
  • subAgent name: inner task: read the file with the tea
    → inner: read the file with the tea
    • read_file tea.txt
      read_file tea.txt: 1 line
      inner: The file says that the tea is green.
    outer: It is green tea.
Green."#,
    "\
master  stop  TIME s  N tokens  ID
  outer  stop  TIME s  N tokens  ID
    inner  stop  TIME s  N tokens  ID",
];

/// The same at one of 40.
const NARROW: [&str; 2] = [
    r#"I ask.
• subAgent name: outer task: what kind
of tea is it?
  → outer: what kind of tea is it?
  • subAgent name: absent task: read
  the file with the tea
  ! subAgent: there is no agent
  "absent"; there are: inner
  [SUBAGENT_UNKNOWN]
  • subAgent name: inner task: read the
  file with the tea
    → inner: read the file with the tea
    • read_file tea.txt
      read_file tea.txt: 1 line
      inner: The file says that the tea
      is green.
    outer: It is green tea.
Green."#,
    "\
master  stop  TIME s  N tokens
   ID
  outer  stop  TIME s  N tokens
   ID
    inner  stop  TIME s  N tokens
   ID",
];

// proves SA-8, SA-11, SA-18, FC-1
#[tokio::test]
async fn run_draws_what_called_agents_do_and_turns_list_shows_their_tree() {
    for (columns, [drawn, listed]) in [(200, WIDE), (40, NARROW)] {
        let (program, _model) = three_deep().await;
        let terminal = program.seat(["run", "go"]).columns(columns).start();
        let left = terminal.leaves().await.exits(0);
        let (_, tree) = left.screen.split_once(" sets it\n").unwrap();
        assert_eq!(tree, drawn, "{columns}: {tree}");
        let list = program.seat(["turns", "list"]).columns(columns).start();
        let list = masked(&list.leaves().await.screen);
        assert_eq!(list, listed, "{columns}: {list}");
    }
}

/// The master begins a task in the background, whose result begins another turn.
async fn spawning() -> (Program, ModelServer) {
    with_model([
        call("spawn", json!({"task": "boil water"})).when(When::user("go")),
        say("The water boils.").when(When::user("boil water")),
        say("I began it.").when(When::user("go")),
        say("Tea is ready.").into(),
    ])
    .await
}

// proves FC-1
#[tokio::test]
async fn run_stays_until_its_tasks_and_the_turns_after_them_are_over() {
    for format in ["text", "json", "jsonl"] {
        let (program, _model) = spawning().await;
        let said = program.run(["run", "-o", format, "go"]).await.exits(0);
        match format {
            "text" => {
                assert_eq!(said.stdout, "I began it.\nTea is ready.\n", "{said:?}");
                assert!(said.stderr.contains("The water boils."), "{said:?}");
            }
            "json" => {
                let turn: Value = serde_json::from_str(&said.stdout).unwrap();
                assert_eq!(turn["text"], "I began it.");
                assert_eq!(turn["followed"][0]["text"], "Tea is ready.");
                assert_ne!(turn["followed"][0]["turnId"], turn["turnId"]);
            }
            _ => assert!(said.stdout.contains("Tea is ready."), "{said:?}"),
        }
        let listed = program.run(["sessions", "list"]).await;
        assert!(!listed.stdout.contains("(interrupted)"), "{listed:?}");
        let all = turns(&program).await;
        assert!(
            all.iter().all(|turn| turn["state"] == "finished"),
            "{all:?}"
        );
    }
}

// proves FC-1, FC-2
#[tokio::test]
async fn detached_tasks_are_left_to_a_server_and_without_one_nothing_begins() {
    let (program, model) = spawning().await;
    let said = program.run(["run", "--detach", "go"]).await;
    ended_with(&said, 2, "invalid_params");
    assert!(said.stderr.contains("samovar serve"), "{said:?}");
    assert_eq!(model.prompts().len(), 0);

    let never = Gate::new("never");
    let (program, _model) = with_model([
        call("spawn", json!({"task": "boil water"})).when(When::user("go")),
        say("late").hold_head(&never).when(When::user("boil water")),
        say("I began it.").when(When::user("go")),
    ])
    .await;
    let _server = program.serve(&[]).await;
    let said = program.run(["run", "--detach", "go"]).await;
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(0), "I began it.\n"),
        "{said:?}"
    );
    assert!(
        said.stderr.contains("samovar turns list --session "),
        "{said:?}"
    );
    let at_work = turns(&program).await;
    assert!(
        at_work.iter().any(|turn| turn["state"] == "running"),
        "{at_work:?}"
    );
}

// proves FC-1
#[tokio::test]
async fn a_chat_shows_a_follow_up_turn_at_its_prompt_and_waits_for_tasks_when_it_is_left() {
    for (is_served, leaves_early) in [(false, false), (false, true), (true, true)] {
        let water = Gate::new("water");
        let (program, model) = with_model([
            call("spawn", json!({"task": "boil water"})).when(When::user("go")),
            say("It boils.")
                .hold_head(&water)
                .when(When::user("boil water")),
            say("I began it.").when(When::user("go")),
            say("Tea is ready.").into(),
        ])
        .await;
        let _server = if is_served {
            Some(program.serve(&[]).await)
        } else {
            None
        };
        let terminal = program.at_terminal(["chat"]);
        terminal.sees_prompt("> ").await;
        terminal.enters("go").await;
        let is_begun = |screen: &str| screen.ends_with("I began it.\n>");
        terminal.sees_that("the end of its turn", is_begun).await;

        if !leaves_early {
            terminal.types("a draft").await;
            terminal.sees_prompt("> a draft").await;
            model.open(&water).unwrap();
            let is_shown = |screen: &str| screen.ends_with("Tea is ready.\n> a draft");
            terminal
                .sees_that("the follow-up and the draft", is_shown)
                .await;
            terminal.types(keys::CTRL_C).await;
            terminal
                .sees_that("an empty line", |screen| screen.ends_with("\n>"))
                .await;
        }
        terminal.enters("/quit").await;
        let screen = match (leaves_early, is_served) {
            (true, false) => {
                terminal.sees("waiting for 1 background task").await;
                model.open(&water).unwrap();
                terminal.leaves().await.screen
            }
            _ => terminal.leaves().await.screen,
        };
        assert_eq!(screen.contains("Tea is ready."), !is_served, "{screen}");
        let names_list = screen.contains("samovar turns list --session ");
        assert_eq!(names_list, is_served, "{screen}");
    }
}

// proves FC-2
#[tokio::test]
async fn ctrl_c_stops_the_tasks_that_run_waits_for() {
    let never = Gate::new("never");
    let (program, _model) = with_model([
        call("spawn", json!({"task": "boil water"})).when(When::user("go")),
        say("late").hold_head(&never).when(When::user("boil water")),
        say("I began it.").when(When::user("go")),
        say("Never said.").into(),
    ])
    .await;
    let terminal = program.at_terminal(["run", "go"]);
    terminal.sees("waiting for 1 background task").await;
    terminal.types(keys::CTRL_C).await;
    assert_eq!(terminal.leaves().await.code, Some(130));
    let all = turns(&program).await;
    assert!(
        all.iter().all(|turn| turn["state"] == "finished"),
        "{all:?}"
    );
}

async fn open_calls(server: &Serving) -> Vec<Value> {
    let calls = server.get("/api/calls").await.body;
    serde_json::from_value(calls["items"].clone()).unwrap()
}

// proves SA-7, SA-11
#[tokio::test]
async fn turns_stop_ends_one_branch_and_the_run_continues() {
    let never = Gate::new("never");
    let (program, model) = with_model([
        call("subAgent", order("inner", "read it")),
        say("half of it").hold_after(1, &never),
        say("It was stopped."),
    ])
    .await;
    let _server = program.serve(&[]).await;
    add_agents(&program).await;
    let run = program.command(["run", "go"]).spawn().unwrap();
    model.seen(2).await;
    let turn = inner_turn(&program).await;

    for said in [
        format!("stopped turn {turn}\n"),
        format!("turn {turn} was over already\n"),
    ] {
        let stopped = program.run(["turns", "stop", &turn]).await;
        assert_eq!((stopped.code, stopped.stdout), (Some(0), said));
        let over = async || turns(&program).await[1]["state"] == "finished";
        while !over().await {}
    }

    let output = run.wait_with_output().await.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "It was stopped.\n");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("\n  ! inner: cancelled\n"), "{told}");
    let tree = program.run(["turns", "list"]).await.stdout;
    let ends: Vec<_> = tree
        .lines()
        .filter_map(|line| line.split("  TIME").next())
        .collect();
    assert!(ends[0].starts_with("master  stop  "), "{tree}");
    assert!(ends[1].starts_with("  inner  cancelled  "), "{tree}");
    ended_with(
        &program.run(["turns", "stop", "nope"]).await,
        2,
        "unknown_turn",
    );
}

// proves SA-13, FC-1
#[tokio::test]
async fn a_question_of_a_called_agent_names_it_and_is_answered_at_the_terminal() {
    for command in ["run", "chat"] {
        let (program, model) = asking([say("green"), say("The end.")]).await;
        add_agents(&program).await;
        let is_chat = command == "chat";
        let words: &[&str] = if is_chat { &["chat"] } else { &["run", "go"] };
        let terminal = program.at_terminal(words);
        if is_chat {
            terminal.sees_prompt("> ").await;
            terminal.enters("go").await;
        }
        terminal
            .sees(&format!("\ninner asks: Which tea?\n{HOW}\n>"))
            .await;
        terminal.sees_prompt("> ").await;
        terminal.enters("the green one").await;
        terminal.sees("\n    ask_user: the green one\n").await;
        terminal.sees("\nThe end.").await;
        if is_chat {
            terminal.sees_prompt("> ").await;
            terminal.types(keys::CTRL_D).await;
        }
        assert_eq!(terminal.leaves().await.code, Some(0));
        let told = model.prompts()[2].body().to_string();
        assert!(told.contains("the green one"), "{told}");
    }
}

// proves SA-7, SA-13
#[tokio::test]
async fn the_question_of_a_branch_that_is_stopped_goes_away_and_the_run_continues() {
    let rest = Gate::new("rest");
    let (program, model) = asking([say("It was stopped.").hold_after(1, &rest)]).await;
    let server = program.serve(&[]).await;
    add_agents(&program).await;
    let terminal = program.at_terminal(["run", "go"]);
    terminal.sees("\ninner asks: Which tea?\n").await;
    terminal.sees_prompt("> ").await;
    let open = open_calls(&server).await;
    assert_eq!(open[0]["path"], json!(["master", "inner"]));
    let waits = turns(&program).await;
    assert_eq!(waits[1]["state"], "waiting", "{waits:?}");

    program
        .run(["turns", "stop", &inner_turn(&program).await])
        .await
        .exits(0);

    terminal.sees("\n  ! inner: cancelled\n").await;
    terminal.sees("[SUBAGENT_CANCELLED]\nIt").await;
    // A prompt that stayed would be back at once.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let screen = terminal.screen();
    assert!(!screen.ends_with('>'), "{screen}");
    model.open(&rest).unwrap();
    let left = terminal.leaves().await.exits(0);
    assert!(left.screen.ends_with("\nIt was stopped."), "{left:?}");
    assert!(open_calls(&server).await.is_empty());
}
