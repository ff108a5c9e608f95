//! How a reply goes over the wire: its pace, its pauses, its framing, its faults.

use std::{num::NonZeroUsize, time::Duration};

/// How a reply is delivered; the default is a well-behaved stream, as fast as it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Characters of text, reasoning or arguments in a delta; a part is one delta when absent.
    pub delta_chars: Option<NonZeroUsize>,
    /// Time between deltas; `None` for no pause.
    pub pace: Option<Duration>,
    /// Time between the request and the head of the response.
    pub delay: Duration,
    /// A gate before which not even the head of the response is sent.
    pub head_gate: Option<Gate>,
    /// Gates inside the body.
    pub holds: Vec<Hold>,
    /// Places where the body is split into two writes, whatever the frames are.
    pub splits: Vec<Point>,
    /// Where the body breaks off.
    pub cut: Option<BreakOff>,
    /// Most bytes that one write gives to the socket, head and transfer framing included.
    /// How many of them one read of the peer brings is the kernel's affair.
    pub write_bytes: Option<NonZeroUsize>,
    /// Line ends of the event stream.
    pub newline: Newline,
    /// Whether the event stream starts with a byte order mark.
    pub bom: bool,
    /// Whether the dialect's last event is sent (`data: [DONE]`, `message_stop`).
    pub terminal: Terminal,
    /// Content type of the response in place of the right one.
    pub content_type: Option<String>,
    /// More headers of the response.
    pub headers: Vec<(String, String)>,
}

impl Default for Delivery {
    fn default() -> Delivery {
        Delivery {
            delta_chars: NonZeroUsize::new(DELTA_CHARS),
            pace: None,
            delay: Duration::ZERO,
            head_gate: None,
            holds: Vec::new(),
            splits: Vec::new(),
            cut: None,
            write_bytes: None,
            newline: Newline::Lf,
            bom: false,
            terminal: Terminal::Sent,
            content_type: None,
            headers: Vec::new(),
        }
    }
}

/// Characters in a delta unless the script says otherwise: about a token, so that words are
/// broken in the middle as models break them.
const DELTA_CHARS: usize = 4;

/// The name of a gate at which replies wait until the server is told to open it
/// ([`ModelServer::open`](crate::ModelServer::open)); once open it stays open.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Gate(String);

impl Gate {
    /// The gate of this name; gates of the same name in one server are the same gate.
    pub fn new(name: impl Into<String>) -> Gate {
        Gate(name.into())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// A gate inside a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// Where the reply waits.
    pub at: Point,
    /// What it waits for.
    pub gate: Gate,
}

/// A place in a response's body.
///
/// Deltas are the pieces that carry text, reasoning or a call; events around them (the role,
/// the finish, usage, comments) count none. A body that is not a stream is one delta, and is
/// over with its last byte. A place that the body does not have is never reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// After so many deltas; 0 is before the first byte of the body, the head being out.
    Deltas(usize),
    /// After so many bytes of the body.
    Bytes(usize),
    /// Inside the frame of a delta: so many deltas are out, and so many bytes of the next.
    IntoDelta {
        /// Whole deltas before it.
        deltas: usize,
        /// Bytes of the next frame.
        bytes: usize,
    },
    /// After the first byte of a character that has several, counted from 0 among such; a byte
    /// order mark is one.
    InsideCharacter(usize),
}

/// Where a body breaks off, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakOff {
    /// Where; everything before it has been given to the kernel.
    pub at: Point,
    /// How.
    pub how: Ending,
}

/// How a body breaks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// HTTP ends as it should, though the reply has not.
    Body,
    /// The connection is closed in the middle of the HTTP body.
    Close,
    /// The connection is reset; what the peer's kernel has not taken yet is lost.
    Reset,
}

/// Line ends of an event stream; the format allows all three.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Newline {
    /// `\n`
    #[default]
    Lf,
    /// `\r\n`
    CrLf,
    /// `\r`
    Cr,
}

impl Newline {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Newline::Lf => "\n",
            Newline::CrLf => "\r\n",
            Newline::Cr => "\r",
        }
    }
}

/// Whether the event that ends a stream in its dialect is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Terminal {
    /// As it should be.
    #[default]
    Sent,
    /// The body ends well, without it.
    Withheld,
}
