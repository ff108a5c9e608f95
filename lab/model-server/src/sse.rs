//! Events as the bytes of an event stream.

use bytes::Bytes;

use crate::script::{Delivery, Newline};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// An event in a dialect's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// A piece of the reply: what counts as a delta.
    Delta(Data),
    /// Any other event with data.
    Data(Data),
    /// A line that readers skip.
    Comment(String),
}

/// An event's data, and its name in dialects that have names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Data {
    pub(crate) name: Option<String>,
    pub(crate) text: String,
}

impl Data {
    /// The data of an event without a name.
    pub(crate) fn of(text: String) -> Data {
        Data { name: None, text }
    }
}

/// A stretch of a response's body that is sent whole unless the script breaks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) bytes: Bytes,
    /// 1 for a delta, 0 for what is around them.
    pub(crate) deltas: usize,
    /// Whether it is a body whose length is in the head, so that HTTP is over with its last byte.
    pub(crate) is_all: bool,
}

impl Frame {
    /// A body that is one piece.
    pub(crate) fn whole(body: impl Into<Bytes>) -> Frame {
        Frame {
            bytes: body.into(),
            deltas: 1,
            is_all: true,
        }
    }
}

/// Spells events with the line ends and the start that `delivery` wants.
pub(crate) fn frames<E: Iterator<Item = Event>>(
    events: E,
    delivery: &Delivery,
) -> impl Iterator<Item = Frame> + use<E> {
    let newline = delivery.newline;
    let mut start = if delivery.bom { BYTE_ORDER_MARK } else { "" };
    events.map(move |event| frame(std::mem::take(&mut start), &event, newline))
}

fn frame(start: &str, event: &Event, newline: Newline) -> Frame {
    let (name, field, text, deltas) = match event {
        Event::Delta(data) => (data.name.as_deref(), "data: ", &data.text, 1),
        Event::Data(data) => (data.name.as_deref(), "data: ", &data.text, 0),
        Event::Comment(text) => (None, ": ", text, 0),
    };
    let mut bytes = String::with_capacity(start.len() + field.len() + text.len() + 4);
    bytes.push_str(start);
    if let Some(name) = name {
        bytes.push_str("event: ");
        bytes.push_str(name);
        bytes.push_str(newline.text());
    }
    for line in text.split('\n') {
        bytes.push_str(field);
        bytes.push_str(line);
        bytes.push_str(newline.text());
    }
    bytes.push_str(newline.text());
    Frame {
        bytes: bytes.into(),
        deltas,
        is_all: false,
    }
}
