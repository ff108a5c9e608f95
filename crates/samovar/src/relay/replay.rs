//! `samovar relay replay`: whether a study log plays again against the booking of a movie.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use samovar_locale as text;
use samovar_movie_host::MovieHost;
use samovar_relay::replay::{Difference, Report, replay as play};
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};
use crate::output::{self, Format};

/// Plays a log; it needs no server and no data directory.
pub(super) fn replay(path: &Path, format: Format) -> Result<Exit, Failure> {
    let unusable = |cause: &dyn Display| {
        Failure::usage(text::relay_cli::replay_unusable(path.display(), cause))
    };
    let meta = fs::metadata(path).map_err(|error| unusable(&error))?;
    // A pipe or a device might have no end.
    if !meta.is_file() {
        return Err(unusable(&text::relay_cli::replay_no_file()));
    }
    let file = File::open(path).map_err(|error| unusable(&error))?;
    let report = play(BufReader::new(file), || Box::new(MovieHost::new()));
    let report = report.map_err(|error| unusable(&error))?;
    if report.rows == 0 {
        return Err(unusable(&text::relay_cli::replay_no_rows()));
    }
    output::one(format, "relay_replay", &document(&report), |_| {
        sentence(&report)
    })?;
    Ok(match report.difference {
        None => Exit::Ok,
        Some(_) => Exit::TurnFailed,
    })
}

fn sentence(report: &Report) -> String {
    let said = match &report.difference {
        Some(difference) => difference.sentence(),
        None if report.compared == 0 => text::relay_cli::replay_only_checked(report.rows),
        None if !report.is_ended => text::relay_cli::replay_open(report.rows, report.compared),
        None => text::relay_cli::replay_same(report.rows, report.compared),
    };
    said + "\n"
}

fn document(report: &Report) -> Value {
    json!({
        "same": report.difference.is_none(),
        "rows": report.rows,
        "compared": report.compared,
        "checked": report.is_checked,
        "ended": report.is_ended,
        "difference": report.difference.as_ref().map(differs),
    })
}

fn differs(difference: &Difference) -> Value {
    json!({
        "line": difference.line,
        "eventIndex": difference.event_index,
        "what": difference.what.as_str(),
        "expected": difference.expected,
        "found": difference.found,
    })
}
