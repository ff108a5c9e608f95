//! Words that make a sentence sound translated, in comments and in the names of tests.
//!
//! Ordinary English has them too, but seldom; their number should fall.

use super::tokens::Tokens;

/// From the rules of plain English in docs/style.md.
const TRANSLATED: [&str; 11] = [
    "nobody",
    "somebody",
    "whoever",
    "whom",
    "behind",
    "anew",
    "is none",
    "goes on",
    "stands in",
    "of its own",
    "as it is",
];

/// How often they occur in a file.
pub(super) fn translated(text: &str) -> usize {
    let tokens = Tokens::of(text);
    let names = tests(&tokens.code).join(". ");
    let said = plain(&format!("{}. {names}", tokens.comments.join(" ")));
    let count = |words: &str| said.matches(&format!(" {words} ")).count();
    TRANSLATED.into_iter().map(count).sum()
}

/// The words in lower case and the ends of sentences, each after one space.
fn plain(text: &str) -> String {
    let text = text.to_lowercase().replace('.', " . ");
    let words = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '\''));
    let words = words.filter(|word| !word.is_empty());
    words.fold(" ".to_owned(), |text, word| text + word + " ")
}

/// The names of the functions under `#[test]`, `#[tokio::test]` and the like.
fn tests<'t>(code: &[&'t str]) -> Vec<&'t str> {
    let mut names = Vec::new();
    let mut is_test = false;
    for (at, token) in code.iter().enumerate() {
        match (*token, &code[at + 1..]) {
            ("#", ["[", "test", ..] | ["[", _, "::", "test", ..]) => is_test = true,
            ("fn", [name, ..]) if std::mem::take(&mut is_test) => names.push(*name),
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_comments_and_names_of_tests_and_no_code() {
        for (text, count) in [
            ("// It goes\n    // on, and nobody waits.\n", 2),
            (
                "/// What it is. None of it.\nfn behind() { \"anew\"; nobody }\n",
                0,
            ),
            (
                "#[test]\nfn starts_anew() {}\n#[tokio::test(x = 1)]\nasync fn is_none() {}\n",
                2,
            ),
            ("/* Whoever */ #[cfg(test)] mod tests { fn whom() {} }\n", 1),
        ] {
            assert_eq!(translated(text), count, "{text}");
        }
    }
}
