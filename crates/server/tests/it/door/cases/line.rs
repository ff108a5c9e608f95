//! A client that says how its requests were answered.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::case::Case;
use crate::raw::{HANG, Request, Response, connect, rest};

/// A connection that is kept between cases, as far as the server keeps it.
pub(super) struct Line {
    address: SocketAddr,
    stream: Option<TcpStream>,
}

impl Line {
    pub(super) fn new(request: &Request) -> Self {
        Self {
            address: request.address(),
            stream: None,
        }
    }

    /// Sends a request and checks its answer against the case's.
    pub(super) async fn refuses(&mut self, case: &Case, request: &Request) -> Result<(), String> {
        let bytes = request.bytes();
        let is_head = bytes.starts_with(b"HEAD ");
        let mut answer = self.answer(&bytes, is_head).await?;
        if answer.is_none() {
            // The connection was closed after the last answer.
            answer = self.answer(&bytes, is_head).await?;
        }
        let Some(answer) = answer else {
            // A head that is far too long may be cut off.
            let is_cut = case.kind == "size";
            return if is_cut {
                Ok(())
            } else {
                Err("no answer".into())
            };
        };
        let (status, code) = (answer.status, answer.code());
        if status < 400 {
            return Err(format!("LET IN with {status}"));
        }
        // One text for a missing and a wrong one.
        if code == "unauthorized"
            && (!is_head && answer.why() != samovar_locale::request::no_token()
                || answer.header("www-authenticate") != Some("Bearer"))
        {
            return Err(answer.body);
        }
        let names_page = answer.header("access-control-allow-origin").is_some();
        if case.code == "origin_refused" && names_page {
            return Err("shared".into());
        }
        let is_right = status == case.status && (case.code.is_empty() || code == case.code);
        if is_right {
            Ok(())
        } else {
            Err(format!("{status} {code}"))
        }
    }

    /// One answer; none when the connection closes before it.
    pub(super) async fn answer(
        &mut self,
        bytes: &[u8],
        is_head: bool,
    ) -> Result<Option<Response>, String> {
        let answered = timeout(HANG, self.exchange(bytes, is_head)).await;
        let answered = answered.map_err(|_| "HELD OPEN".to_owned())?;
        let keeps = answered.as_ref().is_some_and(|response| {
            response.status >= 400 && response.header("connection") != Some("close")
        });
        if !keeps {
            self.stream = None;
        }
        Ok(answered)
    }

    async fn exchange(&mut self, bytes: &[u8], is_head: bool) -> Option<Response> {
        if self.stream.is_none() {
            self.stream = Some(connect(self.address).await);
        }
        let stream = self.stream.as_mut()?;
        // What was refused early is not taken to its end.
        let _was_taken = stream.write_all(bytes).await.is_ok();
        let mut read = Vec::new();
        let mut chunk = [0; 4096];
        loop {
            match stream.read(&mut chunk).await {
                Ok(0) | Err(_) => return Response::read(&read),
                Ok(count) => read.extend_from_slice(&chunk[..count]),
            }
            let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") else {
                continue;
            };
            let response = Response::read(&read)?;
            let length = response.header("content-length");
            let length = length.map_or(0, |length| length.parse().unwrap());
            // The head of a stream is enough.
            if is_head || response.status < 400 || read.len() >= end + 4 + length {
                return Some(response);
            }
        }
    }
}

/// All that is answered to these bytes.
pub(super) async fn all_of(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let (mut reader, mut writer) = connect(address).await.into_split();
    let write = async {
        // What was refused early is not taken to its end.
        let _was_taken = writer.write_all(bytes).await.is_ok();
        writer.shutdown().await.ok()
    };
    let (_, read) = tokio::join!(write, rest(&mut reader));
    read
}
