//! The tables as somebody sees them who opens the file with SQL.

use samovar_core::message::{Outcome, Part, Status, ToolCall};
use samovar_core::{CallId, Role};
use serde_json::json;

use super::{TestHistory, asked, master, message, open, put, started, tokens};

// proves DU-15
#[tokio::test]
async fn the_tables_have_the_columns_that_are_promised() {
    let place = TestHistory::new().await;
    let columns = async |sql| place.asked(sql).join(" ");
    assert_eq!(
        columns("SELECT name FROM pragma_table_info('messages')").await,
        "id session_id turn_id role content tool_calls tool_call_id name is_error token_usage \
         parent_message_id metadata created_at"
    );
    assert_eq!(
        columns("SELECT name FROM pragma_table_info('message_parts')").await,
        "message_id idx type body"
    );
    let sessions = columns("SELECT name FROM pragma_table_info('sessions')").await;
    let promised = "id model agent metadata created_at updated_at message_count \
                    total_tokens_input total_tokens_output";
    assert!(sessions.contains(promised), "{sessions}");
    let defaults = "SELECT t.name || '.' || c.name FROM pragma_table_list AS t, \
                    pragma_table_info(t.name) AS c \
                    WHERE c.name LIKE '%id' AND c.dflt_value IS NOT NULL";
    assert_eq!(place.asked(defaults), [""; 0]);
}

/// A session with a message of every shape.
async fn talk() -> TestHistory {
    let place = TestHistory::new().await;
    let call = |id: &str| CallId::new(id).unwrap();
    let calls = [json!({"path": "."}), json!("{\"pa")]
        .into_iter()
        .enumerate();
    let calls = calls.map(|(n, args)| {
        Part::Call(ToolCall {
            id: call(&format!("c{n}")),
            name: "list_dir".to_owned(),
            args,
            provider_state: Some(json!("opaque")),
        })
    });
    let text = |text: &str| Part::text(text);
    let mut answer = message("answer", Role::Assistant, "");
    let thought = Part::Reasoning {
        text: "hm".to_owned(),
        provider_state: None,
    };
    answer.parts = [thought, text("I "), text("look")]
        .into_iter()
        .chain(calls)
        .collect();
    answer.usage = Some(tokens(20, 3));
    let result = |id: &str, status| {
        let mut result = message(id, Role::Tool, "");
        result.parts = vec![Part::Outcome {
            call: call(id),
            name: "list_dir".to_owned(),
            outcome: Outcome::new(status, "no entries").with_data(json!({"entries": 0})),
        }];
        result.parent = Some(super::message_id("answer"));
        put(result, Some("t"), master())
    };
    let log = [
        open(),
        asked("question", Some("t")),
        started("t"),
        put(answer, Some("t"), master()),
        result("c0", Status::Done),
        result("c1", Status::Unknown),
    ];
    place.project("s", (1..).zip(log).collect()).await;
    place
}

// proves DU-15
#[tokio::test]
async fn content_and_calls_are_seen_as_columns_over_the_parts() {
    let place = talk().await;
    let messages = "SELECT json_array(id, role, content, json(tool_calls), tool_call_id, name, \
                    is_error, token_usage, parent_message_id) FROM messages";
    let calls = json!([
        {"id": "c0", "name": "list_dir", "args": {"path": "."}},
        {"id": "c1", "name": "list_dir", "args": "{\"pa"},
    ]);
    let result = |id, is_error| {
        let text = "no entries";
        json!([
            id, "tool", text, null, id, "list_dir", is_error, 0, "answer"
        ])
    };
    let seen = [
        json!(["question", "user", "hello", null, "", null, 0, 0, null]),
        json!([
            "answer",
            "assistant",
            "I look",
            calls,
            "",
            null,
            0,
            23,
            null
        ]),
        result("c0", 0),
        result("c1", 1),
    ];
    assert_eq!(place.asked(messages), seen.map(|row| row.to_string()));
    let rest = "SELECT DISTINCT json_array(session_id, turn_id, json(metadata), created_at) \
                FROM messages";
    assert_eq!(place.asked(rest), [r#"["s","t",{},1000]"#]);
}

// proves DU-15
#[tokio::test]
async fn each_part_is_seen_as_a_row() {
    let place = talk().await;
    let parts = "SELECT idx || ' ' || type || ' ' || body FROM message_parts \
                 WHERE message_id = 'answer' AND idx < 2";
    let seen = [
        r#"0 reasoning {"type":"reasoning","text":"hm"}"#,
        r#"1 text {"type":"text","text":"I "}"#,
    ];
    assert_eq!(place.asked(parts), seen);
}
