//! The file that somebody begins with.

use serde_json::Value;

use crate::keys::{Keys, ProviderNames};
use crate::page::{split, written};

const HEAD: &str = "\
# What Samovar does in this folder. Every key is optional and shown with its default, or with an
# example; take the # away to set it. `samovar config explain KEY` says where a value comes from.
#
# This file lies where agents work and clones arrive, so keys marked (trust) count only after
# `samovar config trust`, and again after each change.
";

/// Columns of a line.
const WIDTH: usize = 100;

/// A file in which every key stands, and none is set.
pub fn template() -> String {
    let one = ProviderNames {
        name: "openai".to_owned(),
        ..ProviderNames::default()
    };
    let keys = Keys::new(&[one]);
    let mut file = HEAD.to_owned();
    let mut before = "";
    for key in keys.iter() {
        let (table, name) = split(key);
        file.push('\n');
        if before != table {
            // A provider's table would say something by being there.
            let mark = if table.contains('.') { "# " } else { "" };
            put(&mut file, &format!("{mark}[{table}]"));
            before = table;
        }
        let mark = if key.widens { " (trust)" } else { "" };
        file.push_str(&comment(&format!("{}{mark}", key.purpose)));
        let value = key.default.as_ref().or(key.example.as_ref());
        let value = value.map_or_else(|| written(&Value::from("")), written);
        put(&mut file, &format!("# {name} = {value}"));
    }
    file
}

/// Text as comments of a bounded width.
fn comment(text: &str) -> String {
    let mut lines = String::new();
    let mut line = "#".to_owned();
    for word in text.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            put(&mut lines, &line);
            line.truncate(1);
        }
        line.push(' ');
        line.push_str(word);
    }
    put(&mut lines, &line);
    lines
}

fn put(file: &mut String, line: &str) {
    file.push_str(line);
    file.push('\n');
}
