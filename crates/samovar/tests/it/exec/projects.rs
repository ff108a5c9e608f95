//! Small projects of three languages, built and tested in the sandbox.

use super::*;

/// Runs a command over these files in the sandbox, with this test's `PATH` and toolchains; its result.
async fn in_project(files: &[(&str, &str)], command: &str) -> String {
    let args = json!({"command": command, "timeout_s": 300});
    let (program, model) =
        with_model([Rule::from(call("exec", args)), Rule::from(say("done"))]).await;
    let own = |name: &str| std::env::var_os(name)?.into_string().ok();
    let home = PathBuf::from(own("HOME").unwrap_or_default());
    let mut program = program.set("PATH", &own("PATH").unwrap_or_default());
    let toolchains = [
        ("RUSTUP_HOME", ".rustup"),
        ("CARGO_HOME", ".cargo"),
        ("PYENV_ROOT", ".pyenv"),
    ];
    for (name, place) in toolchains {
        let folder = own(name).map_or_else(|| home.join(place), PathBuf::from);
        if folder.is_dir() {
            program = program.set(name, folder.to_str().unwrap());
        }
    }
    for (name, content) in files {
        program.file(name, content);
    }
    let server = program
        .serve(&[&SERVE[..], &["--approval", "auto"]].concat())
        .await;
    assert_eq!(turn(&server).await["type"], "completed");
    results(model.prompts()[1].body()).swap_remove(0)
}

// proves TL-6
#[tokio::test]
async fn a_rust_project_is_built_and_tested_in_the_sandbox() {
    if !is_provable("a_rust_project_is_built_and_tested_in_the_sandbox").await {
        return;
    }
    let files = [
        (
            "Cargo.toml",
            "[package]\nname = \"tea\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
        ),
        (
            "src/lib.rs",
            "pub fn cups() -> u8 { 3 }\n#[test]\nfn there_are_three() { assert_eq!(cups(), 3); }\n",
        ),
    ];
    let command =
        "cargo build --offline && cargo test --offline && cargo fmt --check; cargo --version";
    let result = in_project(&files, command).await;
    assert!(result.contains("test there_are_three ... ok"), "{result}");
}

// proves TL-6
#[tokio::test]
async fn needs_npm_a_node_project_is_tested_in_the_sandbox() {
    if !is_provable("needs_npm_a_node_project_is_tested_in_the_sandbox").await {
        return;
    }
    let files = [
        (
            "package.json",
            "{\"name\": \"tea\", \"scripts\": {\"test\": \"node --test\"}}",
        ),
        (
            "tea.test.js",
            "const {test} = require('node:test'); const http = require('node:http');\n\
            test('a server answers', (_, done) => { const s = http.createServer((_, r) => r.end('tea'));\n\
            s.listen(0, '127.0.0.1', () => http.get({port: s.address().port}, () => { s.close(); done(); })); });\n",
        ),
    ];
    let result = in_project(&files, "npm test && ls -A").await;
    assert!(
        result.starts_with("exit code 0")
            && result.contains("# pass 1")
            && !result.contains(".npm"),
        "{result}"
    );
}

// proves TL-6
#[tokio::test]
async fn needs_python_a_python_project_is_tested_in_the_sandbox() {
    if !is_provable("needs_python_a_python_project_is_tested_in_the_sandbox").await {
        return;
    }
    let files = [(
        "test_tea.py",
        "import unittest, tempfile, subprocess\nclass Tea(unittest.TestCase):\n    def test_it(self):\n        \
         tempfile.NamedTemporaryFile()\n        self.assertEqual(subprocess.check_output(['echo', 'tea']), b'tea\\n')\n",
    )];
    let result = in_project(&files, "python3 -m unittest -v").await;
    assert!(
        result.starts_with("exit code 0") && result.contains("OK"),
        "{result}"
    );
}
