//! The tools of a server: who runs which, and whether arguments fit.

mod arguments;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use jsonschema::Validator;
use samovar_core::approval::Previewed;
use samovar_core::tool::{MAX_UI_EVENT_BYTES, Origin, UiEvent};
use samovar_core::{
    Approval, CallContext, CallFacts, CallId, Closer, Effect, Error, FileChanges, Future, Grant,
    Outcome, OutsideText, Probed, Reach, Sends, SessionId, Status, ToolCall, ToolReply, ToolSpec,
    Toolset,
};
use samovar_locale as locale;
use serde_json::Value;
use tokio::task::JoinError;

use crate::gate::{self, Known, Subject, Verdict};
use crate::policy::Policy;
use crate::settings::Settings;
use crate::taint::Taint;

/// Bytes of a tool's name, at most: what every provider takes.
const MAX_NAME_BYTES: usize = 64;
/// How long a tool may inspect what it will change, before it begins.
const FORESIGHT: Duration = Duration::from_secs(10);

/// The tools that can be called now. Toolsets come and go while the server runs.
#[derive(Default)]
pub struct Toolbox {
    shelf: RwLock<Arc<CurrentTools>>,
    /// The toolbox whose tools it has too.
    below: Option<Arc<Toolbox>>,
    /// What its tools changed in files.
    changes: OnceLock<Arc<dyn FileChanges>>,
}

/// What happens when a tool's name is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameConflict {
    Refused,
    Replaced,
}

/// The tools at one moment, in a stable order.
#[derive(Default)]
pub(crate) struct CurrentTools {
    tools: BTreeMap<String, Arc<Tool>>,
    specs: Arc<[Arc<ToolSpec>]>,
}

/// A tool, ready to be called.
pub(crate) struct Tool {
    pub(crate) spec: Arc<ToolSpec>,
    /// Made once, by the first call at the latest.
    validator: OnceLock<Result<Validator, String>>,
    /// As in [`Grant::identity`](samovar_core::Grant).
    identity: Option<String>,
    toolset: Arc<dyn Toolset>,
}

/// What a turn brings to the gate.
#[derive(Clone, Copy, Default)]
pub(crate) struct Allowed<'a> {
    /// What a person has allowed for the rest of it.
    pub(crate) grants: &'a [Grant],
    /// The name of its mode.
    pub(crate) mode: Option<&'a str>,
    /// What its session has read from outside.
    pub(crate) taint: Option<&'a Taint>,
}

impl Toolbox {
    /// A toolbox over another, whose tools it has too as they come and go. It leaves out tools
    /// whose name it has itself, and those that are closed from outside, because their open calls
    /// are watched elsewhere.
    pub fn over(below: Arc<Toolbox>) -> Self {
        Self {
            shelf: RwLock::default(),
            below: Some(below),
            changes: OnceLock::new(),
        }
    }

    /// The same with what its tools change in files, to be taken back.
    #[must_use]
    pub fn with_changes(self, changes: Arc<dyn FileChanges>) -> Self {
        Self {
            changes: changes.into(),
            ..self
        }
    }

    /// Forgets that files of a session were being restored when the server stopped.
    pub async fn give_up_undo(&self, session: &SessionId) {
        self.changes().forget(session, &[]).await;
    }

    /// What its tools, and those below, changed in files.
    pub(crate) fn changes(&self) -> Arc<dyn FileChanges> {
        match (self.changes.get(), &self.below) {
            (Some(changes), _) => changes.clone(),
            (None, Some(below)) => below.changes(),
            (None, None) => Arc::new(()),
        }
    }

    /// Adds all tools of a toolset. A name that is taken already is refused, so that nothing
    /// replaces a built-in tool (TL-17).
    ///
    /// # Errors
    /// [`Code::InvalidParams`](samovar_core::Code) when a name is taken, is not a name that
    /// providers take, or a schema is not valid.
    pub fn add(&self, toolset: &Arc<dyn Toolset>) -> Result<(), Error> {
        self.put(toolset, NameConflict::Refused, Tool::check_schema)
    }

    /// Adds all tools of a toolset, in place of those that have their names: whose names those may
    /// be is for the caller to know.
    ///
    /// # Errors
    /// As [`Toolbox::add`], but for a name that is taken.
    pub fn replace(&self, toolset: &Arc<dyn Toolset>) -> Result<(), Error> {
        self.put(toolset, NameConflict::Replaced, Tool::check_schema)
    }

    /// Adds a toolset of our own, whose schemas are known to be valid: they are made ready by the
    /// first call, so that a start does not pay for calls that never come.
    ///
    /// # Errors
    /// As [`Toolbox::add`], but for the schemas.
    pub fn add_built_in(&self, toolset: &Arc<dyn Toolset>) -> Result<(), Error> {
        self.put(toolset, NameConflict::Refused, |_| Ok(()))
    }

    /// Puts the tools of a toolset in the place of all that are here, at once: for a foreign toolset
    /// that is another one from moment to moment. What does not fit is left out, and the others are
    /// there all the same; of two with one name the first is. Answers why each was left out.
    pub fn exchange(&self, toolset: &Arc<dyn Toolset>) -> Vec<Error> {
        let mut tools = BTreeMap::new();
        let mut left_out = Vec::new();
        for spec in toolset.specs() {
            let tool = Arc::new(Tool::new(spec, toolset));
            let name = tool.spec.name.clone();
            let fits = check_name(&name).and_then(|()| tool.check_schema());
            match fits {
                Ok(()) if tools.contains_key(&name) => {
                    let taken = locale::tool::name_taken(locale::quoted(&name));
                    left_out.push(refused(taken));
                }
                Ok(()) => drop(tools.insert(name, tool)),
                Err(error) => left_out.push(error),
            }
        }
        let mut current = self.shelf.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(CurrentTools::new(tools));
        left_out
    }

    /// Whether there is the tool of a call and the arguments fit its schema: what the gate will look
    /// at first.
    ///
    /// # Errors
    /// The sentence that the model would read.
    pub fn check(&self, call: &ToolCall) -> Result<(), String> {
        let found = self.shelf().find(call);
        found.map(drop).map_err(|outcome| outcome.text)
    }

    fn put(
        &self,
        toolset: &Arc<dyn Toolset>,
        taken: NameConflict,
        check: impl Fn(&Tool) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut current = self.shelf.write().unwrap_or_else(PoisonError::into_inner);
        let mut tools = current.tools.clone();
        for spec in toolset.specs() {
            check_name(&spec.name)?;
            let name = spec.name.clone();
            let tool = Arc::new(Tool::new(spec, toolset));
            check(&tool)?;
            if tools.insert(name.clone(), tool).is_some() && taken == NameConflict::Refused {
                return Err(refused(locale::tool::name_taken(locale::quoted(&name))));
            }
        }
        *current = Arc::new(CurrentTools::new(tools));
        Ok(())
    }

    /// Removes a tool; returns whether there was one. Running calls continue.
    pub fn remove(&self, name: &str) -> bool {
        let mut current = self.shelf.write().unwrap_or_else(PoisonError::into_inner);
        let mut tools = current.tools.clone();
        let was_there = tools.remove(name).is_some();
        *current = Arc::new(CurrentTools::new(tools));
        was_there
    }

    /// The tools of which no call can run on this machine, with the reason. May block for some
    /// milliseconds the first time.
    pub fn unavailable(&self) -> BTreeMap<String, String> {
        let current = self.shelf();
        let lacking = current.tools.iter().filter_map(|(name, tool)| {
            let why = tool.toolset.unavailable()?;
            Some((name.clone(), why))
        });
        lacking.collect()
    }

    /// The tools as a model sees them, in a stable order.
    pub fn specs(&self) -> Arc<[Arc<ToolSpec>]> {
        self.shelf().specs.clone()
    }

    pub(crate) fn shelf(&self) -> Arc<CurrentTools> {
        let own = self.shelf.read().unwrap_or_else(PoisonError::into_inner);
        match &self.below {
            None => own.clone(),
            Some(below) => Arc::new(own.over(&below.shelf())),
        }
    }
}

impl CurrentTools {
    fn new(tools: BTreeMap<String, Arc<Tool>>) -> Self {
        let specs = tools.values().map(|tool| tool.spec.clone()).collect();
        Self { tools, specs }
    }

    /// These tools, and those below that they do not hide.
    fn over(&self, below: &Self) -> Self {
        let theirs = below.tools.iter();
        let theirs = theirs.filter(|(_, tool)| !tool.spec.closer.is_outside());
        let all = theirs.chain(&self.tools);
        Self::new(
            all.map(|(name, tool)| (name.clone(), tool.clone()))
                .collect(),
        )
    }

    /// The tool of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name).map(Arc::as_ref)
    }

    /// Whether there is a tool of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.tools.contains_key(name)
    }

    /// Whether the tool of this name searches, so that the addresses in its results count as named.
    pub(crate) fn searches(&self, name: &str) -> bool {
        let (tool, id) = (self.tools.get(name), CallId::new("any").ok());
        let outside = tool
            .zip(id)
            .and_then(|(tool, id)| tool.outside(&ToolCall::new(id, name, Value::Null)));
        outside == Some(OutsideText::Search)
    }

    /// Finds the tool of a call and checks the arguments.
    ///
    /// # Errors
    /// The outcome for the model (AS-12).
    pub(crate) fn find(&self, call: &ToolCall) -> Result<Arc<Tool>, Outcome> {
        self.find_of(call, |_| true)
    }

    /// The same among the tools that an agent has.
    ///
    /// # Errors
    /// The outcome for the model (AS-12).
    pub(crate) fn find_of(
        &self,
        call: &ToolCall,
        has: impl Fn(&str) -> bool,
    ) -> Result<Arc<Tool>, Outcome> {
        let found = self.tools.get(&call.name).filter(|_| has(&call.name));
        let Some(tool) = found else {
            let known = self.tools.keys().map(String::as_str);
            let known: Vec<_> = known.filter(|name| has(name)).collect();
            let known = known.join(", ");
            let why = format!("unknown tool {:?}; there are: {known}", call.name);
            return Err(Outcome::failed(why));
        };
        tool.check(&call.args)?;
        Ok(tool.clone())
    }
}

impl Tool {
    fn new(spec: Arc<ToolSpec>, toolset: &Arc<dyn Toolset>) -> Self {
        Self {
            identity: gate::identity(&spec, toolset.target().as_deref()),
            spec,
            validator: OnceLock::new(),
            toolset: toolset.clone(),
        }
    }

    /// What stands under its name; `None` for one that is part of the server.
    pub(crate) fn identity(&self) -> Option<&str> {
        self.identity.as_deref()
    }

    /// Where its calls are sent.
    pub(crate) fn target(&self) -> Option<String> {
        self.toolset.target()
    }

    /// What the gate says of a call at an approval level, for a turn in which a person has `allowed`
    /// some already.
    pub(crate) fn judge(
        &self,
        call: &ToolCall,
        level: Approval,
        settings: &Settings,
        allowed: &Allowed<'_>,
    ) -> Verdict {
        let reach = self.reach(call, &settings.policy);
        let facts = self.facts(call);
        let subject = self.subject(reach.as_ref(), facts.as_ref(), allowed);
        let rules = settings.rules.in_force();
        let known = Known {
            policy: &settings.policy,
            grants: allowed.grants,
            rules: &rules,
        };
        gate::judge(level, &subject, &known)
    }

    /// What a person can allow together with a call.
    pub(crate) fn grant(&self, call: &ToolCall, policy: &Policy, taint: &Taint) -> Option<Grant> {
        let reach = self.reach(call, policy);
        let facts = self.facts(call);
        let allowed = Allowed {
            taint: Some(taint),
            ..Allowed::default()
        };
        gate::grant(&self.subject(reach.as_ref(), facts.as_ref(), &allowed))
    }

    fn subject<'a>(
        &'a self,
        reach: Option<&'a Reach>,
        facts: Option<&'a CallFacts>,
        allowed: &Allowed<'a>,
    ) -> Subject<'a> {
        Subject {
            spec: &self.spec,
            identity: self.identity(),
            reach,
            facts,
            mode: allowed.mode,
            spreads: allowed
                .taint
                .and_then(|taint| self.spreads(reach, facts, taint)),
        }
    }

    /// Why a person decides about a call in a session that has read text from outside; `None` if it
    /// has not, or if the call can do no harm with it (TL-10).
    fn spreads(
        &self,
        reach: Option<&Reach>,
        facts: Option<&CallFacts>,
        taint: &Taint,
    ) -> Option<&'static str> {
        if !taint.is_tainted() {
            return None;
        }
        if reach.is_some_and(|reach| reach.instructs) {
            return Some("would change what instructs agents");
        }
        let is_foreign = self.spec.origin != Origin::BuiltIn && self.spec.effect != Effect::Read;
        let sends = match facts {
            Some(facts) => facts.sends.as_ref(),
            None => is_foreign.then_some(&Sends::Anywhere),
        };
        match sends? {
            Sends::ToHostOf(address) if taint.has_named(address) => None,
            Sends::ToHostOf(_) | Sends::Anywhere => Some("can send data out"),
        }
    }

    /// The address of the only host that a call sends to.
    pub(crate) fn host_address(&self, call: &ToolCall) -> Option<String> {
        match self.facts(call)?.sends? {
            Sends::ToHostOf(address) => Some(address),
            Sends::Anywhere => None,
        }
    }

    /// What the result of a call holds from outside the workspace (TL-10).
    pub(crate) fn outside(&self, call: &ToolCall) -> Option<OutsideText> {
        match self.facts(call) {
            Some(facts) => facts.outside,
            None => (self.spec.origin != Origin::BuiltIn).then_some(OutsideText::Plain),
        }
    }

    fn facts(&self, call: &ToolCall) -> Option<CallFacts> {
        self.toolset.facts(&self.mended(call.clone()))
    }

    /// The part of the workspace that a call is about, if that can matter to the gate.
    fn reach(&self, call: &ToolCall, policy: &Policy) -> Option<Reach> {
        if self.spec.asks.is_none() && !policy.has_paths() {
            return None;
        }
        self.toolset.reach(&self.mended(call.clone()))
    }

    /// What a call would do, for the person who decides about it. A tool that takes longer than a
    /// moment to say so cannot be asked about.
    pub(crate) async fn preview(&self, call: &ToolCall) -> Previewed {
        let call = self.mended(call.clone());
        let seen = tokio::time::timeout(FORESIGHT, self.toolset.preview(&call));
        seen.await.unwrap_or_else(|_| {
            let seconds = FORESIGHT.as_secs();
            let why = format!("not run: what it would change could not be seen within {seconds} s");
            Err(Outcome::failed(why))
        })
    }

    fn validator(&self) -> Result<&Validator, &str> {
        let make =
            || jsonschema::validator_for(&self.spec.parameters).map_err(|error| error.to_string());
        self.validator
            .get_or_init(make)
            .as_ref()
            .map_err(String::as_str)
    }

    fn check_schema(&self) -> Result<(), Error> {
        self.validator().map(drop).map_err(|why| {
            let name = locale::quoted(&self.spec.name);
            refused(locale::tool::bad_schema(name, why))
        })
    }

    fn check(&self, args: &Value) -> Result<(), Outcome> {
        let validator = self
            .validator()
            .map_err(|why| Outcome::failed(format!("the tool's own schema is broken: {why}")))?;
        let mut args = args.clone();
        arguments::mend(&self.spec, &mut args);
        // Nothing of the server asks an agent to call another one again.
        let refuse = match self.spec.closer {
            Closer::Child => Outcome::failed,
            Closer::Tool | Closer::Outside | Closer::Person => Outcome::correctable,
        };
        arguments::check(&self.spec, validator, &args).map_err(refuse)
    }

    /// The call as the tool gets it; the log and the gate keep what the model wrote.
    fn mended(&self, mut call: ToolCall) -> ToolCall {
        arguments::mend(&self.spec, &mut call.args);
        call
    }

    /// What a probe will need; none when the tool takes longer than a moment to say.
    pub(crate) async fn foresee(&self, call: &ToolCall) -> Option<Value> {
        let call = self.mended(call.clone());
        let foreseen = tokio::time::timeout(FORESIGHT, self.toolset.foresee(&call));
        foreseen.await.unwrap_or_default()
    }

    /// What became of a call that a stop of the server cut.
    pub(crate) fn probe(
        &self,
        call: ToolCall,
        foreseen: Option<Value>,
        context: CallContext,
    ) -> Future<'static, Probed> {
        self.toolset.probe(self.mended(call), foreseen, context)
    }

    /// Runs a call that was let through, and stops it when it takes longer than it may.
    pub(crate) async fn run(&self, call: ToolCall, context: CallContext) -> ToolReply {
        let timeout = self.spec.timeout;
        let run = self.toolset.call(self.mended(call), context);
        tokio::time::timeout(timeout, run)
            .await
            .unwrap_or_else(|_| ToolReply::Closed(late(&self.spec)))
    }
}

/// What a tool's task brought, and what it shows; `None` when the call stays open, since somebody
/// outside closes it.
pub(crate) fn outcome_of(
    name: &str,
    closer: Closer,
    ran: Result<ToolReply, JoinError>,
) -> Option<(Outcome, Option<UiEvent>)> {
    if let Ok(ToolReply::Shown(outcome, event)) = ran {
        let fits = event.payload.to_string().len() <= MAX_UI_EVENT_BYTES;
        if !fits {
            tracing::warn!(
                tool = name,
                "what a tool shows is too long, and is left out"
            );
        }
        return Some((outcome, Some(event).filter(|_| fits)));
    }
    closing(name, closer, ran).map(|outcome| (outcome, None))
}

fn closing(name: &str, closer: Closer, ran: Result<ToolReply, JoinError>) -> Option<Outcome> {
    match ran {
        Ok(ToolReply::Closed(outcome) | ToolReply::Shown(outcome, _)) => Some(outcome),
        Ok(ToolReply::Open) => match closer {
            Closer::Outside | Closer::Child | Closer::Person => None,
            Closer::Tool => Some(Outcome::failed("the tool gave no result")),
        },
        Err(error) => {
            tracing::error!(tool = name, %error, "a tool panicked");
            let why = "the tool broke off; its reason is in the server's log";
            Some(Outcome::failed(why))
        }
    }
}

/// What was stopped halfway may have happened, unless it only reads.
fn late(spec: &ToolSpec) -> Outcome {
    let seconds = spec.timeout.as_secs_f32();
    let why = format!("the tool took longer than {seconds} s and was stopped");
    match spec.effect {
        Effect::Read => Outcome::failed(why),
        Effect::Idempotent | Effect::Verifiable | Effect::Unsafe => {
            let why = format!("outcome unknown: {why}; look before you retry");
            Outcome::new(Status::Unknown, why)
        }
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(fits) {
        return Ok(());
    }
    let name = locale::quoted(name);
    Err(refused(locale::tool::bad_name(MAX_NAME_BYTES, name)))
}

fn refused(message: String) -> Error {
    Error::new(samovar_core::Code::InvalidParams, message)
}
