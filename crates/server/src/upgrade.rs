//! WebSocket connections: how a request becomes one, what it may send, and when it is cut.
//!
//! A route takes the [`Upgrade`] out of its call and speaks over the [`Channel`] that it gives; the
//! request has passed the door like every other. The channel holds its connection's
//! [`ConnectionGuard`]: it counts as a connection and is paced like one, and the server's stop waits
//! for it and then cuts it.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::extract::ws::{
    CloseCode, CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Response, header};
use bytes::Bytes;
use futures_util::SinkExt;
use samovar_core::relay::RelayCode;
use samovar_core::{Code, Error};
use samovar_locale as locale;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite;
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::pace::Stalled;

/// Bytes that are read at once, and written at once, at most; a longer message takes several.
const CHUNK_BYTES: usize = 8 * 1024;
/// How long the client gets to answer a close frame.
const GOODBYE: Duration = Duration::from_secs(1);

/// A connection's share of the server's limits. While a clone of it exists, the connection counts
/// as one of the allowed number, and the server's stop waits for it.
#[derive(Clone, Default)]
pub(crate) struct ConnectionGuard {
    held: Option<Arc<Held>>,
    stop: CancellationToken,
    cut: CancellationToken,
    /// Cancelled when the token of the request is revoked.
    revoked: CancellationToken,
}

/// What a connection holds of the server.
struct Held {
    place: Mutex<OwnedSemaphorePermit>,
    is_moved: AtomicBool,
    _tracked: TaskTrackerToken,
}

impl ConnectionGuard {
    /// `stop` asks its owner to end, `cut` ends the connection at once.
    pub(crate) fn new(
        permit: OwnedSemaphorePermit,
        tracked: TaskTrackerToken,
        stop: CancellationToken,
        cut: CancellationToken,
    ) -> Self {
        Self {
            held: Some(Arc::new(Held {
                place: Mutex::new(permit),
                is_moved: AtomicBool::new(false),
                _tracked: tracked,
            })),
            stop,
            cut,
            revoked: CancellationToken::new(),
        }
    }

    /// Closes what the request becomes when its token is revoked.
    pub(crate) fn end_with(&mut self, revoked: CancellationToken) {
        self.revoked = revoked;
    }

    /// Gives the connection another place in exchange for its own; whether it had one.
    pub(crate) fn move_to(&self, place: OwnedSemaphorePermit) -> bool {
        let Some(held) = &self.held else {
            return false;
        };
        *held.place.lock().unwrap_or_else(PoisonError::into_inner) = place;
        held.is_moved.store(true, Ordering::Relaxed);
        true
    }

    /// Whether it was given another place.
    pub(crate) fn is_moved(&self) -> bool {
        let held = self.held.as_ref();
        held.is_some_and(|held| held.is_moved.load(Ordering::Relaxed))
    }
}

/// A request's wish to go on as a WebSocket.
pub(crate) struct Upgrade {
    handshake: Result<WebSocketUpgrade, Error>,
    place: ConnectionGuard,
    pace: Pace,
}

/// Time limits for a client.
pub(crate) struct Pace {
    /// How often a silent client is pinged.
    pub(crate) ping_every: Duration,
    /// How long it may take to answer a ping.
    pub(crate) patience: Duration,
    /// Whether it stopped reading.
    pub(crate) stalled: Stalled,
}

impl Upgrade {
    /// Extracts the WebSocket upgrade, if the request asked for one.
    pub(crate) async fn asked(parts: &mut Parts, pace: Pace) -> Option<Self> {
        if !names_websocket(&parts.headers) {
            return None;
        }
        let handshake = WebSocketUpgrade::from_request_parts(parts, &()).await;
        let handshake = match handshake {
            Ok(_) if !has_key(&parts.headers) => Err(locale::request::no_handshake_key().into()),
            Ok(handshake) => Ok(handshake),
            Err(cause) => Err(locale::request::no_handshake(cause).into()),
        };
        let handshake =
            handshake.map_err(|why: Cow<'static, str>| Error::new(Code::InvalidParams, why));
        Some(Self {
            handshake,
            // None where another program serves the routes.
            place: parts
                .extensions
                .remove::<ConnectionGuard>()
                .unwrap_or_default(),
            pace,
        })
    }

    /// The same for a client that is asked so often whether it is there, and has left when it does not
    /// answer twice.
    pub(crate) fn asking_every(mut self, ping_every: Duration) -> Self {
        self.pace.ping_every = ping_every;
        self.pace.patience = 2 * ping_every;
        self
    }

    /// Answers the request, and has its connection served when that answer is out. One message may
    /// come with so many bytes.
    ///
    /// # Errors
    /// [`Code::InvalidParams`] when the request is no handshake.
    pub(crate) fn accept<F>(
        self,
        max_bytes: usize,
        serve: impl FnOnce(Channel) -> F + Send + 'static,
    ) -> Result<Response<Body>, Error>
    where
        F: Future<Output = ()> + Send,
    {
        let Self { place, pace, .. } = self;
        let handshake = self
            .handshake?
            .max_message_size(max_bytes)
            .max_frame_size(max_bytes)
            .read_buffer_size(CHUNK_BYTES)
            .write_buffer_size(CHUNK_BYTES)
            .on_failed_upgrade(|error| tracing::debug!(%error, "an upgrade came to nothing"));
        Ok(handshake.on_upgrade(|socket| async move {
            let line = Channel::new(socket, pace, &place);
            tokio::select! {
                () = serve(line) => {}
                () = place.cut.cancelled() => {}
            }
            drop(place);
        }))
    }
}

pub(crate) fn names_websocket(headers: &HeaderMap) -> bool {
    let named = headers.get_all(header::UPGRADE).iter();
    let mut named = named.flat_map(|value| value.as_bytes().split(|&byte| byte == b','));
    named.any(|name| name.trim_ascii().eq_ignore_ascii_case(b"websocket"))
}

/// Whether there is one key, of 16 bytes in base64 (RFC 6455, 4.1).
fn has_key(headers: &HeaderMap) -> bool {
    let mut keys = headers.get_all(header::SEC_WEBSOCKET_KEY).iter();
    let (Some(key), None) = (keys.next(), keys.next()) else {
        return false;
    };
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    match key.as_bytes().strip_suffix(b"==") {
        // Of the last of 22 digits two bits belong to the sixteenth byte, and the others are zero.
        Some(digits @ [.., b'A' | b'Q' | b'g' | b'w']) => {
            digits.len() == 22 && digits.iter().all(is_digit)
        }
        Some(_) | None => false,
    }
}

/// A WebSocket as its route sees it: whole messages both ways. It sends pings to check a silent
/// client.
pub(crate) struct Channel {
    socket: WebSocket,
    pace: Pace,
    stop: CancellationToken,
    revoked: CancellationToken,
    /// When the last ping was sent; at first, when the channel began.
    asked: Instant,
    /// Since when a pong is due.
    owed: Option<Instant>,
}

/// A message from the client.
#[derive(Debug)]
pub(crate) enum ClientMessage {
    /// A text.
    Text(Utf8Bytes),
    /// Bytes, which may be a text too.
    Binary(Bytes),
}

impl ClientMessage {
    /// Its bytes.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Binary(bytes) => bytes,
        }
    }
}

/// Why a channel has closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CloseReason {
    /// The client left, or cannot be reached.
    Gone,
    /// The frame is not valid, with the close code of RFC 6455.
    Unreadable(CloseCode),
    /// The client took nothing for too long.
    Stalled,
    /// The server stops.
    Stopping,
    /// The client did something that is not allowed.
    Refused(Code),
    /// Another client has replaced this one.
    Replaced,
    /// Too much is queued for the client.
    Overrun,
}

/// The token that let the client in counts no longer.
const REVOKED: CloseReason = CloseReason::Refused(Code::Unauthorized);

impl Channel {
    fn new(socket: WebSocket, pace: Pace, guard: &ConnectionGuard) -> Self {
        Self {
            socket,
            pace,
            stop: guard.stop.clone(),
            revoked: guard.revoked.clone(),
            asked: Instant::now(),
            owed: None,
        }
    }

    /// The client's next message. Safe to drop halfway: a message is taken whole or not at all.
    ///
    /// # Errors
    /// [`CloseReason`]: nothing will come.
    pub(crate) async fn hear(&mut self) -> Result<ClientMessage, CloseReason> {
        loop {
            let ask = self.asked + self.pace.ping_every;
            let lost = self.owed.map(|since| since + self.pace.patience);
            let wake = lost.map_or(ask, |lost| lost.min(ask));
            let heard = tokio::select! {
                // What has come is heard before the client is given up, and the stop before both.
                biased;
                () = self.revoked.cancelled() => return Err(REVOKED),
                () = self.stop.cancelled() => return Err(CloseReason::Stopping),
                heard = self.socket.recv() => heard,
                () = tokio::time::sleep_until(wake) => {
                    if lost == Some(wake) {
                        return Err(CloseReason::Gone);
                    }
                    self.ping().await?;
                    continue;
                }
            };
            self.owed = None;
            match heard {
                Some(Ok(Message::Text(text))) => return Ok(ClientMessage::Text(text)),
                Some(Ok(Message::Binary(bytes))) => return Ok(ClientMessage::Binary(bytes)),
                // A ping is answered below.
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(_))) => {
                    // Its answer lies ready, and says that all before it has arrived.
                    let _was_heard = self.socket.flush().await.is_ok();
                    return Err(CloseReason::Gone);
                }
                None => return Err(CloseReason::Gone),
                Some(Err(error)) => return Err(unreadable(error)),
            }
        }
    }

    /// Says texts, one message each, with few writes. What waits for the client to take it waits
    /// here, and nothing piles up behind it.
    ///
    /// # Errors
    /// [`CloseReason`]: the client takes no more.
    pub(crate) async fn say(
        &mut self,
        texts: impl IntoIterator<Item = String> + Send,
    ) -> Result<(), CloseReason> {
        let said = async {
            for text in texts {
                self.socket.feed(Message::Text(text.into())).await?;
            }
            self.socket.flush().await
        };
        let said = said.await;
        self.written(&said)
    }

    async fn ping(&mut self) -> Result<(), CloseReason> {
        self.asked = Instant::now();
        self.owed.get_or_insert(self.asked);
        let sent = self.socket.send(Message::Ping(Bytes::new())).await;
        self.written(&sent)
    }

    fn written(&self, written: &Result<(), axum::Error>) -> Result<(), CloseReason> {
        match written {
            Err(_) => Err(CloseReason::Gone),
            Ok(()) if self.revoked.is_cancelled() => Err(REVOKED),
            Ok(()) if self.pace.stalled.is_set() => Err(CloseReason::Stalled),
            Ok(()) => Ok(()),
        }
    }

    /// Says why it is over, and waits a moment for the answer, so that what was said before arrives.
    pub(crate) async fn end(mut self, why: CloseReason) {
        let Some(code) = why.close_code() else {
            return;
        };
        let frame = CloseFrame {
            code,
            reason: why.to_string().into(),
        };
        let goodbye = async {
            self.socket.send(Message::Close(Some(frame))).await?;
            while let Some(heard) = self.socket.recv().await {
                heard?;
            }
            Ok::<_, axum::Error>(())
        };
        // Whether it was heard changes nothing any more.
        let _heard = tokio::time::timeout(GOODBYE, goodbye).await.is_ok();
    }
}

impl CloseReason {
    fn close_code(self) -> Option<CloseCode> {
        match self {
            Self::Gone => None,
            Self::Unreadable(code) => Some(code),
            Self::Stalled | Self::Refused(_) => Some(close_code::POLICY),
            Self::Stopping => Some(close_code::AWAY),
            Self::Replaced => Some(close_code::NORMAL),
            Self::Overrun => Some(close_code::AGAIN),
        }
    }
}

/// The reason beside the number of a close: a code as everywhere.
impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => Ok(()),
            Self::Unreadable(close_code::SIZE) => Code::BodyTooLarge.fmt(f),
            Self::Unreadable(_) => Code::InvalidParams.fmt(f),
            Self::Stalled | Self::Overrun => Code::ReaderStalled.fmt(f),
            Self::Replaced => f.write_str(RelayCode::SessionNotActive.as_str()),
            Self::Stopping => Code::ServerRestart.fmt(f),
            Self::Refused(code) => code.fmt(f),
        }
    }
}

fn unreadable(error: axum::Error) -> CloseReason {
    use tungstenite::Error as Fault;
    match error.into_inner().downcast_ref() {
        Some(Fault::Capacity(_)) => CloseReason::Unreadable(close_code::SIZE),
        Some(Fault::Utf8(_)) => CloseReason::Unreadable(close_code::INVALID),
        Some(Fault::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake)) => {
            CloseReason::Gone
        }
        Some(Fault::Protocol(_)) => CloseReason::Unreadable(close_code::PROTOCOL),
        Some(_) | None => CloseReason::Gone,
    }
}
