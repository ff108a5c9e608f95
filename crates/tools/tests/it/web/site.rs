//! A web site: a server on loopback that answers by path, and remembers what it was asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use samovar_egress::{Client, Range};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::yard::Yard;

pub(crate) struct Site {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    _serving: JoinSet<()>,
}

/// An answer with a body.
pub(crate) fn answer(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

pub(crate) fn html(body: impl AsRef<[u8]>) -> Vec<u8> {
    answer("200 OK", "content-type: text/html; charset=utf-8", body)
}

impl Site {
    /// One that answers each path with these bytes.
    pub(crate) async fn open(pages: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (log, pages) = (asked.clone(), Arc::new(pages));
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut talks = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (log, pages) = (log.clone(), pages.clone());
                talks.spawn(async move {
                    talk(stream, &log, &*pages).await;
                });
            }
        });
        Self {
            address,
            asked,
            _serving: serving,
        }
    }

    /// One that answers everything alike.
    pub(crate) async fn saying(said: Vec<u8>) -> Self {
        Self::open(move |_| said.clone()).await
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Tools that may ask it.
    pub(crate) fn yard(&self) -> Yard {
        let range: Range = self.address.to_string().parse().unwrap();
        Yard::online(Client::new(vec![range]), None)
    }
}

async fn talk(
    mut stream: TcpStream,
    log: &Mutex<Vec<String>>,
    pages: &(dyn Fn(&str) -> Vec<u8> + Send + Sync),
) {
    let mut heard = Vec::new();
    loop {
        let Ok(1..) = stream.read_buf(&mut heard).await else {
            return;
        };
        // A client that wants to talk TLS gets an answer in the open.
        if heard.first() == Some(&0x16) {
            let _cut = stream.write_all(&pages("/")).await;
            return;
        }
        let text = String::from_utf8_lossy(&heard).into_owned();
        let Some((begin, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let mut lengths = begin
            .lines()
            .filter_map(|line| line.strip_prefix("content-length: "));
        if body.len() < lengths.next().map_or(0, |length| length.parse().unwrap()) {
            continue;
        }
        let path = begin.split(' ').nth(1).unwrap().to_owned();
        log.lock().unwrap().push(text);
        // A client that has enough hangs up.
        let _cut = stream.write_all(&pages(&path)).await;
        return;
    }
}
