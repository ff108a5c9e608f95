//! What it can do, and what it leaves behind.

use std::path::Path;
use std::sync::Arc;

use samovar_core::{Approval, Outcome, ToolReply, Toolset};
use samovar_model_server::{call, say};
use samovar_testkit::{App, AppBuilder, TestTool};
use serde_json::json;

use super::{chat, hears, offered, said};

// proves CH-9
#[tokio::test]
async fn it_works_with_the_servers_tools_at_the_servers_approval_level() {
    let write = call("write_file", json!({"path": "a.txt", "content": "written"}));
    for (level, is_written) in [(Approval::Auto, true), (Approval::ReadOnly, false)] {
        let app = AppBuilder::new()
            .with(|config| config.settings.approval = level)
            .start([write.clone(), say("So it is.")])
            .await;
        let chat = chat(&app);
        chat.post_user("write it").await.unwrap();
        hears(&chat, "So it is.").await;
        let path = app.workspace().join("a.txt");
        assert_eq!(path.is_file(), is_written, "{level:?}");
        if !is_written {
            let prompts = app.model.prompts();
            let told = said(prompts[1].body());
            assert!(told[2].1.contains("denied"), "{told:?}");
        }
    }
}

// proves CH-9
#[tokio::test]
async fn it_has_the_tools_that_come_and_go_but_none_that_is_answered_elsewhere() {
    let app = AppBuilder::new()
        .tools(TestTool::asks("elsewhere").build())
        .start([
            say("One."),
            call("late", json!({})),
            say("Two."),
            say("Three."),
        ])
        .await;
    let chat = chat(&app);
    chat.post_user("1").await.unwrap();
    hears(&chat, "One.").await;
    let toolbox = app.server().home().engine().toolbox();
    let late: Arc<dyn Toolset> = TestTool::new("late", |_, _| async {
        ToolReply::Closed(Outcome::done("it works"))
    })
    .build();
    toolbox.add(&late).unwrap();
    chat.post_user("2").await.unwrap();
    hears(&chat, "Two.").await;
    toolbox.remove("late");
    chat.post_user("3").await.unwrap();
    hears(&chat, "Three.").await;

    let prompts = app.model.prompts();
    let has = |prompt: usize, name: &str| offered(prompts[prompt].body()).contains(&name);
    for (prompt, has_late) in [(0, false), (1, true), (3, false)] {
        assert_eq!(has(prompt, "late"), has_late, "prompt {prompt}");
        assert!(has(prompt, "ask_user") && has(prompt, "post_message"));
        assert!(has(prompt, "write_file"));
        assert!(!has(prompt, "elsewhere"));
    }
    assert_eq!(said(prompts[2].body()).last(), Some(&("tool", "it works")));
}

// proves CH-1, CH-11
#[tokio::test]
async fn nothing_of_it_reaches_the_disk_and_no_session_is_made() {
    let asks = call("ask_user", json!({"question": "xyzzy question"}));
    let mut app = App::start([asks, say("xyzzy end.")]).await;
    let chat = chat(&app);
    let commits = app.server().home().commits();
    chat.post_user("xyzzy start").await.unwrap();
    super::sees(&chat, |said| said.text == "xyzzy question").await;
    chat.post_user("xyzzy answer").await.unwrap();
    hears(&chat, "xyzzy end.").await;

    let sessions = app.ok("listSessions", json!({})).await;
    assert_eq!(sessions["items"], json!([]), "{sessions}");
    assert_eq!(app.server().home().commits(), commits);
    app.stop_now().await;
    assert_eq!(found(&app.data_dir(), b"xyzzy"), Vec::<String>::new());
}

/// The files below a folder that have these bytes in them.
fn found(folder: &Path, bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(self::found(&path, bytes));
        } else if std::fs::read(&path)
            .unwrap()
            .windows(bytes.len())
            .any(|window| window == bytes)
        {
            found.push(path.display().to_string());
        }
    }
    found
}

// proves CH-9
#[tokio::test]
async fn a_long_answer_comes_in_pieces_of_which_none_is_lost() {
    let words: Vec<_> = (0..40_000).map(|number| format!("w{number}")).collect();
    let long = words.join(" ");
    let app = App::start([say(long.clone()).deltas_of(1000), say("Short.")]).await;
    let chat = chat(&app);
    let asked = chat.post_user("say much").await.unwrap();
    super::sees(&chat, |said| said.text.ends_with("w39999")).await;

    let pieces = chat.read(asked, 100).messages;
    assert_eq!(pieces.len(), long.len().div_ceil(64 * 1024));
    let texts: Vec<_> = pieces.iter().map(|piece| piece.text.as_str()).collect();
    assert_eq!(texts.join(" "), long);
    assert!(
        pieces
            .iter()
            .all(|piece| piece.meta.reply_to == Some(asked))
    );
}
