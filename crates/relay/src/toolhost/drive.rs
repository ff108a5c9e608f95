//! The session that an external agent drives: one call after the other, each a turn.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use samovar_core::command::{Change, Opening, Post, Text};
use samovar_core::event::Group;
use samovar_core::relay::{Payload, RelayCode};
use samovar_core::{
    Accepted, Action, CallId, Code, Delivery, Error, Event, Kind, Outcome, SessionId, Status,
    ToolCall, ToolSpec, TurnId,
};
use samovar_engine::{Engine, FollowError, Follower, MEMORY_TOOLS};
use samovar_locale as locale;
use serde_json::{Value, json};
use tokio::time::Instant;

/// Calls of a room that wait, at most.
const MAX_WAITING: usize = 32;

/// A call that an agent asks for.
pub(super) struct RequestedCall {
    /// The message that the result answers.
    pub(super) reply_to: Option<String>,
    pub(super) tool: String,
    pub(super) params: Payload,
}

/// A call that is over.
pub(super) struct Over {
    pub(super) reply_to: Option<String>,
    pub(super) tool: String,
    pub(super) outcome: Outcome,
}

/// A call while its turn runs.
struct Running {
    wanted: RequestedCall,
    turn: TurnId,
    follower: Follower,
    outcome: Option<Outcome>,
}

pub(super) struct Driver {
    engine: Arc<Engine>,
    session: SessionId,
    model: String,
    /// Each with when it came.
    waiting: VecDeque<(RequestedCall, Instant)>,
    /// How long a call may wait: before the relay gives it up, so that none is done whose agent was
    /// told that it was not.
    patience: Duration,
    running: Option<Running>,
}

impl Driver {
    /// `reply_timeout` is how long the relay waits for an answer.
    pub(super) fn new(
        engine: Arc<Engine>,
        session: SessionId,
        model: String,
        reply_timeout: Duration,
    ) -> Self {
        Self {
            engine,
            session,
            model,
            patience: reply_timeout / 2,
            waiting: VecDeque::new(),
            running: None,
        }
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn session(&self) -> &SessionId {
        &self.session
    }

    /// The tools that an agent may call. What somebody outside closes may take days, and a relay waits
    /// for half a minute; no client shows pages to a person in a room, and its
    /// agents have no part in the owner's memory.
    pub(super) fn catalog(&self) -> Vec<Arc<ToolSpec>> {
        let specs = self.engine.toolbox().specs();
        let for_ui = &self.engine.settings().for_ui;
        let own = specs
            .iter()
            .filter(|spec| !spec.closer.is_outside() && !for_ui.contains(&spec.name))
            .filter(|spec| !MEMORY_TOOLS.contains(&spec.name.as_str()));
        own.cloned().collect()
    }

    /// Takes a call: it waits until those before it are over.
    ///
    /// # Errors
    /// A code and a sentence; nothing of the call is kept then.
    pub(super) fn take(&mut self, wanted: RequestedCall) -> Result<(), (RelayCode, String)> {
        let tools = self.catalog();
        if !tools.iter().any(|spec| spec.name == wanted.tool) {
            let known: Vec<_> = tools.iter().map(|spec| spec.name.as_str()).collect();
            let known = known.join(", ");
            let why = format!("unknown tool {:?}; there are: {known}", wanted.tool);
            return Err((RelayCode::UnknownTool, why));
        }
        self.fits(&wanted)
            .map_err(|why| (RelayCode::InvalidParams, why))?;
        if self.waiting.len() >= MAX_WAITING {
            let why = locale::relay::tools_busy(MAX_WAITING);
            return Err((RelayCode::ToolExecutionFailed, why));
        }
        self.waiting.push_back((wanted, Instant::now()));
        Ok(())
    }

    /// The gate will look again: this is only to refuse what needs no turn.
    fn fits(&self, wanted: &RequestedCall) -> Result<(), String> {
        let id = CallId::new("wanted").map_err(|error| error.message.into_owned())?;
        self.engine.toolbox().check(&ToolCall::new(
            id,
            wanted.tool.clone(),
            Value::Object(wanted.params.clone()),
        ))
    }

    /// Forgets the calls that have not begun: the relay has told their agents that nobody answers.
    pub(super) fn forget(&mut self) {
        self.waiting.clear();
    }

    /// Begins the next call, unless one runs; answers those that could not begin.
    pub(super) async fn go_on(&mut self) -> Vec<Over> {
        let mut over = Vec::new();
        while self.running.is_none()
            && let Some((wanted, came)) = self.waiting.pop_front()
        {
            if came.elapsed() > self.patience {
                over.push(Over {
                    reply_to: wanted.reply_to,
                    tool: wanted.tool,
                    outcome: Outcome::failed(locale::relay::tools_not_begun()),
                });
                continue;
            }
            match self.begin(&wanted).await {
                Ok((turn, follower)) => {
                    self.running = Some(Running {
                        wanted,
                        turn,
                        follower,
                        outcome: None,
                    });
                }
                Err(error) => over.push(Over {
                    reply_to: wanted.reply_to,
                    tool: wanted.tool,
                    outcome: Outcome::failed(locale::relay::tools_no_outcome(&error.message)),
                }),
            }
        }
        over
    }

    async fn begin(&self, wanted: &RequestedCall) -> Result<(TurnId, Follower), Error> {
        let opening = Opening {
            model: Some(self.model.clone()),
            ..Opening::default()
        };
        self.engine
            .act(&self.session, Action::Open(opening))
            .await?;
        let said = json!({ "toolName": wanted.tool, "params": wanted.params });
        let text = said.to_string();
        let mut post = Post::new(Text::new(text)?, Delivery::Queue);
        // The agent that calls waits for an answer, and no person looks at its session.
        post.bounds.no_input = true;
        let post = Action::Post(post);
        let Accepted::Posted { turn, after, .. } = self.engine.act(&self.session, post).await?
        else {
            return Err(Error::new(Code::Internal, locale::turn::broken()));
        };
        let follower = self.engine.follow(&self.session, after).await?;
        Ok((turn, follower))
    }

    /// What comes of the call that runs; never while none does. Dropping the future halfway loses
    /// nothing.
    pub(super) async fn next(&mut self) -> Result<Vec<Arc<Event>>, FollowError> {
        match &mut self.running {
            Some(running) => running.follower.next().await,
            None => std::future::pending().await,
        }
    }

    /// Takes in what came of it; the call, once it is over.
    pub(super) async fn take_in(
        &mut self,
        came: Result<Vec<Arc<Event>>, FollowError>,
    ) -> Option<Over> {
        let running = self.running.as_mut()?;
        let events = match came {
            Ok(events) => events,
            Err(lost) => {
                let why = format!("outcome unknown: {lost}; look before you call again");
                return self.end(Outcome::new(Status::Unknown, why));
            }
        };
        let own = events
            .iter()
            .filter(|event| event.turn.as_ref() == Some(&running.turn));
        let (mut is_foreign, mut end) = (false, None);
        for event in own {
            match &event.kind {
                Kind::TurnStarted { model, .. } => is_foreign = *model != self.model,
                Kind::CallClosed { outcome, .. } => running.outcome = Some(outcome.clone()),
                Kind::TurnFinished { reason, fault, .. } => {
                    let why = fault
                        .as_ref()
                        .map_or(reason.as_str(), |fault| &fault.message);
                    let none = || Outcome::failed(locale::relay::tools_no_outcome(why));
                    end = Some(running.outcome.take().unwrap_or_else(none));
                }
                other => match other.group() {
                    Group::Session
                    | Group::Turn
                    | Group::Live(_)
                    | Group::Message
                    | Group::Call => {}
                },
            }
        }
        if is_foreign {
            self.take_back().await;
        }
        end.and_then(|outcome| self.end(outcome))
    }

    /// Somebody gave the session a model that would think for itself about what it is sent.
    async fn take_back(&self) {
        let turn = self.running.as_ref().map(|running| running.turn.clone());
        let change = Action::Change(Change {
            model: Some(self.model.clone()),
            ..Change::default()
        });
        for action in [Action::Cancel { turn }, change] {
            if let Err(error) = self.engine.act(&self.session, action).await {
                let session = &self.session;
                tracing::warn!(%session, %error, "a session of a room stays with another model");
            }
        }
    }

    fn end(&mut self, outcome: Outcome) -> Option<Over> {
        let Running { wanted, .. } = self.running.take()?;
        Some(Over {
            reply_to: wanted.reply_to,
            tool: wanted.tool,
            outcome,
        })
    }
}
