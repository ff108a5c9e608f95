//! What all clients of one arena share: where the server is, the model behind it, and the notes of
//! what was seen.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use samovar_model_server::ModelServer;
use serde_json::Value;
use tokio::sync::watch;

use crate::client::{Address, Client};
use crate::observed::{Frame, Incident, Observed, Post, Profile, Reading, Stored, Tick};

/// The clients' side of an arena.
pub(crate) struct Stage {
    pub(crate) client: Client,
    pub(crate) model: ModelServer,
    pub(crate) workspace: PathBuf,
    /// Where the server is; none while it is dead.
    pub(crate) address: watch::Receiver<Option<Address>>,
    /// Whether nobody is to begin anything any more.
    pub(crate) is_closing: watch::Receiver<bool>,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    observed: Observed,
    /// The turns of messages, as far as somebody has read of them.
    turns: HashMap<String, String>,
    tick: Tick,
}

impl Stage {
    pub(crate) fn new(
        model: ModelServer,
        workspace: PathBuf,
        address: watch::Receiver<Option<Address>>,
        is_closing: watch::Receiver<bool>,
    ) -> Self {
        Self {
            client: Client::new(),
            model,
            workspace,
            address,
            is_closing,
            notes: Mutex::default(),
        }
    }

    /// Waits for a server. Never comes back when the arena is over.
    pub(crate) async fn server(&self) -> Address {
        let mut address = self.address.clone();
        loop {
            if let Some(address) = address.borrow_and_update().clone() {
                return address;
            }
            if address.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until this server is no more.
    pub(crate) async fn is_over(&self, life: u64) {
        let mut address = self.address.clone();
        let is_other = |at: &Option<Address>| at.as_ref().is_none_or(|at| at.life != life);
        // An arena that is over has no server either.
        address.wait_for(is_other).await.ok();
    }

    pub(crate) fn must_close(&self) -> bool {
        *self.is_closing.borrow()
    }

    /// Notes something that is about to be said, and gives its place.
    pub(crate) fn sent(&self, mut post: Post) -> usize {
        let mut notes = self.notes();
        post.sent_at = notes.next();
        notes.observed.posts.push(post);
        notes.observed.posts.len() - 1
    }

    pub(crate) fn acked(&self, place: usize) {
        let mut notes = self.notes();
        let now = notes.next();
        if let Some(post) = notes.observed.posts.get_mut(place) {
            post.acked_at.get_or_insert(now);
        }
    }

    /// Notes, before it is asked, that what runs in a session may be stopped.
    pub(crate) fn will_cancel(&self, session: &str) {
        let mut notes = self.notes();
        let posts = notes.observed.posts.iter_mut();
        for post in posts.filter(|post| post.session == session) {
            post.may_be_cancelled = true;
        }
    }

    /// The turn of a message, when somebody has read of it.
    pub(crate) fn turn_of(&self, message: &str) -> Option<String> {
        self.notes().turns.get(message).cloned()
    }

    /// Notes that the server said that it has stopped a message's turn.
    pub(crate) fn cancelled(&self, message: &str) {
        let mut notes = self.notes();
        let mut posts = notes.observed.posts.iter_mut();
        if let Some(post) = posts.find(|post| post.message == message) {
            post.is_cancelled = true;
        }
    }

    pub(crate) fn saw(&self, reading: Reading) {
        self.notes().observed.readings.push(reading);
    }

    /// Notes a stream that was read again when all was over.
    pub(crate) fn retold(&self, reading: Reading) {
        self.notes().observed.retold.push(reading);
    }

    /// Notes that a session is no more.
    pub(crate) fn deleted(&self, session: String) {
        self.notes().observed.deleted.push(session);
    }

    /// Notes that a deleted session is there.
    pub(crate) fn came_back(&self, session: String) {
        self.notes().observed.undead.push(session);
    }

    /// Notes what is stored.
    pub(crate) fn keeps(&self, rows: Vec<Stored>) {
        self.notes().observed.stored.extend(rows);
    }

    /// Looks at a frame at the moment at which it came.
    pub(crate) fn sees(&self, message: &str, profile: Profile, frame: &Frame) {
        if profile != Profile::Full {
            return;
        }
        if let Some(turn) = begun(frame) {
            self.notes().turns.insert(message.to_owned(), turn);
        }
        if is_answer(frame) {
            let prompts = self.model.prompt_count();
            let mut notes = self.notes();
            let answered = &mut notes.observed.answered;
            answered.entry(message.to_owned()).or_insert(prompts);
        }
    }

    pub(crate) fn note(&self, incident: Incident) {
        self.notes().observed.incidents.push(incident);
    }

    /// All that was noted.
    pub(crate) fn observed(&self) -> Observed {
        self.notes().observed.clone()
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notes {
    fn next(&mut self) -> Tick {
        self.tick += 1;
        self.tick
    }
}

/// The turn that a frame shows to begin.
fn begun(frame: &Frame) -> Option<String> {
    let event: Value = Some(&frame.data)
        .filter(|data| data.contains("\"turn_started\""))
        .and_then(|data| serde_json::from_str(data).ok())?;
    Some(event["turn"].as_str()?.to_owned())
}

/// Whether a frame shows an answer of the model as finished.
fn is_answer(frame: &Frame) -> bool {
    // Most frames are deltas, which need not be read for that.
    if !frame.data.contains("\"message_finished\"") {
        return false;
    }
    let event: Value = serde_json::from_str(&frame.data).unwrap_or_default();
    event["type"] == "message_finished" && event["message"]["role"] == "assistant"
}
