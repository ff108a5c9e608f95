//! The page of `examples/use-chat`, compiled as a reader would.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

const ADVICE: &str =
    "install Node 20 or later with npm, and then: npm ci --prefix examples/use-chat";

// proves UI-5
#[tokio::test]
async fn needs_npm_the_page_with_use_chat_compiles_against_its_locked_packages() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = root.canonicalize().unwrap().join("examples/use-chat");
    let compiler = page.join("node_modules/typescript/bin/tsc");
    assert!(
        compiler.is_file(),
        "examples/use-chat has no node_modules; {ADVICE}"
    );

    let compiling = Command::new("node")
        .arg(compiler)
        .arg("--strict")
        .arg("--project")
        .arg(&page)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = compiling
        .await
        .unwrap_or_else(|why| panic!("node cannot be started ({why}); {ADVICE}"));

    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
}
