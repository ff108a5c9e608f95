//! Reads JSON values from untrusted text.

use std::fmt;

use samovar_locale as locale;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A key that `serde_json` reserves: it parses the key's value as JSON again, and restarts the
/// depth count. So a message of some kilobytes could nest as deep as a thread has stack, or contain
/// data that no check saw.
const RESERVED: &str = "$serde_json::private::RawValue";

/// Reads a value, nested at most 127 levels deep, the library's limit.
///
/// # Errors
/// The syntax error, or that the text contains the reserved key.
pub fn read(text: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(text).map(|Plain(value)| value)
}

/// A value without the reserved key, for fields that strangers fill.
#[derive(Clone, Debug, PartialEq)]
pub struct Plain(pub Value);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        while let Some(Plain(item)) = items.next_element()? {
            read.push(item);
        }
        Ok(Value::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            if key == RESERVED {
                return Err(de::Error::custom(locale::params::reserved_key(RESERVED)));
            }
            let Plain(value) = fields.next_value()?;
            read.insert(key, value);
        }
        Ok(Value::Object(read))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_read_as_everybody_reads_it() {
        let text = r#" {"z":[1,-2,1.5e300,-0.0,18446744073709551615,1e20],"a":{"b":null,"c":[true,false]},
                        "é\u0000\ud83d\ude00":"\"\n","a2":{},"z2":[],"twice":1,"twice":2} "#;
        let value = read(text.as_bytes()).unwrap();
        let wanted: Value = serde_json::from_str(text).unwrap();
        assert_eq!(value.to_string(), wanted.to_string());
        for wrong in [
            "",
            "{",
            "{}x",
            "[1,]",
            "\u{feff}{}",
            r#"{"n":1e999}"#,
            r#""\ud800""#,
        ] {
            let error = read(wrong.as_bytes()).unwrap_err();
            let wanted = serde_json::from_str::<Value>(wrong).unwrap_err();
            assert_eq!(error.to_string(), wanted.to_string(), "{wrong}");
        }
    }

    /// Arrays in texts in arrays: each text replaces a value.
    fn nested(levels: usize) -> String {
        (0..levels).fold("1".to_owned(), |inner, _| {
            let (open, close) = ("[".repeat(120), "]".repeat(120));
            format!("{open}{}{close}", json!({ RESERVED: inner }))
        })
    }

    #[test]
    fn a_text_that_is_to_be_read_as_json_once_more_is_refused() {
        let escaped = r#"{"a":1,"\u0024serde_json::private::RawValue":"{\"b\":2}"}"#;
        for text in [escaped, &nested(1), &nested(12)] {
            let error = read(text.as_bytes()).unwrap_err();
            assert!(error.to_string().contains(RESERVED), "{error}");
        }
    }
}
