//! Talking in a session: what `run` and `chat` have in common.

pub(crate) mod approval;
mod enter;
mod listen;
pub(crate) mod message;
mod questions;
mod stay;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use samovar_core::situation::Environment;
use samovar_core::{Approval, Budget, Code, Image, SessionId};
use samovar_locale as text;
use samovar_server::Home;
use samovar_wire::agent::{SessionInfo, UndoResult};
use samovar_wire::api::{ModelsAnswer, OpenCalls, RecoveryInfo};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use self::questions::Questions;
use crate::answer::Person;
use crate::args;
use crate::client::Client;
use crate::config::Setup;
use crate::exit::{Exit, Failure, ServerLoss, complaint};
use crate::follow::TurnStream;
use crate::keyboard::typed_ahead;
use crate::reconnecting::{Reconnecting, Repeat};
use crate::screen::{say, say_in};
use crate::sessions::find::{self, Precision};
use crate::stop::Stop;
use crate::style::Tone;
use crate::view::{Ending, View};

use self::message::MessageBody;

/// How long a server is looked for that went away in the middle of a turn.
const LOOKED_FOR: Duration = Duration::from_mins(1);

/// How long it may take to come back, before this process opens the data directory itself and the
/// turn continues here.
const COMES_BACK: Duration = Duration::from_secs(5);

/// How long it may take to reach whoever has a turn that is to stop: long enough to open the data
/// directory in the place of a server that went away.
const TO_CANCEL: Duration = Duration::from_secs(5);

/// How long a turn that was cancelled may take to say so.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A session, and the way to it.
pub(crate) struct Talk {
    way: Reconnecting,
    /// The session as it was when it was entered.
    pub(crate) session: SessionInfo,
    /// Which model answers, and why, for a person.
    model_line: String,
    is_model_news: bool,
    /// Whether its session is the first of the store.
    pub(crate) is_first: bool,
    /// The session that this command began.
    begun: Option<SessionId>,
    bounds: Bounds,
    person: Person,
    /// What goes with the next message.
    pub(crate) attached: Vec<Image>,
    /// What was typed while a turn ran, before it asked something.
    typed_ahead: String,
    /// What commands get of this shell.
    environment: Option<Arc<Environment>>,
}

/// How far each turn may go.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// The approval level that was typed.
    typed: Option<Approval>,
    /// The one where neither the person nor the session says one.
    approval: Approval,
    max_iterations: Option<u32>,
    budget: Budget,
}

/// Why a turn is no longer watched.
pub(crate) enum TurnEnd {
    /// It is over.
    Ended(Ending),
    /// Somebody asked to stop; the turn was cancelled.
    Asked,
    /// It took longer than it may; it was cancelled.
    Late,
    /// Nobody reads its text any more; it was cancelled.
    Unread,
    /// A stop of the server cut it, and this session waits until somebody says that it shall go on.
    Waits(SessionId),
}

impl TurnEnd {
    /// What the turn cost, if it told.
    pub(crate) fn tokens(&self) -> u64 {
        match self {
            Self::Ended(ending) => ending.tokens,
            Self::Asked | Self::Late | Self::Unread | Self::Waits(_) => 0,
        }
    }
}

/// What brings a turn.
enum Source {
    /// A message; said again, it brings the same turn.
    Message(MessageBody),
    /// The session: its turn that runs.
    Running,
}

impl Bounds {
    /// The bounds that were typed. The person is there, so what stays in the workspace runs unasked
    /// unless they said otherwise (TL-4).
    fn of(talk: &args::Talk, found: &Setup) -> Self {
        Self {
            typed: talk.approval.map(Approval::from),
            approval: found.approval,
            max_iterations: talk.max_iterations,
            budget: talk.budget.budget(),
        }
    }
}

/// How far an undo goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UndoReach {
    /// The messages alone.
    Messages,
    /// What tools changed in files, too.
    Files,
}

impl Talk {
    /// The approval level of the next turn.
    pub(crate) fn approval(&self) -> Approval {
        let said = self.bounds.typed.or(self.session.approval);
        said.unwrap_or(self.bounds.approval)
    }

    /// Sets the approval level of the session from the next turn on.
    ///
    /// # Errors
    /// The refusal.
    pub(crate) async fn set_approval(&mut self, level: Approval) -> Result<(), Failure> {
        let params = json!({ "sessionId": self.session.id, "approval": level });
        self.session = self.ask("updateSession", &params).await?;
        self.bounds.typed = None;
        Ok(())
    }

    /// Takes what was typed while a turn ran.
    pub(crate) fn typed_ahead(&mut self) -> String {
        std::mem::take(&mut self.typed_ahead) + &typed_ahead()
    }

    /// Says which model answers, when that is news or was asked for.
    pub(crate) fn say_model(&self, is_wanted: bool) {
        if is_wanted || self.is_model_news {
            say(&self.model_line);
        }
    }

    /// Calls a method of the agent service that may be called twice. A server that has gone
    /// meanwhile is looked for again.
    ///
    /// # Errors
    /// The refusal, or that there is no way to a server.
    pub(crate) async fn ask<A: DeserializeOwned>(
        &mut self,
        method: &str,
        params: &Value,
    ) -> Result<A, Failure> {
        let asked = async |client: &Client| client.agent(method, params).await;
        self.way.ask(Repeat::Harmless, asked).await
    }

    /// Reads what is at a path of the server.
    ///
    /// # Errors
    /// As [`Talk::ask`].
    pub(crate) async fn get<A: DeserializeOwned>(&mut self, path: &str) -> Result<A, Failure> {
        let asked = async |client: &Client| client.get(path).await;
        self.way.ask(Repeat::Harmless, asked).await
    }

    /// Posts to a path of the server.
    ///
    /// # Errors
    /// As [`Talk::ask`].
    pub(crate) async fn post<A: DeserializeOwned>(
        &mut self,
        path: &str,
        params: &impl Serialize,
    ) -> Result<A, Failure> {
        let asked = async |client: &Client| client.post(path, params).await;
        self.way.ask(Repeat::Untaken, asked).await
    }

    /// The session that was typed: its id, its title, or a part of its id.
    ///
    /// # Errors
    /// As [`Talk::ask`]; also that none or several fit.
    pub(crate) async fn find(&mut self, typed: &str) -> Result<SessionInfo, Failure> {
        let asked = async |client: &Client| find::session(client, typed, Precision::Part).await;
        self.way.ask(Repeat::Harmless, asked).await
    }

    /// Takes the last turn of the session back, with its files if that is asked for.
    ///
    /// # Errors
    /// As [`Talk::ask`]; also when a server went away that may have taken it back.
    pub(crate) async fn undo(&mut self, reach: UndoReach) -> Result<UndoResult, Failure> {
        let files = reach == UndoReach::Files;
        let params = json!({ "sessionId": self.session.id, "files": files });
        let asked = async |client: &Client| client.agent("undo", &params).await;
        self.way.ask(Repeat::Untaken, asked).await
    }

    /// The models of the server.
    ///
    /// # Errors
    /// As [`Talk::ask`].
    pub(crate) async fn models(&mut self) -> Result<ModelsAnswer, Failure> {
        self.get("/api/models?probe=true").await
    }

    /// Says something, and shows the turn until it ends. One that is asked to stop, that is not over
    /// by the deadline, or whose text nobody reads any more, is cancelled.
    ///
    /// # Errors
    /// The refusal, or that the server went away.
    pub(crate) async fn say(
        &mut self,
        message: MessageBody,
        view: &mut View,
        stop: &mut Stop,
        deadline: Option<Instant>,
    ) -> Result<TurnEnd, Failure> {
        self.show(&Source::Message(message), view, stop, deadline)
            .await
    }

    /// Lets the turn go on that a stop of the server cut, and shows it from its start to its end, as
    /// [`Talk::say`] does.
    ///
    /// # Errors
    /// The refusal, also that no turn waits; or that the server went away.
    pub(crate) async fn resume(
        &mut self,
        view: &mut View,
        stop: &mut Stop,
        deadline: Option<Instant>,
    ) -> Result<TurnEnd, Failure> {
        let params = json!({ "sessionId": self.session.id });
        let asked = async |client: &Client| client.post("/api/recovery/continue", &params).await;
        let told = self.way.ask::<Value>(Repeat::Harmless, asked).await;
        if let Err(refused) = told {
            // Where this process has just opened the data directory, it may go on by itself.
            let goes_on = self.way.is_here() && self.recovery().await?.continued > 0;
            let is_known = refused.code == Code::UnknownTurn.as_str();
            if !is_known || !(goes_on || self.waits_for_somebody().await?) {
                return Err(refused);
            }
        }
        self.show(&Source::Running, view, stop, deadline).await
    }

    /// Says that a message comes behind a turn which waits for an answer. Who cannot know says
    /// nothing, and of a session that was made just now there is nothing to know.
    async fn say_who_waits(&mut self, source: &Source) {
        let is_fresh = self.session.message_count == 0;
        if let (Source::Message(_), false) = (source, is_fresh)
            && let Ok(true) = self.waits_for_somebody().await
        {
            say(&text::ask::waits_before(&self.session.id));
        }
    }

    /// Whether a turn of the session waits until somebody closes a call of it, such as a question.
    async fn waits_for_somebody(&mut self) -> Result<bool, Failure> {
        let asked = async |client: &Client| client.get("/api/calls").await;
        let open: OpenCalls = self.way.ask(Repeat::Harmless, asked).await?;
        let mut open = open.items.iter();
        Ok(open.any(|call| call.session_id == self.session.id))
    }

    async fn recovery(&mut self) -> Result<RecoveryInfo, Failure> {
        let asked = async |client: &Client| client.get("/api/recovery").await;
        self.way.ask(Repeat::Harmless, asked).await
    }

    async fn show(
        &mut self,
        source: &Source,
        view: &mut View,
        stop: &mut Stop,
        deadline: Option<Instant>,
    ) -> Result<TurnEnd, Failure> {
        let late = until(deadline);
        tokio::pin!(late);
        let posted = {
            let posting = async {
                self.say_who_waits(source).await;
                self.open(source, None).await
            };
            tokio::pin!(posting);
            let left = tokio::select! {
                posted = &mut posting => Ok(posted?),
                () = stop.asked() => Err(TurnEnd::Asked),
                () = &mut late => Err(TurnEnd::Late),
            };
            match left {
                Ok(turn) => Ok(turn),
                // It may be kept already, and then its turn must not run on unseen.
                Err(left) => match tokio::time::timeout(LAST_WORDS, posting).await {
                    Ok(Ok(turn)) => Err((left, turn)),
                    Ok(Err(_)) | Err(_) => return Ok(left),
                },
            }
        };
        let (left, mut turn) = match posted {
            Ok(mut turn) => {
                self.say_what_waits(source).await;
                let left = self.watch(source, &mut turn, view, stop, late).await;
                (left, turn)
            }
            Err((left, turn)) => (Ok(left), turn),
        };
        match left {
            Ok(left @ (TurnEnd::Ended(_) | TurnEnd::Waits(_))) => Ok(left),
            Ok(left) => {
                view.hush();
                view.end_line()?;
                self.cancel(source, &mut turn, view, stop)
                    .await
                    .map(|()| left)
            }
            Err(failure) => {
                view.hush();
                let _said = view.end_line().and(Ok(()));
                if failure.gone != ServerLoss::No {
                    let why = text::run::server_left(&self.session.id);
                    return Err(Failure::new(Exit::Busy, failure.code, why));
                }
                // A turn that is over already cannot be cancelled.
                drop(self.cancel(source, &mut turn, view, stop).await);
                Err(failure)
            }
        }
    }

    /// A turn from behind a frame. A server that has gone meanwhile is looked for again.
    async fn open(&mut self, source: &Source, after: Option<&str>) -> Result<TurnStream, Failure> {
        let session = &self.session.id;
        let asked = async |client: &Client| {
            let frames = match source {
                Source::Message(MessageBody(message)) => client.say(message, after).await?,
                Source::Running => client.read(session.as_str(), after).await?,
            };
            Ok(TurnStream::new(frames, after))
        };
        self.way.ask(Repeat::Harmless, asked).await
    }

    /// Shows a turn while it runs. A stream that breaks off is taken up again where it broke: from
    /// the server when it is back, else from what it left.
    async fn watch(
        &mut self,
        source: &Source,
        turn: &mut TurnStream,
        view: &mut View,
        stop: &mut Stop,
        mut late: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<TurnEnd, Failure> {
        let mut questions = Questions::new(self.person);
        loop {
            let left = {
                let showing = self.listen(turn, view, &mut questions);
                tokio::pin!(showing);
                tokio::select! {
                    left = &mut showing => left,
                    () = stop.asked() => Ok(TurnEnd::Asked),
                    () = late.as_mut() => Ok(TurnEnd::Late),
                }
            };
            questions.lose_server().await;
            let lost = match left {
                Err(lost) if lost.gone != ServerLoss::No => lost,
                left => return left,
            };
            // A server that cut off who took nothing for long is still there.
            if lost.code != Code::ReaderStalled.as_str() {
                view.lose_server()?;
            }
            let until = turn.lost() + LOOKED_FOR;
            let found = tokio::select! {
                found = tokio::time::timeout_at(until, self.find_again(source, turn)) => found,
                () = stop.asked() => return Ok(TurnEnd::Asked),
                () = late.as_mut() => return Ok(TurnEnd::Late),
            };
            match found {
                Ok(Ok(())) => {
                    if self.waits(view).await? {
                        return Ok(TurnEnd::Waits(self.session.id.clone()));
                    }
                }
                Ok(Err(refused)) if refused.gone == ServerLoss::No => return Err(refused),
                Ok(Err(_)) | Err(_) => return Err(lost),
            }
        }
    }

    async fn find_again(&mut self, source: &Source, turn: &mut TurnStream) -> Result<(), Failure> {
        self.way.lose(COMES_BACK).await;
        let again = self.open(source, turn.at()).await?;
        turn.go_on(again);
        Ok(())
    }

    /// Says that a message waits for a turn which waits itself, or which still runs, such as one
    /// that was interrupted and continues first. Who cannot know says nothing.
    async fn say_what_waits(&mut self, source: &Source) {
        let (Source::Message(_), Ok(recovery)) = (source, self.recovery().await) else {
            return;
        };
        if let Some(cut) = recovery.of(&self.session.id) {
            say(&text::run::waits_behind(&cut.session_id));
        } else if self.session.message_count > 0 && self.is_queued().await {
            say(text::run::waits_for_turn());
        }
    }

    /// Whether the turn that is shown waits until somebody says that it shall go on.
    async fn waits(&mut self, view: &View) -> Result<bool, Failure> {
        let recovery = self.recovery().await?;
        let cut = recovery.of(&self.session.id);
        Ok(cut.is_some_and(|cut| view.turn() == Some(cut.turn_id.as_str())))
    }

    /// Ends the turn, and takes in what it says last. Asked to stop meanwhile, it leaves that to the
    /// next start.
    async fn cancel(
        &mut self,
        source: &Source,
        followed: &mut TurnStream,
        view: &mut View,
        stop: &mut Stop,
    ) -> Result<(), Failure> {
        let ending = async {
            let told = tokio::time::timeout(TO_CANCEL, self.tell_to_stop(source, followed, view));
            told.await.unwrap_or_else(|_| {
                let why = text::run::not_stopped(&self.session.id);
                Err(Failure::new(Exit::Busy, "server_unreachable", why))
            })?;
            let last_words = async {
                while self.hear(source, followed, view).await?.is_none() {}
                Ok(())
            };
            let heard = tokio::time::timeout(LAST_WORDS, last_words).await;
            heard.unwrap_or(Ok(()))
        };
        tokio::select! {
            ended = ending => ended,
            () = stop.asked() => Ok(()),
        }
    }

    async fn tell_to_stop(
        &mut self,
        source: &Source,
        followed: &mut TurnStream,
        view: &mut View,
    ) -> Result<(), Failure> {
        if view.turn().is_none() {
            self.hear(source, followed, view).await?;
        }
        let (session, turn) = (&self.session.id, view.turn());
        let params = without_nulls(json!({ "sessionId": session, "turnId": turn }));
        let asked = async |client: &Client| client.agent::<Value>("cancel", &params).await;
        self.way.ask(Repeat::Harmless, asked).await.map(drop)
    }

    /// Takes in what the turn says next, over another stream where this one broke off.
    async fn hear(
        &mut self,
        source: &Source,
        turn: &mut TurnStream,
        view: &mut View,
    ) -> Result<Option<Ending>, Failure> {
        let told = match turn.next().await {
            Err(lost) if lost.gone != ServerLoss::No => {
                let again = self.open(source, turn.at()).await?;
                turn.go_on(again);
                turn.next().await
            }
            told => told,
        };
        told?.show(view)
    }

    /// Begins another session with the same model and agent.
    ///
    /// # Errors
    /// As [`Talk::ask`].
    pub(crate) async fn begin_new(&mut self, found: &Setup) -> Result<(), Failure> {
        let fresh = Home::fresh_session();
        let SessionInfo { model, agent, .. } = &self.session;
        let (model, agent) = (model.clone(), agent.clone());
        let like = enter::NewSession {
            model: Some(&model),
            agent: Some(&agent),
            system_prompt: None,
        };
        let begin = async |client: &Client| enter::new_session(client, &fresh, like, found).await;
        let entered = self.way.ask(Repeat::Harmless, begin).await?;
        self.switch(entered.session).await;
        self.begun = Some(fresh);
        Ok(())
    }

    /// Goes over to another session. One that this command began stays only if it has a message.
    pub(crate) async fn switch(&mut self, session: SessionInfo) {
        if session.id != self.session.id {
            self.delete_empty().await;
        }
        self.session = session;
    }

    /// Leaves the session: turns that run in this process get their time to end. A session that
    /// this command began stays only if it has a message.
    pub(crate) async fn leave(mut self) {
        self.delete_empty().await;
        self.way.close().await;
    }

    /// Deletes the session that this command began, if no message was sent in it.
    async fn delete_empty(&mut self) {
        let Some(id) = self.begun.take() else {
            return;
        };
        let params = json!({ "sessionId": id, "ifEmpty": true });
        let asked = async |client: &Client| client.agent::<Value>("deleteSession", &params).await;
        if let Err(failure) = self.way.ask(Repeat::Harmless, asked).await {
            tracing::debug!(?failure, "the session stays");
        }
    }
}

/// Waits for a deadline; forever where there is none.
async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// What a person is told about a turn that did not end by itself.
pub(crate) fn farewell(left: &TurnEnd) -> Exit {
    match left {
        TurnEnd::Ended(ending) => ending.exit,
        TurnEnd::Asked => {
            say_in(Tone::Bad, &complaint(text::view::cancelled(), "cancelled"));
            Exit::Interrupted
        }
        TurnEnd::Late => {
            say_in(Tone::Bad, &complaint(text::run::too_late(), "timeout"));
            Exit::Timeout
        }
        TurnEnd::Unread => Exit::Ok,
        TurnEnd::Waits(session) => {
            say(&complaint(&text::run::turn_waits(session), "turn_waits"));
            Exit::Busy
        }
    }
}

/// Parameters that nobody gave are left out.
pub(crate) fn without_nulls(mut params: Value) -> Value {
    if let Value::Object(fields) = &mut params {
        fields.retain(|_, value| !value.is_null());
    }
    params
}
