//! A post is read in pieces, and all messages but the last are passed over: a client posts its whole
//! history, and the server owns it.

/// Keeps of a post what counts: the object without all but the last element of its `messages`.
///
/// It reads brackets and strings alone; what it keeps is read as JSON afterwards.
#[derive(Debug, Default)]
pub struct Skimmer {
    kept: Vec<u8>,
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    /// Where the last string of the object itself began.
    string_at: usize,
    /// Whether the value that comes is the list.
    is_list_next: bool,
    /// Where the current message begins.
    message_at: Option<usize>,
}

impl Skimmer {
    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        for byte in piece {
            self.take(*byte);
        }
    }

    /// How many bytes are kept.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// What is left of the post.
    pub fn finish(self) -> Vec<u8> {
        self.kept
    }

    fn take(&mut self, byte: u8) {
        if self.in_string {
            self.in_string = self.is_escaped || byte != b'"';
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            self.kept.push(byte);
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if self.depth == 1 {
                    self.string_at = self.kept.len();
                }
            }
            b':' if self.depth == 1 => {
                let key = &self.kept[self.string_at..];
                self.is_list_next = key.trim_ascii_end() == b"\"messages\"";
            }
            b'{' | b'[' => {
                self.depth += 1;
                if self.depth == 2 && self.is_list_next && byte == b'[' {
                    self.message_at = Some(self.kept.len() + 1);
                }
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 1 {
                    (self.message_at, self.is_list_next) = (None, false);
                }
            }
            b',' if self.depth == 2 => {
                if let Some(at) = self.message_at {
                    // Another one follows.
                    self.kept.truncate(at);
                    return;
                }
            }
            b',' if self.depth == 1 => self.is_list_next = false,
            _ => {}
        }
        self.kept.push(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::Skimmer;

    // proves UI-1
    #[test]
    fn the_last_message_and_all_that_is_no_message_is_kept_in_whatever_pieces_it_comes() {
        for (post, kept) in [
            (
                r#"{"id":"c","messages":[1,2,3]}"#,
                r#"{"id":"c","messages":[3]}"#,
            ),
            (r#"{"messages":[]}"#, r#"{"messages":[]}"#),
            (
                r#"{"messages" : [{"a":[1,2],"b":{"messages":[1,2]}}, {"c":"],\",["}], "id":[1,2]}"#,
                r#"{"messages" : [ {"c":"],\",["}], "id":[1,2]}"#,
            ),
            (
                r#"{"context":{"messages":[1,2]},"x":"messages","y":[1,2]}"#,
                r#"{"context":{"messages":[1,2]},"x":"messages","y":[1,2]}"#,
            ),
            (
                r#"{"messages":"no","tabs":[1,2]}"#,
                r#"{"messages":"no","tabs":[1,2]}"#,
            ),
            (r"[[1,2],[3]]", r"[[1,2],[3]]"),
            (r#"{"messages":[{"a":1},{"b":"#, r#"{"messages":[{"b":"#),
        ] {
            for pieces in [post.len(), 1, 3] {
                let mut skimmer = Skimmer::default();
                for piece in post.as_bytes().chunks(pieces) {
                    skimmer.push(piece);
                }
                assert_eq!(String::from_utf8(skimmer.finish()).unwrap(), kept);
            }
        }
    }
}
