//! `samovar sessions search` at terminals of several widths, and for programs.

use samovar_model_server::say;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::setup::{program, with_model};

// proves AS-27, FC-1
#[tokio::test]
async fn a_search_fits_the_terminal_which_obeys_nothing_that_was_found() {
    let hostile = "\u{1b}]0;gone\u{7}\u{1b}[2Ja copper kettle on the stove, and beside it 两把茶壶";
    let (program, _model) = with_model([say(hostile).forever()]).await;
    program.run(["run", "boil water"]).await.exits(0);
    for columns in [40, 200] {
        let seat = program.seat(["sessions", "search", "KETTLE stove"]);
        let left = seat.columns(columns).start().leaves().await.exits(0);
        for sequence in ["\u{1b}]", "\u{7}", "\u{1b}[2J"] {
            assert!(!left.written.contains(sequence), "{left:?}");
        }
        let lines = left.screen.lines();
        let widest = lines.map(UnicodeWidthStr::width).max();
        assert!(widest <= Some(columns.into()), "{left:?}");
        assert!(left.screen.contains("copper"), "{left:?}");
    }
}

// proves AS-27, FC-10
#[tokio::test]
async fn a_search_answers_programs_and_says_when_there_is_nothing_or_more() {
    let program = program();
    program.run(["run", "what is 2+3"]).await.exits(0);
    program.run(["run", "what is 2+4"]).await.exits(0);
    let found = async |args: &[&str]| {
        let args = ["sessions", "search"].iter().chain(args);
        program.run(args).await.exits(0)
    };
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();

    let hits = read(&found(&["what 2", "--json"]).await.stdout);
    assert_eq!(
        (&hits["schema"], &hits["indexed"]),
        (&json!("samovar.hits/1"), &json!(true))
    );
    let items = hits["items"].as_array().unwrap();
    let texts: Vec<_> = items.iter().map(|hit| &hit["text"]).collect();
    assert_eq!(texts[..2], ["what is 2+4", "what is 2+3"], "{hits}");
    let lines = found(&["what 2", "--jsonl", "--limit", "1"]).await.stdout;
    assert_eq!(read(&lines)["messageId"], items[0]["messageId"]);
    let everywhere = read(&found(&["what 2", "--all", "--json"]).await.stdout);
    assert_eq!(everywhere["items"][0]["items"], hits["items"]);

    let first = found(&["what 2", "--limit", "1"]).await;
    assert!(
        first.stderr.contains("only the best 1 are shown"),
        "{first:?}"
    );
    let none = found(&["--", "-nothing *"]).await;
    assert!(
        none.stderr.contains("no message has \"-nothing *\""),
        "{none:?}"
    );
    assert_eq!(none.stdout, "");
    program.run(["sessions", "search"]).await.exits(2);
}
