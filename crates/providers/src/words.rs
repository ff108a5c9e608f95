//! Names of models as words: which word is in one, and how near two are.

/// Whether `word`, in lower case, stands in `text` as a whole word: no letter or digit touches it.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    let text = text.to_lowercase();
    text.match_indices(word).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

/// Whether a word of a text begins with this one, as people write names: a number may follow a word
/// (`gpt4o`), and a word a number (`o3mini`), without a space. `word` is in lower case.
pub(crate) fn begins_word(text: &str, word: &str) -> bool {
    let text = text.to_lowercase();
    let ends_in_digit = word.ends_with(|last: char| last.is_ascii_digit());
    text.match_indices(word).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = text[at + found.len()..].chars().next();
        let continues = |next: char| next.is_numeric() == ends_in_digit && next.is_alphanumeric();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(continues)
    })
}

/// How many letters have to be put in, left out or replaced to make one text of the other.
pub(crate) fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (at, candidate) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *candidate);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyword_matches_whole_words_only() {
        for (text, word) in [
            ("o1", "o1"),
            ("o1-mini", "o1"),
            ("openai/O1", "o1"),
            ("gpt-4o", "gpt"),
            ("my gpt", "gpt"),
            ("gpt-5.1", "gpt-5"),
            ("foo1 o1", "o1"),
        ] {
            assert!(has_word(text, word), "{word} is in {text}");
        }
        for (text, word) in [
            ("foo1bar", "o1"),
            ("o10", "o1"),
            ("solo1", "o1"),
            ("chatgpt", "gpt"),
            ("gpt-50", "gpt-5"),
            ("йo1", "o1"),
            ("", "o1"),
        ] {
            assert!(!has_word(text, word), "{word} is not in {text}");
        }
    }

    #[test]
    fn a_keyword_begins_a_word_with_a_number_glued_to_it() {
        for (text, word) in [
            ("gpt4o", "gpt"),
            ("claude3-opus", "claude"),
            ("o3mini", "o3"),
            ("qwen2.5:7b", "qwen"),
            ("my-gpt", "gpt"),
        ] {
            assert!(begins_word(text, word), "{word} begins a word of {text}");
        }
        for (text, word) in [
            ("foo1bar", "o1"),
            ("o10", "o1"),
            ("gptq-model", "gpt"),
            ("chatgpt", "gpt"),
            ("", "o1"),
        ] {
            assert!(
                !begins_word(text, word),
                "no word of {text} begins with {word}"
            );
        }
    }

    #[test]
    fn the_distance_counts_single_letters() {
        for (one, other, wanted) in [
            ("", "", 0),
            ("gpt", "gpt", 0),
            ("gtp", "gpt", 2),
            ("", "abc", 3),
            ("чай", "чая", 1),
        ] {
            assert_eq!(distance(one, other), wanted, "{one} {other}");
            assert_eq!(distance(other, one), wanted, "{other} {one}");
        }
    }
}
