//! A key that no log, error or debug print shows.

use std::fmt;
use std::sync::Arc;

/// A provider's key.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Takes a key as it was given, without the blanks around it; none when nothing is left.
    pub fn new(raw: &str) -> Option<Self> {
        let key = raw.trim();
        (!key.is_empty()).then(|| Self(key.into()))
    }

    /// The key itself, for the header that carries it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_printed() {
        let key = Secret::new(" sk-live-123\n").unwrap();
        assert_eq!(key.expose(), "sk-live-123");
        assert_eq!(
            format!("{key:?} {:#?}", Some(&key)),
            "*** Some(\n    ***,\n)"
        );
        assert_eq!(Secret::new(" \n"), None);
    }
}
