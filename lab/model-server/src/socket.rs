//! The sockets under HTTP, with the faults that HTTP itself cannot have.

use std::{
    io,
    net::SocketAddr,
    num::NonZeroUsize,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use axum::{
    extract::connect_info::Connected,
    serve::{self, IncomingStream},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::exchange::{Exchange, ExchangeEnd};

/// Connections open at once; further ones wait to be accepted.
const MAX_CONNECTIONS: usize = 8_192;

/// Accepts connections, which end when `stop` is cancelled.
pub(crate) struct Listener {
    tcp: TcpListener,
    free: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Listener {
    pub(crate) fn new(tcp: TcpListener, stop: CancellationToken) -> Listener {
        let free = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        Listener { tcp, free, stop }
    }
}

impl serve::Listener for Listener {
    type Io = Socket;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Socket, SocketAddr) {
        let permit = self.free.clone().acquire_owned().await.ok();
        let (stream, address) = serve::Listener::accept(&mut self.tcp).await;
        // Without it, small writes wait for the peer; a socket that refuses it still works.
        stream.set_nodelay(true).ok();
        let socket = Socket {
            stream,
            connection: Connection::default(),
            stopped: Box::pin(self.stop.clone().cancelled_owned()),
            yields: false,
            _permit: permit,
        };
        (socket, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}

/// What the answers on a connection tell its socket.
#[derive(Debug, Clone, Default)]
pub(crate) struct Connection(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    exchange: Option<Arc<Exchange>>,
    write_bytes: Option<NonZeroUsize>,
    cut: Option<CloseMode>,
}

/// How a connection ends that writes nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CloseMode {
    Closed,
    Reset,
}

impl Connected<IncomingStream<'_, Listener>> for Connection {
    fn connect_info(stream: IncomingStream<'_, Listener>) -> Connection {
        stream.io().connection.clone()
    }
}

impl Connection {
    /// From here on what is written belongs to `exchange`.
    pub(crate) fn attach(&self, exchange: Arc<Exchange>, write_bytes: Option<NonZeroUsize>) {
        let mut state = self.state();
        state.write_bytes = write_bytes;
        let before = state.exchange.replace(exchange);
        drop(state);
        if let Some(before) = before {
            // The client asks again only after it has read the whole answer.
            before.settle();
        }
    }

    /// Writes nothing more: the next write ends the connection.
    pub(crate) fn cut(&self, cut: CloseMode) {
        self.state().cut = Some(cut);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection's socket as HTTP sees it.
///
/// It has no vectored writes, so that hyper gathers what is ready and hands it over at once.
pub(crate) struct Socket {
    stream: TcpStream,
    connection: Connection,
    stopped: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Whether a write was cut short, so that others run before the next one.
    yields: bool,
    _permit: Option<OwnedSemaphorePermit>,
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.stopped.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let (cut, write_bytes) = {
            let state = self.connection.state();
            (state.cut, state.write_bytes)
        };
        if cut.is_some() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let Some(most) = write_bytes else {
            return Pin::new(&mut self.stream).poll_write(context, bytes);
        };
        if std::mem::take(&mut self.yields) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let bytes = &bytes[..bytes.len().min(most.get())];
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.yields = true;
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        // hyper flushes the socket only when its own buffer is empty.
        let exchange = self.connection.state().exchange.clone();
        if let Some(exchange) = exchange {
            exchange.settle();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.connection.state().cut == Some(CloseMode::Reset) {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let mut state = self.connection.state();
        if let Some(exchange) = state.exchange.take() {
            // Whatever else ends a connection has ended the exchange before.
            exchange.end(ExchangeEnd::ClientLeft);
        }
        if state.cut == Some(CloseMode::Reset) {
            // A socket that cannot linger at zero is closed instead, which is as final.
            self.stream.set_zero_linger().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, future::poll_fn};
    use tokio::sync::Notify;

    use super::*;

    fn exchange() -> Arc<Exchange> {
        Arc::new(Exchange::new(Arc::new(Notify::new())))
    }

    async fn socket(write_bytes: Option<usize>) -> (Socket, Arc<Exchange>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap());
        let mut listener = Listener::new(listener, CancellationToken::new());
        let (peer, (socket, _)) = tokio::join!(peer, serve::Listener::accept(&mut listener));
        let exchange = exchange();
        let write_bytes = write_bytes.and_then(NonZeroUsize::new);
        socket.connection.attach(exchange.clone(), write_bytes);
        (socket, exchange, peer.unwrap())
    }

    #[tokio::test]
    async fn limited_write_takes_so_many_bytes_and_then_lets_others_run() {
        for (limit, expected) in [
            (Some(2), [Some(2), None, Some(2)]),
            (None, [Some(5), Some(5), Some(5)]),
        ] {
            let (mut socket, _, _peer) = socket(limit).await;
            for written in expected {
                let write = poll_fn(|context| Pin::new(&mut socket).poll_write(context, b"abcde"));
                assert_eq!(write.now_or_never().map(Result::unwrap), written);
            }
        }
    }

    #[tokio::test]
    async fn next_request_ends_the_exchange_before_it() {
        let (socket, first, _peer) = socket(None).await;
        first.hand(1);
        first.hand_nothing_more();
        assert_eq!(first.ended(), None);

        socket.connection.attach(exchange(), None);

        assert_eq!(first.ended(), Some(ExchangeEnd::Complete));
    }

    #[tokio::test]
    async fn bytes_that_the_kernel_lacks_when_the_socket_goes_never_reached_the_client() {
        let (socket, exchange, _peer) = socket(None).await;
        exchange.hand(1);
        exchange.hand_nothing_more();

        drop(socket);

        assert_eq!(exchange.ended(), Some(ExchangeEnd::ClientLeft));
        assert_eq!(exchange.written_deltas(), 0);
    }
}
