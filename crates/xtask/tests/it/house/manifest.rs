//! What a member's manifest may say: everything that must be one for all is the workspace's.

use super::Violation;

mod tests;

/// The crates that may loosen `unsafe_code` from `forbid` to `deny`, which inherited lints cannot.
const OWN_LINTS: [&str; 2] = ["crates/sandbox/Cargo.toml", "crates/stores/Cargo.toml"];

/// Dependencies with a version, a path or features of their own.
///
/// It reads lines, not TOML: the one spelling `name.workspace = true` is the rule.
pub(super) fn own_dependencies(path: &str, text: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    for Line {
        number,
        section,
        text,
    } in lines(text)
    {
        let breach = if section.contains("dependencies.") {
            format!("[{section}] is not a line `name.workspace = true`")
        } else if section.ends_with("dependencies") && !is_inherited(text) {
            format!("`{text}` is not `name.workspace = true`")
        } else {
            continue;
        };
        violations.push(Violation::at(path, number, breach));
    }
    violations
}

/// Features that reach beyond our own crates: `--all-features` would build a dependency twice, with
/// it and without.
pub(super) fn far_features(path: &str, text: &str) -> Vec<Violation> {
    let features = || lines(text).filter(|line| line.section == "features");
    let is_own = |feature: &str| {
        let names = features().filter_map(|line| Some(line.text.split_once('=')?.0.trim()));
        names.into_iter().any(|name| name == feature)
    };
    let reaches = |line: &Line<'_>| {
        let (_, on) = line.text.split_once('=').unwrap_or_default();
        let mut on = on.split('"').skip(1).step_by(2);
        on.any(|feature| !feature.starts_with("samovar-") && !is_own(feature))
    };
    let breach = |line: Line<'_>| {
        let breach = format!("`{}` reaches beyond our own crates", line.text);
        Violation::at(path, line.number, breach)
    };
    features().filter(reaches).map(breach).collect()
}

/// Lints that are neither inherited nor, in the crates that may write them out, the same.
pub(super) fn own_lints(path: &str, text: &str, workspace: &str) -> Vec<Violation> {
    if lines(text).any(|line| line.section == "lints" && is_true("workspace", line.text)) {
        return Vec::new();
    }
    if !OWN_LINTS.contains(&path) {
        return vec![Violation::new(
            path,
            "has no `[lints]` with `workspace = true`",
        )];
    }
    let wanted = lines(workspace).filter_map(|line| {
        let section = line
            .section
            .strip_prefix("workspace.")
            .filter(|x| x.starts_with("lints."))?;
        let is_loosened = line.text == "unsafe_code = \"forbid\"";
        Some((
            section,
            if is_loosened {
                "unsafe_code = \"deny\""
            } else {
                line.text
            },
        ))
    });
    let has = |section: &str, lint: &str| {
        lines(text).any(|line| line.section == section && line.text == lint)
    };
    wanted
        .filter(|(section, lint)| !has(section, lint))
        .map(|(section, lint)| Violation::new(path, format!("[{section}] lacks `{lint}`")))
        .collect()
}

/// A line of a manifest that is an assignment.
struct Line<'a> {
    number: usize,
    section: &'a str,
    text: &'a str,
}

fn lines(manifest: &str) -> impl Iterator<Item = Line<'_>> {
    let mut section = "";
    manifest.lines().enumerate().filter_map(move |(at, line)| {
        let text = line.trim();
        if let Some(header) = text.strip_prefix('[') {
            section = header.trim_end_matches(']');
            return None;
        }
        let is_assignment = !text.is_empty() && !text.starts_with('#');
        is_assignment.then_some(Line {
            number: at + 1,
            section,
            text,
        })
    })
}

/// `name.workspace = true`, or `name = { workspace = true, optional = true }`.
fn is_inherited(assignment: &str) -> bool {
    let Some((name, value)) = assignment.split_once('=') else {
        return false;
    };
    let fields = value
        .trim()
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    let Some(fields) = fields else {
        return name.trim().ends_with(".workspace") && value.trim() == "true";
    };
    let inherits = |field| is_true("workspace", field);
    fields.split(',').any(inherits)
        && fields
            .split(',')
            .all(|field| inherits(field) || is_true("optional", field))
}

fn is_true(key: &str, assignment: &str) -> bool {
    let parts = assignment.split_once('=');
    parts.is_some_and(|(left, right)| left.trim() == key && right.trim() == "true")
}
