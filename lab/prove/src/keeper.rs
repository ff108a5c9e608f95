//! A client whose agent remembers, and who answers what it proposes and deletes some of it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Address, Refusal, ServerAnswer, ServerGone};
use crate::dice::Dice;
use crate::observed::{Incident, Remembered};
use crate::scene;
use crate::stage::Stage;

/// Where memories and proposals are.
const MEMORY: &str = "/api/memory";
const PROPOSALS: &str = "/api/memory/proposals";
/// Memories that are there at once, about: prompts have room for all of them.
const MOST: usize = 40;

/// Has things remembered until the arena closes.
pub(crate) struct Keeper {
    pub(crate) stage: Arc<Stage>,
    pub(crate) name: String,
    pub(crate) dice: Dice,
}

/// What is asked of the server.
enum Asked<'a> {
    Method(&'a str, Value),
    Give(String, Value),
    Delete(String),
}

impl Keeper {
    pub(crate) async fn keep(mut self) {
        let mut number = 0;
        let mut there: Vec<Remembered> = Vec::new();
        while !self.stage.must_close() {
            number += 1;
            let session = format!("{}-{number}", self.name);
            let message = format!("{session}-m");
            for rule in scene::remembering(&message, &mut self.dice) {
                self.stage.model.push(rule);
            }
            let opened = json!({ "sessionId": session });
            self.ask(Asked::Method("createSession", opened), "").await;
            let said = json!({
                "sessionId": session, "messageId": message, "content": scene::content(&message),
            });
            let ended = self.ask(Asked::Method("sendMessage", said), "").await;
            let is_done = ended.is_some_and(|ended| ended["finishReason"] == "stop");
            let mut kept = Remembered {
                message,
                number,
                is_done,
                ..Remembered::default()
            };
            self.answer(&mut kept).await;
            there.push(kept);
            if there.len() > MOST || self.dice.percent(40) {
                let at = self.dice.within(0..=there.len() as u64 - 1);
                let mut gone = there.swap_remove(usize::try_from(at).unwrap_or_default());
                self.forget(&mut gone, number).await;
                self.stage.remembered(gone);
            }
            tokio::time::sleep(self.dice.millis(0..=100)).await;
        }
        for kept in there {
            self.stage.remembered(kept);
        }
    }

    /// Accepts or refuses what was proposed in a turn.
    async fn answer(&mut self, kept: &mut Remembered) {
        let list = self.list(PROPOSALS).await;
        for proposal in named(&list, &kept.message) {
            let is_accepted = self.dice.percent(60);
            let decision = if is_accepted { "accept" } else { "refuse" };
            let path = format!("{PROPOSALS}/{proposal}");
            let answer = Asked::Give(path, json!({ "decision": decision }));
            self.ask(answer, "unknown_memory").await;
            kept.accepted += usize::from(is_accepted);
            kept.proposed += 1;
        }
    }

    /// Deletes all that was remembered in a turn.
    async fn forget(&mut self, kept: &mut Remembered, now: u32) {
        let list = self.list(MEMORY).await;
        for id in named(&list, &kept.message) {
            let path = format!("{MEMORY}/{id}");
            self.ask(Asked::Delete(path), "unknown_memory").await;
        }
        kept.gone_after = Some(now);
    }

    async fn list(&self, path: &'static str) -> Value {
        loop {
            let at = self.stage.server().await;
            let found = self.stage.client.get(&at, path).await;
            if let Some(found) = self.taken(&at, value(found), path).await {
                return found.unwrap_or_default();
            }
        }
    }

    /// Asks until it is done; a refusal with this code says that a server did it that could not say so
    /// any more.
    async fn ask(&self, asked: Asked<'_>, is_done: &str) -> Option<Value> {
        let client = &self.stage.client;
        let mut is_again = false;
        loop {
            let at = self.stage.server().await;
            let (answer, place) = match &asked {
                Asked::Method(method, params) => (client.call(&at, method, params).await, *method),
                Asked::Give(path, params) => {
                    (value(client.give(&at, path, params).await), path.as_str())
                }
                Asked::Delete(path) => (value(client.delete(&at, path).await), path.as_str()),
            };
            if let Ok(Err(refusal)) = &answer
                && is_again
                && refusal.code == is_done
            {
                return None;
            }
            is_again = true;
            if let Some(answer) = self.taken(&at, answer, place).await {
                return answer;
            }
        }
    }

    /// What the server answered; `None` to ask again.
    async fn taken(
        &self,
        at: &Address,
        answer: Result<Result<Value, Refusal>, ServerGone>,
        place: &str,
    ) -> Option<Option<Value>> {
        match answer {
            Ok(Ok(answer)) => return Some(Some(answer)),
            Ok(Err(refusal)) if self.stage.is_put_off(&refusal) => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Ok(Err(refusal)) => {
                self.stage.note(Incident::Refused {
                    message: format!("{} {place}", self.name),
                    why: refusal.body,
                });
                return Some(None);
            }
            Err(ServerGone) => self.stage.is_over(at.life).await,
        }
        None
    }
}

fn value(
    answer: Result<Result<ServerAnswer, Refusal>, ServerGone>,
) -> Result<Result<Value, Refusal>, ServerGone> {
    answer.map(|answer| answer.map(|answer| answer.value))
}

/// The ids of what was remembered or proposed in a message's turn.
fn named(list: &Value, message: &str) -> Vec<String> {
    let items = list["items"].as_array().map(Vec::as_slice);
    let items = items.unwrap_or_default().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of_message = items.filter(|item| {
        let text = text(&item["text"]);
        scene::remembered(&text).any(|(of, _)| of == message)
    });
    of_message.map(|item| text(&item["id"])).collect()
}
