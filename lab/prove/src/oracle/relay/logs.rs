//! A log for itself: every line is a row, their indexes leave none out, and each row's check is that of
//! all rows up to it. The check is computed here from its definition alone.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::observed::LogFile;
use crate::verdict::Verdict;
use crate::violation::Broken;

/// Digits of a row's check.
const CHECK_DIGITS: usize = 16;

/// Where the logs of studies are; those of rooms are elsewhere.
const STUDIES: &str = "logs/study/";

/// A log that was read.
pub(super) struct Log<'o> {
    pub(super) path: &'o str,
    pub(super) rows: Vec<Row>,
}

/// A row, and its place in its log.
pub(super) struct Row {
    pub(super) at: usize,
    fields: Map<String, Value>,
}

impl<'o> Log<'o> {
    /// Reads a log, and says what is wrong with it.
    pub(super) fn read(file: &'o LogFile, verdict: &mut Verdict) -> Self {
        let mut log = Self {
            path: &file.path,
            rows: Vec::new(),
        };
        // What stands behind the last line break is what a kill has left of a write.
        let whole = file.text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let (mut index, mut check) = (0, String::new());
        for (at, line) in whole.lines().enumerate() {
            let Ok(Value::Object(fields)) = serde_json::from_str(line) else {
                verdict.find(Broken::LogChanged, log.path, line);
                continue;
            };
            let row = Row { at, fields };
            if let Some(why) = log.objection(&row) {
                verdict.find(Broken::LogChanged, log.path, format!("{why}: {line}"));
            }
            let is_next = row.fields.get("eventIndex") == Some(&Value::from(index));
            if !is_next {
                let found = format!("{index} is missing at {line}");
                verdict.find(Broken::LogGap, log.path, found);
            }
            index = row.index().unwrap_or(index) + 1;
            if row.text("check") != Some(&row.check(&check)) {
                let found = format!("the check does not hold: {line}");
                verdict.find(Broken::LogChanged, log.path, found);
            }
            row.text("check").unwrap_or_default().clone_into(&mut check);
            log.rows.push(row);
        }
        log
    }

    /// Whether it is that of a study, not that of a room.
    pub(super) fn is_of_study(&self) -> bool {
        self.path.starts_with(STUDIES)
    }

    /// The id by which its file is named.
    pub(super) fn stem(&self) -> &'o str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        let stem = name.strip_suffix(".jsonl").unwrap_or(name);
        stem.strip_suffix(".old").unwrap_or(stem)
    }

    /// What keeps something from being a row of this log.
    fn objection(&self, row: &Row) -> Option<&'static str> {
        let is_text = |name| row.text(name).is_some_and(|text| !text.is_empty());
        if !["timestamp", "type"].into_iter().all(is_text) || !row.payload().is_object() {
            Some("a field is missing")
        } else if !matches!(row.text("direction"), Some("in" | "out" | "internal")) {
            Some("it has no direction")
        } else if row.text("sessionId") != Some(self.stem()) {
            Some("it is of another log")
        } else {
            None
        }
    }
}

impl Row {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.fields.get(name)?.as_str()
    }

    pub(super) fn kind(&self) -> &str {
        self.text("type").unwrap_or_default()
    }

    pub(super) fn payload(&self) -> &Value {
        self.fields.get("payload").unwrap_or(&Value::Null)
    }

    pub(super) fn room(&self) -> &str {
        self.text("relaySessionId").unwrap_or_default()
    }

    /// The number of an agent's connection in its room.
    pub(super) fn member(&self) -> Option<u64> {
        self.fields.get("member")?.as_u64()
    }

    /// Whether it was received from one of this role, or delivered to one.
    pub(super) fn is(&self, direction: &str, role: &str) -> bool {
        self.text("direction") == Some(direction) && self.text("role") == Some(role)
    }

    pub(super) fn is_internal(&self, kind: &str) -> bool {
        self.text("direction") == Some("internal") && self.kind() == kind
    }

    /// The mark of what an agent has said.
    pub(super) fn mark(&self) -> Option<&str> {
        self.payload()["mark"].as_str()
    }

    fn index(&self) -> Option<u64> {
        self.fields.get("eventIndex")?.as_u64()
    }

    /// What its check has to be behind a row that has this one.
    fn check(&self, before: &str) -> String {
        let mut fields = self.fields.clone();
        // The order of the others does not matter here.
        drop(fields.swap_remove("check"));
        let mut text = before.to_owned();
        write(&Value::Object(fields), &mut text);
        let digest = Sha256::digest(text.as_bytes());
        let digits = digest.iter().map(|byte| format!("{byte:02x}"));
        digits.take(CHECK_DIGITS / 2).collect()
    }
}

/// The check of a row behind one that has this check.
#[cfg(test)]
pub(in crate::oracle) fn checked(row: &Value, before: &str) -> String {
    let fields = row.as_object().cloned().unwrap_or_default();
    Row { at: 0, fields }.check(before)
}

/// JSON whose keys are in order and which has no white space.
pub(super) fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            text.push('{');
            for (place, (name, value)) in fields.into_iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write(value, text);
            }
            text.push('}');
        }
        Value::Array(values) => {
            text.push('[');
            for (place, value) in values.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                write(value, text);
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_keys_and_white_space_do_not_matter_to_a_check() {
        let one: Value = serde_json::from_str(r#"{"b":[1, {"d":"ü","c":null}],"a":1.5}"#).unwrap();
        let other = json!({"a": 1.5, "b": [1, {"c": null, "d": "ü"}]});

        assert_eq!(canonical(&one), r#"{"a":1.5,"b":[1,{"c":null,"d":"ü"}]}"#);
        assert_eq!(canonical(&one), canonical(&other));
    }

    #[test]
    fn a_check_is_the_beginning_of_a_digest_of_the_one_before_and_the_row() {
        let row = |check: &str| json!({"check": check, "eventIndex": 0});
        // printf '{"eventIndex":0}' | sha256sum, and the same behind "ab".
        assert_eq!(checked(&row("x"), ""), "b59899ba8c5a55a3");
        assert_eq!(checked(&row("y"), "ab"), "3700a4261864d3bd");
    }
}
