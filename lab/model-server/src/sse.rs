//! Events as the bytes of an event stream.

use bytes::Bytes;

use crate::{
    dialect::Events,
    script::{Delivery, Newline},
};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// An event of a stream: its fields in a dialect's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    name: Option<String>,
    /// `data`, or nothing for a comment, which readers skip.
    field: &'static str,
    text: String,
    deltas: usize,
}

impl Event {
    /// An event with data; its name in dialects that have names.
    pub(crate) fn data(name: Option<&str>, text: String) -> Event {
        Event {
            name: name.map(str::to_owned),
            field: "data",
            text,
            deltas: 0,
        }
    }

    pub(crate) fn comment(text: String) -> Event {
        let field = "";
        Event {
            field,
            ..Event::data(None, text)
        }
    }

    /// The event as a piece of the reply, which counts as a delta.
    pub(crate) fn delta(self) -> Event {
        Event { deltas: 1, ..self }
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
    pub(crate) fn whole(body: String) -> Frame {
        let is_all = true;
        Frame {
            is_all,
            ..Frame::part(body)
        }
    }

    /// A piece of a body, which counts as a delta.
    pub(crate) fn part(bytes: String) -> Frame {
        Frame {
            bytes: bytes.into(),
            deltas: 1,
            is_all: false,
        }
    }
}

/// Spells events with the line ends and the start that `delivery` wants.
pub(crate) fn frames(events: Events, delivery: &Delivery) -> impl Iterator<Item = Frame> + use<> {
    let newline = delivery.newline;
    let mut start = if delivery.bom { BYTE_ORDER_MARK } else { "" };
    events.map(move |event| frame(std::mem::take(&mut start), &event, newline))
}

fn frame(start: &str, event: &Event, newline: Newline) -> Frame {
    let (field, end) = (event.field, newline.text());
    let mut bytes = start.to_owned();
    if let Some(name) = &event.name {
        bytes.extend(["event: ", name, end]);
    }
    for line in event.text.split('\n') {
        bytes.extend([field, ": ", line, end]);
    }
    bytes += end;
    Frame {
        bytes: bytes.into(),
        deltas: event.deltas,
        is_all: false,
    }
}
