//! Keys are replaced in text before it is kept, shown or logged (TL-14).
//!
//! Our own (providers' keys, the tokens of this server) everywhere, by [`own`]: each process knows
//! its keys and tells them to [`protect`]. Those of others by their formats, in logs, errors and the
//! audit alone, by [`foreign`]. [`for_logs`] does both.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

mod event;
mod foreign;
mod pattern;
mod redactor;
mod spelling;
mod tail;
#[cfg(test)]
mod tests;

pub use foreign::foreign;
pub use redactor::Redactor;
pub use tail::Tail;

/// A key or a token: no log, error or debug print shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Takes a key as it was given, without the blanks around it; `None` when nothing is left.
    pub fn new(raw: &str) -> Option<Self> {
        let key = raw.trim();
        (!key.is_empty()).then(|| Self(key.into()))
    }

    /// The key itself, for the header that carries it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The keys of this process, which only grow.
static OWN: RwLock<Option<Arc<Redactor>>> = RwLock::new(None);

/// Makes a key one of this process's own; `name` is for the mark: `OPENAI_API_KEY`. Keys shorter
/// than [`Redactor::LEAST_BYTES`] and well-known placeholders are not replaced.
pub fn protect(name: &str, secret: &Secret) {
    let mut own = OWN.write().unwrap_or_else(PoisonError::into_inner);
    let known = own.as_deref().cloned().unwrap_or_default();
    *own = Some(Arc::new(known.with(name, secret)));
}

/// What replaces the keys of this process, as far as it knows them now.
pub fn own() -> Arc<Redactor> {
    let own = OWN.read().unwrap_or_else(PoisonError::into_inner);
    own.clone().unwrap_or_default()
}

/// A text for a log, an error or the audit: without our own keys, and without those of others whose
/// format is known.
pub fn for_logs(text: &str) -> Cow<'_, str> {
    match own().redact(text) {
        Cow::Borrowed(text) => foreign(text),
        Cow::Owned(text) => Cow::Owned(foreign(&text).into_owned()),
    }
}
