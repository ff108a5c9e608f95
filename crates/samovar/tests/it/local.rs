//! Model servers of this machine, which the program finds by itself.

use samovar_model_server::{Model, ModelServer, Surface, page, say};
use samovar_testkit::{Finished, Program};

use crate::setup::{ended_with, program};

/// An Ollama with a model that cannot call tools, and one that can.
async fn ollama() -> ModelServer {
    let builder = ModelServer::builder()
        .surface(Surface::Ollama)
        .model("gemma3:4b")
        .model(Model::new("qwen3:8b").with_tools());
    builder
        .start([say("From nearby.").forever()])
        .await
        .unwrap()
}

/// Runs it again while the servers do not answer in time: a machine may be busy with other tests,
/// and what is late is told, not waited for.
async fn run(program: &Program, args: &[&str]) -> Finished {
    for _ in 0..20 {
        let said = program.run(args).await;
        let is_late = ["in time", "does not say"]
            .iter()
            .any(|words| said.stderr.contains(words) || said.stdout.contains(words));
        if !is_late {
            return said;
        }
    }
    panic!("the server was late twenty times");
}

// proves FC-4
#[tokio::test]
async fn without_any_setting_the_local_model_that_can_call_tools_answers() {
    let server = ollama().await;
    // The address that Ollama itself reads, as it would be set for it.
    let address = server.address().to_string();
    let program = program().looking_at("OLLAMA_HOST", &address);

    let said = run(&program, &["run", "hello"]).await.exits(0);
    assert!(said.stdout.contains("From nearby."), "{said:?}");
    assert!(said.stderr.contains("ollama/qwen3:8b"), "{said:?}");
    assert!(said.stderr.contains("supports tools"), "{said:?}");
    let prompts = server.prompts();
    assert_eq!(prompts[0].body()["model"], "qwen3:8b");

    let listed = run(&program, &["models", "list"]).await.exits(0);
    for name in ["ollama/qwen3:8b", "ollama/gemma3:4b"] {
        assert!(listed.stdout.contains(name), "{listed:?}");
    }
}

// proves FC-4
#[tokio::test]
async fn a_named_model_or_no_probe_asks_no_local_server() {
    let server = ollama().await;
    let program = program().looking_at("OLLAMA_HOST", &server.address().to_string());

    let named = program.run(["run", "--model", "demo", "hello"]).await;
    let unasked = program.run(["run", "--no-probe", "hello"]).await;

    assert_eq!(named.code, Some(0), "{named:?}");
    ended_with(&unasked, 4, "unusable_model");
    assert!(unasked.stderr.contains("AGENT_MODEL"), "{unasked:?}");
    assert_eq!(server.requests().len(), 0);
}

// proves FC-4
#[tokio::test]
async fn a_local_server_that_answers_with_a_page_is_told_as_what_it_is() {
    let server = ModelServer::builder()
        .always(page(200, "text/html", "<!doctype html>"))
        .start([say("unasked")])
        .await
        .unwrap();
    let program = program().looking_at("OLLAMA_HOST", &server.address().to_string());

    let said = run(&program, &["run", "hello"]).await;

    ended_with(&said, 4, "unusable_model");
    assert!(said.stderr.contains("text/html"), "{said:?}");
    assert!(said.stderr.contains("AGENT_MODEL"), "{said:?}");
}

// proves FC-4
#[tokio::test]
async fn a_key_in_the_environment_counts_more_than_a_server_of_this_machine() {
    let near = ollama().await;
    let far = ModelServer::start([say("From afar.")]).await.unwrap();
    let program = program()
        .looking_at("OLLAMA_HOST", &near.address().to_string())
        .set("OPENAI_API_KEY", "sk-of-the-environment")
        .set("OPENAI_BASE_URL", &far.base_url());

    let said = program.run(["run", "hello"]).await;

    assert_eq!(
        (said.code, said.stdout.as_str()),
        (Some(0), "From afar.\n"),
        "{said:?}"
    );
    assert_eq!(near.prompts().len(), 0);
}

// proves AS-23, FC-1, FC-4
#[tokio::test]
async fn on_a_machine_with_nothing_every_way_in_says_what_is_there_and_what_to_type() {
    const CONNECT: &str = "export OPENAI_API_KEY=YOUR_KEY\n";
    let program = program();

    let alone = program.run([""; 0]).await.exits(0);
    assert!(!alone.stdout.contains("OPENAI_API_KEY"), "{alone:?}");
    let all = program.run(["models", "list", "--all"]).await;
    assert!(all.stdout.contains("  set OPENAI_API_KEY "), "{all:?}");
    assert!(alone.stderr.contains(CONNECT), "{alone:?}");
    assert!(
        alone
            .stderr
            .contains("\n  samovar run \"list the files here\""),
        "{alone:?}"
    );

    let doctor = program.run(["doctor", "-v"]).await.exits(0);
    assert!(
        doctor.stdout.contains(&format!("type: {CONNECT}")),
        "{doctor:?}"
    );

    let run = program.run(["run", "hi"]).await.exits(0);
    assert!(run.stderr.contains(CONNECT), "{run:?}");
    assert!(
        run.stdout
            .starts_with("[demo: rules, not a language model] "),
        "{run:?}"
    );
}
