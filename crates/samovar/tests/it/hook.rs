//! A webhook that remembers the keys that it was called with.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

pub(crate) struct Hook {
    address: SocketAddr,
    keys: Arc<Mutex<Vec<String>>>,
    _serving: JoinSet<()>,
}

impl Hook {
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let keys = Arc::<Mutex<Vec<String>>>::default();
        let known = keys.clone();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut talks = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                talks.spawn(serve(stream, known.clone()));
            }
        });
        Self {
            address,
            keys,
            _serving: serving,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The key of each call, in the order in which they came.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.keys.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, keys: Arc<Mutex<Vec<String>>>) {
    let mut heard = Vec::new();
    // A call has few arguments: its head and body come to an end with the last brace.
    while !heard.ends_with(b"}") {
        let mut some = [0; 4096];
        match stream.read(&mut some).await {
            Ok(count) if count > 0 => heard.extend_from_slice(&some[..count]),
            Ok(_) | Err(_) => return,
        }
    }
    let text = String::from_utf8(heard).unwrap();
    let keys_of = |line: &str| line.strip_prefix("idempotency-key: ").map(str::to_owned);
    let key = text.lines().find_map(keys_of).unwrap();
    keys.lock().unwrap().push(key);
    let answer = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 7\r\n\r\ncounted";
    // Whoever was killed hears no answer.
    stream.write_all(answer.as_bytes()).await.ok();
}
