//! Talking in a session: what `run` and `chat` have in common.

use std::pin::Pin;
use std::time::Duration;

use futures_util::StreamExt;
use samovar_core::{Approval, Code, SessionId};
use samovar_locale as text;
use samovar_server::{Address, Home, models};
use samovar_wire::agent::{PaginatedResult, SessionInfo, ShownEvent};
use samovar_wire::api::ModelsAnswer;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::args;
use crate::client::{Client, Frame, Frames};
use crate::config::{Found, ModelFrom};
use crate::exit::{Exit, Failure, Gone, complaint};
use crate::model;
use crate::reach::Purpose;
use crate::screen::{Reader, say};
use crate::stop::Stop;
use crate::view::{Ending, View};
use crate::way::{Repeat, Way};

/// Sessions that are looked through for the last one of this folder.
const LOOKED_THROUGH: u32 = 200;

/// How long a turn that was cancelled may take to say so.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A session, and the way to it.
pub(crate) struct Talk {
    way: Way,
    /// The session as it was when it was entered.
    pub(crate) session: SessionInfo,
    bounds: Bounds,
}

/// How far each turn may go.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    approval: Approval,
    max_iterations: Option<u32>,
    budget_tokens: Option<u64>,
}

/// Why a turn is no longer watched.
pub(crate) enum Left {
    /// It is over.
    Ended(Ending),
    /// Somebody asked to stop; the turn was cancelled.
    Asked,
    /// It took longer than it may; it was cancelled.
    Late,
    /// Nobody reads its text any more; it was cancelled.
    Unread,
}

impl Bounds {
    /// The bounds that were typed. The person is there, so what stays in the workspace runs unasked
    /// unless they said otherwise (TL-4).
    fn of(talk: &args::Talk, found: &Found) -> Self {
        let typed = talk.approval.map(Approval::from);
        Self {
            approval: typed.unwrap_or(found.approval),
            max_iterations: talk.max_iterations,
            budget_tokens: talk.budget_tokens,
        }
    }
}

impl Talk {
    /// Finds the server or opens the data directory, and enters the session that was asked for.
    ///
    /// # Errors
    /// What keeps it out.
    pub(crate) async fn enter(talk: &args::Talk, found: &Found) -> Result<Self, Failure> {
        check_before(talk, found).await?;
        let fresh = Home::fresh_session();
        let mut way = Way::new(&found.config, Purpose::Turns);
        let begin = async |client: &Client| Self::begin(client, &fresh, talk, found).await;
        match way.ask(Repeat::Harmless, begin).await {
            Ok(session) => Ok(Self {
                way,
                session,
                bounds: Bounds::of(talk, found),
            }),
            Err(failure) => {
                way.close_now().await;
                Err(failure)
            }
        }
    }

    async fn begin(
        client: &Client,
        fresh: &SessionId,
        talk: &args::Talk,
        found: &Found,
    ) -> Result<SessionInfo, Failure> {
        let known = match (&talk.session, talk.continue_last) {
            (Some(id), _) => Some(get_session(client, id).await?),
            (None, true) => Some(last_session(client, found).await?),
            (None, false) => None,
        };
        match known {
            Some(session) => {
                check_model(&session, found)?;
                say(&model::line_of_session(&session.model));
                Ok(session)
            }
            None => new_session(client, fresh, found).await,
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

    /// Takes the last turn of the session back.
    ///
    /// # Errors
    /// As [`Talk::ask`]; also when a server went away that may have taken it back.
    pub(crate) async fn undo(&mut self) -> Result<Value, Failure> {
        let params = json!({ "sessionId": self.session.id });
        let asked = async |client: &Client| client.agent("undo", &params).await;
        self.way.ask(Repeat::Untaken, asked).await
    }

    /// The models of the server.
    ///
    /// # Errors
    /// As [`Talk::ask`].
    pub(crate) async fn models(&mut self) -> Result<ModelsAnswer, Failure> {
        let asked = async |client: &Client| client.get("/api/models?probe=true").await;
        self.way.ask(Repeat::Harmless, asked).await
    }

    /// Says something, and shows the turn until it ends. One that is asked to stop, that is not over
    /// by the deadline, or whose text nobody reads any more, is cancelled.
    ///
    /// # Errors
    /// The refusal, or that the server went away.
    pub(crate) async fn say(
        &mut self,
        content: &str,
        view: &mut View,
        stop: &mut Stop,
        deadline: Option<Instant>,
    ) -> Result<Left, Failure> {
        let late = until(deadline);
        tokio::pin!(late);
        let posted = {
            let posting = self.post(content);
            tokio::pin!(posting);
            let left = tokio::select! {
                posted = &mut posting => Ok(posted?),
                () = stop.asked() => Err(Left::Asked),
                () = &mut late => Err(Left::Late),
            };
            match left {
                Ok(frames) => Ok(frames),
                // It may be kept already, and then its turn must not run on unseen.
                Err(left) => match tokio::time::timeout(LAST_WORDS, posting).await {
                    Ok(Ok(frames)) => Err((left, frames)),
                    Ok(Err(_)) | Err(_) => return Ok(left),
                },
            }
        };
        let (left, mut frames) = match posted {
            Ok(mut frames) => (watch(&mut frames, view, stop, late).await, frames),
            Err((left, frames)) => (Ok(left), frames),
        };
        match left {
            Ok(Left::Ended(ending)) => Ok(Left::Ended(ending)),
            Ok(left) => {
                view.hush();
                view.end_line()?;
                self.cancel(&mut frames, view, stop).await.map(|()| left)
            }
            Err(failure) => {
                view.hush();
                let _said = view.end_line().and(Ok(()));
                if failure.gone != Gone::No {
                    let why = text::run::server_left(&self.session.id);
                    return Err(Failure::new(Exit::Busy, failure.code, why));
                }
                self.cancel(&mut frames, view, stop).await.and(Err(failure))
            }
        }
    }

    /// Posts a message once, under an id of its own. A server that has gone meanwhile is looked for
    /// again.
    async fn post(&mut self, content: &str) -> Result<Frames, Failure> {
        let params = without_nulls(json!({
            "sessionId": self.session.id,
            "content": content,
            "messageId": Home::fresh_message(),
            "approval": self.bounds.approval,
            "maxIterations": self.bounds.max_iterations,
            "budgetTokens": self.bounds.budget_tokens,
        }));
        let asked = async |client: &Client| client.stream("sendMessage/stream", &params).await;
        self.way.ask(Repeat::Harmless, asked).await
    }

    /// Ends the turn, and takes in what it says last. Asked to stop meanwhile, it leaves that to the
    /// next start.
    async fn cancel(
        &mut self,
        frames: &mut Frames,
        view: &mut View,
        stop: &mut Stop,
    ) -> Result<(), Failure> {
        let ending = async {
            if view.turn().is_none() {
                show_next(frames, view).await?;
            }
            let (session, turn) = (&self.session.id, view.turn());
            let params = without_nulls(json!({ "sessionId": session, "turnId": turn }));
            let asked = async |client: &Client| client.agent::<Value>("cancel", &params).await;
            self.way.ask(Repeat::Harmless, asked).await?;
            while show_next(frames, view).await?.is_none() {}
            Ok(())
        };
        tokio::select! {
            ended = tokio::time::timeout(LAST_WORDS, ending) => ended.unwrap_or(Ok(())),
            () = stop.asked() => Ok(()),
        }
    }

    /// Leaves the session: turns that run in this process get their time to end.
    pub(crate) async fn leave(self) {
        self.way.close().await;
    }
}

/// Shows a turn while it runs.
async fn watch(
    frames: &mut Frames,
    view: &mut View,
    stop: &mut Stop,
    late: Pin<&mut impl Future<Output = ()>>,
) -> Result<Left, Failure> {
    let mut late = late;
    loop {
        let shown = tokio::select! {
            frame = frames.next() => show(frame, view)?,
            () = view.tick() => None,
            () = stop.asked() => return Ok(Left::Asked),
            () = &mut late => return Ok(Left::Late),
        };
        if let Some(ending) = shown {
            return Ok(Left::Ended(ending));
        }
        if view.reader() == Reader::Gone {
            return Ok(Left::Unread);
        }
    }
}

async fn show_next(frames: &mut Frames, view: &mut View) -> Result<Option<Ending>, Failure> {
    show(frames.next().await, view)
}

fn show(frame: Option<Result<Frame, Failure>>, view: &mut View) -> Result<Option<Ending>, Failure> {
    let frame = frame.unwrap_or_else(|| Err(cut()))?;
    let event = read(&frame)?;
    view.show(&event, &frame)
}

/// Waits for a deadline; forever where there is none.
pub(crate) async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// What a person is told about a turn that did not end by itself.
pub(crate) fn farewell(left: &Left) -> Exit {
    match left {
        Left::Ended(ending) => ending.exit,
        Left::Asked => {
            say(&complaint(text::view::cancelled(), "cancelled"));
            Exit::Interrupted
        }
        Left::Late => {
            say(&complaint(text::run::too_late(), "timeout"));
            Exit::Timeout
        }
        Left::Unread => Exit::Ok,
    }
}

/// What an event is, or why the stream ended before its turn.
fn read(frame: &Frame) -> Result<ShownEvent, Failure> {
    if let Ok(event) = serde_json::from_str(&frame.data) {
        return Ok(event);
    }
    let last: Value = serde_json::from_str(&frame.data).map_err(|error| Failure::broken(&error))?;
    let text = |name: &str| last[name].as_str().unwrap_or_default().to_owned();
    let left = Failure::new(Exit::Busy, text("code"), text("message"));
    let gone = match Code::parse(&left.code) {
        Some(Code::ServerRestart | Code::Unavailable) => Gone::Unsure,
        Some(_) | None => Gone::No,
    };
    Err(left.of_gone(gone))
}

fn cut() -> Failure {
    let why = text::client::unreachable(text::client::stream_cut());
    Failure::new(Exit::Busy, "server_unreachable", why).of_gone(Gone::Unsure)
}

/// What can be known to be wrong before anything is made.
async fn check_before(talk: &args::Talk, found: &Found) -> Result<(), Failure> {
    if let Some(id) = &talk.session {
        SessionId::new(id)?;
    } else if !talk.continue_last && Address::read(&found.config.data_dir).is_none() {
        // Where a server runs, it decides.
        models::choice(&found.registry).await?;
    }
    Ok(())
}

async fn get_session(client: &Client, id: &str) -> Result<SessionInfo, Failure> {
    let found = client
        .agent("getSession", &json!({ "sessionId": id }))
        .await;
    found.map_err(|failure| match failure.code.as_str() {
        "unknown_session" => {
            let why = text::run::session_missing();
            Failure::new(Exit::Usage, "unknown_session", why)
        }
        _ => failure,
    })
}

/// The session of this folder that changed last.
async fn last_session(client: &Client, found: &Found) -> Result<SessionInfo, Failure> {
    let params = json!({ "limit": LOOKED_THROUGH });
    let sessions: PaginatedResult<SessionInfo> = client.agent("listSessions", &params).await?;
    let folder = folder(found);
    let mut here = sessions
        .items
        .into_iter()
        .filter(|session| session.metadata.get("workspace") == Some(&folder));
    here.next().ok_or_else(|| {
        let why = text::run::nothing_to_continue();
        Failure::new(Exit::Usage, "unknown_session", why)
    })
}

async fn new_session(
    client: &Client,
    fresh: &SessionId,
    found: &Found,
) -> Result<SessionInfo, Failure> {
    let named = found
        .registry
        .asked()
        .filter(|_| found.model_from.is_somebody());
    let line = if let Some(name) = named {
        text::model::line(name, model::asked(&found.model_from))
    } else {
        line_of_chosen(client, found).await?
    };
    let params = without_nulls(json!({
        "sessionId": fresh,
        "model": named,
        "metadata": { "source": "cli", "workspace": folder(found) },
    }));
    let session = client.agent("createSession", &params).await?;
    say(&line);
    Ok(session)
}

/// Which model the server chooses, and why.
async fn line_of_chosen(client: &Client, found: &Found) -> Result<String, Failure> {
    let models: ModelsAnswer = client.get("/api/models?probe=true").await?;
    let refused = || {
        let why = models.refusal.unwrap_or_default();
        Failure::new(Exit::NoModel, "unusable_model", why)
    };
    let chosen = models.chosen.ok_or_else(refused)?;
    Ok(model::line(&chosen, found))
}

fn folder(found: &Found) -> Value {
    let workspace = &found.config.workspace;
    let real = workspace
        .canonicalize()
        .unwrap_or_else(|_| workspace.clone());
    real.display().to_string().into()
}

/// A model that the command line names must be the session's: it is not replaced in silence.
fn check_model(session: &SessionInfo, found: &Found) -> Result<(), Failure> {
    let asked = found.config.providers.default_model.as_deref();
    match (&found.model_from, asked) {
        (ModelFrom::Flag, Some(asked)) if asked != session.model => {
            let (model, asked) = (text::quoted(&session.model), text::quoted(asked));
            Err(Failure::usage(text::model::session_has_another(
                model, asked,
            )))
        }
        _ => Ok(()),
    }
}

/// Parameters that nobody gave are left out.
fn without_nulls(mut params: Value) -> Value {
    if let Value::Object(fields) = &mut params {
        fields.retain(|_, value| !value.is_null());
    }
    params
}
