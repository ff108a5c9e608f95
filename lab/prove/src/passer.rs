//! A client that comes and goes: it opens a session, says something in it, and deletes it again.

use std::sync::Arc;

use serde_json::json;

use crate::client::ServerGone;
use crate::dice::Dice;
use crate::observed::{Delivery, Incident, Profile, Scene};
use crate::picture;
use crate::reader::Subject;
use crate::scene;
use crate::stage::Stage;

/// Opens and deletes sessions until the arena closes.
pub(crate) struct Passer {
    pub(crate) stage: Arc<Stage>,
    pub(crate) name: String,
    pub(crate) dice: Dice,
}

impl Passer {
    pub(crate) async fn pass(mut self) {
        let mut number = 0_u32;
        while !self.stage.must_close() {
            number += 1;
            let session = format!("{}-{number}", self.name);
            self.ask("createSession", &session).await;
            self.say(&session).await;
            tokio::time::sleep(self.dice.millis(0..=150)).await;
            if self.ask("deleteSession", &session).await {
                self.stage.deleted(session);
            }
        }
    }

    /// Says something, and does not wait for what comes of it.
    async fn say(&mut self, session: &str) {
        let message = picture::message_of(session);
        // A session is deleted over its question, and with its agents at work, too.
        let scenes = [
            Scene::Text,
            Scene::Questions,
            Scene::Tree,
            Scene::Background,
        ];
        let scene = self.dice.one_of(&scenes).copied().unwrap_or_default();
        if let Err(error) = self.stage.lays_out(&message, scene) {
            let why = error.to_string();
            self.stage.note(Incident::Refused {
                message: message.clone(),
                why,
            });
        }
        for rule in scene::rules(&message, scene, self.stage.runs_commands, &mut self.dice) {
            self.stage.model.push(rule);
        }
        let subject = Subject {
            session: session.to_owned(),
            message,
            delivery: Delivery::Queue,
        };
        let at = self.stage.server().await;
        let (params, profile) = (subject.params(), Profile::Default);
        let posted = self.stage.client.post(&at, &params, profile, None).await;
        if let Ok(Ok(mut frames)) = posted {
            let _came = tokio::time::timeout(self.dice.millis(0..=60), frames.next()).await;
        }
    }

    /// Asks until it is done. Whether it was.
    async fn ask(&self, method: &str, session: &str) -> bool {
        let params = json!({ "sessionId": session });
        let mut is_again = false;
        loop {
            let at = self.stage.server().await;
            match self.stage.client.call(&at, method, &params).await {
                Ok(Ok(_)) => return true,
                Ok(Err(refusal)) if self.stage.is_put_off(&refusal) => {
                    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                }
                // It was done by a server that could not say so any more.
                Ok(Err(refusal)) if refusal.code == "unknown_session" && is_again => return true,
                Ok(Err(refusal)) => {
                    self.stage.note(Incident::Refused {
                        message: session.to_owned(),
                        why: refusal.body,
                    });
                    return false;
                }
                Err(ServerGone) => self.stage.is_over(at.life).await,
            }
            is_again = true;
        }
    }
}
