//! The rows of a study log as CSV (RFC 4180), for whoever counts them.
//!
//! What agents and hosts wrote stands in cells, and a spreadsheet runs what looks like a formula:
//! such a cell begins with an apostrophe.

use serde_json::Value;

/// The columns: the fields of a row, and of its payload what is counted most.
const COLUMNS: [(&str, &str); 15] = [
    ("sessionId", "/sessionId"),
    ("eventIndex", "/eventIndex"),
    ("timestamp", "/timestamp"),
    ("direction", "/direction"),
    ("type", "/type"),
    ("relaySessionId", "/relaySessionId"),
    ("role", "/role"),
    ("member", "/member"),
    ("id", "/id"),
    ("replyTo", "/replyTo"),
    ("toolName", "/payload/toolName"),
    ("reason", "/payload/reason"),
    ("text", "/payload/text"),
    ("code", "/payload/code"),
    ("payload", "/payload"),
];

/// How a cell begins that a spreadsheet would not show but run, in the forms that it takes for these
/// characters.
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// What stands in quotes: what ends a cell here, and what ends one where a spreadsheet is told, or
/// believes, that cells are separated otherwise. The rest of such a text would be a cell of its own.
const SEPARATORS: [char; 7] = [',', ';', '\t', '|', '"', '\r', '\n'];

/// The names of the columns, with the end of their line.
pub(super) fn head() -> String {
    line(COLUMNS.map(|(name, _)| name.to_owned()))
}

/// A row, with the end of its line.
pub(super) fn row(row: &Value) -> String {
    line(COLUMNS.map(|(_, path)| match row.pointer(path) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }))
}

fn line<const N: usize>(cells: [String; N]) -> String {
    cells.map(|text| cell(&text)).join(",") + "\r\n"
}

fn cell(text: &str) -> String {
    let guard = if text.starts_with(FORMULA) { "'" } else { "" };
    if text.contains(SEPARATORS) {
        return format!("\"{guard}{}\"", text.replace('"', "\"\""));
    }
    format!("{guard}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    // proves RL-17
    #[test]
    fn a_cell_is_read_as_it_was_written_and_never_run() {
        for (text, written) in [
            ("", ""),
            ("plain words", "plain words"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "\"'\t=1\""),
            ("a;=1+1", "\"a;=1+1\""),
            ("a\t=1+1", "\"a\t=1+1\""),
            ("a|=1+1", "\"a|=1+1\""),
            ("\r\n=1", "\"'\r\n=1\""),
            (
                "=HYPERLINK(\"http://x\",\"y\")",
                "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"",
            ),
            ("＝1", "'＝1"),
            ("1-2", "1-2"),
            ("'=1", "'=1"),
        ] {
            assert_eq!(cell(text), written, "{text:?}");
        }
    }

    // proves RL-17
    #[test]
    fn a_row_has_a_cell_for_each_column() {
        let call = json!({
            "sessionId": "s-1", "eventIndex": 3, "timestamp": "2026-11-22T10:00:00.000Z",
            "direction": "in", "type": "tool.call", "role": "agent", "member": 2, "id": "r1",
            "payload": {"toolName": "select", "params": {"itemId": "m1"}, "reason": "=first"},
        });
        let columns = head().matches(',').count();
        assert_eq!(columns, 14);
        assert_eq!(
            row(&call),
            "s-1,3,2026-11-22T10:00:00.000Z,in,tool.call,,agent,2,r1,,select,'=first,,,\
             \"{\"\"toolName\"\":\"\"select\"\",\"\"params\"\":{\"\"itemId\"\":\"\"m1\"\"},\
             \"\"reason\"\":\"\"=first\"\"}\"\r\n"
        );
        assert_eq!(row(&json!({})).matches(',').count(), columns);
        assert!(row(&json!({"payload": {"text": 7}})).contains(",7,"));
    }
}
