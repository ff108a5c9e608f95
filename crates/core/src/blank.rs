//! What is seen of a text.

/// Whether a text has no visible character: only white space in the sense of Unicode, control
/// characters, characters that are ignorable by default (`Default_Ignorable_Code_Point`),
/// annotation marks, and the few characters that are drawn empty.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(is_inkless)
}

/// Whether a character is drawn as nothing, or changes how others are drawn: control characters, line
/// separators, and those that are ignorable by default, such as the marks of direction.
pub(crate) fn is_hidden(character: char) -> bool {
    let separates = matches!(character, '\u{2028}' | '\u{2029}');
    character.is_control() || separates || is_ignorable(character)
}

fn is_inkless(character: char) -> bool {
    let is_drawn_empty = matches!(character, '\u{2800}' | '\u{1d159}');
    is_ignorable(character) || is_drawn_empty || character.is_whitespace() || character.is_control()
}

/// `Default_Ignorable_Code_Point`, and the marks of annotations.
fn is_ignorable(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}
