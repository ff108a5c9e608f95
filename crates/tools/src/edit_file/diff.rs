//! What an edit changed.

use std::fmt::Write as _;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput, Token};
use samovar_core::approval::MAX_PREVIEW_BYTES;

use crate::text::visible;

/// Bytes of a diff that are shown: a preview has room for them, their note, and a line above.
const MAX_DIFF_BYTES: usize = MAX_PREVIEW_BYTES - 512;
/// Lines around a change that are shown with it.
const CONTEXT_LINES: u32 = 3;

/// A unified diff of two texts, without the last line feed. Where the shortest one would take too
/// long, it is a longer one.
pub(crate) fn unified(path: &str, old: &str, new: &str) -> String {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let mut text = format!("--- a/{path}\n+++ b/{path}\n");
    let hunks: Vec<Hunk> = diff.hunks().collect();
    for near in hunks.chunk_by(|one, next| next.before.start - one.before.end <= 2 * CONTEXT_LINES)
    {
        show(near, &input, &mut text);
    }
    cut(visible(text.trim_end_matches('\n')).into_owned())
}

/// Shows changes that are near each other, with the lines around them.
fn show(hunks: &[Hunk], input: &InternedInput<&str>, text: &mut String) {
    let (Some(first), Some(last)) = (hunks.first(), hunks.last()) else {
        return;
    };
    let above = first.before.start.min(CONTEXT_LINES);
    let below = (lines(&input.before) - last.before.end).min(CONTEXT_LINES);
    let before = first.before.start - above..last.before.end + below;
    let after = first.after.start - above..last.after.end + below;
    // Writing to a string cannot fail.
    let _infallible = writeln!(text, "@@ -{} +{} @@", place(&before), place(&after));
    let mut shown = before.start;
    for hunk in hunks {
        mark(' ', input, &input.before, shown..hunk.before.start, text);
        mark('-', input, &input.before, hunk.before.clone(), text);
        mark('+', input, &input.after, hunk.after.clone(), text);
        shown = hunk.before.end;
    }
    mark(' ', input, &input.before, shown..before.end, text);
}

fn mark(
    mark: char,
    input: &InternedInput<&str>,
    tokens: &[Token],
    range: Range<u32>,
    text: &mut String,
) {
    for &token in &tokens[range.start as usize..range.end as usize] {
        let line = input.interner[token];
        text.push(mark);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// Lines as `diff -u` counts them: an empty range names the line before it, and the length of one
/// line goes without saying.
fn place(range: &Range<u32>) -> String {
    match range.end - range.start {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        length => format!("{},{length}", range.start + 1),
    }
}

/// A text has at most as many lines as bytes, and an edited file at most 1 MiB.
fn lines(tokens: &[Token]) -> u32 {
    u32::try_from(tokens.len()).unwrap_or(u32::MAX)
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

#[cfg(test)]
mod tests {
    use samovar_core::approval::MAX_PREVIEW_BYTES;

    use super::unified;

    // proves TL-5
    #[test]
    fn a_preview_of_a_long_diff_keeps_the_note_that_says_so() {
        for letters in [1, 79, 5_000, 40_000] {
            let line = format!("{}\n", "x".repeat(letters));
            let diff = unified("a", "", &line.repeat(60_000 / letters + 1));
            let above = "replaces 1048576 bytes that are not text\n";
            let preview = crate::tool::cut(&format!("{above}{diff}"));
            assert!(preview.ends_with(" bytes shown]"), "{letters}");
            assert_eq!(preview.matches("cut: ").count(), 1, "{letters}");
            assert!(preview.contains("[diff cut: "), "{letters}");
            assert!(preview.len() <= MAX_PREVIEW_BYTES, "{letters}");
        }
        let preview = crate::tool::cut(&"x".repeat(100_000));
        assert!(preview.ends_with(" of 100000 bytes shown]"));
        assert!(preview.len() <= MAX_PREVIEW_BYTES);
    }

    #[test]
    fn changes_that_are_near_share_a_hunk_and_others_have_their_own() {
        let text = |changed: &[usize]| -> String {
            let word = |number| {
                if changed.contains(&number) {
                    "new"
                } else {
                    "old"
                }
            };
            let lines = (1..=20).map(|number| format!("{} {number}\n", word(number)));
            lines.collect()
        };
        let diff = unified("a", &text(&[]), &text(&[2, 9, 20]));
        let heads: Vec<_> = diff.lines().filter(|line| line.starts_with("@@")).collect();
        assert_eq!(heads, ["@@ -1,12 +1,12 @@", "@@ -17,4 +17,4 @@"]);
        let kept = |mark: char| {
            diff.lines()
                .skip(2)
                .filter(|line| line.starts_with(mark))
                .count()
        };
        assert_eq!((kept(' '), kept('-'), kept('+')), (13, 3, 3));
    }

    #[test]
    fn the_ends_of_texts_are_shown_as_they_are() {
        for (old, new, shown) in [
            ("", "a\n", "@@ -0,0 +1 @@\n+a"),
            ("a\n", "", "@@ -1 +0,0 @@\n-a"),
            (
                "a",
                "a\n",
                "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a",
            ),
            (
                "a\nb",
                "c\nb",
                "@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file",
            ),
        ] {
            assert_eq!(unified("x", old, new), format!("--- a/x\n+++ b/x\n{shown}"));
        }
    }
}
