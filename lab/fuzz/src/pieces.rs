//! Bytes cut into pieces, as a socket may bring them.

/// The bytes in other pieces than one: each for itself, and in two at a place that they choose.
pub(crate) fn cuts(data: &[u8]) -> [Vec<&[u8]>; 2] {
    let (head, tail) = data.split_at(place(data));
    [data.chunks(1).collect(), vec![head, tail]]
}

/// The same of a text, each character for itself.
pub(crate) fn text_cuts(text: &str) -> [Vec<&str>; 2] {
    let (head, tail) = text.split_at(text_place(text));
    let ends = text
        .char_indices()
        .map(|(at, c)| &text[at..at + c.len_utf8()]);
    [ends.collect(), vec![head, tail]]
}

/// A place in bytes that is the same each time.
pub(crate) fn place(data: &[u8]) -> usize {
    let hash = usize::try_from(crc32fast::hash(data)).unwrap_or_default();
    hash % (data.len() + 1)
}

/// The same, between two characters.
pub(crate) fn text_place(text: &str) -> usize {
    text.floor_char_boundary(place(text.as_bytes()))
}

/// Two texts that one input holds, parted by its first line feed; `None` when it is no text.
pub(crate) fn two_texts(data: &[u8]) -> Option<(&str, &str)> {
    str::from_utf8(data).ok()?.split_once('\n')
}
