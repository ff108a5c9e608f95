//! Messages in the place of what is new: each is a piece, or the whole of what was said so far.

/// What messages have said.
#[derive(Default)]
pub(super) struct Messages {
    said: String,
    /// Whether one did not begin with what was said before it, so that all are pieces.
    are_pieces: bool,
}

impl Messages {
    /// A message's text without what was said before it, if it begins with that.
    pub(super) fn news<'a>(&mut self, text: &'a str) -> &'a str {
        let rest = text.strip_prefix(self.said.as_str());
        let rest = rest.filter(|_| !self.are_pieces);
        self.are_pieces |= rest.is_none() && !text.is_empty();
        let news = rest.unwrap_or(text);
        self.said.push_str(news);
        news
    }
}
