//! The answers that the scripted model gives: every word says which attempt it belongs to and where
//! it stands, so that a text tells by itself whether it is whole, and whether two were spliced.

/// An answer of so many words and one that ends it, all but the last of the same length.
pub(crate) fn answer(tag: &str, step: u32, attempt: u32, words: u32) -> String {
    let word = |index| format!("{tag}.{step}.{attempt}.{index:03} ");
    let mut text: String = (0..words).map(word).collect();
    text.push_str(&[tag, &format!(".{step}.{attempt}.end ")].concat());
    text
}

/// What a text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// The whole of one answer.
    Whole,
    /// The beginning of one answer, or nothing.
    Beginning,
    /// Neither; the first word that does not belong where it stands.
    Spliced(String),
}

/// Tells what a text is, whatever the answer was.
pub(crate) fn read(text: &str) -> Text {
    let (whole, last) = text.rsplit_once(' ').unwrap_or(("", text));
    let mut answer: Option<&str> = None;
    let mut next = 0_u32;
    let mut is_over = false;
    for word in whole.split(' ').filter(|word| !word.is_empty()) {
        let Some((of, place)) = word.rsplit_once('.') else {
            return Text::Spliced(word.to_owned());
        };
        let fits = *answer.get_or_insert(of) == of && !is_over;
        let here = if place == "end" {
            is_over = true;
            true
        } else {
            place.parse() == Ok(next)
        };
        if !fits || !here {
            return Text::Spliced(word.to_owned());
        }
        next += 1;
    }
    match (is_over, last.is_empty()) {
        (true, true) => Text::Whole,
        (false, _) if answer.is_none_or(|of| begins(last, of, next)) => Text::Beginning,
        (true, false) | (false, _) => Text::Spliced(last.to_owned()),
    }
}

/// Whose answer a text is; nothing when it has not come to that.
pub(crate) fn tag(text: &str) -> Option<&str> {
    text.split_once('.').map(|(tag, _)| tag)
}

/// Whether a cut word is the beginning of the one that has to come.
fn begins(cut: &str, of: &str, next: u32) -> bool {
    format!("{of}.{next:03}").starts_with(cut) || format!("{of}.end").starts_with(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_tells_whether_it_is_whole() {
        let whole = answer("m1", 1, 2, 3);
        assert_eq!(whole, "m1.1.2.000 m1.1.2.001 m1.1.2.002 m1.1.2.end ");
        assert_eq!(read(&whole), Text::Whole);
        for cut in 0..whole.len() {
            assert_eq!(read(&whole[..cut]), Text::Beginning, "{cut}");
        }
    }

    #[test]
    fn a_splice_a_gap_and_a_repeat_are_found() {
        let spliced = |text: &str| matches!(read(text), Text::Spliced(_));
        assert!(spliced("m1.1.1.000 m1.1.2.001 "));
        assert!(spliced("m1.1.1.000 m1.1.1.002 "));
        assert!(spliced("m1.1.1.000 m1.1.1.000 "));
        assert!(spliced("m1.1.1.001 "));
        assert!(spliced("m1.1.1.000 m1.1.1.0m1.1.2.000 "));
        assert!(spliced("m1.1.1.000 m1.1.1.end m1"));
        assert!(spliced("m1.1.1.000 m1.1.1.end m1.1.1.002 "));
        assert!(spliced("m1.1.1.000 m2"));
    }
}
