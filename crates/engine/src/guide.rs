//! What a person's own files tell agents: read when a turn begins or resumes, never stored (MD-6, MD-16).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use samovar_core::Agent;
use samovar_core::situation::Environment;

/// The tool with which an agent reads a skill.
pub const READ_SKILL: &str = "read_skill";

/// The tools over the memory of the folder's store: to keep, to note, to delete, and to find.
pub const MEMORY_TOOLS: [&str; 4] = ["remember", "note_today", FORGET, RECALL];
/// That to find something, and that to delete it.
pub(crate) const RECALL: &str = "recall";
pub(crate) const FORGET: &str = "forget";
/// Those in a session that another token began: its agent proposes to the owner what to remember, and finds
/// what was said in sessions of that token.
pub(crate) const TOKEN_TOOLS: [&str; 3] = ["remember", "note_today", RECALL];

/// The agent that is told.
#[derive(Clone, Debug)]
pub struct Audience {
    /// Its name.
    pub agent: String,
    /// Whether its definition has a system prompt, which takes the place of SOUL and AGENTS.
    pub has_prompt: bool,
    /// Whether it talks to the person: such an agent has USER and all skills.
    pub is_with_person: bool,
    /// Whether it has the memory of the folder: the own agent of a session that the owner began, and a
    /// called one whose definition says so (MD-11).
    pub has_memory: bool,
    /// The tools that it has.
    pub tools: BTreeSet<String>,
    /// The skills that its definition names; `None` for the usual ones.
    pub skills: Option<BTreeSet<String>>,
    /// What its commands get of the person's shell; `None` for the server's own.
    pub environment: Option<Arc<Environment>>,
    /// The message that begins its turn, if memories are told for it.
    pub message: Option<String>,
}

impl Audience {
    /// The agent of a definition at this depth below its session.
    pub(crate) fn of(agent: &Agent, depth: usize, environment: Option<&Arc<Environment>>) -> Self {
        Self {
            agent: agent.name.to_string(),
            has_prompt: !agent.system_prompt.trim().is_empty(),
            is_with_person: depth == 0,
            has_memory: false,
            tools: BTreeSet::new(),
            skills: agent.skills.clone(),
            environment: environment.cloned(),
            message: None,
        }
    }
}

/// What the files say to an agent; `None` where no file says anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guidance {
    /// Who the agent is, instead of the built-in text.
    pub soul: Option<String>,
    /// Whom it works for.
    pub user: Option<String>,
    /// How it works, instead of the built-in text.
    pub agents: Option<String>,
    /// The skills: those that are always loaded, and a line for each other one.
    pub skills: Option<String>,
    /// The names of these skills: those that the agent may read.
    pub readable: BTreeSet<String>,
    /// The long-term memory.
    pub memory: Option<String>,
    /// The notes of past days.
    pub events: Option<String>,
    /// The notes of the present day, and memories for the message that begins the turn; they stand
    /// before it.
    pub today: Option<String>,
    /// Whether there is any memory, also one that no prompt has.
    pub has_memories: bool,
    /// Whether some of it comes from a folder that no person trusts, or was remembered after text
    /// from outside had been read (TL-10).
    pub is_foreign: bool,
}

/// Reads the files. It may block for a moment.
type ReadFiles = dyn Fn(&Audience) -> Guidance + Send + Sync;

/// The files of the person; by default none.
#[derive(Clone, Default)]
pub struct Guide {
    read: Option<Arc<ReadFiles>>,
    is_apart: bool,
}

impl Guide {
    /// Files that this function reads.
    pub fn new(read: impl Fn(&Audience) -> Guidance + Send + Sync + 'static) -> Self {
        Self {
            read: Some(Arc::new(read)),
            is_apart: false,
        }
    }

    /// The same for agents that do not talk to the person, such as those of rooms.
    #[must_use]
    pub fn apart(self) -> Self {
        Self {
            is_apart: true,
            ..self
        }
    }

    /// What it says to an agent now. May block for a moment.
    pub fn read(&self, mut audience: Audience) -> Guidance {
        audience.is_with_person &= !self.is_apart;
        let read = self.read.as_ref();
        read.map(|read| read(&audience)).unwrap_or_default()
    }

    /// Whether it never says anything.
    pub(crate) fn is_silent(&self) -> bool {
        self.read.is_none()
    }
}

impl fmt::Debug for Guide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guide(tells: {})", self.read.is_some())
    }
}
