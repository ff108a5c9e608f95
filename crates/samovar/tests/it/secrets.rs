//! Keys and tokens are in no output, whatever is said and however much is logged.

use std::path::Path;
use std::time::Duration;

use rustix::process::Pid;
use samovar_model_server::{Failure, ModelServer, fail, say};
use samovar_testkit::{Finished, Signal};

use crate::setup::program;

const KEY: &str = "sk-the-key-that-nobody-may-see-01";
const TOKEN: &str = "the-token-that-nobody-may-see-02";

#[track_caller]
fn hides_both(said: &Finished) {
    for secret in [KEY, TOKEN] {
        assert!(!said.stdout.contains(secret), "{said:?}");
        assert!(!said.stderr.contains(secret), "{said:?}");
    }
}

/// The files below a folder that hold a text.
fn holders(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holders(&path, text));
        } else if holds(&std::fs::read(&path).unwrap(), text) {
            found.push(path.display().to_string());
        }
    }
    found
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

/// What the system shows of a process: a file of `/proc`, without its zero bytes.
fn shown(process: Pid, file: &str) -> String {
    let path = format!("/proc/{}/{file}", process.as_raw_nonzero());
    let bytes = std::fs::read(path).unwrap();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

/// Reads another process as one without the right of root to do so.
const PLAIN: &str = "setpriv --bounding-set=-sys_ptrace";

// proves TL-14
#[tokio::test]
async fn no_other_process_of_its_user_reads_the_memory_of_a_server() {
    let is_root = rustix::process::geteuid().is_root();
    let starter = if is_root { PLAIN } else { "env" };
    let reads = |process: Pid| {
        let open = format!(": < /proc/{}/mem", process.as_raw_nonzero());
        let words = starter.split(' ').chain(["sh", "-c", open.as_str()]);
        let words: Vec<_> = words.collect();
        let read = std::process::Command::new(words[0])
            .args(&words[1..])
            .output();
        read.unwrap().status.success()
    };
    let program = program().started_by(starter);
    let server = program.serve(&[]).await;
    assert!(!reads(server.pid()));

    let words = starter.split(' ').chain(["sleep", "600"]);
    let words: Vec<_> = words.collect();
    let mut other = std::process::Command::new(words[0]);
    let mut other = other.args(&words[1..]).spawn().unwrap();
    // Until it is `sleep` it is the starter, which still has the right.
    while shown(Pid::from_child(&other), "comm") != "sleep\n" {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let is_read = reads(Pid::from_child(&other));
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(is_read, "the border");
}

// proves TL-14
#[tokio::test]
async fn a_server_has_its_keys_and_its_environment_has_none() {
    let model = ModelServer::builder().key(KEY);
    let model = model.start([say("fine")]).await.unwrap();
    let base = model
        .base_url()
        .replace("http://", "http://me:a-pass-word@");
    let program = program()
        .set("CLAUDE_API_KEY", "sk-of-another-provider-03")
        .set("AGENT_MODEL", "openai/gpt-5-mini")
        .set("COHERE_API_KEY", "sk-of-a-provider-without-a-row")
        .set("SAMOVAR__PROVIDERS__CUSTOM__API_BASE", &base)
        .set("OPENAI_API_KEY", KEY)
        .set("OPENAI_BASE_URL", &model.base_url())
        .set("SAMOVAR_TOKEN", TOKEN)
        .set("HTTPS_PROXY", "proxy-user:a-pass-word@127.0.0.1:9")
        .set("NO_PROXY", "direct.example")
        // What a parent has left is of another process.
        .set("SAMOVAR_KEYS", "1:3");

    let server = program.serve(&["--approval", "auto"]).await;

    // Only root sees more of it.
    if rustix::process::geteuid().is_root() {
        let environ = shown(server.pid(), "environ");
        for secret in [KEY, TOKEN, "sk-of-", "a-pass-word"] {
            assert!(!environ.contains(secret), "{secret}: {environ}");
        }
        for other in ["OPENAI_BASE_URL=", "HOME=", "NO_PROXY="] {
            assert!(environ.contains(other), "{other}: {environ}");
        }
        let descriptors = format!("/proc/{}/fd", server.pid().as_raw_nonzero());
        for descriptor in std::fs::read_dir(descriptors).unwrap().flatten() {
            let leads_to = std::fs::read_link(descriptor.path()).unwrap_or_default();
            assert!(
                !leads_to.to_string_lossy().contains("memfd"),
                "{leads_to:?}"
            );
        }
    }
    assert_eq!(shown(server.pid(), "comm"), "samovar\n");
    let words = shown(server.pid(), "cmdline");
    assert!(
        words.ends_with("samovar serve --port 0 --approval auto "),
        "{words}"
    );
    // With the token of the environment, and the key of the environment.
    let session = server.session().await;
    let frames = format!("{:?}", server.turn(&session, "go").await);
    assert!(frames.contains("fine"), "{frames}");
    // Where a key comes from is still known.
    let program = program.set("GROQ_API_KEY", "sk-of-another-provider-04");
    let models = program.run(["models", "list"]).await;
    assert!(
        models
            .stderr
            .contains("it was started without GROQ_API_KEY"),
        "{models:?}"
    );
    let explained = program.run(["config", "explain", "server.token"]).await;
    assert!(explained.stdout.contains("SAMOVAR_TOKEN"), "{explained:?}");
}

// proves TL-14
#[tokio::test]
async fn keys_that_cannot_be_handed_over_are_used_and_that_is_said() {
    let model = ModelServer::builder().key(KEY);
    let model = model.start([say("fine")]).await.unwrap();
    let program = program()
        .set("OPENAI_API_KEY", KEY)
        .set("OPENAI_BASE_URL", &model.base_url());
    // No descriptor is left for the memory beside the program itself.
    let none = program.limited(4, 4096);

    let said = none.run(["run", "go"]).await;

    assert!(
        said.stderr.contains("your keys stay in the environment"),
        "{said:?}"
    );
    assert!(!said.stderr.contains(KEY), "{said:?}");
    assert_eq!(
        (said.code, said.stdout.trim()),
        (Some(0), "fine"),
        "{said:?}"
    );
}

// proves TL-14
#[tokio::test]
async fn lost_keys_are_no_start_without_keys() {
    let program = program().set("OPENAI_API_KEY", KEY);
    let mut command = tokio::process::Command::new("/bin/sh");
    let started = program.command(["run", "go"]);
    let binary = started.as_std().get_program();
    command
        .args(["-c", r#"SAMOVAR_KEYS="$$:9" exec "$0" run go"#])
        .arg(binary)
        .env_clear()
        .env("HOME", program.home())
        .current_dir(program.folder());
    let command = piped(command);

    let said = Finished::with_stdin(command, None).await.exits(3);
    assert!(said.stderr.contains("[keys_lost]"), "{said:?}");
}

fn piped(mut command: tokio::process::Command) -> tokio::process::Command {
    use std::process::Stdio;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

// proves TL-11
#[tokio::test]
async fn no_command_shows_or_keeps_a_key_or_a_token() {
    // The second answer is a server's that repeats the key it was given.
    let echo = Failure::new(401, format!("Incorrect API key provided: {KEY}."));
    let model = ModelServer::builder().key(KEY);
    let model = model
        .start([say("fine"), fail(echo.clone()), say("fine"), fail(echo)])
        .await
        .unwrap();
    let program = program()
        .set("OPENAI_API_KEY", KEY)
        .set("OPENAI_BASE_URL", &model.base_url())
        .set("SAMOVAR_TOKEN", TOKEN)
        .set("SAMOVAR_LOG", "trace");

    hides_both(&program.run(["doctor", "-v"]).await);
    hides_both(&program.run(["doctor", "--json"]).await);
    hides_both(&program.run(["run", "--help"]).await);
    let good = program.run(["run", "-v", "go"]).await.exits(0);
    hides_both(&good);
    let refused = program.run(["run", "-v", "go"]).await.exits(5);
    assert!(refused.stderr.contains("[provider_auth]"), "{refused:?}");
    hides_both(&refused);

    let server = program.serve(&[]).await;
    let banner = server.banner.clone();
    let session = server.session().await;
    server.turn(&session, "go").await;
    let frames = format!("{:?}", server.turn(&session, "go").await);
    assert!(frames.contains("provider_auth"), "{frames}");
    assert!(!frames.contains(KEY), "{frames}");
    server.send(Signal::TERM);
    let said = server.end().await.exits(0);
    hides_both(&said);
    assert!(!banner.contains(TOKEN) && !banner.contains(KEY), "{banner}");
    for folder in [program.folder(), program.home()] {
        assert_eq!(holders(&folder, KEY), [""; 0]);
        assert_eq!(holders(&folder, TOKEN), [""; 0]);
    }
}
