//! One session's client: it says things, twice or several at once, cancels, and sends readers.

use std::sync::Arc;

use serde_json::json;
use tokio::task::JoinSet;

use crate::client::{Address, Frames, Gone};
use crate::dice::Dice;
use crate::observed::{Incident, Post, Profile, Scene};
use crate::reader::{Reader, Subject};
use crate::scene;
use crate::stage::Stage;

/// Turns that a client lets wait behind each other.
const MOST_QUEUED: usize = 3;

/// Talks in one session until the arena closes, and then reads on until every turn has ended.
pub(crate) struct Driver {
    pub(crate) stage: Arc<Stage>,
    pub(crate) session: String,
    pub(crate) dice: Dice,
}

impl Driver {
    pub(crate) async fn drive(mut self) {
        self.open().await;
        let mut readers = JoinSet::new();
        let mut said = 0_u32;
        while !self.stage.must_close() {
            said += 1;
            let message = format!("{}-m{said}", self.session);
            self.say(&message, &mut readers).await;
            let may_queue = self.dice.percent(30) && readers.len() < MOST_QUEUED;
            if !may_queue {
                if self.dice.percent(15) {
                    self.cancel(&message).await;
                }
                while readers.join_next().await.is_some() {}
            }
        }
        while readers.join_next().await.is_some() {}
    }

    async fn open(&self) {
        let params = json!({ "sessionId": self.session });
        loop {
            let at = self.stage.server().await;
            match self.stage.client.call(&at, "createSession", &params).await {
                Ok(Ok(_)) => return,
                Ok(Err(refusal)) if refusal.may_pass() => self.rest().await,
                Ok(Err(refusal)) => {
                    return self.refused(&self.session, &refusal.body);
                }
                Err(Gone) => self.stage.is_over(at.life).await,
            }
        }
    }

    /// Says one thing until it is accepted, and sends readers to its turn.
    async fn say(&mut self, message: &str, readers: &mut JoinSet<()>) {
        let scene = scene::choose(&mut self.dice);
        for rule in scene::rules(message, scene, &mut self.dice) {
            self.stage.model.push(rule);
        }
        if scene == Scene::Tools {
            let path = self.stage.workspace.join(scene::edited_file(message));
            if let Err(error) = std::fs::write(path, scene::UNEDITED) {
                self.refused(message, &error.to_string());
            }
        }
        let subject = Subject {
            session: self.session.clone(),
            message: message.to_owned(),
        };
        let place = self.stage.sent(Post {
            session: self.session.clone(),
            content: scene::content(message),
            message: message.to_owned(),
            scene,
            ..Post::default()
        });
        let twin = self.dice.percent(25).then(|| self.reader(&subject));
        if let Some(twin) = twin {
            // The same words from a second connection, maybe before the first.
            readers.spawn(twin.read(None));
        }
        let reader = self.reader(&subject);
        let Some(first) = self.post(&subject, reader.profile).await else {
            return;
        };
        self.stage.acked(place);
        readers.spawn(reader.read(Some(first)));
        for _ in 0..self.dice.within(0..=2) {
            readers.spawn(self.reader(&subject).read(None));
        }
    }

    async fn post(&mut self, subject: &Subject, profile: Profile) -> Option<(Address, Frames)> {
        loop {
            let at = self.stage.server().await;
            let posted = self
                .stage
                .client
                .post(&at, &subject.params(), profile, None)
                .await;
            match posted {
                Ok(Ok(frames)) => return Some((at, frames)),
                // Full queues and servers that start or stop are tried again.
                Ok(Err(refusal)) if refusal.may_pass() => self.rest().await,
                Ok(Err(refusal)) => {
                    self.refused(&subject.message, &refusal.body);
                    return None;
                }
                Err(Gone) => self.stage.is_over(at.life).await,
            }
        }
    }

    /// Stops the turn of what was said last, by its name where somebody has read it, else the one that
    /// runs.
    async fn cancel(&mut self, message: &str) {
        tokio::time::sleep(self.dice.millis(0..=120)).await;
        self.stage.will_cancel(&self.session);
        let at = self.stage.server().await;
        let turn = self.stage.turn_of(message);
        let params = json!({ "sessionId": self.session, "turnId": turn });
        match self.stage.client.call(&at, "cancel", &params).await {
            Ok(Ok(answer)) if answer["cancelled"] == true && turn.is_some() => {
                self.stage.cancelled(message);
            }
            Ok(Ok(_)) | Err(Gone) => {}
            // It may have been over before.
            Ok(Err(refusal)) if refusal.may_pass() || refusal.code == "unknown_turn" => {}
            Ok(Err(refusal)) => self.refused(&self.session, &refusal.body),
        }
    }

    fn reader(&mut self, subject: &Subject) -> Reader {
        let is_full = self.dice.percent(60);
        Reader {
            stage: self.stage.clone(),
            subject: subject.clone(),
            profile: if is_full {
                Profile::Full
            } else {
                Profile::Default
            },
            dice: self.dice.fork(),
        }
    }

    fn refused(&self, message: &str, why: &str) {
        self.stage.note(Incident::Refused {
            message: message.to_owned(),
            why: why.to_owned(),
        });
    }

    async fn rest(&self) {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}
