//! The requests that the server got, and how they were answered.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;

use crate::{
    exchange::{Exchange, ExchangeEnd},
    matcher::Received,
    script::Failure,
};

/// Requests that a server keeps; older ones are forgotten.
pub(crate) const KEPT_REQUESTS: usize = 16_384;

/// Bytes of request bodies that a server keeps; older requests are forgotten.
pub(crate) const KEPT_BYTES: usize = 64 << 20;

/// A request that arrived: a cheap handle, through which its answer can be watched.
#[derive(Debug, Clone)]
pub struct Request(Arc<Entry>);

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) prompt: Option<u64>,
    pub(crate) received: Received,
    pub(crate) body: Value,
    /// What the user said last in a prompt, and how many results of tools come after it.
    pub(crate) said: (String, usize),
    pub(crate) answered: Answered,
    pub(crate) exchange: Arc<Exchange>,
}

/// Where the answer to a request came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// The rule of the script with this index.
    Rule(usize),
    /// The server, as the real one would: with this refusal.
    Refused(Failure),
    /// The server: the script had nothing for this prompt, so it got status 500.
    Unmatched,
    /// The server: the list of models, or something else about itself.
    Models,
    /// The server, with what it answers to everything.
    Always,
}

impl Request {
    /// Its place among all requests, in order of arrival, from 0.
    pub fn number(&self) -> u64 {
        self.0.number
    }

    /// Its place among the requests that ask a model, refused ones included, from 0; `None` for
    /// any other request.
    pub fn prompt(&self) -> Option<u64> {
        self.0.prompt
    }

    /// Its method.
    pub fn method(&self) -> &Method {
        &self.0.received.method
    }

    /// Its path, without the query.
    pub fn path(&self) -> &str {
        &self.0.received.path
    }

    /// Its headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.0.received.headers
    }

    /// Its body; `null` when that is no JSON.
    pub fn body(&self) -> &Value {
        &self.0.body
    }

    /// Its body byte for byte, cut at the server's limit.
    pub fn raw(&self) -> &Bytes {
        &self.0.received.raw
    }

    /// What the user said last in it, whatever its dialect; empty for what is no good prompt.
    pub fn last_user(&self) -> &str {
        &self.0.said.0
    }

    /// How many results of tools come after what the user said last.
    pub fn results_since_user(&self) -> usize {
        self.0.said.1
    }

    /// Where its answer came from.
    pub fn answered(&self) -> &Answered {
        &self.0.answered
    }

    /// Deltas of its answer that the kernel has taken.
    pub fn deltas(&self) -> usize {
        self.0.exchange.written_deltas()
    }

    /// How its answer ended, if it has.
    pub fn ended(&self) -> Option<ExchangeEnd> {
        self.0.exchange.ended()
    }

    /// Waits until the kernel has taken `deltas` deltas of its answer, or the answer has ended.
    /// Returns how many it has taken.
    pub async fn written(&self, deltas: usize) -> usize {
        let exchange = &self.0.exchange;
        exchange
            .until(|| {
                let enough = exchange.written_deltas() >= deltas;
                (enough || exchange.ended().is_some()).then(|| exchange.written_deltas())
            })
            .await
    }

    /// Waits until its answer has ended, and says how.
    pub async fn end(&self) -> ExchangeEnd {
        let exchange = &self.0.exchange;
        exchange.until(|| exchange.ended()).await
    }
}

/// The latest requests, and how many there were.
#[derive(Default)]
pub(crate) struct Requests {
    kept: VecDeque<Request>,
    bytes: usize,
    total: u64,
    prompts: u64,
}

impl Requests {
    /// The number that the next request gets.
    pub(crate) fn next_number(&self) -> u64 {
        self.total
    }

    /// The number that the next prompt gets among prompts.
    pub(crate) fn next_prompt(&self) -> u64 {
        self.prompts
    }

    pub(crate) fn add(&mut self, entry: Entry) {
        self.total += 1;
        self.prompts += u64::from(entry.prompt.is_some());
        self.bytes += entry.received.raw.len();
        self.kept.push_back(Request(Arc::new(entry)));
        while self.kept.len() > KEPT_REQUESTS || self.bytes > KEPT_BYTES {
            let Some(oldest) = self.kept.pop_front() else {
                break;
            };
            self.bytes -= oldest.raw().len();
        }
    }

    pub(crate) fn all(&self) -> Vec<Request> {
        self.kept.iter().cloned().collect()
    }

    /// The prompt of this number, unless it has not come yet or is forgotten.
    pub(crate) fn prompt(&self, number: u64) -> Option<Request> {
        let mut requests = self.kept.iter();
        requests
            .find(|request| request.prompt() == Some(number))
            .cloned()
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Notify;

    use super::*;

    fn entry(number: u64, bytes: usize) -> Entry {
        Entry {
            number,
            prompt: Some(number),
            received: Received {
                method: Method::POST,
                path: "/".to_owned(),
                headers: HeaderMap::new(),
                raw: Bytes::from(vec![b' '; bytes]),
                is_too_long: false,
            },
            body: Value::Null,
            said: Default::default(),
            answered: Answered::Unmatched,
            exchange: Arc::new(Exchange::new(Arc::new(Notify::new()))),
        }
    }

    fn numbers(requests: &Requests) -> Vec<u64> {
        requests.all().iter().map(Request::number).collect()
    }

    #[test]
    fn the_oldest_are_forgotten_when_there_are_too_many() {
        let mut requests = Requests::default();
        let most = u64::try_from(KEPT_REQUESTS).unwrap();
        for number in 0..most + 2 {
            requests.add(entry(number, 0));
        }

        assert_eq!(numbers(&requests), (2..most + 2).collect::<Vec<_>>());
        assert!(requests.prompt(1).is_none());
        assert_eq!(requests.prompt(2).unwrap().number(), 2);
        assert_eq!(requests.next_prompt(), most + 2);
    }

    #[test]
    fn the_oldest_are_forgotten_when_their_bodies_are_too_long() {
        let mut requests = Requests::default();
        for number in 0..5 {
            requests.add(entry(number, KEPT_BYTES / 3));
        }

        assert_eq!(numbers(&requests), [2, 3, 4]);
        requests.add(entry(5, KEPT_BYTES));
        assert_eq!(numbers(&requests), [5]);
    }
}
