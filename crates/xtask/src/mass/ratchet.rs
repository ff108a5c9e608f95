//! The page with the figures of the tree: none rises unless the same commit changes the page.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

const PAGE: &str = "docs/mass.md";
/// So many lines may go before the page must be lowered.
const SLACK: usize = 100;

/// A table of the page: its columns, and its rows with their names.
pub(super) struct Table {
    pub(super) columns: &'static [&'static str],
    pub(super) rows: Vec<(String, Vec<usize>)>,
}

/// Compares the tree with the page.
///
/// # Errors
/// Each figure that the page does not have like this.
pub(super) fn check(root: &Path, tables: &[Table]) -> Result<(), String> {
    let page = read(root)?;
    let found = figures(&tables.iter().map(Table::text).collect::<String>());
    let breaches = breaches(&figures(&page), &found);
    if breaches.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}\n`cargo xtask mass --write` writes {PAGE}; if a number rose, the same commit says why",
        breaches.join("\n")
    ))
}

/// Replaces the tables of the page, which are at its end.
///
/// # Errors
/// The page cannot be read or written.
pub(super) fn write(root: &Path, tables: &[Table]) -> Result<(), String> {
    let page = read(root)?;
    let prose = page.split("\n|").next().unwrap_or_default();
    let tables: Vec<String> = tables.iter().map(Table::text).collect();
    let text = format!("{}\n\n{}", prose.trim_end(), tables.join("\n"));
    fs::write(root.join(PAGE), text).map_err(|error| format!("{PAGE}: {error}"))
}

fn read(root: &Path) -> Result<String, String> {
    fs::read_to_string(root.join(PAGE)).map_err(|error| format!("{PAGE}: {error}"))
}

impl Table {
    fn text(&self) -> String {
        let mut text = format!("| {} |\n| ---", self.columns.join(" | "));
        text += &" | ---:".repeat(self.columns.len() - 1);
        text += " |\n";
        for (name, numbers) in &self.rows {
            let numbers = numbers.iter().map(|number| format!(" | {number}"));
            let _infallible = writeln!(text, "| {name}{} |", numbers.collect::<String>());
        }
        text
    }
}

/// The numbers in the tables of a text, by their row and column.
fn figures(text: &str) -> BTreeMap<String, usize> {
    let mut figures = BTreeMap::new();
    let mut columns: Vec<&str> = Vec::new();
    for line in text.lines() {
        let Some(cells) = line.strip_prefix('|') else {
            columns.clear();
            continue;
        };
        let cells: Vec<&str> = cells
            .trim_end_matches('|')
            .split('|')
            .map(str::trim)
            .collect();
        if cells
            .iter()
            .skip(1)
            .all(|cell| cell.parse::<usize>().is_err())
        {
            if !cells[0].starts_with("---") {
                columns = cells;
            }
            continue;
        }
        for (cell, column) in cells.iter().zip(&columns).skip(1) {
            let figure = format!("{}, {column}", cells[0]);
            figures.extend(cell.parse().map(|number: usize| (figure, number)));
        }
    }
    figures
}

fn breaches(page: &BTreeMap<String, usize>, found: &BTreeMap<String, usize>) -> Vec<String> {
    let mut breaches = Vec::new();
    for (figure, new) in found {
        let slack = if figure.ends_with(" lines") { SLACK } else { 0 };
        match page.get(figure) {
            None => breaches.push(format!("{figure}: {new}; {PAGE} has no such figure")),
            Some(old) if new > old => {
                breaches.push(format!("{figure}: rose from {old} to {new}"));
            }
            Some(old) if new + slack < *old => {
                breaches.push(format!("{figure}: fell from {old} to {new}; hold the gain"));
            }
            Some(_) => {}
        }
    }
    let gone = page.keys().filter(|figure| !found.contains_key(*figure));
    breaches.extend(gone.map(|figure| format!("{figure}: only {PAGE} has it")));
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[&str] = &["crate", "code lines", "largest ring"];

    fn table(name: &str, lines: usize, ring: usize) -> String {
        let rows = vec![(name.to_owned(), vec![lines, ring])];
        Table {
            columns: COLUMNS,
            rows,
        }
        .text()
    }

    #[test]
    fn a_figure_rises_only_on_the_page() {
        let page = figures(&format!("# Mass\n\nProse.\n\n{}", table("core", 500, 3)));
        for (found, expected) in [
            (table("core", 500, 3), ""),
            (table("core", 400, 3), ""),
            (
                table("core", 501, 3),
                "core, code lines: rose from 500 to 501",
            ),
            (
                table("core", 399, 3),
                "core, code lines: fell from 500 to 399; hold the gain",
            ),
            (
                table("core", 500, 4),
                "core, largest ring: rose from 3 to 4",
            ),
            (
                table("core", 500, 2),
                "core, largest ring: fell from 3 to 2; hold the gain",
            ),
            (
                table("wire", 1, 0),
                "wire, code lines: 1; docs/mass.md has no such figure|\
                 wire, largest ring: 0; docs/mass.md has no such figure|\
                 core, code lines: only docs/mass.md has it|\
                 core, largest ring: only docs/mass.md has it",
            ),
        ] {
            assert_eq!(
                breaches(&page, &figures(&found)).join("|"),
                expected,
                "{found}"
            );
        }
    }
}
