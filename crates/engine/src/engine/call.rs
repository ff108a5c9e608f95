//! A tool that a person calls outside any session, and the calls that wait to be settled from
//! outside.

use samovar_core::message::Status;
use samovar_core::redact;
use samovar_core::{
    Action, Approval, Broken, CallContext, CallId, Code, Command, Effect, Error, Outcome, Sender,
    SessionId, ToolCall, TurnId,
};
use samovar_locale as locale;
use serde_json::{Map, Value};
use tokio::task::JoinSet;

use super::Engine;
use crate::gate::Verdict;
use crate::log::master;
use crate::open_calls::{self, Awaited, CallWatch, OpenCall};
use crate::runner::not_open;
use crate::settings::Recovery;
use crate::toolbox::{Allowed, CurrentTools, Examined, outcome_of};

impl Engine {
    /// Calls a tool for a person. The call passes the same gate as a model's calls, at `approval`
    /// or the server's level, and has the tool's timeout. It belongs to no session: its context is
    /// made up, no log records it, and it does not survive a crash. So only callers that may widen
    /// the approval level may use it. Dropping the future stops the tool.
    ///
    /// # Errors
    /// [`Code::UnknownTool`] when there is no such tool; [`Code::Unavailable`] while the server stops.
    pub async fn call_tool(
        &self,
        name: &str,
        args: Map<String, Value>,
        approval: Option<Approval>,
    ) -> Result<Outcome, Error> {
        if self.is_stopping() {
            return Err(Error::new(Code::Unavailable, locale::server::stopping()));
        }
        let tools = self.parts.toolbox.shelf();
        if !tools.has(name) {
            let why = locale::tool::unknown(locale::quoted(name));
            return Err(Error::new(Code::UnknownTool, why));
        }
        let call = ToolCall::new(
            CallId::fresh(self.parts.ids.as_ref()),
            name,
            Value::Object(args),
        );
        let level = approval.unwrap_or(self.parts.settings.approval);
        match self.admit(&tools, &call, level) {
            Ok(examined) => Ok(self.run_one(examined).await),
            Err(outcome) => Ok(outcome),
        }
    }

    /// The calls that wait to be settled from outside or for a person's decision, oldest first. This does not count as using a
    /// session: where sessions are loaded on use, it loads none.
    ///
    /// # Errors
    /// [`Code::Internal`] when a store cannot be read.
    pub async fn open_calls(&self) -> Result<Vec<OpenCall>, Error> {
        match self.parts.settings.recovery {
            Recovery::EverySession | Recovery::NoTurns => self.bring_in().await?,
            Recovery::UsedSessions => return self.open_calls_kept().await,
        }
        Ok(self.parts.open_calls.list())
    }

    /// Brings the sessions into memory that a former run left.
    async fn bring_in(&self) -> Result<(), Error> {
        // Who comes meanwhile waits: a call that is not known yet must not seem closed.
        let mut unread = self.parts.open_calls.unread.lock().await;
        while let Some(session) = unread.last() {
            match self.bus.log(session).await {
                // What is set aside has no calls that anybody could close.
                Err(error) if error.code != Code::SessionDamaged => return Err(error),
                Ok(_) | Err(_) => {}
            }
            // Only now: whoever asks may go away in between.
            unread.pop();
        }
        Ok(())
    }

    /// Those that are known, and what the logs have of the sessions that a former run left.
    async fn open_calls_kept(&self) -> Result<Vec<OpenCall>, Error> {
        let left = self.parts.open_calls.unread.lock().await.clone();
        let journal = self.parts.journal.clone();
        let read = tokio::task::spawn_blocking(move || {
            let mut calls = Vec::new();
            for session in &left {
                match open_calls::kept(journal.as_ref(), session) {
                    // What is damaged has no calls that anybody could close.
                    Err(broken @ Broken::Damaged(_)) => {
                        tracing::warn!(%session, %broken, "its open calls cannot be read");
                    }
                    kept => calls.extend(kept?),
                }
            }
            Ok(calls)
        });
        let read = read.await.map_err(|panic| Broken::Io(panic.to_string()));
        let left = read.and_then(|calls| calls);
        let left = left.map_err(|broken| self.broke(&broken))?;
        let mut calls = self.parts.open_calls.list();
        let is_new = |open: &OpenCall| !calls.iter().any(|known| known.session == open.session);
        let left: Vec<_> = left.into_iter().filter(is_new).collect();
        calls.extend(left);
        calls.sort_by(|a, b| a.turn.cmp(&b.turn));
        Ok(calls)
    }

    /// Watches the calls that wait to be settled from outside, beginning with those known now. For
    /// each watcher: every change is reported to it once.
    pub fn watch_calls(&self) -> CallWatch {
        CallWatch::new(self.parts.open_calls.clone(), self.parts.stop.clone())
    }

    /// Closes a call that waits to be settled from outside.
    ///
    /// # Errors
    /// [`Code::UnknownCall`] when it does not wait, or no more; what [`Engine::submit`] refuses.
    pub async fn settle(&self, by: Sender, call: CallId, outcome: Outcome) -> Result<(), Error> {
        let gone = not_open(&call);
        let awaited = Awaited::Outcome(call.clone());
        let Some(session) = self.session_of(&awaited).await? else {
            return Err(gone);
        };
        let action = Action::Settle { call, outcome };
        let command = Command {
            by,
            session,
            action,
        };
        match self.submit(command).await {
            // Its session was deleted since, and nobody asked for that one.
            Err(error) if error.code == Code::UnknownSession => Err(gone),
            settled => settled.map(drop),
        }
    }

    /// The session that waits for this, also if a former run left it.
    pub(super) async fn session_of(&self, awaited: &Awaited) -> Result<Option<SessionId>, Error> {
        if let Some(session) = self.parts.open_calls.session_of(awaited) {
            return Ok(Some(session));
        }
        let mut open = self.open_calls().await?.into_iter();
        let found = open.find(|open| open.is(awaited));
        Ok(found.map(|open| open.session))
    }

    /// The gate: people are not asked for an approval of what they asked for themselves.
    fn admit(
        &self,
        tools: &CurrentTools,
        call: &ToolCall,
        level: Approval,
    ) -> Result<Examined, Outcome> {
        let examined = tools.examine(call, |_| true, &self.parts.settings.policy)?;
        let spec = &examined.tool.spec;
        if spec.closer.is_outside() {
            let name = &spec.name;
            let why = format!("{name} is answered from outside, and only a turn can wait for that");
            return Err(Outcome::failed(why));
        }
        match examined.judge(level, &self.parts.settings, &Allowed::default()) {
            Verdict::Allow(_) => Ok(examined),
            Verdict::Deny(why) => Err(Outcome::new(Status::Denied, format!("denied: {why}"))),
            Verdict::Ask(why) if level == Approval::Auto => {
                let why = format!("denied: {why}; a rule of tools.policy can allow it");
                Err(Outcome::new(Status::Denied, why))
            }
            Verdict::Ask(why) => {
                let why = format!("denied: {why}; call it at the approval level auto to allow it");
                Err(Outcome::new(Status::Denied, why))
            }
        }
    }

    async fn run_one(&self, examined: Examined) -> Outcome {
        // A stop waits for it as for a turn.
        let _running = self.parts.running.enter();
        let ids = self.parts.ids.as_ref();
        let (session, turn) = (SessionId::fresh(ids), TurnId::fresh(ids));
        let context = CallContext::new(session, turn, master(), examined.call.id.clone());
        let spec = examined.tool.spec.clone();
        let mut task = JoinSet::new();
        task.spawn(async move { examined.run(context).await });
        // Both are safe to drop halfway: the tool is stopped with the set.
        let ran = tokio::select! {
            ran = task.join_next() => ran,
            () = self.parts.stop.cancelled() => None,
        };
        // Nobody follows a turn to whom anything could be shown.
        let outcome = ran.and_then(|ran| outcome_of(&spec.name, spec.closer, ran));
        let outcome = outcome.map_or_else(|| stopped(spec.effect), |(outcome, _)| outcome);
        let mut outcome = outcome.readable();
        redact::own().redact_outcome(&mut outcome);
        outcome
    }
}

fn stopped(effect: Effect) -> Outcome {
    match effect {
        Effect::Read => Outcome::new(Status::Cancelled, "the server stopped"),
        Effect::Idempotent | Effect::Verifiable | Effect::Unsafe => {
            Outcome::unknown("the server stopped")
        }
    }
}
