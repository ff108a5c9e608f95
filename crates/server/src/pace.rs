//! Writing to clients that may take nothing: how long that is borne, and what it costs (DU-8).

use std::io::{self, ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Interval, MissedTickBehavior, Sleep, interval_at};
use tokio_util::sync::{CancellationToken, PollSemaphore};

/// What is asked of the system to hold for a client, in bytes; Linux takes twice as much, and left
/// alone it would take several megabytes.
const SEND_BUFFER_BYTES: u32 = 128 * 1024;
/// Connections that wait to be accepted, at most; as many as Linux allows by default. The client of one
/// more tries again after a second.
const BACKLOG: u32 = 4096;

/// Listens; every connection that comes has a bounded buffer for what its client does not take.
pub(crate) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// How long what a client still sends is read and dropped after the last answer while next to nothing
/// comes, so that it finds that answer and not a reset; and the steps in which that is counted.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_STEPS: u32 = 10;

/// Bytes that are read and dropped then, at most.
const MAX_LINGER_BYTES: usize = 8 * 1024 * 1024;

/// How long a client that has stopped sending may wait for the first of its answer: it has only said
/// all that it has to say, or is gone.
const HALF_CLOSED: Duration = Duration::from_secs(2);

/// How many of them at a time, and how many times before others have their turn: many clients may do
/// this at once.
const LINGER_CHUNK: usize = 8 * 1024;
const LINGER_TURN: usize = 8;

/// Connections that have such a turn at once, at most. The others wait outside of the runtime's queue,
/// which new connections and short requests wait in.
pub(crate) const LINGER_TURNS: usize = 2;

/// Whether a connection's client took nothing for as long as is borne.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stalled(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    is_stalled: AtomicBool,
    has_rest: AtomicBool,
    is_answering: AtomicBool,
    has_pings: AtomicBool,
}

/// While it exists, a client that has stopped sending may still read.
pub(crate) struct Reading {
    flags: Arc<Flags>,
    flag: fn(&Flags) -> &AtomicBool,
}

impl Drop for Reading {
    fn drop(&mut self) {
        (self.flag)(&self.flags).store(false, Ordering::Relaxed);
    }
}

impl Stalled {
    /// A request is being answered.
    pub(crate) fn answers(&self) -> Reading {
        self.reading(|flags| &flags.is_answering)
    }

    /// The answer has pings, which tell a client that is gone from one that only reads.
    pub(crate) fn pings(&self) -> Reading {
        self.reading(|flags| &flags.has_pings)
    }

    fn reading(&self, flag: fn(&Flags) -> &AtomicBool) -> Reading {
        flag(&self.0).store(true, Ordering::Relaxed);
        let flags = self.0.clone();
        Reading { flags, flag }
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.is_stalled.load(Ordering::Relaxed)
    }

    /// The request was read to its end. An answer that comes before is the connection's last.
    pub(crate) fn has_read(&self) {
        self.0.has_rest.store(false, Ordering::Relaxed);
    }

    fn has_rest(&self) -> bool {
        self.0.has_rest.load(Ordering::Relaxed)
    }

    /// A request has come: its client takes part again, and what it left of an earlier answer is not
    /// held against this one, which may come over the same connection.
    pub(crate) fn begin(&self, has_body: bool) {
        self.0.is_stalled.store(false, Ordering::Relaxed);
        self.0.has_rest.store(has_body, Ordering::Relaxed);
    }

    /// Whether it was set before.
    fn set(&self) -> bool {
        self.0.is_stalled.swap(true, Ordering::Relaxed)
    }
}

/// A connection that is cut when its client takes nothing for too long. After the first `patience`
/// it is marked, so that a stream which gets through once more says where to go on; after the second
/// it ends.
pub(crate) struct Paced<S> {
    stream: S,
    patience: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
    stalled: Stalled,
    /// Cancelled with the client's first byte.
    pub(crate) begun: CancellationToken,
    /// There when the client has stopped sending.
    half_closed: Option<Pin<Box<Sleep>>>,
    lingering: Option<Lingering>,
    turns: Arc<Semaphore>,
}

/// A connection that has been answered, and whose client may still send.
struct Lingering {
    turns: PollSemaphore,
    turn: Option<OwnedSemaphorePermit>,
    patience: Steps,
    left: usize,
    /// Bytes that came in this step.
    came: usize,
}

/// How long a client is waited for, counted in steps. Time in which the server itself does not read is
/// not the client's: however late a step is noticed, it is one, and only after all that came was read.
struct Steps {
    left: u32,
    ticks: Pin<Box<Interval>>,
}

impl Steps {
    fn new(whole: Duration, steps: u32) -> Self {
        let step = (whole / steps).max(Duration::from_millis(1));
        let mut ticks = interval_at(Instant::now() + step, step);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (left, ticks) = (steps, Box::pin(ticks));
        Self { left, ticks }
    }

    /// Counts a step; whether it was the last.
    fn end(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left == 0
    }
}

/// Into how many steps the time of a client is cut that sends a body.
const BODY_STEPS: u32 = 30;

/// How long a client may take in all to send a body.
pub(crate) struct Patience(Steps);

impl Patience {
    pub(crate) fn new(whole: Duration) -> Self {
        Self(Steps::new(whole, BODY_STEPS))
    }

    /// Waits for what a client sends; `None` once its time is over.
    pub(crate) async fn wait<T>(&mut self, coming: impl Future<Output = T>) -> Option<T> {
        let mut coming = std::pin::pin!(coming);
        loop {
            // Both are safe to drop halfway: one is kept, the other is a clock.
            tokio::select! {
                biased;
                came = &mut coming => return Some(came),
                _ = self.0.ticks.tick() => if self.0.end() {
                    return None;
                },
            }
        }
    }
}

impl<S> Paced<S> {
    /// All connections of a server take their turns at reading what is dropped from the same.
    pub(crate) fn new(stream: S, patience: Duration, turns: Arc<Semaphore>) -> Self {
        Self {
            turns,
            stream,
            patience,
            waiting: None,
            stalled: Stalled::default(),
            begun: CancellationToken::new(),
            half_closed: None,
            lingering: None,
        }
    }

    pub(crate) fn stalled(&self) -> Stalled {
        self.stalled.clone()
    }

    /// The client has stopped sending: says so when nothing is left for it to read.
    fn ends(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let flags = &self.stalled.0;
            let reads = flags.has_pings.load(Ordering::Relaxed) || self.waiting.is_some();
            if !reads && !flags.is_answering.load(Ordering::Relaxed) {
                return Poll::Ready(Ok(()));
            }
            let half_closed = self
                .half_closed
                .get_or_insert_with(|| Box::pin(tokio::time::sleep(HALF_CLOSED)));
            ready!(half_closed.as_mut().poll(cx));
            if !reads {
                return Poll::Ready(Ok(()));
            }
            self.half_closed = None;
        }
    }

    /// Waits with a write that cannot go on.
    fn wait<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        loop {
            let patience = self.patience;
            let waiting = self
                .waiting
                .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
            ready!(waiting.as_mut().poll(cx));
            self.waiting = None;
            if self.stalled.set() {
                return Poll::Ready(Err(ErrorKind::TimedOut.into()));
            }
        }
    }

    fn wrote(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(written) => {
                self.waiting = None;
                Poll::Ready(written)
            }
            Poll::Pending => self.wait(cx),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        if buf.filled().len() == before {
            return self.ends(cx);
        }
        self.begun.cancel();
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Paced<S> {
    /// Drops what the client still sends, until it stops or has had its time.
    fn linger(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let turns = || PollSemaphore::new(self.turns.clone());
        let lingering = self.lingering.get_or_insert_with(|| Lingering {
            turns: turns(),
            turn: None,
            patience: Steps::new(LINGER, LINGER_STEPS),
            left: MAX_LINGER_BYTES,
            came: 0,
        });
        let Some(_turn) = lingering.turn.take() else {
            // It is never closed. The turn comes at the end of the runtime's queue: what is dropped has
            // no hurry.
            lingering.turn = ready!(lingering.turns.poll_acquire(cx));
            cx.waker().wake_by_ref();
            return Poll::Pending;
        };
        let mut dropped = [0; LINGER_CHUNK];
        for turn in 0.. {
            if lingering.left == 0 {
                break;
            }
            if turn == LINGER_TURN {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let mut buf = ReadBuf::new(&mut dropped);
            match Pin::new(&mut self.stream).poll_read(cx, &mut buf) {
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => {
                    let came = buf.filled().len();
                    lingering.left = lingering.left.saturating_sub(came);
                    lingering.came += came;
                }
                Poll::Ready(_) => break,
                Poll::Pending => {
                    ready!(lingering.patience.ticks.poll_tick(cx));
                    let came = std::mem::take(&mut lingering.came);
                    if came < LINGER_CHUNK && lingering.patience.end() {
                        break;
                    }
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.wrote(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.wrote(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingering.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            if !self.stalled.has_rest() {
                return Poll::Ready(Ok(()));
            }
        }
        self.linger(cx)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn paced<S>(stream: S) -> Paced<S> {
        Paced::new(stream, PATIENCE, Arc::new(Semaphore::new(LINGER_TURNS)))
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_marked_and_then_cut_off() {
        let (client, server) = tokio::io::duplex(4);
        let mut paced = paced(server);
        let stalled = paced.stalled();
        let began = tokio::time::Instant::now();

        let cut = paced.write_all(b"more than four").await.unwrap_err();

        assert_eq!(cut.kind(), ErrorKind::TimedOut);
        assert!(stalled.is_set());
        assert!(began.elapsed() >= 2 * PATIENCE);
        drop(client);
    }

    // proves PF-1
    #[tokio::test(start_paused = true)]
    async fn time_in_which_the_server_does_not_read_is_not_the_clients() {
        let mut patience = Patience::new(PATIENCE);
        let (sender, mut pieces) = tokio::sync::mpsc::channel(1);
        // Each piece costs two steps, one for each time that the server looks.
        for piece in 0..BODY_STEPS / 2 - 1 {
            let mut waits = std::pin::pin!(patience.wait(pieces.recv()));
            assert!(futures_util::poll!(waits.as_mut()).is_pending());
            // The server is busy, and late to see that something came.
            tokio::time::advance(Duration::from_hours(1)).await;
            assert!(futures_util::poll!(waits.as_mut()).is_pending());
            tokio::time::advance(Duration::from_hours(1)).await;
            sender.try_send(piece).unwrap();
            assert_eq!(waits.await, Some(Some(piece)));
        }

        assert_eq!(
            patience.wait(pieces.recv()).await,
            None,
            "it comes to an end"
        );
    }

    // proves TL-13
    #[tokio::test(start_paused = true)]
    async fn what_comes_after_the_last_answer_is_dropped_as_long_as_it_comes_fast() {
        let (mut client, server) = tokio::io::duplex(64 * 1024);
        let mut paced = paced(server);
        paced.stalled().begin(true);
        let began = tokio::time::Instant::now();
        let sends = async {
            for _ in 0..50 {
                client.write_all(&[0; 2 * LINGER_CHUNK]).await.unwrap();
                tokio::time::sleep(LINGER / LINGER_STEPS).await;
            }
            let mut answer = [0; 1];
            assert_eq!(client.read(&mut answer).await.unwrap(), 0);
            loop {
                tokio::time::sleep(LINGER / LINGER_STEPS / 2).await;
                if client.write_all(b"x").await.is_err() {
                    break;
                }
            }
        };

        let ends = async {
            paced.shutdown().await.unwrap();
            drop(paced);
            began.elapsed()
        };
        let (took, ()) = tokio::join!(ends, sends);

        let fast = 50 * (LINGER / LINGER_STEPS);
        assert!(took > fast && took < fast + 2 * LINGER, "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_a_little_now_and_then_is_served_on() {
        let (mut client, server) = tokio::io::duplex(4);
        let mut paced = paced(server);
        let stalled = paced.stalled();
        let slow = async {
            let mut taken = [0; 4];
            for _ in 0..10 {
                tokio::time::sleep(PATIENCE * 9 / 10).await;
                client.read_exact(&mut taken).await.unwrap();
            }
        };

        let (written, ()) = tokio::join!(paced.write_all(&[0; 40]), slow);

        written.unwrap();
        assert!(!stalled.is_set());
    }

    // proves PF-1
    #[tokio::test(start_paused = true)]
    async fn what_is_dropped_is_read_in_turns_and_a_client_that_pauses_has_none() {
        let turns = Arc::new(Semaphore::new(1));
        let mut lingers = Vec::new();
        let mut clients = Vec::new();
        for _ in 0..3 {
            let (client, server) = tokio::io::duplex(LINGER_TURN * LINGER_CHUNK);
            let mut paced = Paced::new(server, PATIENCE, turns.clone());
            paced.stalled().begin(true);
            lingers.push(Box::pin(async move { paced.shutdown().await }));
            clients.push(client);
        }
        let whole = vec![0; LINGER_TURN * LINGER_CHUNK];
        let taken = turns.clone().acquire_owned().await.unwrap();
        clients[0].write_all(&whole).await.unwrap();
        clients[2].write_all(&whole).await.unwrap();
        let mut look = |number: usize| assert!((&mut lingers[number]).now_or_never().is_none());
        let mut has_room = |number: usize| clients[number].write(b"x").now_or_never().is_some();

        look(0);
        look(0);
        assert!(!has_room(0), "nothing is read without a turn");
        drop(taken);
        // The turn is taken, and used after all that the runtime has to do.
        look(0);
        assert!(!has_room(0));
        look(2);
        look(0);
        assert!(has_room(0) && !has_room(2));
        look(1);
        look(2);
        assert!(!has_room(2));
        look(2);
        assert!(has_room(2));
        // Nothing comes from this one.
        look(1);
        assert_eq!(turns.available_permits(), 0);
        look(1);
        assert_eq!(turns.available_permits(), 1);
    }
}
