//! What can be set, with its bounds.

use std::time::Duration;

use samovar_core::{Approval, Limits, Reminders, Resume, SystemPrompt};

use crate::folder::Folder;
use crate::guide::Guide;
use crate::modes::AgentModes;
use crate::policy::Policy;
use crate::rules::RuleBook;

/// How the engine behaves. Everything that grows has its bound here.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How far a turn may go.
    pub limits: Limits,
    /// How much is asked before a call runs.
    pub approval: Approval,
    /// Messages of a session that its model is shown, at most (AS-10).
    pub max_history_messages: usize,
    /// Messages that wait in a session's queue, at most; more are refused with 429 (AS-11).
    pub max_queue: usize,
    /// Calls of one batch that run at once, at most (AS-13).
    pub max_parallel_calls: usize,
    /// Bytes of a log's events that are held in memory, about (DU-8).
    pub tail_bytes: usize,
    /// Bytes that all sessions' live events, conversations and waiting messages may take in memory,
    /// about. From three quarters of it idle sessions leave memory at once; beyond it new messages
    /// are refused with 429, and what runs continues.
    pub memory: usize,
    /// How the failures of models' servers are overcome (AS-14).
    pub retry: Retry,
    /// The models that are asked in this order when a turn's own keeps failing (AS-14).
    pub fallback: Vec<String>,
    /// How long a finished turn can be followed from the journal (DU-7).
    pub retention: Duration,
    /// How long a session that nobody uses stays in memory.
    pub idle: Duration,
    /// How long a read waits for the history to catch up (DU-2).
    pub read_wait: Duration,
    /// How often the history is synced and the journal swept.
    pub sync_every: Duration,
    /// Which sessions of a former run are looked after at start.
    pub recovery: Recovery,
    /// What happens to a turn that a stop of the server interrupted.
    pub resume: Resume,
    /// The most times in a row that a turn is resumed without progress after stops of the server;
    /// requested stops are not counted (DU-6).
    pub max_continuations: u32,
    /// The most turns that resume at once after a start: one that stops the server must not use up
    /// the others' continuations (DU-6).
    pub continuing_at_once: usize,
    /// The most turns that ask a model at once; each takes a connection. The others wait,
    /// and no time limit of a model counts that.
    pub asking_at_once: usize,
    /// What the model is told about its work in every session, as a part of the system prompt; empty
    /// for nothing. The same in every folder and on every day, so that the prompt stays cached.
    pub workspace_note: String,
    /// What the operator tells every agent, in every session in the stores.
    pub system_prompt: Option<SystemPrompt>,
    /// The folder that agents of sessions in the stores work in.
    pub folder: Folder,
    /// The person's own files, which say who agents are and how they work.
    pub guide: Guide,
    /// Where a prompt has what changes from turn to turn (MD-23).
    pub layout: Layout,
    /// Tools that the model is not offered: calls of them run as any other.
    pub unoffered: Vec<String>,
    /// Tools that are hidden in a turn with `no_input` ([`Bounds::no_input`](samovar_core::Bounds)).
    pub for_people: Vec<String>,
    /// Tools that no agent has in a turn whose client posted no context: they show it something.
    pub for_ui: Vec<String>,
    /// What the person may be doing, and what agents may not do meanwhile.
    pub agent_modes: AgentModes,
    /// What the configuration says of calls.
    pub policy: Policy,
    /// What people have allowed for good.
    pub rules: RuleBook,
    /// How long a call waits for a person's decision before it is denied.
    pub approval_expiry: Duration,
    /// Whether no person can be asked about calls: what would be asked about is denied.
    pub is_unattended: bool,
}

impl Settings {
    /// Whether the journal keeps the events of a turn that is over long enough for a reader that is
    /// about to come, so that they need not stay in memory for it.
    pub(crate) fn is_retained(&self) -> bool {
        self.retention >= self.idle
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: Limits {
                reminders: Reminders {
                    failed_call: true,
                    cut_answer: true,
                },
                ..Limits::default()
            },
            approval: Approval::Supervised,
            max_history_messages: 50,
            max_queue: 32,
            max_parallel_calls: 8,
            retry: Retry::default(),
            fallback: Vec::new(),
            tail_bytes: 256 * 1024,
            memory: 256 * 1024 * 1024,
            retention: Duration::from_mins(10),
            idle: Duration::from_secs(10),
            read_wait: Duration::from_secs(1),
            sync_every: Duration::from_secs(5),
            recovery: Recovery::EverySession,
            resume: Resume::Auto,
            max_continuations: 5,
            continuing_at_once: 64,
            asking_at_once: 4096,
            workspace_note: String::new(),
            system_prompt: None,
            folder: Folder::default(),
            guide: Guide::default(),
            layout: Layout::default(),
            unoffered: Vec::new(),
            for_people: Vec::new(),
            for_ui: Vec::new(),
            agent_modes: AgentModes::default(),
            policy: Policy::default(),
            rules: RuleBook::default(),
            approval_expiry: Duration::from_mins(30),
            is_unattended: false,
        }
    }
}

/// Where a prompt has what changes from turn to turn (MD-23).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// In front of the new message, so that what is before it stays in the provider's cache.
    #[default]
    Cached,
    /// In the system prompt, in the order of the seeds, for models without a cache.
    Seed,
}

/// How the failures of models' servers are overcome, with a budget for each turn (AS-14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often a turn may retry a failing model, over all its iterations.
    pub count: u32,
    /// How long a turn may spend on that: from an iteration's first failure to its success, over
    /// all iterations. A server that asks to wait longer is not waited for.
    pub within: Duration,
    /// The wait before the second attempt, about; each one after that is twice as long.
    pub first_wait: Duration,
    /// The longest pause, unless the server asks for more.
    pub longest_wait: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            count: 4,
            within: Duration::from_mins(2),
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(20),
        }
    }
}

/// Which sessions of a former run are looked after at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// All that have unfinished turns: what a server does.
    EverySession,
    /// Those that are used. For a program that works in another place, or at another approval
    /// level, than the one that accepted the others' messages.
    UsedSessions,
    /// No turn starts, ends or resumes, and commands that concern turns are refused. For a program
    /// that only reads, or changes a session's settings, and ends soon. Its engine starts when
    /// reads see everything that a former run accepted.
    NoTurns,
}

impl Recovery {
    /// Whether turns begin, end and go on at all.
    pub fn runs_turns(self) -> bool {
        match self {
            Self::EverySession | Self::UsedSessions => true,
            Self::NoTurns => false,
        }
    }
}
