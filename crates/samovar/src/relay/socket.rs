//! The relay of a server, over a WebSocket: the line of our agent to it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use http::Uri;
use samovar_core::Future;
use samovar_core::relay::Envelope;
use samovar_locale as text;
use samovar_relay::{Connector, Disconnect, Link};
use samovar_server::{Address, Token};
use samovar_wire::relay::{SOCKET_PATH, decode, encode};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Bytes, Error, Message};

/// How long it may take to be let in.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the other side may say nothing before it is asked whether it is there.
const SILENCE: Duration = Duration::from_secs(20);

/// How often in a row that may be asked in vain.
const MISSES: u32 = 2;

/// Bytes of one message, at most: a foreign host's screen may be larger than ours.
const MAX_MESSAGE_BYTES: usize = 8 * 1024 * 1024;

/// The port of an address that names none.
const HTTP_PORT: u16 = 80;

/// Where a relay is, and what lets us in.
#[derive(Clone)]
pub(super) enum Endpoint {
    /// That of the server that holds a data directory, wherever it listens by then.
    Ours(PathBuf),
    /// That of another server.
    Foreign(Uri, Token),
}

/// Why there is no socket.
pub(super) enum Closed {
    /// Nobody answers, at least not now.
    Unreachable(String),
    /// The server answers with this HTTP status.
    Refused(u16),
}

/// A place in a relay.
pub(super) struct Socket {
    stream: WebSocketStream<TcpStream>,
    /// When the other side has been silent for too long.
    silent_at: Instant,
    /// How often it was asked in vain.
    missed: u32,
}

impl Endpoint {
    /// Another server's relay, by the address that was typed.
    ///
    /// # Errors
    /// It is no address of a WebSocket without TLS.
    pub(super) fn foreign(url: &str, token: Token) -> Result<Self, String> {
        let uri = url.trim().parse::<Uri>().ok();
        let uri = uri.filter(|uri| uri.scheme_str() == Some("ws") && uri.host().is_some());
        match uri {
            Some(uri) => Ok(Self::Foreign(uri, token)),
            None => Err(text::relay_cli::bad_url(text::quoted(url))),
        }
    }

    /// Opens a socket.
    ///
    /// # Errors
    /// [`Closed`].
    pub(super) async fn open(&self) -> Result<Socket, Closed> {
        let opened = timeout(PATIENCE, self.connect()).await;
        opened.unwrap_or_else(|_| Err(Closed::Unreachable(text::relay_cli::silent().to_owned())))
    }

    async fn connect(&self) -> Result<Socket, Closed> {
        let unreachable = |why: &dyn std::fmt::Display| Closed::Unreachable(why.to_string());
        let (uri, token) = match self {
            Self::Foreign(uri, token) => (uri.clone(), token.clone()),
            Self::Ours(data_dir) => {
                let address = Address::read(data_dir);
                let none = || text::relay_cli::no_server(data_dir.display());
                let address = address.ok_or_else(|| unreachable(&none()))?;
                let uri = format!("ws://{}{SOCKET_PATH}", address.address);
                let uri = uri.parse::<Uri>().map_err(|error| unreachable(&error))?;
                (uri, address.token)
            }
        };
        // A name of the network has brackets around an address of IPv6 alone.
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let port = uri.port_u16().unwrap_or(HTTP_PORT);
        let stream = TcpStream::connect((host, port)).await;
        let stream = stream.map_err(|error| unreachable(&error))?;
        let mut request = uri.into_client_request().map_err(|why| unreachable(&why))?;
        let bearer = format!("Bearer {}", token.expose()).parse();
        let bearer = bearer.map_err(|_| Closed::Refused(401))?;
        request.headers_mut().insert("authorization", bearer);
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        let opened = tokio_tungstenite::client_async_with_config(request, stream, Some(config));
        match opened.await {
            Ok((stream, _)) => Ok(Socket {
                stream,
                silent_at: Instant::now() + SILENCE,
                missed: 0,
            }),
            Err(Error::Http(response)) => Err(Closed::Refused(response.status().as_u16())),
            Err(error) => Err(unreachable(&error)),
        }
    }
}

impl Connector for Endpoint {
    fn open(&self) -> Future<'static, Result<Box<dyn Link>, String>> {
        let place = self.clone();
        Box::pin(async move {
            match Self::open(&place).await {
                Ok(socket) => Ok(Box::new(socket) as Box<dyn Link>),
                Err(closed) => Err(closed.to_string()),
            }
        })
    }
}

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreachable(why) => f.write_str(why),
            Self::Refused(status) => f.write_str(&text::relay_cli::refused(status)),
        }
    }
}

impl Link for Socket {
    fn say(&mut self, envelope: Envelope) -> Future<'_, Result<(), Disconnect>> {
        Box::pin(async move {
            let said = self.stream.send(Message::text(encode(&envelope))).await;
            said.map_err(|error| broken(&error))
        })
    }

    fn next(&mut self) -> Future<'_, Result<Arc<Envelope>, Disconnect>> {
        Box::pin(async move {
            loop {
                let heard = timeout_at(self.silent_at, self.stream.next()).await;
                let Ok(heard) = heard else {
                    self.ask_whether_it_is_there().await?;
                    continue;
                };
                self.missed = 0;
                self.silent_at = Instant::now() + SILENCE;
                let decoded = match heard {
                    Some(Ok(Message::Text(text))) => decode(text.as_bytes()),
                    Some(Ok(Message::Binary(bytes))) => decode(&bytes),
                    Some(Ok(Message::Close(frame))) => {
                        let reason = frame.map(|frame| frame.reason.to_string());
                        let reason = reason.filter(|reason| !reason.is_empty());
                        let reason = reason.unwrap_or_else(|| text::relay_cli::closed().to_owned());
                        return Err(Disconnect::Broken(reason));
                    }
                    Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                    Some(Err(error)) => return Err(broken(&error)),
                    None => return Err(broken(&text::relay_cli::closed())),
                };
                match decoded {
                    Ok(envelope) => return Ok(Arc::new(envelope)),
                    Err(malformed) => {
                        tracing::debug!(why = malformed.why, "what is no envelope is passed over");
                    }
                }
            }
        })
    }
}

impl Socket {
    async fn ask_whether_it_is_there(&mut self) -> Result<(), Disconnect> {
        if self.missed >= MISSES {
            return Err(broken(&text::relay_cli::silent()));
        }
        self.missed += 1;
        self.silent_at = Instant::now() + SILENCE;
        let asked = self.stream.send(Message::Ping(Bytes::new())).await;
        asked.map_err(|error| broken(&error))
    }
}

fn broken(why: &dyn std::fmt::Display) -> Disconnect {
    Disconnect::Broken(why.to_string())
}
