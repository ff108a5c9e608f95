//! Entering a session: the one that was named, the last one of this folder, or a new one.

use std::sync::Arc;

use samovar_core::SessionId;
use samovar_core::situation::{Environment, Posted};
use samovar_locale as text;
use samovar_server::{Address, Home, POST_MESSAGE, models};
use samovar_wire::agent::{PaginatedResult, SessionInfo};
use samovar_wire::api::ModelsAnswer;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Bounds, LAST_WORDS, Talk, TurnEnd, until, without_nulls};
use crate::access::Purpose;
use crate::agents::prompt;
use crate::answer::Person;
use crate::args;
use crate::client::Client;
use crate::config::{ModelFrom, Place, Setup, real};
use crate::difference;
use crate::exit::{Exit, Failure};
use crate::model;
use crate::reconnecting::{Reconnecting, Repeat};
use crate::screen::say;
use crate::sessions::find::{self, Precision};
use crate::sessions::fork;
use crate::stop::Stop;

/// Sessions that are looked through for the last one of this folder.
const LOOKED_THROUGH: u32 = 200;

/// A session that was entered, and what a person is told of its model.
pub(super) struct Entered {
    pub(super) session: SessionInfo,
    pub(super) model_line: String,
    /// Whether the last session here had another model, or there was none.
    pub(super) is_model_news: bool,
    /// Whether it is the first session of the store.
    pub(super) is_first: bool,
}

impl Talk {
    /// Finds the server or opens the data directory, and enters the session that was asked for,
    /// unless it is asked to stop or the deadline passes first: then it leaves.
    ///
    /// # Errors
    /// What keeps it out.
    pub(crate) async fn enter(
        talk: &args::Talk,
        found: &Setup,
        person: Person,
        stop: &mut Stop,
        deadline: Option<Instant>,
    ) -> Result<Result<Self, TurnEnd>, Failure> {
        let mut entering = Box::pin(Self::enter_now(talk, found, person));
        let left = tokio::select! {
            talk = &mut entering => return talk.map(Ok),
            () = stop.asked() => TurnEnd::Asked,
            () = until(deadline) => TurnEnd::Late,
        };
        // The server may have made a session already, which must not stay.
        let leaving = async {
            if let Ok(talk) = entering.await {
                Box::pin(talk.leave()).await;
            }
        };
        tokio::select! {
            _ = tokio::time::timeout(LAST_WORDS, leaving) => {}
            () = stop.asked() => {}
        }
        Ok(Err(left))
    }

    /// Goes over to a fork of this session.
    ///
    /// # Errors
    /// As [`Talk::ask`].
    pub(crate) async fn fork(&mut self) -> Result<(), Failure> {
        let (fresh, session) = (Home::fresh_session(), self.session.id.clone());
        let fork = async |client: &Client| fork::whole(client, &session, &fresh).await;
        let made = self.way.ask(Repeat::Harmless, fork).await?;
        self.switch(made).await;
        Ok(())
    }

    async fn enter_now(talk: &args::Talk, found: &Setup, person: Person) -> Result<Self, Failure> {
        found.check_workspace()?;
        check_before(talk, found).await?;
        let fresh = Home::fresh_session();
        // The chat of a server that is in this process has no reader.
        let mut config = found.config.clone();
        config.settings.unoffered = vec![POST_MESSAGE.to_owned()];
        let mut way = Reconnecting::new(&config, Purpose::Turns);
        let begin = async |client: &Client| session(client, &fresh, talk, found).await;
        match way.ask(Repeat::Harmless, begin).await {
            Ok(entered) => {
                found.note_folder();
                Ok(Self {
                    way,
                    begun: (entered.session.id == fresh).then_some(fresh),
                    session: entered.session,
                    model_line: entered.model_line,
                    is_model_news: entered.is_model_news,
                    is_first: entered.is_first,
                    bounds: Bounds::of(talk, found),
                    person,
                    attached: Vec::new(),
                    typed_ahead: String::new(),
                    environment: environment(found),
                })
            }
            Err(failure) => {
                way.close_now().await;
                Err(failure)
            }
        }
    }
}

/// Finds the session that was asked for, or makes one with this id. A model that the command line
/// names becomes that of the session.
///
/// # Errors
/// What keeps it out.
async fn session(
    client: &Client,
    fresh: &SessionId,
    talk: &args::Talk,
    found: &Setup,
) -> Result<Entered, Failure> {
    let is_known = talk.known.is_some();
    difference::tell(client, found, is_known).await;
    let known = match (&talk.known.session, talk.known.continue_last) {
        (Some(typed), _) => Some(get_session(client, typed).await?),
        (None, true) => Some(last_session(client, found).await?),
        (None, false) => None,
    };
    let Some(session) = known else {
        let asked = &talk.session_agent;
        let prompt = asked.system_prompt.as_deref().map(prompt).transpose()?;
        let begins = NewSession {
            model: None,
            agent: asked.agent.as_deref(),
            system_prompt: prompt.as_deref(),
        };
        return new_session(client, fresh, begins, found).await;
    };
    let session = if talk.known.fork {
        let made = fork::whole(client, &session.id, fresh).await?;
        say(&fork::said(&made));
        made
    } else {
        session
    };
    let before = session.model.clone();
    let session = with_model(client, session, found).await?;
    Ok(Entered {
        model_line: model::line_of_session(&session.model),
        is_model_news: session.model != before,
        is_first: false,
        session,
    })
}

/// What can be known to be wrong before anything is made.
///
/// # Errors
/// It is wrong.
async fn check_before(talk: &args::Talk, found: &Setup) -> Result<(), Failure> {
    let is_known = talk.known.is_some();
    if talk.known.fork && !is_known {
        return Err(Failure::usage(text::run::fork_of_nothing()));
    }
    if !is_known && Address::read(&found.config.data_dir).is_none() {
        // Where a server runs, it decides.
        models::choice(&found.registry).await?;
    }
    Ok(())
}

async fn get_session(client: &Client, typed: &str) -> Result<SessionInfo, Failure> {
    let found = find::session(client, typed, Precision::Part).await;
    found.map_err(|failure| match failure.code.as_str() {
        "unknown_session" => {
            let why = text::run::session_missing();
            Failure::new(Exit::Usage, "unknown_session", why)
        }
        _ => failure,
    })
}

/// The session of this folder that changed last and has a message: an empty one is that of a chat
/// which has just begun.
async fn last_session(client: &Client, found: &Setup) -> Result<SessionInfo, Failure> {
    let params = json!({ "limit": LOOKED_THROUGH });
    let sessions: PaginatedResult<SessionInfo> = client.agent("listSessions", &params).await?;
    let folder = folder(found);
    let of_folders = sessions
        .items
        .into_iter()
        .filter(|session| session.message_count > 0 && session.metadata.contains_key("workspace"));
    let (here, elsewhere): (Vec<_>, Vec<_>) =
        of_folders.partition(|session| session.metadata["workspace"] == folder);
    // The store of a folder may have been moved here with what was said in another one; a data
    // directory that was named has those of any folder.
    let moved = elsewhere
        .into_iter()
        .filter(|_| found.place != Place::Named);
    here.into_iter().chain(moved).next().ok_or_else(|| {
        let why = text::run::nothing_to_continue();
        Failure::new(Exit::Usage, "unknown_session", why)
    })
}

/// How a session begins.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NewSession<'a> {
    /// The model of another session; `None` for that of this shell.
    pub(super) model: Option<&'a str>,
    /// Its agent; `None` for the master.
    pub(super) agent: Option<&'a str>,
    /// What its agent is told.
    pub(super) system_prompt: Option<&'a str>,
}

/// Makes a session with this id. An agent's own model comes before that of this shell, unless it was
/// typed.
///
/// # Errors
/// The refusal.
pub(super) async fn new_session(
    client: &Client,
    fresh: &SessionId,
    begins: NewSession<'_>,
    found: &Setup,
) -> Result<Entered, Failure> {
    let asked = found.registry.asked();
    let is_asked = match begins.agent {
        Some(_) => found.model_from == ModelFrom::Flag,
        None => found.model_from.is_somebody(),
    };
    let asked = asked.filter(|_| is_asked);
    let line = match (begins.model, asked) {
        (Some(name), _) => Some(model::line_of_session(name)),
        (None, Some(name)) => Some(text::model::line(name, model::asked(&found.model_from))),
        (None, None) if begins.agent.is_some() => None,
        (None, None) => Some(line_of_chosen(client, found).await?),
    };
    let params = without_nulls(json!({
        "sessionId": fresh,
        "model": begins.model.or(asked),
        "agent": begins.agent,
        "systemPrompt": begins.system_prompt,
        "metadata": { "source": "cli", "workspace": folder(found) },
    }));
    let last = json!({ "limit": 1 });
    let last: PaginatedResult<SessionInfo> = client.agent("listSessions", &last).await?;
    let session: SessionInfo = client.agent("createSession", &params).await?;
    let last = last.items.first();
    Ok(Entered {
        model_line: line.unwrap_or_else(|| model::line_of_session(&session.model)),
        is_model_news: last.is_none_or(|last| last.model != session.model),
        is_first: last.is_none(),
        session,
    })
}

/// Which model the server chooses, and why.
async fn line_of_chosen(client: &Client, found: &Setup) -> Result<String, Failure> {
    let models: ModelsAnswer = client.get("/api/models?probe=true").await?;
    let refused = || {
        let why = models.refusal.unwrap_or_default();
        Failure::new(Exit::NoModel, "unusable_model", why)
    };
    let chosen = models.chosen.ok_or_else(refused)?;
    Ok(model::line(&chosen, found))
}

fn folder(found: &Setup) -> Value {
    real(&found.config.workspace).display().to_string().into()
}

/// The session with the model that the command line names, if it names another.
async fn with_model(
    client: &Client,
    session: SessionInfo,
    found: &Setup,
) -> Result<SessionInfo, Failure> {
    let asked = found.config.providers.default_model.as_deref();
    match (&found.model_from, asked) {
        (ModelFrom::Flag, Some(asked)) if asked != session.model => {
            let params = json!({ "sessionId": session.id, "model": asked });
            client.agent("updateSession", &params).await
        }
        _ => Ok(session),
    }
}

/// What commands get of this shell; `None` where it is too long to be sent.
fn environment(found: &Setup) -> Option<Arc<Environment>> {
    let value = |name: &str| {
        let mut env = found.config.exec.iter().flat_map(|exec| &exec.env);
        let found = env.find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    };
    let environment = Environment {
        path: value("PATH"),
        lang: value("LANG"),
        tz: value("TZ"),
    };
    let posted = Posted::default().with_environment(environment).ok()?;
    posted.environment().cloned()
}
