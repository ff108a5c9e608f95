//! Whether two conversations are the same as far as the log knows.

use samovar_core::Seq;

use super::Transcript;

/// What an answer said about the window is no part of the log.
impl PartialEq for Transcript {
    fn eq(&self, other: &Self) -> bool {
        (self.before, &self.messages, &self.turns) == (other.before, &other.messages, &other.turns)
            && (&self.opening, &self.limit, self.limit_at)
                == (&other.opening, &other.limit, other.limit_at)
    }
}

impl Transcript {
    /// A limit that was read from the history has no place in the log.
    pub(crate) fn forget_place_of_limit(&mut self) {
        self.limit_at = Seq::default();
    }
}
