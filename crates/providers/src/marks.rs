//! The words by which servers say, beside the events of a dialect, that they are alive or have ended.

/// Whether a text in the place of an event says that the stream is over: `[DONE]`.
pub(crate) fn is_end(text: &str) -> bool {
    is_one_of(
        text,
        &["done", "end", "end_of_stream", "complete", "completed"],
    )
}

/// Whether a text in the place of an event, or an event's name, says only that the server is alive.
pub(crate) fn is_sign_of_life(text: &str) -> bool {
    text.is_empty()
        || is_one_of(
            text,
            &[
                "ping",
                "pong",
                "heartbeat",
                "keep-alive",
                "keepalive",
                "keep_alive",
                "start",
                "connected",
            ],
        )
}

/// Whether it is one of these words, however it is written and whatever is around it.
fn is_one_of(text: &str, words: &[&str]) -> bool {
    // Longer than any of them, with what may be around it.
    if text.len() > 24 {
        return false;
    }
    let plain = text.trim_matches(|letter: char| !letter.is_ascii_alphanumeric());
    words.iter().any(|word| plain.eq_ignore_ascii_case(word))
}
