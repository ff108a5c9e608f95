//! The contract in TypeScript: the generated file, and the client beside it against real servers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use samovar_core::{Approval, Outcome, ToolReply};
use samovar_model_server::{Gate, call, say};
use samovar_server::{Config, Server};
use samovar_testkit::{AppBuilder, TestTool};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

mod contract;
mod declaration;

const ADVICE: &str =
    "install Node 20.3 or later with npm, and then: npm ci --prefix clients/typescript";

/// How long a program may take before the test gives up on it.
const PATIENCE: Duration = Duration::from_mins(2);

// proves AS-20
#[test]
fn the_contract_file_says_what_the_rust_types_say() {
    let path = home().join("agent.ts");
    let said = contract::contract();
    // `cargo xtask contract` sets it.
    if std::env::var_os("SAMOVAR_CONTRACT").is_some_and(|mode| mode == "write") {
        std::fs::write(&path, &said).unwrap();
    }

    let kept = std::fs::read_to_string(&path).unwrap_or_default();

    let mut lines = said.lines().zip(kept.lines());
    let first = lines.find(|(said, kept)| said != kept);
    assert!(
        said == kept,
        "clients/typescript/agent.ts is not what the Rust types say, {first:?}; \
         rewrite it with: cargo xtask contract"
    );
}

// proves AS-20, AS-24
#[tokio::test]
async fn needs_npm_the_typescript_client_goes_the_whole_way_and_meets_what_goes_wrong() {
    let compiled = Compiled::new().await;
    let clock = TestTool::new("clock", |_, _| async {
        ToolReply::Closed(Outcome::done("12:00"))
    });
    let app = AppBuilder::new()
        .tools(clock.build())
        .start([
            say("hello there"),
            call("clock", json!({})),
            say("it is noon"),
            say("still noon"),
            say("some words").hold_after(1, &Gate::new("never")),
            say("once more"),
        ])
        .await;

    let base = format!("http://{}", app.address());
    compiled.run("verification", &[&base, app.token()]).await;

    assert_eq!(app.model.prompts().len(), 6);
}

// proves AS-8, AS-20, TL-5
#[tokio::test]
async fn needs_npm_the_typescript_client_sees_that_a_turn_waits_and_decides() {
    let compiled = Compiled::new().await;
    let write = call("write_file", json!({"path": "w.txt", "content": "b"}));
    let app = AppBuilder::new()
        .with(|config| config.settings.approval = Approval::Supervised)
        .start([write, say("written")])
        .await;

    let base = format!("http://{}", app.address());
    compiled.run("approvals", &[&base, app.token()]).await;

    assert!(app.workspace().join("w.txt").exists());
}

// proves AS-20, AS-24
#[tokio::test]
async fn needs_npm_the_typescript_client_works_with_a_server_that_was_told_nothing() {
    let compiled = Compiled::new().await;
    let (server, _folder) = unconfigured().await;

    let base = format!("http://{}", server.address());
    let token = server.home().token().expose();
    compiled.run("unconfigured", &[&base, token]).await;

    server.stop().await;
}

// proves AS-20
#[tokio::test]
async fn needs_npm_the_example_of_the_protocol_page_talks_to_a_server() {
    let page = std::fs::read_to_string(home().join("../../docs/protocols.md")).unwrap();
    let example = page.split("```ts\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let (server, _folder) = unconfigured().await;
    let base = format!("http://{}", server.address());
    let token = server.home().token().expose();
    let example = example.replace("http://127.0.0.1:4747", &base);
    let compiled = Compiled::alone(&example.replace("TOKEN", token)).await;

    let said = compiled.run("example", &[]).await;

    assert!(said.contains("list_dir"), "{said}");
    server.stop().await;
}

// proves AS-4, AS-20
#[tokio::test]
async fn needs_npm_the_typescript_client_reads_a_stream_in_whatever_pieces_it_comes() {
    Compiled::new().await.run("reading", &[]).await;
}

// proves AS-20, DU-7
#[tokio::test]
async fn needs_npm_the_typescript_client_goes_on_where_a_stream_broke_off() {
    Compiled::new().await.run("resuming", &[]).await;
}

// proves AS-1, AS-2, AS-3, AS-20
#[tokio::test]
async fn needs_npm_the_typescript_client_sends_parameters_by_name_and_knows_a_refusal() {
    Compiled::new().await.run("calls", &[]).await;
}

// proves AS-20
#[tokio::test]
async fn needs_npm_the_typescript_package_is_built_into_the_files_that_it_promises() {
    let compiled = Compiled::empty();

    compiled.compile(&home(), "dist").await;

    let promised = json_of("package.json")["exports"]["."].clone();
    assert_eq!(promised.as_object().unwrap().len(), 2);
    for file in promised.as_object().unwrap().values() {
        let file = compiled.folder.path().join(file.as_str().unwrap());
        assert!(file.is_file(), "{}", file.display());
    }
}

#[test]
fn the_packages_of_the_client_are_told_by_their_content_and_not_by_a_place() {
    let lock = json_of("package-lock.json");
    let packages = lock["packages"].as_object().unwrap();
    assert!(packages.contains_key("node_modules/typescript"));
    for (name, package) in packages.iter().filter(|(name, _)| !name.is_empty()) {
        assert!(package.get("resolved").is_none(), "{name} has a place");
        assert!(package.get("integrity").is_some(), "{name} has no hash");
    }
}

fn json_of(file: &str) -> Value {
    let text = std::fs::read_to_string(home().join(file)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A server that was told nothing, in a folder that has to live as long.
async fn unconfigured() -> (Server, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let (data, workspace) = (folder.path().join("data"), folder.path().join("work"));
    std::fs::create_dir(&workspace).unwrap();
    let mut config = Config::new(data, workspace);
    // The one thing that tests must not leave as it is.
    config.server.port = 0;
    (Server::start(config).await.unwrap(), folder)
}

/// The client and its tests, compiled as strictly as can be.
struct Compiled {
    folder: TempDir,
}

impl Compiled {
    /// The client's own tests.
    async fn new() -> Self {
        let compiled = Self::empty();
        compiled.compile(&home().join("tests"), "").await;
        compiled
    }

    /// A program beside a copy of the client, as in somebody's project.
    async fn alone(program: &str) -> Self {
        let compiled = Self::empty();
        let at = |name: &str| compiled.folder.path().join(name);
        for file in ["agent.ts", "client.ts"] {
            std::fs::copy(home().join(file), at(file)).unwrap();
        }
        std::fs::create_dir(at("tests")).unwrap();
        let program = program.replace("\"./client.js\"", "\"../client.js\"");
        std::fs::write(at("tests/example.ts"), program).unwrap();
        let settings = json!({
            "extends": home().join("tsconfig.json"),
            "compilerOptions": {"rootDir": "."},
            "files": ["tests/example.ts"],
        });
        std::fs::write(at("tsconfig.json"), settings.to_string()).unwrap();
        compiled.compile(compiled.folder.path(), "").await;
        compiled
    }

    fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // It says that the compiled files are modules.
        let package = folder.path().join("package.json");
        std::fs::copy(home().join("package.json"), package).unwrap();
        Self { folder }
    }

    async fn compile(&self, project: &Path, into: &str) {
        let compiler = home().join("node_modules/typescript/bin/tsc");
        assert!(
            compiler.is_file(),
            "clients/typescript has no node_modules; {ADVICE}"
        );
        let mut node = Command::new("node");
        node.arg(compiler).arg("--project").arg(project);
        node.arg("--strict").arg("--outDir");
        node.arg(self.folder.path().join(into));
        succeed(node).await;
    }

    /// Runs one of the tests: what it says.
    async fn run(&self, test: &str, args: &[&str]) -> String {
        let program = self.folder.path().join(format!("tests/{test}.js"));
        let mut node = Command::new("node");
        node.arg(program).args(args);
        succeed(node).await
    }
}

/// Runs a program to its good end: what it says.
async fn succeed(mut node: Command) -> String {
    let output = node.kill_on_drop(true).output();
    let output = tokio::time::timeout(PATIENCE, output).await;
    let output = output
        .expect("it ends in time")
        .unwrap_or_else(|why| panic!("node cannot be started ({why}); {ADVICE}"));
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{out}{err}", output.status);
    out
}

/// The folder of the client.
fn home() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap().join("clients/typescript")
}
