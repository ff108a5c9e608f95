//! What the documentation shows of the keys, made from the types.

use std::fmt::Write as _;

use serde_json::Value;

use crate::keys::{Key, Keys, ProviderNames};

/// The table of all keys, in Markdown, a section for each table of the file.
pub fn reference() -> String {
    let any = ProviderNames {
        name: "NAME".to_owned(),
        ..ProviderNames::default()
    };
    let keys = Keys::new(&[any]);
    let mut page = String::new();
    let mut before = None;
    for key in keys.iter() {
        let (table, name) = split(key);
        if before != Some(table) {
            page.push_str(&heading(table));
            before = Some(table);
        }
        page.push_str(&row(key, name));
    }
    page
}

/// The table of the variables that set up providers, in Markdown.
pub fn provider_reference(providers: &[ProviderNames]) -> String {
    let mut page = "| provider | key | address |\n| --- | --- | --- |\n".to_owned();
    for provider in providers {
        let (name, key, base) = (
            &provider.name,
            coded(&provider.key_variables),
            coded(&provider.base_variables),
        );
        // Writing to a string cannot fail.
        let _infallible = writeln!(page, "| `{name}` | {key} | {base} |");
    }
    page
}

/// The table that a key stands in, empty for the top of the file, and its name there.
pub(crate) fn split(key: &Key) -> (&str, &str) {
    key.name.rsplit_once('.').unwrap_or(("", &key.name))
}

fn heading(table: &str) -> String {
    let title = match table {
        "" => "### At the top of the file".to_owned(),
        table => format!("\n### `[{table}]`"),
    };
    format!(
        "{title}\n\n| key | meaning | accepts | default | variables |\n| --- | --- | --- | --- | --- |\n"
    )
}

fn row(key: &Key, name: &str) -> String {
    let mark = if key.widens { " \u{26a0}" } else { "" };
    let default = key.default.as_ref().map(written).unwrap_or_default();
    format!(
        "| `{name}`{mark} | {} | {} | {} | {} |\n",
        key.purpose,
        key.kind,
        coded(std::slice::from_ref(&default)),
        coded(&key.variables),
    )
}

fn coded(words: &[String]) -> String {
    let words = words.iter().filter(|word| !word.is_empty());
    words
        .map(|word| format!("`{word}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A value as it stands in a file: what the two notations share is all that our values need.
pub(crate) fn written(value: &Value) -> String {
    value.to_string()
}
