//! A reader of one turn: it loses its connection when the server dies, leaves at random, and comes
//! back until it has seen the end.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::{Address, Came, Frames, Gone, Refusal};
use crate::dice::Dice;
use crate::observed::{Frame, Incident, Profile, Reading};
use crate::scene;
use crate::stage::Stage;

/// Of a hundred connections that broke off, how many are resumed behind the last id.
const RESUMES: u64 = 0;

/// Whose turn is read.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) session: String,
    pub(crate) message: String,
}

impl Subject {
    /// What says the message, for the first time or again.
    pub(crate) fn params(&self) -> Value {
        json!({
            "sessionId": self.session,
            "messageId": self.message,
            "content": scene::content(&self.message),
        })
    }
}

/// A reader, with the connection that it begins with if it has one.
pub(crate) struct Reader {
    pub(crate) stage: Arc<Stage>,
    pub(crate) subject: Subject,
    pub(crate) profile: Profile,
    pub(crate) dice: Dice,
}

impl Reader {
    /// Reads to the end, over any number of connections.
    pub(crate) async fn read(mut self, mut first: Option<(Address, Frames)>) {
        // The id of the last frame that it has seen.
        let mut at: Option<String> = None;
        loop {
            // Some forget what they have seen and begin anew.
            let after = at.clone().filter(|_| self.dice.percent(RESUMES));
            let opened = match first.take() {
                Some((address, frames)) => Ok(Ok((address, frames, None))),
                None => self.open(after).await,
            };
            match opened {
                Ok(Ok((address, frames, after))) => {
                    let reading = self.follow(&address, frames, after).await;
                    let last = reading
                        .frames
                        .iter()
                        .rev()
                        .find_map(|frame| frame.id.clone());
                    at = last.or(at);
                    let is_done = reading.is_done;
                    self.stage.saw(reading);
                    if is_done {
                        return;
                    }
                }
                Ok(Err(refusal)) if refusal.status == 503 => {
                    tokio::time::sleep(self.dice.millis(5..=20)).await;
                }
                Ok(Err(refusal)) => {
                    let message = self.subject.message.clone();
                    let why = format!("{}: {}", refusal.status, refusal.body);
                    return self.stage.note(Incident::Refused { message, why });
                }
                Err((life, Gone)) => self.stage.is_over(life).await,
            }
        }
    }

    async fn open(
        &self,
        after: Option<String>,
    ) -> Result<Result<(Address, Frames, Option<String>), Refusal>, (u64, Gone)> {
        let address = self.stage.server().await;
        let client = &self.stage.client;
        let opened = match &after {
            None => {
                client
                    .post(&address, &self.subject.params(), self.profile)
                    .await
            }
            Some(id) => {
                let session = &self.subject.session;
                client.resume(&address, session, id, self.profile).await
            }
        };
        match opened {
            Ok(Ok(frames)) => Ok(Ok((address, frames, after))),
            Ok(Err(refusal)) => Ok(Err(refusal)),
            Err(gone) => Err((address.life, gone)),
        }
    }

    /// Reads one connection until it ends, breaks off, or is left.
    async fn follow(&mut self, at: &Address, mut frames: Frames, after: Option<String>) -> Reading {
        let mut reading = Reading {
            message: self.subject.message.clone(),
            profile: self.profile,
            after,
            ..Reading::default()
        };
        let leaves_at = self.dice.percent(35).then(|| self.dice.within(1..=40));
        let mut seen: Vec<Frame> = Vec::new();
        loop {
            let came = tokio::select! {
                biased;
                came = frames.next() => came,
                // What a dead server has sent is read before.
                () = self.stage.is_over(at.life) => frames.rest().await,
            };
            match came {
                Came::Frame(frame) => {
                    self.stage.sees(&reading.message, reading.profile, &frame);
                    seen.push(frame);
                }
                Came::Done => {
                    reading.is_done = true;
                    break;
                }
                Came::Broken => break,
                Came::Malformed(text) => self.stage.note(Incident::Malformed(text)),
            }
            if leaves_at.is_some_and(|count| seen.len() as u64 >= count) {
                break;
            }
        }
        reading.frames = seen;
        // A stream that says that its server stops ends with `[DONE]`, and its turn has not.
        reading.is_done &= reading
            .frames
            .last()
            .is_some_and(|frame| frame.id.is_some());
        reading
    }
}
