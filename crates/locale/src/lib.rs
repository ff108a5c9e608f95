//! Every sentence that a person sees, from one catalogue: a function a sentence, in the language
//! that the process chose.
//!
//! Here: the functions, made at build time from the `locales` folder at the root of the repository,
//! [`Language`] with [`choose`], and the plural rules. Not here: what is said when, and codes, which
//! are the same in every language. The crate depends on nothing and never reads the environment;
//! the binary reads it and chooses.
//!
//! # To add a sentence
//!
//! Add a line to every file in `locales`, in the order of the alphabet: `"area.name"`,
//! in `snake_case`, and the sentence.
//! It becomes `samovar_locale::area::name()`, which takes the sentence's `{placeholders}` as its
//! arguments, in the order in which they first stand in `en.json`; a literal brace is doubled.
//! Whole sentences can be translated and pieces cannot, so a value goes in and a clause does not.
//! A value that must be told from the words around it is [`quoted`] by the caller.
//!
//! ```
//! let line = samovar_locale::error::complaint("there is no such session", "unknown_session");
//! assert_eq!(line, "samovar: there is no such session [unknown_session]");
//! ```
//!
//! A sentence that counts something is an object of plural forms, chosen by `{count}`:
//! `{"one": "one session", "other": "{count} sessions"}`; of English ones `other` gives the order.
//! What is misspelt or left out does not compile:
//!
//! ```compile_fail,E0061
//! samovar_locale::error::complaint("there is no such session");
//! ```
//! ```compile_fail,E0425
//! samovar_locale::error::no_such_sentence();
//! ```
//!
//! # To add a language
//!
//! Add its file, such as `locales/ru.json`, with a sentence for every key of `en.json`, the same
//! placeholders in each, and the plural forms that the language has. The build fails with a list of
//! what is missing, and that is all there is to do; only a language that counts in a way of its own
//! needs its rule in [`plural`], and a line in the table of `build/catalogue.rs`.

use std::fmt;

mod language;
pub mod plural;

pub use language::choose;

include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

/// What stands in the place of a secret.
const MASK: &str = "***";

/// Letters of the longest scheme that an address by hand is thought to have.
const SCHEME_CHARS: usize = 8;

/// An address as it may be repeated, also one that cannot be read: without its user and its
/// password, its query and its fragment, any of which may be a key.
pub fn without_secrets(address: &str) -> String {
    let is_scheme = |word: &str| {
        word.len() <= SCHEME_CHARS && word.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    let split = address.trim().split_once("://");
    let (scheme, rest) = match split.filter(|(scheme, _)| is_scheme(scheme)) {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), address.trim()),
    };
    // The last one: a password may hold one too, or the beginning of what looks like a query.
    let (user, rest) = match rest.rsplit_once('@') {
        Some((_, rest)) => (format!("{MASK}@"), rest),
        None => (String::new(), rest),
    };
    match rest.find(['?', '#']) {
        Some(end) => format!("{scheme}{user}{}{MASK}", &rest[..=end]),
        None => format!("{scheme}{user}{rest}"),
    }
}

/// A text or a path in quotation marks, its control characters and quotation marks made visible.
pub fn quoted<T: fmt::Debug + ?Sized>(value: &T) -> impl fmt::Display {
    fmt::from_fn(move |f| value.fmt(f))
}
