//! One session's client: it says things, twice or several at once, cancels, and sends readers.

use std::sync::Arc;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};

use crate::client::{Address, Frames, Refusal, ServerGone};
use crate::dice::Dice;
use crate::observed::{Delivery, Incident, Post, Profile};
use crate::reader::{Reader, Subject};
use crate::scene;
use crate::stage::Stage;

/// Readers beside whom a client says one thing more.
const MOST_QUEUED: usize = 8;

/// A model of the other dialect.
pub(crate) const OTHER_MODEL: &str = "anthropic/claude-scripted";

/// How long a session may be busy in which nothing is under way.
const BUSY: Duration = Duration::from_secs(5);

/// Talks in one session until the arena closes, and then reads on until every turn has ended.
pub(crate) struct Driver {
    pub(crate) stage: Arc<Stage>,
    pub(crate) session: String,
    /// Whether agents work in the background of the session, whose results begin turns between those
    /// of the client: then all that it says waits.
    pub(crate) is_beside: bool,
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
            let may_queue = self.dice.percent(60) && readers.len() < MOST_QUEUED;
            if !may_queue {
                if !self.is_beside && self.dice.percent(18) {
                    self.cancel(&message).await;
                }
                while readers.join_next().await.is_some() {}
            }
        }
        while readers.join_next().await.is_some() {}
    }

    async fn open(&mut self) {
        let mut params = json!({ "sessionId": self.session });
        // The others talk to the model that is set.
        if self.dice.percent(35) {
            params["model"] = OTHER_MODEL.into();
        }
        loop {
            let at = self.stage.server().await;
            match self.stage.client.call(&at, "createSession", &params).await {
                Ok(Ok(_)) => return,
                Ok(Err(refusal)) if self.stage.is_put_off(&refusal) => self.rest().await,
                Ok(Err(refusal)) => {
                    return self.refused(&self.session, &refusal.body);
                }
                Err(ServerGone) => self.stage.is_over(at.life).await,
            }
        }
    }

    /// What is to become of a message beside the turns that are read still.
    fn delivery(&mut self, is_idle: bool) -> Delivery {
        if self.is_beside {
            return Delivery::Queue;
        }
        let others = if is_idle { 15 } else { 65 };
        let all = [
            Delivery::Steer,
            Delivery::Steer,
            Delivery::Interrupt,
            Delivery::Interrupt,
            Delivery::Reject,
        ];
        let other = self.dice.one_of(&all).copied();
        other
            .filter(|_| self.dice.percent(others))
            .unwrap_or_default()
    }

    /// Says one thing until it is accepted, and sends readers to its turn.
    async fn say(&mut self, message: &str, readers: &mut JoinSet<()>) {
        let is_idle = readers.is_empty();
        let delivery = self.delivery(is_idle);
        let scene = if self.is_beside {
            scene::choose_beside(&mut self.dice)
        } else {
            scene::choose(&mut self.dice, delivery)
        };
        for rule in scene::rules(message, scene, self.stage.runs_commands, &mut self.dice) {
            self.stage.model.push(rule);
        }
        if let Err(error) = self.stage.lays_out(message, scene) {
            self.refused(message, &error.to_string());
        }
        let subject = Subject {
            session: self.session.clone(),
            message: message.to_owned(),
            delivery,
        };
        let place = self.stage.sent(Post {
            session: self.session.clone(),
            content: scene::content(message),
            message: message.to_owned(),
            scene,
            delivery,
            ..Post::default()
        });
        // One that may be refused is said once, so that its answer is that of the server.
        let has_twin = delivery != Delivery::Reject && self.dice.percent(25);
        if has_twin {
            // The same words from a second connection, maybe before the first.
            let twin = self.reader(&subject);
            readers.spawn(twin.read(None));
        }
        let reader = self.reader(&subject);
        match self.post(&subject, reader.profile, is_idle).await {
            PostResult::Accepted(first) => {
                self.stage.acked(place);
                readers.spawn(reader.read(Some(first)));
                for _ in 0..self.dice.within(0..=2) {
                    readers.spawn(self.reader(&subject).read(None));
                }
            }
            PostResult::Rejected => self.stage.rejected(place),
            PostResult::Refused => {}
        }
    }

    async fn post(&mut self, subject: &Subject, profile: Profile, is_idle: bool) -> PostResult {
        let params = subject.params();
        let mut busy_since = None;
        loop {
            let at = self.stage.server().await;
            let posted = self.stage.client.post(&at, &params, profile, None).await;
            match posted {
                Ok(Ok(frames)) => return PostResult::Accepted((at, frames)),
                // Servers that start or stop are tried again.
                Ok(Err(refusal)) if self.stage.is_put_off(&refusal) => self.rest().await,
                Ok(Err(refusal)) if is_busy(&refusal, subject) => {
                    // Who has read all ends may be a moment faster than the session is free.
                    let since = *busy_since.get_or_insert_with(Instant::now);
                    if !is_idle {
                        return PostResult::Rejected;
                    }
                    if since.elapsed() > BUSY {
                        self.refused(&subject.message, &refusal.body);
                        return PostResult::Refused;
                    }
                    self.rest().await;
                }
                Ok(Err(refusal)) => {
                    self.refused(&subject.message, &refusal.body);
                    return PostResult::Refused;
                }
                Err(ServerGone) => self.stage.is_over(at.life).await,
            }
        }
    }

    /// Stops the turn of what was said last, by its name where somebody has read it, else the one that
    /// runs.
    async fn cancel(&mut self, message: &str) {
        tokio::time::sleep(self.dice.millis(0..=120)).await;
        let called = self.stage.called_by(message);
        if let Some(turn) = self.dice.one_of(&called).filter(|_| self.dice.percent(50)) {
            return self.cancel_branch(turn).await;
        }
        let at = self.stage.server().await;
        let turn = self.stage.turn_of(message);
        let turn = turn.filter(|_| self.dice.percent(70));
        let params = json!({ "sessionId": self.session, "turnId": turn });
        let place = self.stage.will_stop(&self.session, turn);
        let answer = self.stage.client.call(&at, "cancel", &params).await;
        let mut is_confirmed = false;
        match answer {
            Ok(Ok(answer)) => is_confirmed = answer["cancelled"] == true,
            Ok(Err(refusal)) if self.stage.is_put_off(&refusal) => {}
            // A message that is just joining a turn has none of its own any more to be stopped.
            Ok(Err(refusal)) if refusal.status == 429 && refusal.code == "busy" => {}
            Ok(Err(refusal)) => self.refused(&self.session, &refusal.body),
            // What a dead server was asked is done or will never be.
            Err(ServerGone) => self.stage.is_over(at.life).await,
        }
        self.stage.has_stopped(place, is_confirmed);
    }

    /// Stops the turn of a called agent, and not that of its caller.
    async fn cancel_branch(&mut self, turn: &str) {
        let at = self.stage.server().await;
        let path = format!("/api/turns/{turn}/cancel");
        let place = self.stage.will_stop_branch(turn.to_owned());
        match self.stage.client.give(&at, &path, &json!({})).await {
            Ok(Ok(answer)) if answer.value["cancelled"] == true => {
                self.stage.has_stopped_branch(place);
            }
            Ok(Ok(_)) => {}
            Ok(Err(refusal)) if self.stage.is_put_off(&refusal) => {}
            Ok(Err(refusal)) => self.refused(&path, &refusal.body),
            Err(ServerGone) => self.stage.is_over(at.life).await,
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
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// What became of what was said.
enum PostResult {
    /// The server has it, and tells its turn here.
    Accepted((Address, Frames)),
    /// Its session was busy, and it did not want to wait.
    Rejected,
    /// It was refused, and should not have been.
    Refused,
}

/// Whether it was refused because its session is busy, as it wanted.
fn is_busy(refusal: &Refusal, subject: &Subject) -> bool {
    let is_meant = subject.delivery == Delivery::Reject;
    is_meant && refusal.status == 409 && refusal.code == "session_busy"
}
