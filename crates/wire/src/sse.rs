//! Server-sent events, in the one form that every client of the agent service reads (AS-4).

use std::fmt;
use std::io::Write;

use serde::Serialize;

use samovar_core::{Epoch, Event, EventId, Seq};

/// The content type of a stream.
pub const CONTENT_TYPE: &str = "text/event-stream";

/// A comment that keeps a silent connection open. No empty line follows it: some readers would take
/// the two lines for an event without data.
pub const PING: &str = ": ping\n";

/// The id of a frame (DU-7): `epoch.seq` for the last or only frame of an event, `epoch.seq.k` for
/// the k-th of several if more follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameId {
    /// The event of the frame.
    pub event: EventId,
    /// The number of the frame within its event, from 1; `None` for the last.
    pub part: Option<usize>,
}

impl FrameId {
    /// The id of an event's last or only frame.
    pub fn whole(event: &Event) -> Self {
        Self {
            event: event.id(),
            part: None,
        }
    }

    /// Parses an id from `Last-Event-ID` or `after`. Returns `None` for a text that is never a
    /// frame's id, such as another spelling of the same numbers.
    pub fn read(text: &str) -> Option<Self> {
        let mut numbers = text.splitn(3, '.');
        let (epoch, seq) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
        let part = numbers.next().map(str::parse).transpose().ok()?;
        let event = EventId {
            epoch: Epoch(epoch),
            seq: Seq(seq),
        };
        let id = Self { event, part };
        (part != Some(0) && id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for FrameId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.event.fmt(f)?;
        self.part.map_or(Ok(()), |part| write!(f, ".{part}"))
    }
}

/// Appends a comment, one line without an empty line after it, as [`PING`].
pub fn comment(text: impl fmt::Display, out: &mut Vec<u8>) {
    writeln!(out, ": {text}").expect("memory takes every byte");
}

/// Appends one frame: `data: ` with the value as one line of JSON, then its id, if any. The id comes
/// last because some readers take an id when they read its line: a frame that is cut after it would
/// be lost.
///
/// # Panics
/// When the value cannot be JSON, such as a map whose keys are not text. No type of this crate is
/// like that.
pub fn frame(id: Option<FrameId>, value: &impl Serialize, out: &mut Vec<u8>) {
    data(value, out);
    end(id, out);
}

/// Appends the last frame of a stream, `[DONE]`, with the id of the last frame that had one: a frame
/// without an id makes some readers forget theirs.
pub fn done(id: Option<FrameId>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"data: [DONE]\n");
    end(id, out);
}

/// Appends one frame with another line than that of [`FrameId`] after its value, such as its
/// `event`.
///
/// # Panics
/// As [`frame`].
pub(crate) fn labelled(
    field: &str,
    text: impl fmt::Display,
    value: &impl Serialize,
    out: &mut Vec<u8>,
) {
    data(value, out);
    line(field, text, out);
    out.push(b'\n');
}

fn end(id: Option<FrameId>, out: &mut Vec<u8>) {
    if let Some(id) = id {
        line("id", id, out);
    }
    out.push(b'\n');
}

fn line(field: &str, text: impl fmt::Display, out: &mut Vec<u8>) {
    writeln!(out, "{field}: {text}").expect("memory takes every byte");
}

fn data(value: &impl Serialize, out: &mut Vec<u8>) {
    out.extend_from_slice(b"data: ");
    json(value, out);
    out.push(b'\n');
}

/// Appends a value as one line of JSON.
pub(crate) fn json(value: &impl Serialize, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("memory takes every byte of a JSON value");
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const EVENT: EventId = EventId {
        epoch: Epoch(7),
        seq: Seq(42),
    };

    fn check(id: Option<FrameId>, value: &Value, expected: &str) {
        let mut out = b"before|".to_vec();
        frame(id, value, &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            format!("before|{expected}")
        );
    }

    #[test]
    fn a_frame_is_data_one_space_one_line_of_json_and_a_blank_line() {
        let whole = FrameId {
            event: EVENT,
            part: None,
        };
        let third = FrameId {
            event: EVENT,
            part: Some(3),
        };

        check(None, &json!({"a": 1}), "data: {\"a\":1}\n\n");
        check(Some(whole), &json!([]), "data: []\nid: 7.42\n\n");
        check(Some(third), &json!("x"), "data: \"x\"\nid: 7.42.3\n\n");
    }

    #[test]
    fn an_id_is_read_back_as_it_was_written_and_nothing_else_is_one() {
        for id in ["7.42", "7.42.1", "7.42.300", "18446744073709551615.1"] {
            assert_eq!(FrameId::read(id).unwrap().to_string(), id);
        }
        for garbage in [
            "",
            "7",
            "7.",
            ".42",
            "7.42.",
            "7.42.0",
            "7.42.1.1",
            "+7.42",
            "7.+42",
            "07.42",
            "7.042",
            "7.42.01",
            "-7.42",
            "7.-42",
            " 7.42",
            "7.42 ",
            "7,42",
            "a.b",
            "7.42.x",
            "\u{666}.42",
            "7.18446744073709551616",
            "18446744073709551616.1",
            "7.42.18446744073709551616",
        ] {
            assert_eq!(FrameId::read(garbage), None, "{garbage:?}");
        }
    }

    #[test]
    fn no_text_can_break_the_line_that_it_stands_in() {
        let text = "a\nb\r\n\n\u{0}data: [DONE]\n\nй\u{2028}\"\\";
        let escaped = "a\\nb\\r\\n\\n\\u0000data: [DONE]\\n\\nй\u{2028}\\\"\\\\";

        check(None, &json!(text), &format!("data: \"{escaped}\"\n\n"));
    }
}
