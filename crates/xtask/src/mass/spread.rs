//! How many files one thing is spread over: a type's `impl` blocks, and the name of a crate.

use std::collections::BTreeMap;

use super::tokens::{Tokens, without_tests};

/// The type whose inherent `impl` blocks are in most files, and how many those are.
pub(super) fn widest_impl(files: &BTreeMap<String, String>) -> (usize, &str) {
    let mut types: BTreeMap<&str, usize> = BTreeMap::new();
    for text in files.values() {
        let mut names: Vec<&str> = text.lines().filter_map(inherent).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            *types.entry(name).or_default() += 1;
        }
    }
    let most = types.into_iter().map(|(name, files)| (files, name)).max();
    most.unwrap_or_default()
}

/// The type of the inherent `impl` that begins on a line, which rustfmt leaves unindented.
fn inherent(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let rest = match rest.strip_prefix('<') {
        Some(generics) => generics.split_once("> ")?.1,
        None => rest.strip_prefix(' ')?,
    };
    let name = rest.split(['<', ' ']).next()?;
    (!rest.contains(" for ")).then_some(name)
}

/// How many files use one of these names outside their tests.
pub(super) fn naming(files: &BTreeMap<String, String>, names: &[&str]) -> usize {
    let names_one = |text: &&String| {
        let tokens = Tokens::of(text);
        let (code, _) = without_tests(&tokens.code);
        names.iter().any(|name| code.contains(name))
    };
    files.values().filter(names_one).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_files_of_inherent_impls_and_of_a_name() {
        let files: BTreeMap<String, String> = [
            (
                "a.rs",
                "impl Mailbox {}\nimpl Mailbox {}\nimpl Clone for Open {}\n",
            ),
            (
                "b.rs",
                "impl<T: Copy> Mailbox<T> {}\nuse store::x; // other\n",
            ),
            (
                "c.rs",
                "impl Open {}\n#[cfg(test)]\nmod tests { use other; }\n",
            ),
        ]
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .into();
        assert_eq!(widest_impl(&files), (2, "Mailbox"));
        assert_eq!(
            (naming(&files, &["store"]), naming(&files, &["other"])),
            (1, 0)
        );
    }
}
