//! Files with keys: of others, which tools pass on as they are, and our own, which a model never sees.

use std::fs;
use std::os::unix::fs::symlink;

use samovar_core::CallFacts;
use samovar_core::redact::{self, Secret};
use samovar_tools::RecorderBounds;
use serde_json::json;

use crate::yard::Yard;

/// What toolchains leave in a home folder, with secrets in it and without.
const PLANTED: &str = include_str!("../../../sandbox/tests/it/cage/toolchains.tsv");

// proves TL-6, TL-8
#[tokio::test]
async fn no_tool_shows_a_secret_of_a_toolchain() {
    let yard = Yard::new();
    let home = yard.outside("person");
    let rows: Vec<Vec<&str>> = PLANTED
        .lines()
        .skip(1)
        .map(|row| row.split('\t').collect())
        .collect();
    for row in &rows {
        let path = home.join(row[1]);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, row[2].replace("{n}", "\n").replace("{t}", "\t")).unwrap();
    }
    let link = home.join(".nvm/versions/node/v22.1.0/npmrc");
    symlink("../../../own-settings", link).unwrap();
    let data = yard.ws("data");
    let yard = yard.commanding_in(&data, RecorderBounds::default());
    // Without a sandbox a command has this folder of the machine.
    let sandbox = json!({"command": "ls -d /var/log"});
    if yard
        .call("exec", sandbox)
        .await
        .text
        .starts_with("exit code 0")
    {
        println!("not provable here: no sandbox");
        return;
    }
    let mut shown = 0;
    for row in rows {
        let path = home.join(row[1]);
        let folder = path.parent().unwrap();
        let cat = json!({ "command": format!("cat '{}'", path.display()) });
        for (tool, args, reads) in [
            ("read_file", json!({ "path": path }), true),
            ("list_dir", json!({ "path": folder }), true),
            (
                "search_files",
                json!({"path": folder, "pattern": "."}),
                true,
            ),
            ("exec", cat.clone(), true),
            ("exec", cat, false),
        ] {
            let call = yard.call_with("call", tool, args, &mut |context| {
                context.facts = Some(CallFacts {
                    reads,
                    ..CallFacts::default()
                });
            });
            let text = call.await.text;
            assert!(
                !text.contains("SECRET"),
                "{tool} {reads} {}: {text}",
                row[1]
            );
            shown += usize::from(text.contains("PLAIN"));
        }
    }
    // Programs by both kinds of commands, and caches by one.
    assert_eq!(shown, 8 * 2 + 9);
}

const KEY: &str = "sk-Zq7-our-own-key-00";

// proves TL-14
#[tokio::test]
async fn a_file_is_not_given_a_mark_in_the_place_of_our_key() {
    redact::protect("OPENAI_API_KEY", &Secret::new(KEY).unwrap());
    let before = format!("A=1\nOPENAI_API_KEY={KEY}\nB=2\n");
    let yard = Yard::with(&[(".env", &before)]);
    let marked = "A=1\nOPENAI_API_KEY=[redacted: OPENAI_API_KEY]\nB=3\n";
    let write = json!({"path": ".env", "content": marked});
    let edit = json!({"path": ".env", "old": "B=2", "new": "C=[redacted: OPENAI_API_KEY]"});
    let find =
        json!({"path": ".env", "old": "OPENAI_API_KEY=[redacted: OPENAI_API_KEY]", "new": ""});

    for (tool, args) in [
        ("write_file", write),
        ("edit_file", edit),
        ("edit_file", find),
    ] {
        let why = yard.refusal(tool, args).await;
        assert!(
            why.contains("would lose that key; nothing was changed"),
            "{why}"
        );
        assert_eq!(yard.content(".env"), before);
    }

    let edit = json!({"path": ".env", "old": "B=2", "new": "B=3 # [redacted: OTHER]"});
    yard.done("edit_file", edit).await;
    assert_eq!(
        yard.content(".env"),
        before.replace("B=2", "B=3 # [redacted: OTHER]")
    );
}
