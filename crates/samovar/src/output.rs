//! What a command answers, for a person or for a program.

use std::io;

use clap::ValueEnum;
use samovar_locale as text;
use serde::Serialize;
use serde_json::{Map, Value};
use unicode_width::UnicodeWidthStr;

use crate::exit::Failure;
use crate::screen::{put, visible};
use crate::style::{columns, for_stdout, wrapped};

/// Columns between two cells.
const GAP: usize = 2;

/// Columns of the narrowest last column whose lines are broken within it.
const NARROWEST: usize = 20;

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Format {
    /// For a person.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// One JSON object a line.
    Jsonl,
}

/// The formats of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TurnFormat {
    #[value(help = text::help::output_text())]
    Text,
    #[value(help = text::help::output_json())]
    Json,
    #[value(help = text::help::output_jsonl())]
    Jsonl,
    #[value(help = text::help::output_ui_stream())]
    UiStream,
}

/// `--json` and `--jsonl`.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Machine {
    #[arg(long, help = text::help::json(), conflicts_with = "jsonl")]
    pub(crate) json: bool,
    #[arg(long, help = text::help::jsonl())]
    pub(crate) jsonl: bool,
}

impl Machine {
    /// What was asked for.
    pub(crate) fn format(self) -> Format {
        match (self.json, self.jsonl) {
            (true, _) => Format::Json,
            (false, true) => Format::Jsonl,
            (false, false) => Format::Text,
        }
    }
}

/// Writes one thing: as a document of a schema, or as text.
///
/// # Errors
/// It cannot be written.
pub(crate) fn one<T: Serialize>(
    format: Format,
    schema: &str,
    thing: &T,
    as_text: impl FnOnce(&T) -> String,
) -> Result<(), Failure> {
    match format {
        Format::Text => put(&for_stdout(&visible(&as_text(thing)))).map(drop),
        Format::Json | Format::Jsonl => put(&line(schema, thing)?).map(drop),
    }
}

/// Writes a list: one document with all `items`, a line for each, or text.
///
/// # Errors
/// It cannot be written.
pub(crate) fn list<T: Serialize>(
    format: Format,
    schema: &str,
    items: &[T],
    as_text: impl FnOnce(&[T]) -> String,
) -> Result<(), Failure> {
    match format {
        Format::Text => put(&for_stdout(&visible(&as_text(items)))).map(drop),
        Format::Json => {
            let all = serde_json::json!({ "items": items });
            put(&line(schema, &all)?).map(drop)
        }
        Format::Jsonl => {
            let lines: Result<String, _> = items.iter().map(|item| line(schema, item)).collect();
            put(&lines?).map(drop)
        }
    }
}

/// One line of JSON that says first what it is: `samovar.{schema}/1`. A value that is no object
/// stands under `value`.
pub(crate) fn line(schema: &str, thing: &impl Serialize) -> Result<String, Failure> {
    let broken = |error: serde_json::Error| Failure::broken(&error);
    let fields = match serde_json::to_value(thing).map_err(broken)? {
        Value::Object(fields) => fields,
        other => Map::from_iter([("value".to_owned(), other)]),
    };
    let mut document = Map::new();
    document.insert("schema".to_owned(), format!("samovar.{schema}/1").into());
    document.extend(fields);
    let document = serde_json::to_string(&document).map_err(broken)?;
    Ok(format!("{document}\n"))
}

/// Lines of cells, each column as wide as its widest cell; the last column is as long as it is, and
/// at a terminal its lines are broken within it.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    fitted(rows, columns(&io::stdout()))
}

/// As [`table`], for so many columns; `None` if the lines are not broken.
pub(crate) fn fitted(rows: &[Vec<String>], available: Option<usize>) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.width()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let before = columns.saturating_sub(1);
    let offset = widths
        .iter()
        .take(before)
        .map(|width| width + GAP)
        .sum::<usize>();
    let mut lines = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let full = offset + cell.width();
            match available.filter(|available| column == before && full > *available) {
                Some(all) if all >= offset + NARROWEST => {
                    let cell = wrapped(cell, all - offset);
                    line.push_str(&cell.replace('\n', &format!("\n{:offset$}", "")));
                }
                Some(all) => {
                    line.truncate(line.trim_end().len());
                    line.push('\n');
                    line.push_str(&wrapped(&format!("  {cell}"), all));
                }
                None => line.push_str(cell),
            }
            let gap = width.saturating_sub(cell.width()) + GAP;
            line.extend(std::iter::repeat_n(' ', gap));
        }
        lines.push_str(line.trim_end());
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves FC-1
    #[test]
    fn a_document_says_first_what_it_is() {
        let thing = serde_json::json!({"b": 1, "a": [2]});
        assert_eq!(
            line("stats", &thing).unwrap(),
            "{\"schema\":\"samovar.stats/1\",\"b\":1,\"a\":[2]}\n"
        );
        assert_eq!(
            line("count", &3).unwrap(),
            "{\"schema\":\"samovar.count/1\",\"value\":3}\n"
        );
    }

    #[test]
    fn the_columns_of_a_table_stand_below_each_other() {
        let rows = [["a", "bb", "c"], ["aaa", "b", "мир"]];
        let rows: Vec<Vec<String>> = rows
            .iter()
            .map(|row| row.iter().map(|&cell| cell.to_owned()).collect())
            .collect();
        assert_eq!(table(&rows), "a    bb  c\naaa  b   мир\n");
        assert_eq!(table(&[]), "");
        let long = [vec![
            "a".to_owned(),
            "one two three four five six".to_owned(),
        ]];
        let fit = "a  one two three four\n   five six\n";
        assert_eq!(fitted(&long, Some(23)), fit);
        assert_eq!(
            fitted(&long, Some(12)),
            "a\n  one two\n  three four\n  five six\n"
        );
    }
}
