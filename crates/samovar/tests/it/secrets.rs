//! Keys and tokens are in no output, whatever is said and however much is logged.

use std::path::Path;

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

    hides_both(&program.run(["doctor"]).await);
    hides_both(&program.run(["doctor", "--json"]).await);
    hides_both(&program.run(["run", "--help"]).await);
    let good = program.run(["run", "-v", "go"]).await;
    assert_eq!(good.code, Some(0), "{good:?}");
    hides_both(&good);
    let refused = program.run(["run", "-v", "go"]).await;
    assert_eq!(refused.code, Some(5), "{refused:?}");
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
    let said = server.end().await;
    assert_eq!(said.code, Some(0), "{said:?}");
    hides_both(&said);
    assert!(!banner.contains(TOKEN) && !banner.contains(KEY), "{banner}");
    for folder in [program.folder(), program.home()] {
        assert_eq!(holders(&folder, KEY), [""; 0]);
        assert_eq!(holders(&folder, TOKEN), [""; 0]);
    }
}
