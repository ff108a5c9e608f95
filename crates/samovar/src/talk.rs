//! Talking in a session: what `run` and `chat` have in common.

use std::path::Path;
use std::time::Duration;

use futures_util::StreamExt;
use samovar_core::{Approval, SessionId, TurnId};
use samovar_locale as text;
use samovar_server::{Address, Config, Home, models};
use samovar_wire::agent::{PaginatedResult, SessionInfo, ShownEvent};
use samovar_wire::api::{ModelsAnswer, ServerInfo};
use serde_json::{Value, json};

use crate::args;
use crate::client::{Client, Frame, Frames};
use crate::config::{Found, ModelFrom};
use crate::exit::{Exit, Failure, complaint};
use crate::model;
use crate::reach::{Purpose, Reached};
use crate::screen::{Reader, say};
use crate::stop::Stop;
use crate::view::{Ending, View};

/// Sessions that are looked through for the last one of this folder.
const LOOKED_THROUGH: u32 = 200;

/// Ways to a server that are tried for one message: the one that had the data directory may have
/// let go of it since the last.
const MAX_TRIES: u32 = 3;

/// A session, and the way to it.
pub(crate) struct Talk {
    reached: Reached,
    config: Config,
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
        let reached = Reached::data_dir(&found.config, Purpose::Turns).await?;
        match Self::begin(&reached.client, reached.is_elsewhere(), talk, found).await {
            Ok(session) => {
                let bounds = Bounds::of(talk, found);
                Ok(Self {
                    reached,
                    config: found.config.clone(),
                    session,
                    bounds,
                })
            }
            Err(failure) => {
                reached.close_now().await;
                Err(failure)
            }
        }
    }

    async fn begin(
        client: &Client,
        is_elsewhere: bool,
        talk: &args::Talk,
        found: &Found,
    ) -> Result<SessionInfo, Failure> {
        if is_elsewhere {
            check_workspace(client, &found.config.workspace).await?;
        }
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
            None => new_session(client, found).await,
        }
    }

    /// The way to the server.
    pub(crate) fn client(&self) -> &Client {
        &self.reached.client
    }

    /// Says something, and shows the turn until it ends. One that is asked to stop, that takes too
    /// long, or whose text nobody reads any more, is cancelled.
    ///
    /// # Errors
    /// The refusal, or that the server went away.
    pub(crate) async fn say(
        &mut self,
        content: &str,
        view: &mut View,
        stop: &mut Stop,
        timeout: Option<Duration>,
    ) -> Result<Left, Failure> {
        let mut frames = tokio::select! {
            frames = self.post(content) => frames?,
            () = stop.asked() => return Ok(Left::Asked),
        };
        let mut turn = None;
        let late = async {
            match timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(late);
        let left = loop {
            let frame = tokio::select! {
                frame = frames.next() => frame,
                () = view.tick() => continue,
                () = stop.asked() => break Left::Asked,
                () = &mut late => break Left::Late,
            };
            let Some(frame) = frame else {
                return Err(cut());
            };
            let frame = frame?;
            let event = read(&frame)?;
            turn = turn.or_else(|| event.turn.clone());
            if let Some(ending) = view.show(&event, &frame)? {
                return Ok(Left::Ended(ending));
            }
            if view.reader() == Reader::Gone {
                break Left::Unread;
            }
        };
        view.end_line()?;
        self.cancel(turn, stop).await?;
        Ok(left)
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
        let mut tries = 1;
        loop {
            let posted = self.client().stream("sendMessage/stream", &params).await;
            match posted {
                Err(gone) if tries < MAX_TRIES && gone.is_of_a_server_that_goes() => {
                    tries += 1;
                    let again = Reached::data_dir(&self.config, Purpose::Turns).await?;
                    if again.is_elsewhere() {
                        check_workspace(&again.client, &self.config.workspace).await?;
                    }
                    self.reached = again;
                }
                posted => return posted,
            }
        }
    }

    /// Ends the turn; asked to stop meanwhile, it leaves that to the next start.
    async fn cancel(&self, turn: Option<TurnId>, stop: &mut Stop) -> Result<(), Failure> {
        let params = without_nulls(json!({ "sessionId": self.session.id, "turnId": turn }));
        tokio::select! {
            cancelled = self.client().agent::<Value>("cancel", &params) => cancelled.map(drop),
            () = stop.asked() => Ok(()),
        }
    }

    /// Leaves the session: turns that run in this process get their time to end.
    pub(crate) async fn leave(self) {
        self.reached.close().await;
    }

    /// Leaves at once.
    pub(crate) async fn leave_now(self) {
        self.reached.close_now().await;
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
    Err(Failure::new(Exit::Busy, text("code"), text("message")))
}

fn cut() -> Failure {
    let why = text::client::unreachable(text::client::stream_cut());
    Failure::new(Exit::Busy, "server_unreachable", why)
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

/// A server works in one folder; what a person asks in another is not for it.
async fn check_workspace(client: &Client, ours: &Path) -> Result<(), Failure> {
    let server: ServerInfo = client.get("/api/server").await?;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if real(Path::new(&server.workspace)) == real(ours) {
        return Ok(());
    }
    let why = text::run::workspace_differs(&server.workspace);
    Err(Failure::new(Exit::Busy, "workspace_differs", why))
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

async fn new_session(client: &Client, found: &Found) -> Result<SessionInfo, Failure> {
    let asked = match found.model_from {
        ModelFrom::Nobody => None,
        ModelFrom::Flag | ModelFrom::Variable | ModelFrom::File => {
            found.registry.asked().map(str::to_owned)
        }
    };
    let line = match &asked {
        Some(name) => text::model::line(name, model::asked(found.model_from)),
        None => line_of_chosen(client, found).await?,
    };
    let params = without_nulls(json!({
        "model": asked,
        "metadata": { "source": "cli", "workspace": folder(found) },
    }));
    let session = client.agent("createSession", &params).await?;
    say(&line);
    Ok(session)
}

/// Which model the server chooses, and why.
async fn line_of_chosen(client: &Client, found: &Found) -> Result<String, Failure> {
    let models: ModelsAnswer = client.get("/api/models").await?;
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
    match (found.model_from, asked) {
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
