//! The Dockerfile: what can be said of it, and run of it, without a container engine.

use std::path::Path;
use std::process::Command;

use samovar_testkit::Finished;
use serde_json::Value;

use crate::setup::{ended_with, program};

/// The instructions of a Dockerfile, in order: each a word and the rest of its line.
fn instructions() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(root().join("Dockerfile")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once(' '));
    pairs
        .map(|(word, rest)| (word.to_owned(), rest.to_owned()))
        .collect()
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What the last instruction of this name says.
fn last(name: &str) -> String {
    let mut all = instructions().into_iter().rev();
    let found = all.find(|(word, _)| word == name);
    found
        .unwrap_or_else(|| panic!("the Dockerfile has no {name}"))
        .1
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

#[test]
fn the_image_has_the_binary_that_its_build_makes_and_runs_it_without_root() {
    let all = instructions();
    let at = |word: &str, part: &str| {
        let mut found = all.iter();
        let at = found.position(|(name, rest)| name == word && rest.contains(part));
        at.unwrap_or_else(|| panic!("the Dockerfile has no {word} with {part}"))
    };
    let build = at("RUN", "cargo build --locked --release --package samovar");
    let copy = at(
        "COPY",
        "--from=build /src/target/release/samovar /usr/local/bin/samovar",
    );
    let user = at("USER", "10001");
    assert!(at("COPY", ". .") < build && build < copy && copy < user);
    assert!(all.iter().skip(user).all(|(word, _)| word != "RUN"));
    for (_, script) in all.iter().filter(|(word, _)| word == "RUN") {
        let checked = Command::new("sh").args(["-n", "-c", script]).status();
        assert!(checked.unwrap().success(), "{script}");
    }
    // The package, its one binary, and the lock file that the build insists on.
    let mut metadata = Command::new(env!("CARGO"));
    let metadata = metadata
        .args([
            "metadata",
            "--locked",
            "--offline",
            "--no-deps",
            "--format-version",
            "1",
        ])
        .current_dir(root());
    let metadata: Value = serde_json::from_slice(&metadata.output().unwrap().stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages
        .iter()
        .find(|package| package["name"] == "samovar")
        .unwrap();
    let targets = package["targets"].as_array().unwrap().iter();
    let mut binaries = targets.filter(|target| target["kind"][0] == "bin");
    assert_eq!(binaries.next().unwrap()["name"], "samovar");

    let variables = environment();
    let data = variables
        .iter()
        .find(|(name, _)| name == "DATA_DIR")
        .unwrap();
    assert_eq!(
        data.1,
        last("VOLUME"),
        "what must outlive the container is in the volume"
    );
    let ignored = std::fs::read_to_string(root().join(".dockerignore")).unwrap();
    assert!(
        ["/target", "/data", ".git"]
            .iter()
            .all(|name| ignored.lines().any(|line| line == *name))
    );
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
    let check = words("HEALTHCHECK");
    let healthy = Finished::of(program.command(&check[1..]).spawn().unwrap()).await;
    assert_eq!(
        (check[0].as_str(), healthy.code),
        ("samovar", Some(0)),
        "{healthy:?}"
    );
    assert!(home.join("volume/journal").is_dir());
    let left = std::fs::read_dir(work).unwrap().count();
    assert_eq!(left, 0, "the folder of the tools stays as it is");
    server.send(samovar_testkit::Signal::TERM);
    assert_eq!(server.end().await.code, Some(0));
}
