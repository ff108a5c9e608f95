//! What comes from a model or a tool is shown, not obeyed.

/// Makes control characters visible, all but the line feed and the tab; so no text moves the
/// cursor, renames the window, or hides what it says.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => shown.push(character),
            _ if character.is_control() || is_invisible(character) => {
                shown.extend(character.escape_unicode());
            }
            _ => shown.push(character),
        }
    }
    shown
}

/// Direction overrides and isolates, which make text read as something else.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// One line of at most `width` characters.
pub(crate) fn line(text: &str, width: usize) -> String {
    let first = text.lines().next().unwrap_or_default();
    let mut shown: String = visible(first).chars().take(width).collect();
    if first.chars().count() > width || text.lines().nth(1).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_are_shown_and_not_obeyed() {
        assert_eq!(
            visible("a\u{1b}[31mb\r\u{7}\u{9b}"),
            r"a\u{1b}[31mb\u{d}\u{7}\u{9b}"
        );
        assert_eq!(visible("tab\tline\n"), "tab\tline\n");
        assert_eq!(visible("\u{202e}exe.txt"), r"\u{202e}exe.txt");
        assert_eq!(visible("привет 你好 🙂"), "привет 你好 🙂");
    }

    #[test]
    fn a_line_is_cut_where_it_ends() {
        assert_eq!(line("abc", 10), "abc");
        assert_eq!(line("abcdef", 3), "abc…");
        assert_eq!(line("ab\ncd", 10), "ab…");
    }
}
