//! A person who answers questions: in the chat, by their call, or both ways at once; who decides about
//! calls; and who also speaks without a question.

mod deciding;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::client::{Address, Refusal, ServerAnswer, ServerGone};
use crate::dice::Dice;
use crate::observed::{AnswerRoute, AnswerStatus, Incident, Open};
use crate::scene::ASK;
use crate::stage::Stage;

/// Where something is said in the chat.
const SAY: &str = "/chat/user_message";

/// Where the open calls are.
const CALLS: &str = "/api/calls";

/// How long what a person looks for may take to be seen before they look again.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Whether the chat asks about a call that waits for a decision.
fn is_about_call(question: &str) -> bool {
    !question.starts_with("what about ")
}

/// Answers for as long as it is let.
pub(crate) struct Person {
    pub(crate) stage: Arc<Stage>,
    pub(crate) name: String,
    /// How long an open question may not be asked in the chat of a server that lives on.
    pub(crate) patience: Duration,
    pub(crate) said: u64,
    pub(crate) dice: Dice,
}

impl Person {
    pub(crate) async fn answer(mut self) {
        loop {
            let at = self.stage.server().await;
            tokio::time::sleep(self.dice.millis(3..=25)).await;
            let done = match self.dice.within(0..=99) {
                // In the end nobody speaks unasked, which would do away with a question that is left.
                0..=4 if !self.stage.must_close() => self.stray(&at).await,
                5..=24 => self.decide(&at).await,
                25..=63 => self.in_chat(&at).await,
                64..=84 => self.by_call(&at).await,
                _ => self.both_ways(&at).await,
            };
            if let Err(ServerGone) = done {
                self.stage.is_over(at.life).await;
            }
        }
    }

    /// Says something although nobody may have asked.
    async fn stray(&mut self, at: &Address) -> Result<(), ServerGone> {
        let text = self.words("nothing that anybody asked");
        self.say(at, text).await
    }

    /// Answers what the chat waits for.
    async fn in_chat(&mut self, at: &Address) -> Result<(), ServerGone> {
        let Some(question) = self.pending(at).await? else {
            return Ok(());
        };
        let is_over = self.stage.must_close();
        // What the chat asks about a call, most persons decide where the calls are; in the end all do,
        // or their words could come after the decision.
        let is_left = is_about_call(&question) && (is_over || self.dice.percent(80));
        if is_left || is_over && !self.is_waited_for(at, &question).await? {
            return Ok(());
        }
        self.think().await;
        let text = self.words(&question);
        self.say(at, text).await
    }

    /// Answers one of the open calls, once the chat has asked it; sometimes before.
    async fn by_call(&mut self, at: &Address) -> Result<(), ServerGone> {
        let calls = self.calls(at).await?;
        let Some(open) = self.dice.one_of(&calls) else {
            return Ok(());
        };
        let is_hasty = !self.stage.must_close() && self.dice.percent(30);
        if !is_hasty && !self.is_asked(at, &open.question).await {
            return Ok(());
        }
        self.think().await;
        let text = self.words(&open.question);
        let way = self.way(open);
        self.settle(at, way, text).await
    }

    /// Answers the same question in both ways at once.
    async fn both_ways(&mut self, at: &Address) -> Result<(), ServerGone> {
        let Some(pending) = self.pending(at).await? else {
            return Ok(());
        };
        let open = self.calls(at).await?;
        let Some(open) = open.iter().find(|open| open.question == pending) else {
            return Ok(());
        };
        self.think().await;
        let (first, second) = (self.words(&pending), self.words(&pending));
        let way = self.way(open);
        let (said, settled) = tokio::join!(self.say(at, first), self.settle(at, way, second));
        said.and(settled)
    }

    /// What the chat waits for now.
    async fn pending(&self, at: &Address) -> Result<Option<String>, ServerGone> {
        let Some(state) = self.get(at, "/chat/state").await? else {
            return Ok(None);
        };
        let boot = state.value["boot_id"].as_str().unwrap_or_default();
        self.stage.boots(at.life, boot);
        let Some(id) = state.value["pending_input"]["question_msg_id"].as_u64() else {
            return Ok(None);
        };
        let after = id.saturating_sub(1);
        let path = format!("/chat/history?after={after}&limit=1&boot={boot}");
        let page = self.get(at, &path).await?;
        let page = page.unwrap_or_default();
        let text = page.value[0]["text"].as_str();
        Ok(text.map(str::to_owned))
    }

    /// The questions whose calls are open, oldest first.
    async fn calls(&self, at: &Address) -> Result<Vec<Open>, ServerGone> {
        let listed = self.get(at, CALLS).await?.unwrap_or_default();
        let items = listed.value["items"].as_array().map(Vec::as_slice);
        let questions = items.unwrap_or_default().iter();
        let questions = questions.filter(|item| item["tool"] == ASK);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let open: Vec<_> = questions
            .map(|item| Open {
                life: at.life,
                call: text(&item["id"]),
                question: text(&item["args"]["question"]),
            })
            .collect();
        for open in &open {
            self.stage.is_open(open.clone());
        }
        Ok(open)
    }

    /// Waits until the chat has asked this. Whether it has, or will not as long as somebody waits.
    async fn is_asked(&self, at: &Address, question: &str) -> bool {
        let began = Instant::now();
        while began.elapsed() < self.patience {
            if self.stage.was_heard(at.life, question) {
                return true;
            }
            // What is open no more need not be asked.
            match self.calls(at).await {
                Ok(open) if open.iter().any(|open| open.question == question) => {}
                Ok(_) | Err(ServerGone) => return false,
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        self.stage.is_unasked(question);
        true
    }

    /// Whether what the chat waits for is an open call. What is none any more is withdrawn, unless
    /// that is forgotten.
    async fn is_waited_for(&self, at: &Address, question: &str) -> Result<bool, ServerGone> {
        let began = Instant::now();
        while began.elapsed() < self.patience {
            let open = self.calls(at).await?;
            if open.iter().any(|open| open.question == question) {
                return Ok(true);
            }
            if self.pending(at).await?.as_deref() != Some(question) {
                return Ok(false);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        self.stage.is_left(question);
        Ok(true)
    }

    /// Says something in the chat.
    async fn say(&self, at: &Address, text: String) -> Result<(), ServerGone> {
        let params = json!({ "text": text });
        let place = self.stage.says(at.life, AnswerRoute::Chat, text);
        match self.stage.client.give(at, SAY, &params).await? {
            Ok(found) => {
                self.stage.boots(at.life, &found.boot);
                let id = found.value["id"].as_u64();
                self.stage.replied(place, AnswerStatus::Taken(id));
            }
            Err(refusal) => {
                self.stage.replied(place, AnswerStatus::Refused);
                self.refused(SAY, &refusal);
            }
        }
        Ok(())
    }

    /// Settles a question's call with this, as its result or as why there is none.
    async fn settle(&self, at: &Address, way: AnswerRoute, text: String) -> Result<(), ServerGone> {
        let (field, call) = match &way {
            AnswerRoute::Chat => return Ok(()),
            AnswerRoute::Result(call) => ("result", call),
            AnswerRoute::Error(call) => ("error", call),
        };
        let (path, params) = (format!("{CALLS}/{call}"), json!({ field: text }));
        let place = self.stage.says(at.life, way, text);
        match self.stage.client.give(at, &path, &params).await? {
            Ok(_) => self.stage.replied(place, AnswerStatus::Taken(None)),
            Err(refusal) => {
                self.stage.replied(place, AnswerStatus::Refused);
                // Somebody was faster, or the turn is over.
                if refusal.code != "unknown_call" {
                    self.refused(&path, &refusal);
                }
            }
        }
        Ok(())
    }

    /// How a call is settled.
    fn way(&mut self, open: &Open) -> AnswerRoute {
        let is_error = self.dice.percent(20);
        if is_error {
            AnswerRoute::Error(open.call.clone())
        } else {
            AnswerRoute::Result(open.call.clone())
        }
    }

    /// What is at this path; nothing when the server puts that off.
    async fn get(&self, at: &Address, path: &str) -> Result<Option<ServerAnswer>, ServerGone> {
        match self.stage.client.get(at, path).await? {
            Ok(found) => {
                if !found.boot.is_empty() {
                    self.stage.boots(at.life, &found.boot);
                }
                Ok(Some(found))
            }
            Err(refusal) => {
                self.refused(path, &refusal);
                Ok(None)
            }
        }
    }

    /// Some questions are open for a while, so that servers die over them.
    async fn think(&mut self) {
        let long = if self.dice.percent(25) { 500 } else { 15 };
        tokio::time::sleep(self.dice.millis(0..=long)).await;
    }

    /// Words that nobody has said before, about something.
    fn words(&mut self, about: &str) -> String {
        self.said += 1;
        format!("word {} of {}: {about}", self.said, self.name)
    }

    fn refused(&self, path: &str, refusal: &Refusal) {
        if !self.stage.is_put_off(refusal) {
            self.stage.note(Incident::Refused {
                message: path.to_owned(),
                why: refusal.body.clone(),
            });
        }
    }
}
