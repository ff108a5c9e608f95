//! The tools of a server: who runs which, and whether arguments fit.

mod arguments;
mod examined;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use jsonschema::Validator;
use samovar_core::tool::{MAX_UI_EVENT_BYTES, UiEvent};
use samovar_core::{
    CallId, Closer, Effect, Error, FileChanges, Outcome, OutsideText, SessionId, ToolCall,
    ToolReply, ToolSpec, Toolset,
};
use samovar_locale as locale;
use serde_json::Value;
use tokio::task::JoinError;

use crate::gate;
use crate::guide::{MEMORY_TOOLS, READ_SKILL};
use crate::policy::Policy;

pub(crate) use self::examined::{Allowed, Examined};

/// Bytes of a tool's name, at most: what every provider takes.
const MAX_NAME_BYTES: usize = 64;

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
        let found = self.shelf().examine(call, |_| true, &Policy::default());
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
            let mut others = tools.values();
            let is_alike = others.any(|other| other.spec.is_like_built_in(&name));
            if is_alike && !tools.contains_key(&name) {
                return Err(refused(locale::tool::name_taken(locale::quoted(&name))));
            }
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
        let mut specs: Vec<_> = tools.values().map(|tool| tool.spec.clone()).collect();
        // A small model takes the first tool that might fit: files come before what was remembered.
        specs.sort_by_key(|spec| MEMORY_TOOLS.contains(&&*spec.name) || spec.name == READ_SKILL);
        let specs = specs.into();
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

    /// What the results of the tool of this name hold from outside, whatever it is called with.
    pub(crate) fn outside(&self, name: &str) -> Option<OutsideText> {
        let (tool, id) = (self.tools.get(name), CallId::new("any").ok());
        let facts = tool
            .zip(id)
            .and_then(|(tool, id)| tool.toolset.facts(&ToolCall::new(id, name, Value::Null)));
        facts?.outside
    }

    /// Examines a call: finds its tool among those that an agent has, mends and checks the arguments,
    /// and asks the tool what is particular about it.
    ///
    /// # Errors
    /// The outcome for the model (AS-12).
    pub(crate) fn examine(
        &self,
        call: &ToolCall,
        has: impl Fn(&str) -> bool,
        policy: &Policy,
    ) -> Result<Examined, Outcome> {
        let found = self.tools.get(&call.name).filter(|_| has(&call.name));
        let Some(tool) = found else {
            let known = self.tools.keys().map(String::as_str);
            let known: Vec<_> = known.filter(|name| has(name)).collect();
            let known = known.join(", ");
            let why = format!("unknown tool {:?}; there are: {known}", call.name);
            return Err(Outcome::failed(why));
        };
        Examined::new(tool.clone(), call, policy)
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
        Effect::Idempotent | Effect::Verifiable | Effect::Unsafe => Outcome::unknown(why),
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
