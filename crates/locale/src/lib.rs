//! Every sentence that a person sees, from one catalogue: one function per sentence, in the
//! language that the process chose.
//!
//! Here: the functions, generated at build time from the `locales` folder at the root of the
//! repository, [`Language`] with [`choose`], and the plural rules. Not here: when a sentence is
//! used, and codes, which are the same in every language. The crate depends on nothing and never
//! reads the environment; the binary reads it and chooses.
//!
//! # To add a sentence
//!
//! Add a line to every file in `locales`, in alphabetical order: `"area.name"`, in `snake_case`,
//! and the sentence. It becomes `samovar_locale::area::name()`, which takes the sentence's
//! `{placeholders}` as its arguments, in the order of their first use in `en.json`; a literal brace
//! is doubled. Whole sentences can be translated and pieces cannot, so a placeholder is a value,
//! never a clause. A value that must stand out from the sentence is [`quoted`] by the caller.
//!
//! ```
//! let line = samovar_locale::error::complaint("there is no such session", "unknown_session");
//! assert_eq!(line, "samovar: there is no such session [unknown_session]");
//! ```
//!
//! A sentence that counts something is an object of plural forms, chosen by `{count}`: `{"one":
//! "one session", "other": "{count} sessions"}`; in English, `other` sets the order of the
//! arguments. A misspelt name or a missing argument does not compile:
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
//! placeholders in each, and the plural forms of the language. The build fails with a list of what
//! is missing; nothing else is needed, unless the language has plural rules that [`plural`] lacks:
//! then add the rule there, and a line to the table of `build/catalogue.rs`.

use std::fmt;

mod language;
pub mod plural;

pub use language::choose;

include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

const MASK: &str = "***";

/// Letters in the longest scheme that is recognized.
const SCHEME_CHARS: usize = 8;

/// An address that is safe to show, even a malformed one: without its user and password, query and
/// fragment, any of which may contain a key.
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

/// A text or a path in quotation marks, with its control characters and quotation marks escaped.
pub fn quoted<T: fmt::Debug + ?Sized>(value: &T) -> impl fmt::Display {
    fmt::from_fn(move |f| value.fmt(f))
}
