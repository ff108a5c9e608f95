//! What all clients of one arena share: where the server is, the model behind it, and the notes of
//! what was seen.

mod chat;
mod relay;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use samovar_model_server::ModelServer;
use serde_json::Value;
use tokio::sync::watch;

use crate::client::{Address, Client, Refusal};
use crate::observed::{
    AnswerReading, AppendedMessage, BranchStop, CopiedRow, FeedReading, Fork, Frame, Images,
    Import, Incident, ListedTurn, Observed, Post, Profile, ReaderConnection, Remembered, Scene,
    Stop, Stored, Talk, Totals,
};
use crate::scene;
use crate::ticker::Ticker;
use crate::turn_record::is_of_called;

/// The clients' side of an arena.
pub(crate) struct Stage {
    pub(crate) client: Client,
    pub(crate) model: ModelServer,
    pub(crate) workspace: PathBuf,
    /// Where the server is; none while it is dead.
    pub(crate) address: watch::Receiver<Option<Address>>,
    /// Whether nobody is to begin anything any more.
    pub(crate) is_closing: watch::Receiver<bool>,
    /// Whether the machine lets the server run commands.
    pub(crate) runs_commands: bool,
    ticker: Ticker,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    observed: Observed,
    /// The turns of messages, as far as somebody has read of them.
    turns: HashMap<String, String>,
    /// The turns of agents that were called in them.
    called: HashMap<String, Vec<String>>,
}

impl Stage {
    pub(crate) fn new(
        model: ModelServer,
        workspace: PathBuf,
        address: watch::Receiver<Option<Address>>,
        is_closing: watch::Receiver<bool>,
        ticker: Ticker,
    ) -> Self {
        Self {
            client: Client::new(),
            ticker,
            model,
            workspace,
            address,
            is_closing,
            runs_commands: false,
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

    /// Waits until this server is no more, or for so long: it may live on.
    pub(crate) async fn has_lost(&self, at: &Address, rest: Duration) {
        let _is_over = tokio::time::timeout(rest, self.is_over(at.life)).await;
    }

    pub(crate) fn must_close(&self) -> bool {
        *self.is_closing.borrow()
    }

    /// Makes the files that a message's turn and those below it are to edit.
    pub(crate) fn lays_out(&self, message: &str, scene: Scene) -> std::io::Result<()> {
        let mut files = scene::edited_files(message, scene).into_iter();
        files.try_for_each(|file| std::fs::write(self.workspace.join(file), scene::UNEDITED))
    }

    /// Notes something that is about to be said, and gives its place.
    pub(crate) fn sent(&self, mut post: Post) -> usize {
        let mut notes = self.notes();
        post.sent_at = self.ticker.next();
        notes.observed.posts.push(post);
        notes.observed.posts.len() - 1
    }

    pub(crate) fn acked(&self, place: usize) {
        let mut notes = self.notes();
        let now = self.ticker.next();
        if let Some(post) = notes.observed.posts.get_mut(place) {
            post.acked_at.get_or_insert(now);
        }
    }

    /// Notes that the server does not take a message, because its session is busy.
    pub(crate) fn rejected(&self, place: usize) {
        if let Some(post) = self.notes().observed.posts.get_mut(place) {
            post.is_rejected = true;
        }
    }

    /// Whether a refusal is of something that is to be tried again in a moment, which is counted.
    pub(crate) fn is_put_off(&self, refusal: &Refusal) -> bool {
        let may_pass = refusal.may_pass();
        if may_pass {
            let mut notes = self.notes();
            let put_off = &mut notes.observed.put_off;
            *put_off.entry(refusal.code.clone()).or_default() += 1;
        }
        may_pass
    }

    /// Notes, before it is asked, that a turn is to be stopped, and gives the place of that.
    pub(crate) fn will_stop(&self, session: &str, turn: Option<String>) -> usize {
        let mut notes = self.notes();
        let asked_at = self.ticker.next();
        notes.observed.stops.push(Stop {
            session: session.to_owned(),
            turn,
            asked_at,
            ..Stop::default()
        });
        notes.observed.stops.len() - 1
    }

    /// Notes that nothing more comes of a stop, and whether the server said that it has stopped a
    /// turn.
    pub(crate) fn has_stopped(&self, place: usize, is_confirmed: bool) {
        let mut notes = self.notes();
        let now = self.ticker.next();
        if let Some(stop) = notes.observed.stops.get_mut(place) {
            stop.settled_at = Some(now);
            stop.is_confirmed = is_confirmed;
        }
    }

    /// The turn of a message, when somebody has read of it.
    pub(crate) fn turn_of(&self, message: &str) -> Option<String> {
        self.notes().turns.get(message).cloned()
    }

    /// The turns of agents that were called in a message's turn, as far as somebody has read of them.
    pub(crate) fn called_by(&self, message: &str) -> Vec<String> {
        self.notes()
            .called
            .get(message)
            .cloned()
            .unwrap_or_default()
    }

    /// Notes, before it is asked, that a called agent is to be stopped, and gives the place of that.
    pub(crate) fn will_stop_branch(&self, turn: String) -> usize {
        let mut notes = self.notes();
        let is_confirmed = false;
        notes
            .observed
            .branch_stops
            .push(BranchStop { turn, is_confirmed });
        notes.observed.branch_stops.len() - 1
    }

    /// Notes that the server said that it has stopped a called agent.
    pub(crate) fn has_stopped_branch(&self, place: usize) {
        if let Some(stop) = self.notes().observed.branch_stops.get_mut(place) {
            stop.is_confirmed = true;
        }
    }

    /// Notes what a connection has shown.
    pub(crate) fn saw(&self, reading: ReaderConnection) {
        let mut notes = self.notes();
        let now = self.ticker.next();
        let mut posts = notes.observed.posts.iter_mut();
        let post = posts.find(|post| post.message == reading.message);
        if let Some(post) = post.filter(|_| reading.is_done) {
            post.ended_at.get_or_insert(now);
        }
        notes.observed.readings.push(reading);
    }

    /// Notes a stream that was read again when all was over.
    pub(crate) fn retold(&self, reading: ReaderConnection) {
        self.notes().observed.retold.push(reading);
    }

    /// Notes what a page has read of an answer.
    pub(crate) fn reads_answer(&self, reading: AnswerReading) {
        self.notes().observed.web.answers.push(reading);
    }

    /// Notes what a page has read of a feed.
    pub(crate) fn reads_feed(&self, reading: FeedReading) {
        self.notes().observed.web.feeds.push(reading);
    }

    /// Notes a talk that is over.
    pub(crate) fn talked(&self, talk: Talk) {
        self.notes().observed.web.talks.push(talk);
    }

    /// Notes a fork that is made.
    pub(crate) fn forked(&self, fork: Fork) {
        self.notes().observed.copies.forks.push(fork);
    }

    /// Notes a session that is imported.
    pub(crate) fn imported(&self, import: Import) {
        self.notes().observed.copies.imports.push(import);
    }

    /// Notes a message that is appended.
    pub(crate) fn appended(&self, message: AppendedMessage) {
        self.notes().observed.copies.appended.push(message);
    }

    /// Notes what is in a session without turns in the end.
    pub(crate) fn kept_images(&self, images: Images) {
        self.notes().observed.images = images;
    }

    pub(crate) fn keeps_copies(&self, rows: impl Iterator<Item = CopiedRow>) {
        self.notes().observed.copies.rows.extend(rows);
    }

    /// Notes what a turn remembered, and what became of that.
    pub(crate) fn remembered(&self, kept: Remembered) {
        self.notes().observed.memories.kept.push(kept);
    }

    /// Notes the texts of all memories in the end.
    pub(crate) fn lists_memories(&self, texts: Vec<String>) {
        self.notes().observed.memories.listed = texts;
    }

    /// Notes that a session is no more.
    pub(crate) fn deleted(&self, session: String) {
        self.notes().observed.deleted.push(session);
    }

    /// Notes that a deleted session is there.
    pub(crate) fn came_back(&self, session: String) {
        self.notes().observed.undead.push(session);
    }

    /// Notes what a session says of its messages.
    pub(crate) fn counts(&self, session: &str, totals: Totals) {
        let mut notes = self.notes();
        notes.observed.totals.insert(session.to_owned(), totals);
    }

    /// Notes what the list of turns says.
    pub(crate) fn lists(&self, turns: Vec<ListedTurn>) {
        self.notes().observed.turns.extend(turns);
    }

    /// What was stored in each session.
    pub(crate) fn rows(&self) -> BTreeMap<String, Vec<Stored>> {
        let mut sessions: BTreeMap<String, Vec<Stored>> = BTreeMap::new();
        for row in &self.notes().observed.stored {
            let rows = sessions.entry(row.session.clone()).or_default();
            rows.push(row.clone());
        }
        sessions
    }

    /// Notes what was stored and is not any more.
    pub(crate) fn lost(&self, rows: impl Iterator<Item = Stored>) {
        self.notes().observed.swept.extend(rows);
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
        match begun(frame) {
            Some((turn, false)) => drop(self.notes().turns.insert(message.to_owned(), turn)),
            Some((turn, true)) => {
                let mut notes = self.notes();
                let called = notes.called.entry(message.to_owned()).or_default();
                if !called.contains(&turn) {
                    called.push(turn);
                }
            }
            None => {}
        }
        if let Some(answer) = answer(frame) {
            let prompts = self.model.prompt_count();
            let mut notes = self.notes();
            notes.observed.answered.entry(answer).or_insert(prompts);
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

/// The turn of which a frame shows that it was accepted or begins, and whether it is that of a called
/// agent.
fn begun(frame: &Frame) -> Option<(String, bool)> {
    let is_first =
        |data: &&String| data.contains("\"turn_started\"") || data.contains("\"role\":\"user\"");
    let event: Value = Some(&frame.data)
        .filter(is_first)
        .and_then(|data| serde_json::from_str(data).ok())?;
    let turn = event["turn"].as_str()?.to_owned();
    Some((turn, is_of_called(&event)))
}

/// The answer of the model that a frame shows as finished.
fn answer(frame: &Frame) -> Option<String> {
    // Most frames are deltas, which need not be read for that.
    if !frame.data.contains("\"message_finished\"") {
        return None;
    }
    let event: Value = serde_json::from_str(&frame.data).ok()?;
    let message = &event["message"];
    let is_answer = event["type"] == "message_finished" && message["role"] == "assistant";
    Some(message["id"].as_str()?.to_owned()).filter(|_| is_answer)
}
