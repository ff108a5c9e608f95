//! The page with the results: what was measured, on what, and one table.

use std::fmt;

use anyhow::Result;

use crate::figures::Figure;
use crate::machine::{Commit, Machine};
use crate::sample::Sample;

/// The heads of the columns.
const HEADS: [&str; 7] = ["figure", "budget", "median", "min", "max", "values", "is"];

/// The standing of a row above its budget.
const OVER: &str = "over";

/// The cell of a value that does not exist.
const NOTHING: &str = "–";

/// A row that was measured, or why not.
pub(crate) struct Row {
    pub(crate) figure: &'static Figure,
    pub(crate) measured: Result<Sample>,
}

/// The results of one run.
pub(crate) struct Page {
    pub(crate) commit: Commit,
    /// The machine before the first row.
    pub(crate) began: Machine,
    /// The same after the last row.
    pub(crate) ended: Machine,
    /// Why its figures may be wrong.
    pub(crate) doubts: Vec<&'static str>,
    pub(crate) rows: Vec<Row>,
}

impl Page {
    /// The name of its file.
    pub(crate) fn name(&self) -> String {
        self.commit.file_stem() + ".md"
    }

    /// How many rows have no result.
    pub(crate) fn unmeasured(&self) -> usize {
        let rows = self.rows.iter();
        rows.filter(|row| row.measured.is_err()).count()
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (began, ended) = (&self.began, &self.ended);
        writeln!(f, "# Results\n\nOf {}.", self.commit.name())?;
        writeln!(
            f,
            "On {}; load {} before, {} after.",
            began.name, began.load, ended.load
        )?;
        for doubt in &self.doubts {
            writeln!(f, "{doubt}")?;
        }
        writeln!(f, "\n{}", table(&self.rows))?;
        for row in &self.rows {
            if let Err(why) = &row.measured {
                writeln!(f, "Not measured: {}: {why:#}", row.figure.name)?;
            }
        }
        let over = self.rows.iter().filter(|row| row.standing() == OVER);
        let over: Vec<&str> = over.map(|row| row.figure.name).collect();
        match over.join("; ").as_str() {
            "" => f.write_str("No row is over its budget."),
            over => write!(f, "Over budget: {over}."),
        }
    }
}

impl Row {
    /// How it compares with its budget; the median decides.
    fn standing(&self) -> &'static str {
        match (&self.measured, self.figure.budget) {
            (Err(_), _) => "not measured",
            (Ok(_), None) => NOTHING,
            (Ok(sample), Some(budget)) if sample.median() > budget => OVER,
            (Ok(_), Some(_)) => "ok",
        }
    }

    fn cells(&self) -> [String; HEADS.len()] {
        let Figure { name, unit, budget } = self.figure;
        let sample = self.measured.as_ref().ok();
        let value = |value: fn(&Sample) -> f64| {
            let digits = if *unit == "×" { 2 } else { 1 };
            let value = sample.map(|sample| format!("{:.digits$} {unit}", value(sample)));
            value.unwrap_or_else(|| NOTHING.to_owned())
        };
        let budget = budget.map(|budget| format!("≤ {budget} {unit}"));
        [
            (*name).to_owned(),
            budget.unwrap_or_else(|| NOTHING.to_owned()),
            value(Sample::median),
            value(Sample::min),
            value(Sample::max),
            sample.map_or(0, Sample::len).to_string(),
            self.standing().to_owned(),
        ]
    }
}

/// In Markdown, with columns of one width so that a terminal shows it too.
fn table(rows: &[Row]) -> String {
    let mut lines = vec![HEADS.map(str::to_owned)];
    lines.extend(rows.iter().map(Row::cells));
    let width = |column: usize| {
        let cells = lines.iter().map(|cells| cells[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: [usize; HEADS.len()] = std::array::from_fn(width);
    lines.insert(1, widths.map(|width| "-".repeat(width)));
    let line = |cells: &[String; HEADS.len()]| {
        let cells = cells.iter().zip(widths);
        let padded = cells.map(|(cell, width)| format!("| {cell:width$} "));
        padded.collect::<String>() + "|\n"
    };
    lines.iter().map(line).collect()
}

#[cfg(test)]
mod tests;
