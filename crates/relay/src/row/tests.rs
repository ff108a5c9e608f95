//! Rows as they are written, read and checked.

use std::sync::Arc;

use serde_json::json;

use super::*;

fn row(direction: Direction, kind: &'static str, payload: &Value) -> NewRow {
    NewRow {
        at: Millis(1_770_978_137_123),
        direction,
        kind,
        payload: Arc::new(CheckedPayload::of(payload.as_object().unwrap())),
        role: None,
        member: None,
        id: None,
        reply_to: None,
    }
}

fn written(rows: &[NewRow]) -> Vec<String> {
    let (mut lines, mut check) = (String::new(), String::new());
    for (index, new) in (0..).zip(rows) {
        let place = RowPosition {
            session: "s-20260213-001",
            room: "a \"room\"",
            index,
            previous: &check,
        };
        check = append(&mut lines, new, &place);
    }
    lines.lines().map(str::to_owned).collect()
}

fn three() -> Vec<NewRow> {
    let call = json!({"toolName": "select", "params": {"z": 1.0, "a": ["é\n", null, 1e300]}});
    let whole = NewRow {
        role: Some(RelayRole::Agent),
        member: Some(2),
        id: Some("req-\u{1}".to_owned()),
        reply_to: Some("\"".to_owned()),
        ..row(Direction::In, "tool.call", &call)
    };
    let of_host = NewRow {
        role: Some(RelayRole::Host),
        ..row(Direction::Out, "tool.call", &json!({"b": {}, "a": -0.0}))
    };
    vec![
        whole,
        of_host,
        row(Direction::Internal, note::ENDED, &json!({})),
    ]
}

fn broken_at(lines: &[String]) -> Option<usize> {
    let mut previous = String::new();
    lines.iter().enumerate().position(|(index, line)| {
        let Ok(row) = serde_json::from_str::<Row>(line) else {
            return true;
        };
        let wanted = check(&previous, &row);
        previous.clone_from(&row.check);
        row.check != wanted || row.event_index != index as u64
    })
}

// proves RL-14
#[test]
fn a_row_has_its_fields_in_their_order_and_its_payload_word_for_word() {
    let lines = written(&three());
    let begin = r#"{"sessionId":"s-20260213-001","eventIndex":0,"timestamp":"2026-02-13T10:22:17.123Z","direction":"in","type":"tool.call","payload":{"toolName":"select","params":{"z":1.0,"a":["é\n",null,1e+300]}},"relaySessionId":"a \"room\"","role":"agent","member":2,"id":"req-\u0001","replyTo":"\"","check":""#;
    assert!(lines[0].starts_with(begin), "{}", lines[0]);
    assert!(lines[2].contains(r#""relaySessionId":"a \"room\"","check":""#));
    for line in &lines {
        let row: Row = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&row).unwrap(), *line);
        assert_eq!(at(&row), Some(Millis(1_770_978_137_123)));
    }
    assert_eq!(broken_at(&lines), None);
    let pretty = |line: &String| {
        let row: Value = serde_json::from_str(line).unwrap();
        format!("{row:#}")
    };
    let formatted: Vec<_> = lines.iter().map(pretty).collect();
    assert_eq!(
        broken_at(&formatted),
        None,
        "it counts what is said, not how"
    );
}

// proves RL-17
#[test]
fn one_byte_that_was_changed_is_found_at_its_row() {
    let lines = written(&three());
    for (row, line) in lines.iter().enumerate() {
        for at in 0..line.len() {
            for byte in [b'0', b'a', b'"', b' '] {
                let mut bytes = line.clone().into_bytes();
                if bytes[at] == byte {
                    continue;
                }
                bytes[at] = byte;
                let Ok(text) = String::from_utf8(bytes) else {
                    continue;
                };
                // Another spelling of the same number says the same.
                let parsed: Option<Row> = serde_json::from_str(&text).ok();
                let says_the_same = parsed.is_some_and(|row| json(&row) == *line);
                let mut changed = lines.clone();
                changed[row] = text;
                let found = broken_at(&changed);
                assert_eq!(found, (!says_the_same).then_some(row), "{}", changed[row]);
            }
        }
    }
    let mut missing = lines.clone();
    missing.remove(1);
    assert_eq!(broken_at(&missing), Some(1));
    let mut swapped = lines.clone();
    swapped.swap(0, 1);
    assert_eq!(broken_at(&swapped), Some(0));
}

#[test]
fn a_row_of_somebody_else_is_read_without_what_only_we_write() {
    let line = r#"{"sessionId":"s-1","eventIndex":12,"timestamp":"2026-02-13T10:22:17.123Z","direction":"in","type":"tool.call","payload":{}}"#;
    let row: Row = serde_json::from_str(line).unwrap();
    assert_eq!(
        (row.event_index, row.check.as_str(), row.role),
        (12, "", None)
    );
    assert_eq!(serde_json::to_string(&row).unwrap(), line);
}
