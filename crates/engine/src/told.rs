//! What an agent is told: read once, when its turn begins or resumes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use samovar_core::journal::LogNo;
use samovar_core::provider::Layer;
use samovar_core::{
    Agent, AgentPath, Beginner, Closer, ContextLimit, Kind, Message, Part, Prompt, PromptHashes,
    Situation, SystemPrompt, ToolSpec, TurnId,
};
use sha2::{Digest, Sha256};

use crate::context::{Images, Transcript};
use crate::guide::{Audience, FORGET, Guidance, MEMORY_TOOLS, READ_SKILL, RECALL, TOKEN_TOOLS};
use crate::layers::{self, Texts};
use crate::log::Keeping;
use crate::parts::Parts;
use crate::settings::{Layout, Settings};
use crate::turn::Turn;
use crate::{context, delegation, posted};

/// What its session gives an agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfSession {
    /// What its client tells the agent.
    pub(crate) prompt: Option<SystemPrompt>,
    /// What its agents have of the owner's memory.
    pub(crate) memory: MemoryUse,
    /// Whether it is not the first session of its store.
    is_later: bool,
    /// The message that begins the turn of its own agent.
    message: Option<String>,
}

/// What an agent has of the owner's memory (MD-11): what the session has that the owner began, and
/// another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum MemoryUse {
    /// Nothing.
    #[default]
    None,
    /// It proposes what to remember for the token of this name, and finds what that said earlier.
    Proposes(Arc<str>),
    /// All of it.
    Whole,
}

impl MemoryUse {
    fn of(begun_by: Option<&Beginner>) -> Self {
        match begun_by {
            Some(Beginner::Owner) => Self::Whole,
            Some(Beginner::Token(name)) => Self::Proposes(name.as_str().into()),
            Some(Beginner::Program) | None => Self::None,
        }
    }

    /// Whether a tool is for it.
    fn has(&self, tool: &str) -> bool {
        match self {
            Self::Whole => true,
            Self::Proposes(_) => TOKEN_TOOLS.contains(&tool) || !MEMORY_TOOLS.contains(&tool),
            Self::None => !MEMORY_TOOLS.contains(&tool),
        }
    }

    /// The token for which it does.
    pub(crate) fn guest(&self) -> Option<&Arc<str>> {
        match self {
            Self::Proposes(name) => Some(name),
            Self::None | Self::Whole => None,
        }
    }
}

impl OfSession {
    pub(crate) fn new(
        prompt: Option<&SystemPrompt>,
        begun_by: Option<&Beginner>,
        log: Option<LogNo>,
    ) -> Self {
        Self {
            prompt: prompt.cloned(),
            memory: MemoryUse::of(begun_by),
            is_later: log.is_some_and(|log| log > LogNo::FIRST),
            message: None,
        }
    }

    /// The same in a turn that a message begins: memories are told for its beginning.
    pub(crate) fn asked(self, message: Option<&Message>) -> Self {
        let message = message.filter(|_| self.memory == MemoryUse::Whole);
        let texts = message.map(|message| message.parts.iter().filter_map(Part::as_text));
        let message = texts.map(|texts| texts.flat_map(str::chars).take(MAX_ASKED).collect());
        Self { message, ..self }
    }

    /// What of it is for an agent of the session.
    pub(crate) fn for_agent(&self, agent: &AgentPath) -> Self {
        Self {
            prompt: self.prompt.clone().filter(|_| delegation::is_told(agent)),
            memory: self.memory.clone(),
            is_later: self.is_later,
            message: None,
        }
    }
}

/// The characters of a message that memories are told for.
const MAX_ASKED: usize = 1_000;

/// What an agent is told in its turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// The layers of its system prompt.
    pub(crate) layers: Vec<Layer>,
    /// Whether some of them are text from outside (TL-10).
    pub(crate) is_foreign: bool,
    /// What stands before the message that began the turn besides what its client posted: the notes of
    /// the present day, and memories for that message.
    pub(crate) today: Option<String>,
    /// What it has of the owner's memory, so that it is offered the tools for that.
    pub(crate) memory: MemoryUse,
    /// The tools of memory that would find nothing: a small model would try them first all the same.
    finding_nothing: Vec<&'static str>,
    /// Whether there are skills, so that it is offered the tool to read them.
    pub(crate) has_skills: bool,
    /// The names of those that it may read.
    pub(crate) readable: Arc<BTreeSet<String>>,
}

impl Told {
    fn of(agent: &Agent, settings: &Settings, texts: Texts) -> Self {
        let is_foreign = texts.folder.as_ref().is_some_and(|file| file.is_foreign);
        Self {
            layers: layers::layers(agent, settings, &texts),
            is_foreign: is_foreign || texts.guidance.is_foreign,
            has_skills: texts.guidance.skills.is_some(),
            memory: MemoryUse::None,
            finding_nothing: if texts.guidance.has_memories {
                Vec::new()
            } else {
                vec![FORGET, RECALL]
            },
            today: texts.guidance.today,
            readable: Arc::new(texts.guidance.readable),
        }
    }

    /// The layers, as far as a known window has room for them; with what the client posted, where the
    /// layout has it there.
    pub(crate) fn layers_within(
        &self,
        limit: Option<&ContextLimit>,
        layout: Layout,
        aside: &mut Option<String>,
    ) -> Vec<Layer> {
        let mut layers = self.layers.clone();
        if layout == Layout::Seed
            && let Some(aside) = aside.take()
        {
            layers = layers::with_context(layers, &aside);
        }
        match limit {
            Some(limit) => layers::fitted(layers, context::room_for_layers(limit)),
            None => layers,
        }
    }

    /// The hashes of it and of the tools that the agent is offered.
    pub(crate) fn hashes(&self, tools: &[Arc<ToolSpec>]) -> PromptHashes {
        let layers = self.layers.iter();
        let layers = layers.map(|layer| (layer.name, &*layer.text));
        let today = self.today.iter().map(|today| (TODAY, today.as_str()));
        let layers = layers.chain(today);
        let layers = layers.map(|(name, text)| (name.to_owned(), hash([text])));
        let tools = tools.iter().flat_map(|tool| {
            let parameters = tool.parameters.to_string();
            [tool.name.clone(), tool.description.clone(), parameters]
        });
        PromptHashes {
            layers: layers.collect(),
            tools: hash(tools),
        }
    }
}

/// A short hash of texts, in hex.
fn hash(texts: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut digest = Sha256::new();
    for text in texts {
        digest.update(text.as_ref());
        digest.update([0]);
    }
    let digest = digest.finalize();
    let mut hex = String::with_capacity(16);
    for byte in &digest[..8] {
        // Writing to a string cannot fail.
        let _infallible = write!(hex, "{byte:02x}");
    }
    hex
}

/// What the hash of the notes of the present day is named.
const TODAY: &str = "today";

impl Told {
    /// What is shown before the message that began a turn. A child has tools to look at it instead.
    pub(crate) fn aside(&self, turn: &Turn, agent: &AgentPath) -> Option<String> {
        let posted = turn.posted().filter(|_| agent.depth() == 0);
        let posted = posted.and_then(|posted| posted::as_part(posted));
        let all = self.today.iter().cloned().chain(posted);
        all.reduce(|today, posted| today + &posted)
    }
}

impl Parts {
    /// Notes in the first step of a turn, if it has begun, what its model is told.
    pub(crate) fn mark(&self, agent: &Agent, told: &Told, kinds: &mut [Kind], turn: &Turn) {
        let Some(step) = kinds.last_mut() else { return };
        if let Kind::StepStarted { told: hashes, .. } = step {
            *hashes = Some(told.hashes(&self.offered(agent, turn, told)));
        }
    }

    /// Whether an agent has a tool in a turn.
    pub(crate) fn has_tool(&self, agent: &Agent, turn: &Turn, told: &Told, tool: &str) -> bool {
        let for_ui = &self.settings.for_ui;
        let is_shown = || turn.posted().is_some() || !for_ui.iter().any(|name| name == tool);
        let has_use = (tool != READ_SKILL || told.has_skills) && told.memory.has(tool);
        delegation::has_tool(agent, tool) && is_shown() && has_use
    }

    /// The tools that an agent is offered in a turn.
    pub(crate) fn offered(&self, agent: &Agent, turn: &Turn, told: &Told) -> Arc<[Arc<ToolSpec>]> {
        let (specs, settings) = (self.toolbox.specs(), &self.settings);
        let for_people = settings.for_people.iter();
        let for_people = for_people.filter(|_| turn.has_no_input());
        let hidden: Vec<_> = settings.unoffered.iter().chain(for_people).collect();
        let has = |spec: &ToolSpec| {
            self.has_tool(agent, turn, told, &spec.name)
                && !hidden.contains(&&spec.name)
                && !told.finding_nothing.contains(&&*spec.name)
        };
        let delegates = |spec: &ToolSpec| spec.closer == Closer::Child;
        if specs.iter().all(|spec| has(spec) && !delegates(spec)) {
            return specs;
        }
        let specs = specs.iter().filter(|spec| has(spec));
        let shown = specs.filter_map(|spec| {
            if delegates(spec) {
                let posted = turn.posted().map(AsRef::as_ref);
                delegation::shown(spec, agent, posted, self.agents.as_ref())
            } else {
                Some(spec.clone())
            }
        });
        shown.collect()
    }

    /// Reads what an agent is told now. The files are looked at on a thread that may block.
    pub(crate) async fn tell(
        &self,
        agent: &Agent,
        path: &AgentPath,
        session: OfSession,
        situation: Option<&Situation>,
    ) -> Told {
        let environment = situation.and_then(|situation| situation.environment.as_ref());
        let specs = self.toolbox.specs();
        let tools = specs.iter().map(|spec| &spec.name);
        let tools = tools.filter(|name| delegation::has_tool(agent, name));
        let is_guests = situation.is_some_and(|situation| situation.is_guests);
        let is_given = path.depth() == 0 || agent.memory;
        let has_memory = is_given && !is_guests && self.keeping == Keeping::Durable;
        let memory = if has_memory {
            session.memory
        } else {
            MemoryUse::None
        };
        let audience = Audience {
            tools: tools.cloned().collect(),
            has_memory: memory == MemoryUse::Whole,
            message: session.message.filter(|_| path.depth() == 0),
            ..Audience::of(agent, path.depth(), environment)
        };
        let (folder, guide) = (self.settings.folder.clone(), self.settings.guide.clone());
        let (folder, guidance) = if folder.is_silent() && guide.is_silent() {
            (None, Guidance::default())
        } else {
            let read = move || (folder.read(), guide.read(audience));
            let read = tokio::task::spawn_blocking(read).await;
            read.unwrap_or_else(|error| {
                tracing::error!(%error, "the files that tell agents how to work could not be read");
                (None, Guidance::default())
            })
        };
        let texts = Texts {
            session: session.prompt,
            folder,
            guidance,
        };
        let mut told = Told::of(agent, &self.settings, texts);
        // What was said in an earlier session may be found.
        told.finding_nothing
            .retain(|tool| *tool != RECALL || !session.is_later);
        Told { memory, ..told }
    }
}

/// Builds the prompt of a session's own agent with this conversation, files and hashes included, as a
/// turn does: for measurements of what that costs.
pub fn build_prompt(
    settings: &Settings,
    tools: &Arc<[Arc<ToolSpec>]>,
    messages: Vec<Arc<Message>>,
    limit: &ContextLimit,
) -> Prompt {
    let agent = Agent::master();
    let audience = Audience {
        tools: tools.iter().map(|tool| tool.name.clone()).collect(),
        ..Audience::of(&agent, 0, None)
    };
    let texts = Texts {
        session: None,
        folder: settings.folder.read(),
        guidance: settings.guide.read(audience),
    };
    let told = Told::of(&agent, settings, texts);
    std::hint::black_box(told.hashes(tools));
    let frame = Prompt {
        model: limit.model.clone(),
        layers: told.layers_within(Some(limit), settings.layout, &mut None),
        tools: tools.clone(),
        messages: Vec::new(),
        max_tokens: settings.limits.max_output_tokens,
        temperature: settings.limits.temperature,
        images: BTreeMap::new(),
    };
    let limited = Some(limit.clone());
    let max = settings.max_history_messages;
    Transcript::beginning_with(0, messages, limited, max).show_in(
        frame,
        Some(limit),
        None,
        Images::Shown,
    )
}

/// A prompt, as its turn's last model call had it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToldPrompt {
    /// The turn.
    pub turn: TurnId,
    /// The model, by its canonical name.
    pub model: String,
    /// The layers of the system prompt, in their order.
    pub layers: Vec<ToldPart>,
    /// The tools, each by its name; their text is empty.
    pub tools: ToldPart,
    /// How many tools there are.
    pub tool_count: usize,
    /// How many messages the model was shown.
    pub messages: usize,
    /// How many tokens these have, about.
    pub message_tokens: u64,
    /// How many tokens the window of the model has, if that is known.
    pub window: Option<u64>,
}

/// A part of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldPart {
    /// Its name.
    pub name: String,
    /// Its present text, without keys.
    pub text: String,
    /// How many tokens it has, about.
    pub tokens: u64,
    /// Whether it has changed since; `None` if the log no longer has its hash.
    pub changed: Option<bool>,
}

impl ToldPrompt {
    /// How many tokens the prompt has, about.
    pub fn tokens(&self) -> u64 {
        let layers = self.layers.iter().map(|layer| layer.tokens);
        layers.sum::<u64>() + self.tools.tokens + self.message_tokens
    }
}
