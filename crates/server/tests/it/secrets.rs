//! Keys in the real stores, in files that tools read and write, and in refusals.

use std::path::Path;

use reqwest::Method;
use samovar_core::redact::{self, Secret};
use samovar_core::{Code, Error};
use samovar_doubles::spellings::{self, KEY, Spelling};
use samovar_model_server::{call, say};
use samovar_testkit::{App, AppBuilder};
use samovar_wire::agent::ErrorBody;
use serde_json::{Value, json};

use crate::shown::{results, told};

/// Keys of others, which a model may have to write.
const ENV: &str = "AWS_ACCESS_KEY_ID=AKIAABCDEFGHIJKLMNOP\n\
    GITHUB_TOKEN=ghp_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z\n\
    DATABASE_URL=postgres://app:pa55w0rd@db/x\n\
    PASSWORD=hunter2hunter2\n\
    JWT=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27\n";

/// The files of a folder, one after the other.
fn bytes(folder: &Path, out: &mut Vec<u8>) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            bytes(&path, out);
        } else {
            out.extend(std::fs::read(&path).unwrap());
        }
    }
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|found| found == text.as_bytes())
}

/// A server with this key of its provider.
async fn app(script: Vec<samovar_model_server::Reply>) -> App {
    let key = Secret::new(KEY).unwrap();
    let with_key = |config: &mut samovar_server::Config| {
        config.providers.keys.insert("custom".to_owned(), key);
    };
    AppBuilder::new().with(with_key).start(script).await
}

// proves TL-14
#[tokio::test]
async fn a_file_of_keys_that_are_not_ours_is_read_and_written_back_unchanged() {
    let script = vec![
        call("read_file", json!({"path": ".env"})),
        call("write_file", json!({"path": ".env", "content": ENV})),
        say("done"),
    ];
    let app = app(script).await;
    let file = app.workspace().join(".env");
    std::fs::write(&file, ENV).unwrap();
    let session = app.session().await;

    let frames = app.turn(&session, "read it and write it back").await;

    assert_eq!(std::fs::read_to_string(&file).unwrap(), ENV);
    let results = results(&frames);
    assert!(results[1].contains("wrote .env"), "{results:?}");
    let prompts = app.model.prompts();
    let told = told(prompts[1].body());
    for line in ENV.lines() {
        assert!(results[0].contains(line), "{results:?}");
        assert!(told[0].contains(line), "{told:?}");
    }
}

// proves TL-14
#[tokio::test]
async fn our_own_key_in_a_file_reaches_neither_the_model_a_store_nor_a_client() {
    let marked = "KEY=[redacted: CUSTOM_API_KEY]\nOTHER=ghp_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1\n";
    let script = vec![
        call("read_file", json!({"path": ".env"})),
        call("search_files", json!({"pattern": "KEY="})),
        call("write_file", json!({"path": ".env", "content": marked})),
        call(
            "edit_file",
            json!({"path": ".env", "old": "OTHER=", "new": "SAME="}),
        ),
        say(format!("It is {KEY}, and the door's is {}", app_token())),
    ];
    let mut app = app(script).await;
    let file = app.workspace().join(".env");
    let content = marked.replace("[redacted: CUSTOM_API_KEY]", KEY);
    std::fs::write(&file, &content).unwrap();
    let session = app.session().await;

    let frames = app.turn(&session, &format!("my key is {KEY}")).await;
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    let request = app.request(Method::POST, "/api/tools/read_file/call");
    let by_hand = app
        .answer(request.json(&json!({"args": {"path": ".env"}})))
        .await;
    let unknown = app.get(&format!("/api/tools/{}", app_token())).await;

    let results = results(&frames);
    assert!(
        results[0].contains("KEY=[redacted: CUSTOM_API_KEY]"),
        "{results:?}"
    );
    assert!(
        results[0].contains("ghp_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1"),
        "{results:?}"
    );
    assert!(results[2].contains("would lose that key"), "{results:?}");
    assert!(results[3].starts_with("edited .env"), "{results:?}");
    let now = std::fs::read_to_string(&file).unwrap();
    assert_eq!(now, content.replace("OTHER=", "SAME="));
    let prompts = app.model.prompts();
    let last: &Value = prompts[4].body();
    let frames = format!("{frames:?}");
    assert!(unknown.status >= 400, "{unknown:?}");
    let shown = [
        frames,
        rows.to_string(),
        last.to_string(),
        format!("{by_hand:?} {unknown:?}"),
    ];
    let data_dir = app.data_dir();
    app.stop_now().await;
    // Its own token, and what an undo gives a file back, are all that it may keep.
    std::fs::remove_file(data_dir.join("token")).ok();
    std::fs::remove_dir_all(data_dir.join("undo")).ok();
    let mut kept = Vec::new();
    bytes(&data_dir, &mut kept);
    assert!(has(&kept, "ghp_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1") && has(&kept, "[redacted: CUSTOM"));
    for secret in [KEY, app_token()] {
        assert!(!has(&kept, secret), "{secret}");
        for shown in &shown {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
}

fn app_token() -> &'static str {
    "a-token-for-tests-of-32-letters-"
}

// proves TL-14
#[test]
fn a_refusal_has_no_key_of_ours_in_any_format() {
    let refused = |text: &str| {
        let error = Error::new(Code::InvalidParams, format!("unknown tool {text}"));
        let body = ErrorBody::from(&error.with_details(json!([text])));
        let details = body.details.unwrap();
        [body.error, details[0].as_str().unwrap().to_owned()]
    };
    let all = spellings::of(KEY);
    let ours: Vec<_> = all
        .iter()
        .filter(|one| one.name.starts_with("base64"))
        .collect();
    for Spelling { name, text, needle } in ours {
        assert!(refused(text)[0].contains(needle), "a refusal has {name}");
    }

    redact::protect("K", &Secret::new(KEY).unwrap());

    for Spelling { name, text, needle } in all {
        for shown in refused(&text) {
            assert!(
                !shown.contains(&needle) && !shown.contains(KEY),
                "{name}: {shown}"
            );
        }
    }
}
