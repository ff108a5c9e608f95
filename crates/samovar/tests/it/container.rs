//! The Dockerfile: what can be said of it, and run of it, without a container engine.

use std::path::Path;

use crate::setup::{ended_with, program};

/// What the last instruction of this name says.
fn last(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Dockerfile");
    let text = std::fs::read_to_string(file).unwrap();
    let mut pairs = text.lines().rev().filter_map(|line| line.split_once(' '));
    let found = pairs.find(|(word, _)| *word == name);
    let (_, said) = found.unwrap_or_else(|| panic!("the Dockerfile has no {name}"));
    said.to_owned()
}

fn words(name: &str) -> Vec<String> {
    let said = last(name);
    serde_json::from_str(said.trim_start_matches("CMD ")).unwrap()
}

fn environment() -> Vec<(String, String)> {
    let said = last("ENV");
    let pairs = said.split(' ').map(|pair| pair.split_once('=').unwrap());
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

// proves TL-12
#[tokio::test]
async fn what_the_image_starts_serves_behind_a_proxy_and_is_refused_without_a_token() {
    let mut program = program();
    let (home, work) = (program.home(), program.folder());
    for (name, value) in environment() {
        let value = match value.as_str() {
            "/var/lib/samovar" => home.display().to_string(),
            "/data" => home.join("volume").display().to_string(),
            value => value.to_owned(),
        };
        program = program.set(&name, &value);
    }
    assert_eq!(words("ENTRYPOINT"), ["samovar"]);
    let command = words("CMD");

    let bare = program.run(&command).await;
    ended_with(&bare, 3, "address_refused");
    assert!(bare.stderr.contains("SAMOVAR_TOKEN"), "{bare:?}");
    let check = words("HEALTHCHECK");
    assert_eq!(check[0], "samovar");
    ended_with(&program.run(&check[1..]).await, 8, "server_unreachable");

    // What `docker run` is given, and an address that is no loopback one by its form alone.
    let program = program
        .set("SAMOVAR_TOKEN", "the-token-of-an-operator")
        .set("SAMOVAR__SERVER__HOSTS", "samovar.example")
        .set("SAMOVAR_HOST", "::ffff:127.0.0.1");
    let [serve, flags @ ..] = command.as_slice() else {
        panic!("CMD is empty");
    };
    assert_eq!(serve, "serve");
    let flags: Vec<_> = flags.iter().map(String::as_str).collect();
    let server = program.serve(&flags).await;
    program.run(&check[1..]).await.exits(0);
    let invited = program.run(["relay", "demo"]).await;
    let url = "wss://samovar.example/agent/ws";
    assert!(invited.stdout.contains(url), "{invited:?}");
    assert!(home.join("volume/journal").is_dir());
    let left = std::fs::read_dir(work).unwrap().count();
    assert_eq!(left, 0, "the folder of the tools stays as it is");
    server.send(samovar_testkit::Signal::TERM);
    assert_eq!(server.end().await.code, Some(0));
}
