//! A disk that fails under a running server: what is told, and that it restarts in its place. The
//! failure is made by `strace`, which answers a system call in the kernel's stead.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use samovar_model_server::{ModelServer, say};
use samovar_testkit::{Program, Serving};
use serde_json::json;

/// Without it the model's server answers nothing.
const KEY: &str = "sk-a-key-that-outlives-a-restart";
const BINARY: &str = env!("CARGO_BIN_EXE_samovar");

/// Whether a call can be made to fail here.
#[expect(clippy::print_stderr, reason = "what is not tested is said")]
fn can_fail() -> bool {
    let inject = "--inject=fdatasync:error=EIO";
    let tried = Command::new("strace")
        .args(["-qq", inject, "true"])
        .output();
    let can = tried.is_ok_and(|tried| tried.status.success());
    if !can {
        eprintln!("NOT TESTED: strace is missing, or may not trace here");
    }
    can
}

/// A server whose journal cannot sync the `when`th time that one of its threads tries.
async fn failing(when: &str, model: &ModelServer) -> ([Program; 2], Serving) {
    let place = Program::new(BINARY);
    let wrapper = place.folder().join("wrapper");
    let script = format!(
        "#!/bin/sh\nexec strace -f -qq -o strace.log --trace=fdatasync \
         --inject=fdatasync:error=EIO:when={when} {BINARY} \"$@\"\n"
    );
    std::fs::write(&wrapper, script).unwrap();
    let program = Program::new(wrapper.to_str().unwrap())
        .set("CUSTOM_BASE_URL", &model.base_url())
        .set("CUSTOM_API_KEY", KEY)
        .set("AGENT_MODEL", "custom/scripted")
        .set("DATA_DIR", data(&place).to_str().unwrap());
    std::fs::set_permissions(
        &wrapper,
        std::os::unix::fs::PermissionsExt::from_mode(0o700),
    )
    .unwrap();
    // It ends with `strace`, however that ends.
    let serving = program.serve(&["--with-parent"]).await;
    ([place, program], serving)
}

fn data(place: &Program) -> PathBuf {
    place.folder().join("data")
}

/// The process that holds the data directory.
fn holder(place: &Program) -> String {
    std::fs::read_to_string(data(place).join("lock")).unwrap()
}

/// What the system shows root of the environment that a process was started with.
fn environment(process: &str) -> Option<String> {
    let environ = std::fs::read(format!("/proc/{}/environ", process.trim()));
    let is_root = rustix::process::geteuid().is_root();
    is_root.then(|| String::from_utf8(environ.unwrap()).unwrap())
}

// proves DU-12, TL-14
#[tokio::test]
async fn a_failed_sync_is_final_and_the_server_boots_anew_in_its_place() {
    if !can_fail() {
        return;
    }
    let model = ModelServer::builder().key(KEY);
    let model = model.start([say("an answer").forever()]).await.unwrap();
    // Session, message, end; the next message is the one that is not synced.
    let ([place, _program], serving) = failing("4", &model).await;
    let before = holder(&place);
    serving.ok("createSession", json!({"sessionId": "s"})).await;
    serving.turn("s", "first").await;

    let message = json!({"sessionId": "s", "content": "second", "messageId": "m"});
    let refused = serving.call("sendMessage", message.clone()).await;

    assert_eq!(
        (refused.status, refused.code()),
        (507, "store_failed"),
        "{refused:?}"
    );
    // Nobody listens for a moment, and then the same process does, at the same address. Nobody
    // knocks meanwhile: who connects to a free port of this machine can meet itself there.
    let address = data(&place).join("server.json");
    for is_there in [false, true] {
        while address.exists() != is_there {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    assert_eq!(holder(&place), before, "another process");
    if let Some(environment) = environment(&before) {
        assert!(
            environment.contains("SAMOVAR_BOOTED_AGAIN="),
            "{environment}"
        );
        assert!(!environment.contains(KEY), "{environment}");
    }
    let said = serving.ok("sendMessage", message).await;
    assert_eq!(said["text"], "an answer", "{said}");
    let rows = serving.ok("getMessages", json!({"sessionId": "s"})).await;
    let said: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["content"])
        .collect();
    assert_eq!(said, ["first", "an answer", "second", "an answer"]);
}
