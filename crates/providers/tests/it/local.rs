//! A server of this machine as a probe meets it: a function from requests to bytes, and a record of
//! what was asked.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// A server; dropped, it ends with its connections.
pub(crate) struct Local {
    /// Its base URL.
    pub(crate) base: String,
    asked: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

/// How a server answers a request, which is given as it came.
type Answer = Box<dyn Fn(&str) -> Vec<u8> + Send + Sync>;

impl Local {
    /// Answers each request by a function and closes the connection.
    pub(crate) fn answering(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::start(nobody().1, Box::new(answer), None)
    }

    /// Answers everything with this JSON.
    pub(crate) fn json(body: &'static str) -> Self {
        Self::answering(move |_| ok(body))
    }

    /// Answers each request by a function, and notifies when the client has read its first answer to
    /// the end.
    pub(crate) fn notifying(
        read: Arc<Notify>,
        answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        Self::start(nobody().1, Box::new(answer), Some(read))
    }

    /// Answers each request by a function, at an address that was [`nobody`]'s.
    pub(crate) fn at(
        socket: TcpSocket,
        answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        Self::start(socket, Box::new(answer), None)
    }

    fn start(socket: TcpSocket, answer: Answer, read: Option<Arc<Notify>>) -> Self {
        let listener = socket.listen(64).unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        let (record, answer) = (Arc::clone(&asked), Arc::new(answer));
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (record, answer) = (Arc::clone(&record), Arc::clone(&answer));
                let read = read.clone();
                connections.spawn(async move { serve(stream, &record, &answer, read).await });
            }
        });
        Self {
            base,
            asked,
            _tasks: tasks,
        }
    }

    /// The requests so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    record: &Mutex<Vec<String>>,
    answer: &Answer,
    read: Option<Arc<Notify>>,
) {
    let Some(request) = request(&mut stream).await else {
        return;
    };
    record.lock().unwrap().push(request.clone());
    // The client may be gone already, which is what some tests are about.
    stream.write_all(&answer(&request)).await.ok();
    if let Some(read) = read {
        // It closes the connection when it has all.
        stream.read_to_end(&mut Vec::new()).await.ok();
        read.notify_one();
    }
}

async fn request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let mut some = [0; 4096];
        let read = stream.read(&mut some).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&some[..read]);
        let text = String::from_utf8(bytes.clone()).ok()?;
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        let length = lines
            .filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .find_map(|(_, value)| value.parse::<usize>().ok());
        if body.len() >= length.unwrap_or(0) {
            return Some(text);
        }
    }
}

/// A whole response that ends its connection.
pub(crate) fn response(status: &str, media: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {media}\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

pub(crate) fn ok(body: &str) -> Vec<u8> {
    response("200 OK", "application/json", body)
}

/// An address at which nobody listens and, while the socket lives, nobody can.
pub(crate) fn nobody() -> (String, TcpSocket) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let base = format!("http://{}/v1", socket.local_addr().unwrap());
    (base, socket)
}
