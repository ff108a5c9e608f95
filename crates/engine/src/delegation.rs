//! Delegation: the tools through which an agent hands work to another, what is checked before
//! anything runs, and what the caller hears at the end (SA-5, SA-6, SA-11, SA-18). Pure.

use std::fmt::Write as _;
use std::sync::Arc;

use samovar_core::agent::{AgentEntry, SubAgents, ToolKeys};
use samovar_core::message::Status;
use samovar_core::tool::{Origin, Sharing};
use samovar_core::{
    Agent, AgentName, AgentPath, Agents, BudgetLimit, CallContext, CallId, Closer, Effect,
    FinishReason, Future, Message, Outcome, PostedContext, Role, ToolCall, ToolReply, ToolSpec,
    Toolset,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::modes::Widening;
use crate::posted::is_at_home;
use crate::turn::End;

#[cfg(test)]
mod tests;

/// The tool that waits for the other agent.
pub(crate) const DELEGATE: &str = "subAgent";
/// The tool that does not.
pub(crate) const SPAWN: &str = "spawn";
/// What a child in the background does not have, whatever its definition says: so recursion is
/// impossible, and it writes to no person (SA-21).
const NOT_IN_BACKGROUND: [&str; 4] = [SPAWN, DELEGATE, "ask_user", "post_message"];

/// The name of a child in the background that is given no agent.
pub(crate) const BACKGROUND: &str = "background";
/// The deepest level at which an agent runs, unless a definition says otherwise (SA-19).
pub(crate) const DEFAULT_DEPTH: u32 = 3;
/// The most children of one turn that live at once.
pub(crate) const MAX_CHILDREN: usize = 8;
/// The most children of one session that live at once.
pub(crate) const MAX_TREE: usize = 64;
/// The most tasks in the background of which each begins in the turn that read the result of the one
/// before, with no message of a person between them: so recursion is bounded there, too (SA-21).
pub(crate) const MAX_SPAWNED: u32 = 16;
/// The key of a result that says whether a call of the child did more than read; only clients and the
/// caller's turn read it.
const HAS_ACTED: &str = "acted";
/// The most characters of a child's last text that its caller reads.
const MAX_SUMMARY_CHARS: usize = 2_000;

/// What a call asks for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    /// The agent; `None` for a copy of the caller in the background.
    #[serde(alias = "agent", default)]
    pub(crate) name: Option<String>,
    pub(crate) task: String,
    #[serde(default)]
    context: Option<Value>,
    #[serde(default)]
    options: Options,
    #[serde(default)]
    label: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    mode: Option<String>,
}

/// Why a call is refused; nothing has run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: &'static str,
    pub(crate) why: String,
}

impl Refusal {
    fn new(code: &'static str, why: String) -> Self {
        Self { code, why }
    }

    /// The tree's budget has no room for a child.
    pub(crate) fn of_budget(why: String) -> Self {
        Self::new("SUBAGENT_BUDGET", why)
    }

    /// The refusal as the caller's model reads it.
    pub(crate) fn outcome(&self) -> Outcome {
        let said = json!({"ok": false, "code": self.code, "error": self.why});
        // Other arguments help only where these were wrong.
        let is_correctable = matches!(self.code, "SUBAGENT_UNKNOWN" | "SUBAGENT_ARGUMENTS");
        let status = if is_correctable {
            Status::Failed
        } else {
            Status::Cancelled
        };
        Outcome::new(status, said.to_string()).with_data(said)
    }
}

/// Who calls, and what lives below it.
pub(crate) struct Caller<'a> {
    /// Its definition, narrowed.
    pub(crate) agent: &'a Agent,
    pub(crate) path: &'a AgentPath,
    /// How many children of its turn live.
    pub(crate) children: usize,
    /// How many children live in its session.
    pub(crate) in_tree: usize,
    /// What the client's UI shows to the person.
    pub(crate) posted: Option<&'a PostedContext>,
}

impl Order {
    /// Reads a call.
    pub(crate) fn read(call: &ToolCall) -> Result<Self, Refusal> {
        serde_json::from_value(call.args.clone())
            .map_err(|error| Refusal::new("SUBAGENT_ARGUMENTS", error.to_string()))
    }

    /// The model that the caller wants.
    pub(crate) fn model(&self) -> Option<&str> {
        self.options.model.as_deref()
    }

    /// The mode that the caller wants for it.
    pub(crate) fn mode(&self) -> Option<&str> {
        self.options.mode.as_deref()
    }

    /// The child's first message: the task, then the context as a block of JSON.
    pub(crate) fn words(&self) -> String {
        let mut words = self.task.clone();
        if let Some(context) = &self.context {
            // Writing to a string cannot fail.
            let _infallible = write!(words, "\n\n```json\n{context:#}\n```");
        }
        words
    }

    /// Its name for people.
    pub(crate) fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }
}

/// Decides whether a caller may hand an order to another agent; the definition with which the child
/// works then, which has no right that the caller lacks.
pub(crate) fn admit(
    caller: &Caller<'_>,
    order: &Order,
    is_background: bool,
    agents: &dyn Agents,
) -> Result<Agent, Refusal> {
    let found = match &order.name {
        Some(name) => find(caller, name, agents)?,
        None => Agent {
            name: AgentName::new(BACKGROUND)
                .map_err(|error| Refusal::new("SUBAGENT_UNKNOWN", error.message.into_owned()))?,
            display_name: order.label().unwrap_or("Background").to_owned(),
            ..caller.agent.clone()
        },
    };
    let max_depth = deepest(caller.agent).min(deepest(&found));
    let depth = caller.path.depth() + 1;
    if depth > max_depth as usize {
        let why = format!("an agent at depth {depth} is too deep here; the limit is {max_depth}");
        return Err(Refusal::new("SUBAGENT_DEPTH", why));
    }
    if caller.children >= MAX_CHILDREN || caller.in_tree >= MAX_TREE {
        let why = format!(
            "{} agents work for you and {} in this session; wait for one of them (the limits are \
             {MAX_CHILDREN} and {MAX_TREE})",
            caller.children, caller.in_tree
        );
        return Err(Refusal::new("SUBAGENT_BUSY", why));
    }
    Ok(narrowed(caller.agent, found, max_depth, is_background))
}

fn find(caller: &Caller<'_>, name: &str, agents: &dyn Agents) -> Result<Agent, Refusal> {
    let entry = agents
        .find(name)
        .filter(|_| name != samovar_core::agent::MASTER);
    let Some(entry) = entry else {
        let known = callable(caller.agent, caller.posted, agents);
        let known: Vec<_> = known
            .iter()
            .map(|entry| entry.agent.name.as_str())
            .collect();
        let why = format!(
            "there is no agent {name:?}; there are: {}",
            known.join(", ")
        );
        return Err(Refusal::new("SUBAGENT_UNKNOWN", why));
    };
    if let Some(why) = entry.invalid {
        return Err(Refusal::new("SUBAGENT_UNKNOWN", format!("{name}: {why}")));
    }
    if !entry.enabled {
        let why = format!("the agent {name} is switched off");
        return Err(Refusal::new("SUBAGENT_DISABLED", why));
    }
    if caller.path.names().any(|above| above == name) {
        let why = format!("the agent {name} is already at work above: {}", caller.path);
        return Err(Refusal::new("SUBAGENT_CYCLE", why));
    }
    if !caller.agent.sub_agents.has(name) {
        let why = format!("{} may not call {name}", caller.agent.name);
        return Err(Refusal::new("SUBAGENT_NOT_ALLOWED", why));
    }
    if !is_at_home(&entry.agent, caller.posted) {
        let why = format!("the agent {name} cannot be called on the page or in the workspace here");
        return Err(Refusal::new("SUBAGENT_NOT_ALLOWED", why));
    }
    Ok(Agent::clone(&entry.agent))
}

fn deepest(agent: &Agent) -> u32 {
    agent.max_depth.unwrap_or(DEFAULT_DEPTH)
}

/// The refusal of a mode that a caller wants for a child.
pub(crate) fn bad_mode(wanted: &str, why: Widening) -> Refusal {
    match why {
        Widening::Unknown(known) => Refusal::new(
            "SUBAGENT_ARGUMENTS",
            format!("there is no mode {wanted:?}; there are: {known}"),
        ),
        Widening::Wider => Refusal::new(
            "SUBAGENT_NOT_ALLOWED",
            format!("the mode {wanted} allows what your own mode forbids"),
        ),
    }
}

/// A child's definition without what its caller lacks.
fn narrowed(caller: &Agent, child: Agent, max_depth: u32, is_background: bool) -> Agent {
    let mut tools = child.tools.within(&caller.tools);
    let mut sub_agents = child.sub_agents;
    let mut denied = child.denied;
    denied.extend(caller.denied.iter().cloned());
    if is_background {
        denied.extend(NOT_IN_BACKGROUND.map(str::to_owned));
        sub_agents = SubAgents::none();
    }
    if let ToolKeys::Only(keys) = &mut tools {
        keys.retain(|key| !denied.contains(key));
    }
    Agent {
        tools,
        denied,
        sub_agents,
        max_depth: Some(max_depth),
        approval: child.approval.max(caller.approval),
        ..child
    }
}

/// The agents that an agent may call here: valid, switched on, and in its list.
fn callable(agent: &Agent, posted: Option<&PostedContext>, agents: &dyn Agents) -> Vec<AgentEntry> {
    let all = agents.list().into_iter();
    all.filter(|entry| {
        let name = entry.agent.name.as_str();
        entry.is_usable()
            && name != samovar_core::agent::MASTER
            && name != agent.name.as_str()
            && agent.sub_agents.has(name)
            && is_at_home(&entry.agent, posted)
    })
    .collect()
}

/// The tool as an agent sees it: with exactly the agents that it may call. `None` if there are none.
pub(crate) fn shown(
    spec: &ToolSpec,
    agent: &Agent,
    posted: Option<&PostedContext>,
    agents: &dyn Agents,
) -> Option<Arc<ToolSpec>> {
    let callable = callable(agent, posted, agents);
    if spec.name == DELEGATE && callable.is_empty() {
        return None;
    }
    let mut description = spec.description.clone();
    if !callable.is_empty() {
        description.push_str(" Agents:");
    }
    for entry in &callable {
        let Agent {
            name, display_name, ..
        } = entry.agent.as_ref();
        // Writing to a string cannot fail.
        let _infallible = write!(description, "\n- {name}: {display_name}");
    }
    Some(Arc::new(ToolSpec {
        description,
        ..spec.clone()
    }))
}

/// What a caller hears at the end of a child's turn.
pub(crate) fn outcome(end: &End, last: Option<&Message>) -> Outcome {
    let text = last.map(Message::text).unwrap_or_default();
    let mut said = Map::new();
    let error = match &end.reason {
        // It answered, and says itself what failed.
        FinishReason::Model(_) | FinishReason::FailedCall => None,
        FinishReason::Cancelled => Some(("SUBAGENT_CANCELLED", "it was stopped".to_owned())),
        FinishReason::Budget => Some((
            "SUBAGENT_BUDGET",
            end.limit
                .map_or_else(|| "its budget is used up".to_owned(), no_room),
        )),
        FinishReason::MaxIterations => Some((
            "SUBAGENT_STEPS",
            "it took as many steps as it may".to_owned(),
        )),
        FinishReason::RepeatedCall => Some((
            "SUBAGENT_FAILED",
            "it made the same failing call three times".to_owned(),
        )),
        FinishReason::Steered | FinishReason::Error => {
            let fault = end.fault.as_ref().map(|fault| fault.message.clone());
            Some((
                "SUBAGENT_FAILED",
                fault.unwrap_or_else(|| "it broke off".to_owned()),
            ))
        }
    };
    said.insert("ok".to_owned(), error.is_none().into());
    let status = match &end.reason {
        FinishReason::Model(_) | FinishReason::FailedCall => Status::Done,
        // A person's wish, not a fault to be corrected.
        FinishReason::Cancelled => Status::Cancelled,
        _ => Status::Failed,
    };
    if let Some((code, why)) = error {
        said.insert("code".to_owned(), code.into());
        said.insert("error".to_owned(), why.into());
    }
    if let Some(last) = last {
        said.insert("messageId".to_owned(), last.id.as_str().into());
    }
    said.insert("summary".to_owned(), summary(&text).into());
    let text = Value::Object(said.clone()).to_string();
    if end.has_acted {
        said.insert(HAS_ACTED.to_owned(), true.into());
    }
    Outcome::new(status, text).with_data(Value::Object(said))
}

/// Whether a child did more than read, by the outcome that its caller heard.
pub(crate) fn has_acted(outcome: &Outcome) -> bool {
    let acted = outcome.data.as_ref().and_then(|data| data.get(HAS_ACTED));
    acted == Some(&Value::Bool(true))
}

/// Why the result of a task in the background does not begin another one.
pub(crate) fn too_long_a_chain() -> Refusal {
    let why = format!(
        "{MAX_SPAWNED} tasks in the background have followed one another since a person last spoke; \
         that is the limit"
    );
    Refusal::new("SUBAGENT_DEPTH", why)
}

/// What a caller hears of a child that the stores have lost.
pub(crate) fn lost() -> Outcome {
    let said = json!({
        "ok": false,
        "code": "SUBAGENT_LOST",
        "error": "the server has lost what it did, so that may have happened or not"
    });
    Outcome::new(Status::Unknown, said.to_string()).with_data(said)
}

/// Which limit of a budget leaves no room, for a model.
pub(crate) fn no_room(limit: BudgetLimit) -> String {
    let what = match limit {
        BudgetLimit::Steps => "steps",
        BudgetLimit::Tokens => "tokens",
        BudgetLimit::Cost => "money",
        BudgetLimit::Wall => "time",
    };
    format!("the budget has no {what} left")
}

/// Notes in a message what the path of its agent does not say: its name for people, and the call that
/// it answers, if it was called (SA-8).
pub(crate) fn describe(message: &mut Message, display_name: &str, call: Option<&CallId>) {
    let mut about = json!({"displayName": display_name});
    if let Some(call) = call {
        about["toolCallId"] = call.as_str().into();
    }
    message.metadata.insert("agent".to_owned(), about);
}

/// The beginning of a child's last text.
pub(crate) fn summary(text: &str) -> String {
    if text.trim().is_empty() {
        return "(it said nothing)".to_owned();
    }
    match text.char_indices().nth(MAX_SUMMARY_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => {
            let left = text[end..].chars().count();
            format!(
                "{} … ({left} more characters are in its own message)",
                &text[..end]
            )
        }
    }
}

/// The last text that an agent said, in its messages.
pub(crate) fn last_said<'a>(
    mut messages: impl DoubleEndedIterator<Item = &'a Message>,
) -> Option<&'a Message> {
    messages.rfind(|message| message.role == Role::Assistant && !message.text().is_empty())
}

/// The tools of this page; their calls are children's turns.
pub struct DelegationTools;

impl Toolset for DelegationTools {
    fn specs(&self) -> Vec<Arc<ToolSpec>> {
        let delegate = spec(
            DELEGATE,
            "Hands a task to another agent and waits for its answer. It knows nothing of this \
             conversation: put all that it needs into the task or the context. Several calls in one \
             answer run in parallel.",
            &json!({
                "name": {"type": "string", "description": "The agent."},
                "task": {"type": "string", "minLength": 1, "description": "What it is to do."},
                "context": {"type": "object", "description": "Facts that it needs, such as addresses."},
                "options": {
                    "type": "object",
                    "properties": {"model": {"type": "string"}, "mode": {"type": "string"}},
                    "additionalProperties": false
                }
            }),
            &["name", "task"],
        );
        let spawn = spec(
            SPAWN,
            "Starts a task in the background and returns at once. Its result comes later as a message \
             of the system. Without an agent it has your tools, but cannot call agents.",
            &json!({
                "task": {"type": "string", "minLength": 1, "description": "What is to be done."},
                "agent": {"type": "string", "description": "The agent."},
                "label": {"type": "string", "maxLength": 80, "description": "A name for people."}
            }),
            &["task"],
        );
        vec![Arc::new(delegate), Arc::new(spawn)]
    }

    fn call(&self, _call: ToolCall, _context: CallContext) -> Future<'static, ToolReply> {
        Box::pin(std::future::ready(ToolReply::Open))
    }
}

fn spec(name: &str, description: &str, properties: &Value, required: &[&str]) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false
        }),
        effect: Effect::Verifiable,
        asks: None,
        origin: Origin::BuiltIn,
        closed: false,
        timeout: samovar_core::tool::DEFAULT_TIMEOUT,
        sharing: Sharing::Parallel,
        closer: Closer::Child,
    }
}

/// Whether the client that created the session tells this agent, too, what it tells the session's own:
/// that agent itself, and its copies in the background.
pub(crate) fn is_told(agent: &AgentPath) -> bool {
    agent.depth() == 0 || agent.depth() == 1 && agent.name() == BACKGROUND
}

/// Whether an agent has a tool: its own key, or one that its list of agents brings (SA-19).
pub(crate) fn has_tool(agent: &Agent, tool: &str) -> bool {
    match tool {
        DELEGATE => !agent.sub_agents.is_empty() && !agent.denied.contains(DELEGATE),
        _ => agent.tools.has(tool) && !agent.denied.contains(tool),
    }
}
