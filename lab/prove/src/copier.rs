//! A client that forks sessions, carries forks out and in again, and appends to another session. It
//! repeats each request until it is answered.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use serde_json::{Value, json};

use crate::client::ServerGone;
use crate::dice::Dice;
use crate::observed::{AppendedMessage, Fork, Import, Incident};
use crate::stage::Stage;

const IMPORT: &str = "/api/sessions/import";

/// A request that is repeated until it is answered.
#[derive(Debug)]
enum Asked<'a> {
    Method(&'a str, &'a Value),
    Import(Bytes),
}

/// Forks, carries and appends until the arena closes.
pub(crate) struct Copier {
    pub(crate) stage: Arc<Stage>,
    pub(crate) name: String,
    /// The sessions that are forked.
    pub(crate) sessions: Vec<String>,
    pub(crate) dice: Dice,
    /// The forks that were made.
    pub(crate) forks: Vec<String>,
}

impl Copier {
    pub(crate) async fn copy(mut self) {
        self.ask("createSession", &json!({ "sessionId": self.name }))
            .await;
        let mut number = 0_u32;
        while !self.stage.must_close() {
            number += 1;
            match self.dice.within(0..=9) {
                0..4 => self.fork(number).await,
                4..6 => self.carry().await,
                _ => self.append(number).await,
            }
            tokio::time::sleep(self.dice.millis(0..=120)).await;
        }
    }

    async fn fork(&mut self, number: u32) {
        let Some(of) = self.dice.one_of(&self.sessions).cloned() else {
            return;
        };
        let session = format!("{}-f{number}", self.name);
        let params = json!({ "sessionId": of, "newSessionId": session });
        if let Some(made) = self.ask("forkSession", &params).await {
            let last = made["forkedFrom"]["messageId"].as_str();
            self.forks.push(session.clone());
            self.stage.forked(Fork {
                session,
                of,
                messages: made["messageCount"].as_u64().unwrap_or_default(),
                last: last.map(str::to_owned),
            });
        }
    }

    /// Appends a message, and a call with its result.
    async fn append(&mut self, number: u32) {
        let call = format!("{}-c{number}", self.name);
        let calls = json!([{ "id": call, "name": "elsewhere", "args": {} }]);
        let messages = [
            json!({ "role": "user" }),
            json!({ "role": "assistant", "toolCalls": calls }),
            json!({ "role": "tool", "toolCallId": call }),
        ];
        for (place, mut message) in messages.into_iter().enumerate() {
            let id = format!("{}-{number}-{place}", self.name);
            let content = format!("kept as {id}");
            message["id"] = id.as_str().into();
            message["content"] = content.as_str().into();
            let params = json!({ "sessionId": self.name, "message": message });
            if self.ask("appendMessage", &params).await.is_none() {
                return;
            }
            let session = self.name.clone();
            self.stage.appended(AppendedMessage {
                session,
                id,
                content,
            });
        }
    }

    /// Exports a fork, and imports it under another id.
    async fn carry(&mut self) {
        let Some(of) = self.dice.one_of(&self.forks).cloned() else {
            return;
        };
        let at = self.stage.server().await;
        let path = format!("/api/sessions/{of}/export");
        let Ok(Some(file)) = self.stage.client.bytes(&at, &path).await else {
            return;
        };
        if let Some(made) = self.until_answered(Asked::Import(file)).await {
            let made = &made["sessions"][0];
            self.stage.imported(Import {
                session: made["sessionId"].as_str().unwrap_or_default().to_owned(),
                of,
                messages: made["messages"].as_u64().unwrap_or_default(),
            });
        }
    }

    /// Asks until it is done; nothing where there is no such session yet.
    async fn ask(&self, method: &str, params: &Value) -> Option<Value> {
        self.until_answered(Asked::Method(method, params)).await
    }

    async fn until_answered(&self, asked: Asked<'_>) -> Option<Value> {
        let client = &self.stage.client;
        loop {
            let at = self.stage.server().await;
            let answered = match &asked {
                Asked::Method(method, params) => client.call(&at, method, params).await,
                Asked::Import(file) => {
                    let given = client.give_lines(&at, IMPORT, file.clone()).await;
                    given.map(|given| given.map(|answer| answer.value))
                }
            };
            match answered {
                Ok(Ok(answer)) => return Some(answer),
                Ok(Err(refusal)) if self.stage.is_put_off(&refusal) => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                Ok(Err(refusal)) if refusal.code == "unknown_session" => return None,
                Ok(Err(refusal)) => {
                    self.stage.note(Incident::Refused {
                        message: format!("{asked:?}"),
                        why: refusal.body,
                    });
                    return None;
                }
                Err(ServerGone) => self.stage.is_over(at.life).await,
            }
        }
    }
}
