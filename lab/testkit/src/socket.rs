//! A WebSocket as a client sees it.

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

/// A WebSocket that answers pings while it is read. Dropping it closes the connection without a word.
pub struct Socket {
    stream: WebSocketStream<TcpStream>,
}

/// What a server says over a WebSocket.
#[derive(Clone, Debug, PartialEq)]
pub enum SocketMessage {
    /// A text frame's JSON; a string when it is none.
    Json(Value),
    /// The server asks whether we are there.
    Ping,
    /// The server leaves: the code and the reason.
    Close(u16, String),
    /// The connection has ended without a word.
    Gone,
}

impl Socket {
    /// Opens a WebSocket at a server's path.
    ///
    /// # Errors
    /// The HTTP status with which the server refused it, 0 when it did not answer.
    ///
    /// # Panics
    /// When address, path and token make no request.
    pub async fn open(address: SocketAddr, token: &str, path: &str) -> Result<Self, u16> {
        let stream = TcpStream::connect(address).await.expect("a connection");
        Self::over(stream, token, path).await
    }

    /// The same without a token, for a path that has a ticket in its query.
    ///
    /// # Errors
    /// As [`Socket::open`].
    ///
    /// # Panics
    /// As [`Socket::open`].
    pub async fn by_ticket(address: SocketAddr, path: &str) -> Result<Self, u16> {
        let stream = TcpStream::connect(address).await.expect("a connection");
        Self::ask(stream, &[], path).await
    }

    /// The same as the page of an origin does it.
    ///
    /// # Errors
    /// As [`Socket::open`].
    ///
    /// # Panics
    /// As [`Socket::open`].
    pub async fn of_page(address: SocketAddr, origin: &str, path: &str) -> Result<Self, u16> {
        let stream = TcpStream::connect(address).await.expect("a connection");
        Self::ask(stream, &[("origin", origin)], path).await
    }

    /// The same with these headers and no token.
    ///
    /// # Errors
    /// As [`Socket::open`].
    ///
    /// # Panics
    /// As [`Socket::open`].
    pub async fn with(
        address: SocketAddr,
        headers: &[(&'static str, &str)],
        path: &str,
    ) -> Result<Self, u16> {
        let stream = TcpStream::connect(address).await.expect("a connection");
        Self::ask(stream, headers, path).await
    }

    /// The same over a connection that is there.
    ///
    /// # Errors
    /// As [`Socket::open`].
    ///
    /// # Panics
    /// As [`Socket::open`].
    pub async fn over(stream: TcpStream, token: &str, path: &str) -> Result<Self, u16> {
        let bearer = format!("Bearer {token}");
        Self::ask(stream, &[("authorization", &bearer)], path).await
    }

    async fn ask(
        stream: TcpStream,
        headers: &[(&'static str, &str)],
        path: &str,
    ) -> Result<Self, u16> {
        let address = stream.peer_addr().expect("a connected socket");
        let request = format!("ws://{address}{path}").into_client_request();
        let mut request = request.expect("a request");
        for &(name, value) in headers {
            let value = value.parse().expect("a header");
            request.headers_mut().insert(name, value);
        }
        match tokio_tungstenite::client_async(request, stream).await {
            Ok((stream, _)) => Ok(Self { stream }),
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(_) => Err(0),
        }
    }

    /// What comes next, answers to our own pings aside.
    pub async fn next(&mut self) -> SocketMessage {
        loop {
            match self.stream.next().await {
                Some(Ok(Message::Text(text))) => {
                    let json = serde_json::from_str(&text);
                    return SocketMessage::Json(
                        json.unwrap_or_else(|_| Value::from(text.as_str())),
                    );
                }
                Some(Ok(Message::Ping(_))) => return SocketMessage::Ping,
                Some(Ok(Message::Close(frame))) => {
                    // The answer to it.
                    let _was_heard = self.stream.flush().await.is_ok();
                    let (code, reason) = frame.map_or((0, String::new()), |frame| {
                        (frame.code.into(), frame.reason.to_string())
                    });
                    return SocketMessage::Close(code, reason);
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return SocketMessage::Gone,
            }
        }
    }

    /// The next JSON, pings aside; none when the connection ends.
    pub async fn json(&mut self) -> Option<Value> {
        loop {
            match self.next().await {
                SocketMessage::Json(json) => return Some(json),
                SocketMessage::Ping => {}
                SocketMessage::Close(..) | SocketMessage::Gone => return None,
            }
        }
    }

    /// Reads to the end, and gives how the server closed.
    pub async fn end(&mut self) -> SocketMessage {
        loop {
            match self.next().await {
                SocketMessage::Json(_) | SocketMessage::Ping => {}
                end @ (SocketMessage::Close(..) | SocketMessage::Gone) => return end,
            }
        }
    }

    /// Says something; a server that has left does not hear it.
    pub async fn say(&mut self, message: impl Into<Message> + Send) {
        let _was_heard = self.stream.send(message.into()).await.is_ok();
    }

    /// Leaves with a word, and gives how the server answered that.
    pub async fn leave(mut self) -> SocketMessage {
        let goodbye = CloseFrame {
            code: CloseCode::Normal,
            reason: "".into(),
        };
        let _was_heard = self.stream.close(Some(goodbye)).await.is_ok();
        self.end().await
    }

    /// The connection itself, for bytes that are no frames.
    pub fn into_inner(self) -> TcpStream {
        self.stream.into_inner()
    }
}
