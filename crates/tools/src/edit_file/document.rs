//! A text whose line ends are set aside, so that a text from a model, which has seen none of them,
//! can be found in it.

/// A text with `\n` for every line end, and what each one is in the file.
pub(super) struct Document {
    text: String,
    feeds: Vec<Feed>,
}

/// A line feed of the text.
#[derive(Clone, Copy)]
struct Feed {
    at: usize,
    /// In the file, it has a `\r` before it.
    has_return: bool,
}

impl Document {
    pub(super) fn parse(raw: &str) -> Self {
        let mut text = String::with_capacity(raw.len());
        let mut feeds = Vec::new();
        for line in raw.split_inclusive('\n') {
            let content = line.strip_suffix('\n');
            let (content, has_return) = match content.and_then(|line| line.strip_suffix('\r')) {
                Some(content) => (content, true),
                None => (content.unwrap_or(line), false),
            };
            text.push_str(content);
            if line.ends_with('\n') {
                let at = text.len();
                feeds.push(Feed { at, has_return });
                text.push('\n');
            }
        }
        Self { text, feeds }
    }

    /// The text, with `\n` for every line end.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The bytes of the file.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.text.len() + self.feeds.len());
        let mut from = 0;
        for feed in self.feeds.iter().filter(|feed| feed.has_return) {
            bytes.extend_from_slice(&self.text.as_bytes()[from..feed.at]);
            bytes.push(b'\r');
            from = feed.at;
        }
        bytes.extend_from_slice(&self.text.as_bytes()[from..]);
        bytes
    }

    /// Where `old` begins, one occurrence behind the other.
    pub(super) fn occurrences(&self, old: &str) -> Vec<usize> {
        self.text.match_indices(old).map(|(at, _)| at).collect()
    }

    /// The first `cap` places where `old` begins, also inside another occurrence of it.
    pub(super) fn overlapping(&self, old: &str, cap: usize) -> Vec<usize> {
        let step = old.chars().next().map_or(1, char::len_utf8);
        let mut places = Vec::new();
        let mut from = 0;
        while places.len() < cap
            && let Some(found) = self.text.get(from..).and_then(|rest| rest.find(old))
        {
            places.push(from + found);
            from += found + step;
        }
        places
    }

    /// The number of the line that holds the byte at `at`, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        self.feeds.partition_point(|feed| feed.at < at) + 1
    }

    /// This text with `new` in place of the `length` bytes at each of `places`.
    pub(super) fn replace(&self, places: &[usize], length: usize, new: &str) -> Self {
        let mut edited = Self {
            text: String::with_capacity(self.text.len()),
            feeds: Vec::with_capacity(self.feeds.len()),
        };
        let mut from = 0;
        for at in places {
            edited.copy(self, from, *at);
            edited.insert(new, self.has_return_near(*at));
            from = at + length;
        }
        edited.copy(self, from, self.text.len());
        edited
    }

    fn copy(&mut self, source: &Self, from: usize, to: usize) {
        let first = source.feeds.partition_point(|feed| feed.at < from);
        let start = self.text.len();
        let feeds = source.feeds[first..].iter().take_while(|feed| feed.at < to);
        self.feeds.extend(feeds.map(|feed| Feed {
            at: feed.at - from + start,
            has_return: feed.has_return,
        }));
        self.text.push_str(&source.text[from..to]);
    }

    fn insert(&mut self, new: &str, has_return: bool) {
        let start = self.text.len();
        let feeds = new.match_indices('\n').map(|(at, _)| Feed {
            at: start + at,
            has_return,
        });
        self.feeds.extend(feeds);
        self.text.push_str(new);
    }

    /// What the line that holds `at` ends with, or, if it is the last, the line before it.
    fn has_return_near(&self, at: usize) -> bool {
        let next = self.feeds.partition_point(|feed| feed.at < at);
        let feed = self.feeds.get(next).or(self.feeds.last());
        feed.is_some_and(|feed| feed.has_return)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Document;

    proptest! {
        #[test]
        fn a_document_gives_back_the_file_it_was_made_of(raw in "[ab\r\n]{0,40}") {
            prop_assert_eq!(Document::parse(&raw).to_bytes(), raw.as_bytes());
        }

        #[test]
        fn what_is_not_replaced_keeps_its_line_ends(
            before in "([ab]{0,3}\r?\n){0,5}",
            after in "(\r?\n[ab]{0,3}){0,5}",
        ) {
            let document = Document::parse(&format!("{before}old{after}"));
            let at = document.occurrences("old");
            let edited = document.replace(&at, 3, "new");
            let expected = format!("{before}new{after}");
            prop_assert_eq!(edited.to_bytes(), expected.as_bytes());
        }
    }

    #[test]
    fn new_lines_end_like_the_line_they_come_to() {
        for (raw, expected) in [
            ("a\r\nx\r\n", "a\r\n1\r\n2\r\n"),
            ("a\nx\n", "a\n1\n2\n"),
            ("a\nx\r\nb\n", "a\n1\r\n2\r\nb\n"),
            ("a\r\nx", "a\r\n1\r\n2"),
            ("x", "1\n2"),
        ] {
            let document = Document::parse(raw);
            let edited = document.replace(&document.occurrences("x"), 1, "1\n2");
            assert_eq!(edited.to_bytes(), expected.as_bytes(), "{raw:?}");
        }
    }

    #[test]
    fn a_text_that_overlaps_itself_is_found_at_each_place() {
        let document = Document::parse("ééé");
        assert_eq!(document.overlapping("éé", 9), [0, 2]);
        assert_eq!(document.occurrences("éé"), [0]);
        assert_eq!(document.overlapping("éé", 1), [0]);
    }
}
