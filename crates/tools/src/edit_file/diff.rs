//! What an edit changed.

use std::time::Duration;

use similar::TextDiff;

use crate::text::visible;

/// Bytes of a diff that are shown.
const MAX_DIFF_BYTES: usize = 32 * 1024;
/// Lines around a change that are shown with it.
const CONTEXT_LINES: usize = 3;
/// How long the shortest diff is looked for; after that a longer one will do.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A unified diff of two texts, without the last line feed.
pub(super) fn unified(path: &str, old: &str, new: &str) -> String {
    let lines = TextDiff::configure().timeout(TIMEOUT).diff_lines(old, new);
    let diff = lines
        .unified_diff()
        .context_radius(CONTEXT_LINES)
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_string();
    cut(visible(diff.trim_end_matches('\n')).into_owned())
}

fn cut(mut diff: String) -> String {
    if diff.len() > MAX_DIFF_BYTES {
        let bytes = diff.len();
        let end = diff.floor_char_boundary(MAX_DIFF_BYTES);
        // Whole lines, unless the first one is too long already.
        diff.truncate(diff[..end].rfind('\n').unwrap_or(end));
        let note = format!("\n[diff cut: {} of {bytes} bytes shown]", diff.len());
        diff.push_str(&note);
    }
    diff
}
