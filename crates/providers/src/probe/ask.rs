//! One question to a server that may be anything: bounded in time and bytes, believed in nothing.

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{RequestBuilder, Response, StatusCode, Url};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::ProbeOutcome;
use crate::endpoint::Endpoint;
use crate::fault::{cause, clean};

/// Bytes of one answer, at most: gateways list hundreds of models.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Asks one server, until a deadline.
#[derive(Clone, Copy)]
pub(super) struct Asker<'a> {
    endpoint: &'a Endpoint,
    deadline: Instant,
}

impl<'a> Asker<'a> {
    pub(super) fn new(endpoint: &'a Endpoint, deadline: Instant) -> Self {
        Self { endpoint, deadline }
    }

    /// Reads the list that every endpoint of the row's dialect has.
    pub(super) async fn models(self) -> Result<Value, ProbeOutcome> {
        match self.endpoint.spec.dialect {
            Some(dialect) => self.fetch((dialect.models)(self.endpoint), None).await,
            None => Err(ProbeOutcome::NoList),
        }
    }

    /// Reads what stands where the server's own routes begin.
    pub(super) async fn get_own(self, path: &[&str]) -> Result<Value, ProbeOutcome> {
        self.fetch(self.endpoint.root_url(path), None).await
    }

    /// Asks one of the server's own routes.
    pub(super) async fn post_own(self, path: &[&str], body: &Value) -> Result<Value, ProbeOutcome> {
        self.fetch(self.endpoint.root_url(path), Some(body)).await
    }

    async fn fetch(self, url: Url, body: Option<&Value>) -> Result<Value, ProbeOutcome> {
        let client = self.endpoint.client();
        let client = client.map_err(|fault| ProbeOutcome::Unaskable(fault.message))?;
        let mut request = match body {
            None => client.get(url),
            Some(body) => client.post(url).json(body),
        };
        request = request.header(ACCEPT, "application/json");
        if let Some((name, key)) = self.endpoint.credentials() {
            request = request.header(name, key);
        }
        match timeout_at(self.deadline, read(request)).await {
            Ok(read) => serde_json::from_slice(&read?).map_err(|_| ProbeOutcome::NoList),
            Err(_) => Err(ProbeOutcome::Late),
        }
    }
}

async fn read(request: RequestBuilder) -> Result<Vec<u8>, ProbeOutcome> {
    let mut response = request.send().await.map_err(|error| unanswered(&error))?;
    check(&response)?;
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(|error| unanswered(&error))? {
        if body.len() + bytes.len() > MAX_BYTES {
            return Err(ProbeOutcome::TooLong);
        }
        body.extend_from_slice(&bytes);
    }
    Ok(body)
}

fn check(response: &Response) -> Result<(), ProbeOutcome> {
    match response.status() {
        StatusCode::OK => {}
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Err(ProbeOutcome::Locked),
        status => return Err(ProbeOutcome::Status(status.as_u16())),
    }
    let header = response.headers().get(CONTENT_TYPE);
    let header = header.map(|value| String::from_utf8_lossy(value.as_bytes()));
    let media = header.as_deref().unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim();
    if media.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(ProbeOutcome::NotJson(clean(media)))
}

fn unanswered(error: &reqwest::Error) -> ProbeOutcome {
    match (error.is_connect(), error.is_timeout()) {
        (_, true) => ProbeOutcome::Late,
        (true, false) => ProbeOutcome::Nobody,
        (false, false) => ProbeOutcome::Broken(cause(error)),
    }
}
