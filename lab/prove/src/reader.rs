//! A reader of one turn: it loses its connection when the server dies, leaves at random, and comes
//! back until it has seen the end.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::{Address, Frames, Refusal, ServerGone, StreamItem};
use crate::dice::Dice;
use crate::observed::{Delivery, Frame, Incident, Profile, ReaderConnection};
use crate::picture;
use crate::scene;
use crate::stage::Stage;

/// Of a hundred connections that broke off, how many are resumed behind the last id.
const RESUMES: u64 = 80;

/// Whose turn is read.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) session: String,
    pub(crate) message: String,
    pub(crate) delivery: Delivery,
}

impl Subject {
    /// What says the message, for the first time or again.
    pub(crate) fn params(&self) -> Value {
        let mut params = json!({
            "sessionId": self.session,
            "messageId": self.message,
            "content": scene::content(&self.message),
            "delivery": self.delivery.word(),
        });
        if let Some(data) = picture::spelled(&self.message) {
            params["attachments"] = json!([{ "data": data }]);
        }
        params
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
            // Some forget what they have seen and start over.
            let after = at.clone().filter(|_| self.dice.percent(RESUMES));
            let opened = match first.take() {
                Some((address, frames)) => Ok(Ok((address, frames, None))),
                None => self.open(after).await,
            };
            match opened {
                Ok(Ok((address, frames, after))) => {
                    let reading = self.follow(&address, frames, after).await;
                    let mut frames = reading.frames.iter().rev();
                    let last = frames.find_map(|frame| frame.id.clone());
                    at = last
                        .or(at)
                        .filter(|_| !reading.frames.iter().any(Frame::is_reset));
                    let is_done = reading.is_done;
                    let is_empty = reading.frames.iter().all(|frame| frame.id.is_none());
                    self.stage.saw(reading);
                    if is_done {
                        return;
                    }
                    if is_empty {
                        // A stream that breaks off at once is not asked for in a hurry.
                        tokio::time::sleep(self.dice.millis(5..=20)).await;
                    }
                }
                Ok(Err(refusal)) if self.stage.is_put_off(&refusal) => {
                    tokio::time::sleep(self.dice.millis(5..=20)).await;
                }
                Ok(Err(refusal)) => {
                    let message = self.subject.message.clone();
                    let why = format!("{}: {}", refusal.status, refusal.body);
                    return self.stage.note(Incident::Refused { message, why });
                }
                Err((life, ServerGone)) => self.stage.is_over(life).await,
            }
        }
    }

    async fn open(
        &mut self,
        after: Option<String>,
    ) -> Result<Result<(Address, Frames, Option<String>), Refusal>, (u64, ServerGone)> {
        let address = self.stage.server().await;
        let (client, at) = (&self.stage.client, &address);
        let Subject { session, .. } = &self.subject;
        let (params, profile) = (self.subject.params(), self.profile);
        let opened = match (after.as_deref(), self.dice.within(0..=2)) {
            (None, _) => client.post(at, &params, profile, None).await,
            (Some(id), 0) => client.post(at, &params, profile, Some(id)).await,
            (Some(id), 1) => client.resume(at, session, id, profile).await,
            (Some(id), _) => client.resume_by_query(at, session, id, profile).await,
        };
        match opened {
            Ok(Ok(frames)) => Ok(Ok((address, frames, after))),
            Ok(Err(refusal)) => Ok(Err(refusal)),
            Err(gone) => Err((address.life, gone)),
        }
    }

    /// Reads one connection until it ends, breaks off, is left, or tells that what it has is void.
    async fn follow(
        &mut self,
        at: &Address,
        mut frames: Frames,
        after: Option<String>,
    ) -> ReaderConnection {
        let mut reading = ReaderConnection {
            message: self.subject.message.clone(),
            profile: self.profile,
            after,
            ..ReaderConnection::default()
        };
        let leaves_at = self.dice.percent(35).then(|| self.dice.within(1..=40));
        loop {
            let came = tokio::select! {
                biased;
                came = frames.next() => came,
                // What a dead server has sent is read before.
                () = self.stage.is_over(at.life) => frames.rest().await,
            };
            match came {
                StreamItem::Frame(frame) => {
                    self.stage.sees(&reading.message, reading.profile, &frame);
                    let is_void = frame.is_reset();
                    reading.frames.push(frame);
                    if is_void {
                        return reading;
                    }
                }
                StreamItem::Done => {
                    // A stream that says that its server stops is done, and its turn is not.
                    reading.is_done = reading.frames.last().is_none_or(|last| last.id.is_some());
                    return reading;
                }
                StreamItem::Broken => return reading,
                StreamItem::Malformed(text) => self.stage.note(Incident::Malformed(text)),
            }
            let seen = u64::try_from(reading.frames.len()).unwrap_or(u64::MAX);
            if leaves_at.is_some_and(|count| seen >= count) {
                return reading;
            }
        }
    }
}
