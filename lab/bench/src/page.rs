//! The page with the results: what was measured, on what, and one table.

use std::fmt;

use crate::figures::{Figure, Unit};
use crate::machine::{Commit, Machine};
use crate::sample::Sample;

/// The heads of the columns.
const HEADS: [&str; 7] = ["figure", "budget", "median", "min", "max", "values", "is"];

/// What stands where there is nothing to say.
const NOTHING: &str = "–";

/// A row that was measured, or why not.
pub(crate) struct Row {
    pub(crate) figure: &'static Figure,
    pub(crate) measured: Result<Sample, String>,
}

/// The results of one run.
pub(crate) struct Page {
    pub(crate) commit: Commit,
    /// The machine before the first row.
    pub(crate) began: Machine,
    /// The same behind the last.
    pub(crate) ended: Machine,
    pub(crate) rows: Vec<Row>,
}

/// How a row stands to its budget. Its median decides.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Ok,
    Over,
    NotMeasured,
    /// It has none.
    Told,
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
        writeln!(f, "# Results\n\nOf {}.", self.commit)?;
        writeln!(
            f,
            "On {began}; load {} before, {} after.",
            began.load, ended.load
        )?;
        writeln!(f, "\n{}", table(&self.rows))?;
        for row in &self.rows {
            if let Err(why) = &row.measured {
                writeln!(f, "Not measured: {}: {why}", row.figure.name)?;
            }
        }
        let over: Vec<&str> = self
            .rows
            .iter()
            .filter(|row| row.standing() == Standing::Over)
            .map(|row| row.figure.name)
            .collect();
        match over.as_slice() {
            [] => f.write_str("No row is over its budget."),
            [..] => write!(f, "Over budget: {}.", over.join("; ")),
        }
    }
}

impl Row {
    fn standing(&self) -> Standing {
        match (&self.measured, self.figure.budget) {
            (Err(_), _) => Standing::NotMeasured,
            (Ok(_), None) => Standing::Told,
            (Ok(sample), Some(budget)) if sample.median() > budget => Standing::Over,
            (Ok(_), Some(_)) => Standing::Ok,
        }
    }

    fn cells(&self) -> [String; HEADS.len()] {
        let Figure { name, unit, budget } = self.figure;
        let sample = self.measured.as_ref().ok();
        let value = |value: fn(&Sample) -> f64| {
            let value = sample.map(|sample| unit.spell(value(sample)));
            value.unwrap_or_else(|| NOTHING.to_owned())
        };
        let budget = budget.map(|budget| format!("≤ {budget:.0} {unit}"));
        [
            (*name).to_owned(),
            budget.unwrap_or_else(|| NOTHING.to_owned()),
            value(Sample::median),
            value(Sample::min),
            value(Sample::max),
            sample.map_or(0, Sample::len).to_string(),
            self.standing().to_string(),
        ]
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Standing::Ok => "ok",
            Standing::Over => "over",
            Standing::NotMeasured => "not measured",
            Standing::Told => NOTHING,
        })
    }
}

impl Unit {
    fn spell(self, value: f64) -> String {
        format!("{value:.1} {self}")
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
    lines.iter().map(|cells| line(cells, &widths)).collect()
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let cells = cells.iter().zip(widths);
    let padded: Vec<String> = cells
        .map(|(cell, width)| format!("{cell:width$}"))
        .collect();
    format!("| {} |\n", padded.join(" | "))
}

#[cfg(test)]
mod tests;
