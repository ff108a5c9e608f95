//! The socket under HTTP, with the faults that HTTP itself cannot have.

use std::{
    io,
    num::NonZeroUsize,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::exchange::{Ended, Exchange};

/// What the answers on a connection tell its socket.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    exchange: Option<Arc<Exchange>>,
    write_bytes: Option<NonZeroUsize>,
    resets: bool,
}

impl Wire {
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

    /// The connection will be reset rather than closed.
    pub(crate) fn reset(&self) {
        self.state().resets = true;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection's socket as hyper sees it.
///
/// It has no vectored writes, so that hyper gathers what is ready and hands it over at once.
pub(crate) struct Socket {
    stream: TokioIo<TcpStream>,
    wire: Arc<Wire>,
    /// Whether a write was cut short, so that others run before the next one.
    yields: bool,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream, wire: Arc<Wire>) -> Socket {
        Socket {
            stream: TokioIo::new(stream),
            wire,
            yields: false,
        }
    }
}

impl Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Some(most) = self.wire.state().write_bytes else {
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
        let exchange = self.wire.state().exchange.clone();
        if let Some(exchange) = exchange {
            exchange.settle();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.wire.state().resets {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let mut state = self.wire.state();
        if let Some(exchange) = state.exchange.take() {
            // Whatever else ends a connection has ended the exchange before.
            exchange.end(Ended::ClientLeft);
        }
        if state.resets {
            // A socket that cannot linger at zero is closed instead, which is as final.
            self.stream.inner().set_zero_linger().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, future::poll_fn};
    use tokio::{net::TcpListener, sync::Notify};

    use super::*;

    fn wire(write_bytes: Option<usize>) -> (Arc<Wire>, Arc<Exchange>) {
        let wire = Arc::new(Wire::default());
        let exchange = Arc::new(Exchange::new(Arc::new(Notify::new())));
        wire.attach(exchange.clone(), write_bytes.and_then(NonZeroUsize::new));
        (wire, exchange)
    }

    async fn socket(wire: Arc<Wire>) -> (Socket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap());
        let (peer, accepted) = tokio::join!(peer, listener.accept());
        (Socket::new(accepted.unwrap().0, wire), peer.unwrap())
    }

    #[tokio::test]
    async fn a_limited_write_takes_so_many_bytes_and_then_lets_others_run() {
        let (mut socket, _peer) = socket(wire(Some(2)).0).await;
        let mut write = || {
            let socket = &mut socket;
            poll_fn(|context| Pin::new(&mut *socket).poll_write(context, b"abcde"))
                .now_or_never()
                .map(Result::unwrap)
        };

        assert_eq!(write(), Some(2));
        assert_eq!(write(), None);
        assert_eq!(write(), Some(2));
    }

    #[tokio::test]
    async fn a_write_without_limit_takes_all() {
        let (mut socket, _peer) = socket(wire(None).0).await;
        let write = poll_fn(|context| Pin::new(&mut socket).poll_write(context, b"abcde"));

        assert_eq!(write.await.unwrap(), 5);
    }

    #[tokio::test]
    async fn the_next_request_ends_the_exchange_before_it() {
        let (wire, first) = wire(None);
        first.hand(1);
        first.hand_nothing_more();
        assert_eq!(first.ended(), None);

        wire.attach(Arc::new(Exchange::new(Arc::new(Notify::new()))), None);

        assert_eq!(first.ended(), Some(Ended::Complete));
    }

    #[tokio::test]
    async fn what_the_kernel_has_not_got_when_the_socket_goes_was_lost_on_the_client() {
        let (wire, exchange) = wire(None);
        exchange.hand(1);
        exchange.hand_nothing_more();

        drop(socket(wire).await);

        assert_eq!(exchange.ended(), Some(Ended::ClientLeft));
        assert_eq!(exchange.written_deltas(), 0);
    }
}
