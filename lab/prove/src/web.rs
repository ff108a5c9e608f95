//! Pages: they read the answer of whatever turn runs in a session as clients of the AI SDK do, and the
//! session's feed; one of them edits what it has said, and has it answered again.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Address, Frames, Refusal, ServerGone, StreamItem};
use crate::dice::Dice;
use crate::observed::{AnswerReading, FeedReading, Frame, Incident, Talk};
use crate::stage::Stage;

/// How long a page rests that finds no answer, or a session that is busy.
const REST: Duration = Duration::from_millis(10);

/// Reads what happens in one session, until it is stopped.
pub(crate) struct Page {
    pub(crate) stage: Arc<Stage>,
    pub(crate) session: String,
    pub(crate) dice: Dice,
}

impl Page {
    /// Reads answers, each connection from the start of the answer.
    pub(crate) async fn read_answers(mut self, is_split: bool) {
        let query = if is_split { "?subagents=messages" } else { "" };
        let path = format!("/api/chat/{}/stream{query}", self.session);
        loop {
            if let Some((at, frames)) = self.open(&path, None).await {
                let frames = self.follow(&at, frames).await;
                let session = self.session.clone();
                let frames = frames.into_iter().map(|frame| frame.data);
                self.stage.reads_answer(AnswerReading {
                    session,
                    is_split,
                    frames: frames.collect(),
                });
            }
            tokio::time::sleep(self.dice.millis(2..=40)).await;
        }
    }

    /// Follows the session's feed, mostly after the last event that it has.
    pub(crate) async fn follow_feed(mut self) {
        let path = format!("/api/sessions/{}/events", self.session);
        let mut last: Option<String> = None;
        loop {
            let after = last.clone().filter(|_| self.dice.percent(90));
            if let Some((at, frames)) = self.open(&path, after.as_deref()).await {
                let frames = self.follow(&at, frames).await;
                let newest = frames.iter().rev().find_map(|frame| frame.id.clone());
                last = newest.or(last);
                self.stage.reads_feed(FeedReading {
                    session: self.session.clone(),
                    after,
                    frames,
                });
            }
            tokio::time::sleep(self.dice.millis(2..=40)).await;
        }
    }

    async fn open(&self, path: &str, after: Option<&str>) -> Option<(Address, Frames)> {
        let at = self.stage.server().await;
        match self.stage.client.stream(&at, path, after).await {
            Ok(Ok(frames)) => return Some((at, frames)),
            Ok(Err(refusal)) => self.refused(path, &refusal),
            Err(ServerGone) => self.stage.is_over(at.life).await,
        }
        None
    }

    async fn follow(&mut self, at: &Address, mut frames: Frames) -> Vec<Frame> {
        let leaves_at = self.dice.percent(40).then(|| self.dice.within(1..=60));
        let mut seen: Vec<Frame> = Vec::new();
        loop {
            let came = tokio::select! {
                biased;
                came = frames.next() => came,
                // What a dead server has sent is read before.
                () = self.stage.is_over(at.life) => frames.rest().await,
            };
            match came {
                StreamItem::Frame(frame) => seen.push(frame),
                StreamItem::Malformed(text) => self.stage.note(Incident::Malformed(text)),
                StreamItem::Done | StreamItem::Broken => return seen,
            }
            if leaves_at.is_some_and(|most| seen.len() as u64 >= most) {
                return seen;
            }
        }
    }

    /// A session may not be there yet.
    fn refused(&self, path: &str, refusal: &Refusal) {
        if !self.stage.is_put_off(refusal) && refusal.code != "unknown_session" {
            let (message, why) = (path.to_owned(), refusal.body.clone());
            self.stage.note(Incident::Refused { message, why });
        }
    }
}

/// Talks in a separate session, edits what it said last, and has it answered again.
pub(crate) struct Editor {
    pub(crate) page: Page,
    talk: Talk,
}

impl Editor {
    pub(crate) fn new(page: Page) -> Self {
        let session = page.session.clone();
        let talk = Talk {
            session,
            ..Talk::default()
        };
        Self { page, talk }
    }

    pub(crate) async fn talk(mut self) {
        let mut number = 0_u32;
        while !self.page.stage.must_close() {
            number += 1;
            let id = format!("{}-{number}", self.talk.session);
            let text = format!("said as {id}");
            let message = said(&id, &text);
            self.talk.said.push((id.clone(), text));
            let body = json!({ "id": self.talk.session, "message": message });
            self.post(&body, |_| false).await;
            for again in 0..self.page.dice.within(0..=2) {
                self.rewrite(&id, again).await;
            }
        }
        self.talk.shown = self.shown().await;
        self.page.stage.talked(self.talk);
    }

    async fn rewrite(&mut self, id: &str, again: u64) {
        let before = self.shown().await;
        self.talk.rewritten += 1;
        if self.page.dice.percent(60) {
            let text = format!("said as {id}, edited {again}");
            if let Some((_, last)) = self.talk.said.last_mut() {
                last.clone_from(&text);
            }
            let body = json!({
                "id": self.talk.session,
                "trigger": "submit-message",
                "messageId": id,
                "message": said(id, &text),
            });
            let is_there = |shown: &[Shown]| shown.iter().any(|(_, _, other)| *other == text);
            self.post(&body, is_there).await;
        } else {
            let (_, text) = self.talk.said.last().cloned().unwrap_or_default();
            let body = json!({
                "id": self.talk.session,
                "trigger": "regenerate-message",
                "message": said(id, &text),
            });
            let is_other = |shown: &[Shown]| answer(shown) != answer(&before);
            self.post(&body, is_other).await;
        }
    }

    /// Posts until it is taken, or shown to be, and waits until the answer is there.
    async fn post(&mut self, body: &Value, is_done: impl Fn(&[Shown]) -> bool) {
        loop {
            let at = self.page.stage.server().await;
            match self
                .page
                .stage
                .client
                .give_stream(&at, "/api/chat", body)
                .await
            {
                Ok(Ok(frames)) => {
                    let frames = self.page.follow(&at, frames).await;
                    let session = self.talk.session.clone();
                    let frames = frames.into_iter().map(|frame| frame.data).collect();
                    let is_split = false;
                    self.page.stage.reads_answer(AnswerReading {
                        session,
                        is_split,
                        frames,
                    });
                    return self.idle().await;
                }
                // The turn before is over and its session not free yet.
                Ok(Err(refusal)) if refusal.status == 409 => self.idle().await,
                Ok(Err(refusal)) => self.page.refused("/api/chat", &refusal),
                Err(ServerGone) => {
                    self.page.stage.is_over(at.life).await;
                    self.idle().await;
                    if is_done(&self.shown().await) {
                        return;
                    }
                }
            }
            tokio::time::sleep(REST).await;
        }
    }

    /// Waits until no turn runs.
    async fn idle(&self) {
        let path = format!("/api/turns?sessionId={}&limit=5", self.talk.session);
        loop {
            let turns = self.get(&path).await;
            let mut turns = turns
                .iter()
                .flat_map(|turns| turns.as_array().into_iter().flatten());
            if turns.all(|turn| turn["state"] == "finished") {
                return;
            }
            tokio::time::sleep(REST).await;
        }
    }

    async fn shown(&self) -> Vec<Shown> {
        let path = format!("/api/chat/{}/messages?limit=200", self.talk.session);
        let Some(messages) = self.get(&path).await else {
            return Vec::new();
        };
        let messages = messages.as_array().into_iter().flatten();
        messages.map(shown).collect()
    }

    /// What is at a path, asked for until it is answered; none where there is no such session yet.
    async fn get(&self, path: &str) -> Option<Value> {
        loop {
            let at = self.page.stage.server().await;
            match self.page.stage.client.get(&at, path).await {
                Ok(Ok(found)) => return Some(found.value),
                Ok(Err(refusal)) if refusal.code == "unknown_session" => return None,
                Ok(Err(refusal)) => self.page.refused(path, &refusal),
                Err(ServerGone) => self.page.stage.is_over(at.life).await,
            }
            tokio::time::sleep(REST).await;
        }
    }
}

/// A message: role, id, text.
type Shown = (String, String, String);

fn said(id: &str, text: &str) -> Value {
    json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": text }] })
}

fn shown(message: &Value) -> Shown {
    let word = |name: &str| message[name].as_str().unwrap_or_default().to_owned();
    let parts = message["parts"].as_array().into_iter().flatten();
    let texts = parts.filter_map(|part| part["text"].as_str());
    (word("role"), word("id"), texts.collect())
}

fn answer(shown: &[Shown]) -> Option<&str> {
    let (role, id, _) = shown.last()?;
    (role == "assistant").then_some(id)
}
