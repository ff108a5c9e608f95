//! The commands of a chat: lines that begin with a slash.

use std::io;
use std::path::{Path, PathBuf};

use samovar_core::{Approval, Code};
use samovar_locale as text;
use samovar_wire::agent::{PaginatedResult, SessionInfo};
use samovar_wire::api::{
    AgentInfo, ContextInfo, ProposalAnswer, ProposalList, RememberedInfo, RememberedList, TurnInfo,
};
use serde_json::json;

use super::lines::Lines;
use crate::agents::agents_table;
use crate::client::segment;
use crate::config::Setup;
use crate::exit::Failure;
use crate::images;
use crate::lists::{Rows, show_models};
use crate::output::{fitted, table};
use crate::screen::{put, say, visible};
use crate::sessions::undo::effects;
use crate::sessions::{context, find, fork};
use crate::style::columns;
use crate::talk::{Talk, UndoReach};
use crate::timestamps::{age, now};
use crate::turns::{keep_at_work, tree};

/// Sessions that `/sessions` shows.
const SHOWN: u32 = 20;

/// What the chat does after a line.
pub(super) enum ChatFlow {
    GoOn,
    /// The person has left, or nobody reads what is said.
    Leave,
}

/// A command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Slash {
    Sessions(Option<String>),
    New,
    Fork,
    Image(Option<PathBuf>),
    Model(Option<String>),
    Approval(Option<Approval>),
    Agents,
    Undo(UndoReach),
    Cost,
    Context,
    Memory,
    Proposal(ProposalAnswer, String),
    Help,
    Quit,
}

impl Slash {
    /// Reads a line; none when it is something to say.
    pub(super) fn read(line: &str) -> Result<Option<Self>, Failure> {
        let Some(typed) = line.trim().strip_prefix('/') else {
            return Ok(None);
        };
        let (name, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
        let rest = rest.trim();
        if name == "memory"
            && let Some((answer, id)) = proposal(rest)
        {
            return Ok(Some(Self::Proposal(answer, id)));
        }
        let argument = (!rest.is_empty()).then(|| rest.to_owned());
        let slash = match (name, argument) {
            ("sessions", argument) => Self::Sessions(argument),
            ("model", argument) => Self::Model(argument),
            ("approval", None) => Self::Approval(None),
            ("approval", Some(word)) => Self::Approval(Some(level(&word)?)),
            ("agents", None) => Self::Agents,
            ("new", None) => Self::New,
            ("fork", None) => Self::Fork,
            ("image", path) => Self::Image(path.map(|path| unquoted(&path).into())),
            ("undo", None) => Self::Undo(UndoReach::Files),
            ("undo", Some(argument)) if argument == "messages" => Self::Undo(UndoReach::Messages),
            ("cost", None) => Self::Cost,
            ("context", None) => Self::Context,
            ("memory", None) => Self::Memory,
            ("help" | "?", None) => Self::Help,
            ("quit" | "exit", None) => Self::Quit,
            (name, Some(_)) if let Some(takes) = takes(name) => {
                let why = text::chat::wrong_argument(text::quoted(line.trim()), takes);
                return Err(Failure::usage(why));
            }
            _ => {
                let why = text::chat::unknown_command(text::quoted(line.trim()));
                return Err(Failure::usage(why));
            }
        };
        Ok(Some(slash))
    }

    /// Does it.
    pub(super) async fn run(
        self,
        talk: &mut Talk,
        found: &Setup,
        lines: &mut Lines,
    ) -> Result<ChatFlow, Failure> {
        match self {
            Self::Sessions(None) => list(talk).await?,
            Self::Sessions(Some(id)) => enter(talk, &id).await?,
            Self::New => {
                talk.begin_new(found).await?;
                talk.attached.clear();
                say(&text::chat::begun(&talk.session.id));
            }
            Self::Fork => {
                talk.fork().await?;
                say(&fork::said(&talk.session));
            }
            Self::Image(Some(path)) => attach(talk, &path)?,
            Self::Image(None) => {
                talk.attached.clear();
                say(text::chat::not_attached());
            }
            Self::Model(None) => {
                let answer = talk.models().await?;
                show_models(&answer, found, Rows::Usable)?;
                say(&text::chat::model(&talk.session.model));
            }
            Self::Model(Some(model)) => {
                let params = json!({ "sessionId": talk.session.id, "model": model });
                talk.session = talk.ask("updateSession", &params).await?;
                say(&text::chat::model(&talk.session.model));
            }
            Self::Approval(level) => {
                if let Some(level) = level {
                    talk.set_approval(level).await?;
                }
                say(&text::chat::approval(talk.approval().as_str()));
            }
            Self::Agents => agents(talk).await?,
            Self::Undo(reach) => undo(reach, talk, lines).await?,
            Self::Cost => cost(talk).await?,
            Self::Context => context(talk).await?,
            Self::Memory => memory(talk).await?,
            Self::Proposal(decision, id) => answer(talk, decision, &id).await?,
            Self::Help => say(&help_of(columns(&io::stderr()))),
            Self::Quit => return Ok(ChatFlow::Leave),
        }
        Ok(ChatFlow::GoOn)
    }
}

/// How the commands are typed that take no argument, or one of a few words.
fn takes(name: &str) -> Option<&'static str> {
    Some(match name {
        "agents" => "/agents",
        "new" => "/new",
        "fork" => "/fork",
        "undo" => "/undo, /undo messages",
        "cost" => "/cost",
        "context" => "/context",
        "memory" => "/memory, /memory accept ID, /memory refuse ID",
        "help" | "?" => "/help",
        "quit" | "exit" => "/quit",
        _ => return None,
    })
}

/// The commands with what each does, as a table whose second column is broken within itself.
fn help_of(columns: Option<usize>) -> String {
    let rows = text::chat::help().lines().map(|line| {
        let (typed, does) = line.split_once("  ").unwrap_or((line, ""));
        vec![typed.to_owned(), does.trim_start().to_owned()]
    });
    let rows = fitted(&rows.collect::<Vec<_>>(), columns);
    rows.trim_end().to_owned()
}

/// A path as a terminal spells one that is dropped on it.
fn unquoted(path: &str) -> &str {
    let inner = |mark: char| path.strip_prefix(mark)?.strip_suffix(mark);
    inner('\'').or_else(|| inner('"')).unwrap_or(path)
}

fn attach(talk: &mut Talk, path: &Path) -> Result<(), Failure> {
    let image = images::read_one(path)?;
    let mut all = talk.attached.clone();
    all.push(image);
    images::check(&all)?;
    say(&text::chat::attached(all.len() as u64));
    talk.attached = all;
    Ok(())
}

fn level(word: &str) -> Result<Approval, Failure> {
    Approval::from_word(word).ok_or_else(|| {
        let levels = Approval::ALL.map(Approval::as_str).join(", ");
        Failure::usage(text::chat::unknown_approval(text::quoted(word), levels))
    })
}

async fn list(talk: &mut Talk) -> Result<(), Failure> {
    let params = json!({ "limit": SHOWN });
    let page: PaginatedResult<SessionInfo> = talk.ask("listSessions", &params).await?;
    let ids: Vec<_> = page
        .items
        .iter()
        .map(|session| session.id.as_str())
        .collect();
    let now = now();
    let rows = page.items.iter().map(|session| {
        let is_here = session.id == talk.session.id;
        let mark = if is_here { "*" } else { "" };
        vec![
            mark.to_owned(),
            find::end(session.id.as_str(), &ids),
            age(session.updated_at, now),
            text::sessions::messages(session.message_count),
            find::name(session),
        ]
    });
    put(&visible(&table(&rows.collect::<Vec<_>>())))?;
    say(text::chat::how_to_enter());
    Ok(())
}

/// The agents that may be called, and the turns that run or wait in the session, as a tree.
async fn agents(talk: &mut Talk) -> Result<(), Failure> {
    let known: Vec<AgentInfo> = talk.get("/api/agents").await?;
    put(&visible(&agents_table(&known)))?;
    let path = format!("/api/turns?sessionId={}", segment(talk.session.id.as_str()));
    let mut turns: Vec<TurnInfo> = talk.get(&path).await?;
    keep_at_work(&mut turns);
    if turns.is_empty() {
        say(text::chat::no_agent_at_work());
        return Ok(());
    }
    say(text::chat::agents_at_work());
    put(&visible(&tree(&turns))).map(drop)
}

async fn enter(talk: &mut Talk, id: &str) -> Result<(), Failure> {
    let found = talk.find(id).await?;
    talk.switch(found).await;
    talk.attached.clear();
    say(&text::chat::entered(
        &talk.session.id,
        talk.session.message_count,
    ));
    Ok(())
}

async fn undo(reach: UndoReach, talk: &mut Talk, lines: &mut Lines) -> Result<(), Failure> {
    let undone = match talk.undo(reach).await {
        Ok(undone) => undone,
        Err(refused) => {
            let of_files = [Code::FilesChanged, Code::FilesNotKept].map(Code::as_str);
            if of_files.contains(&refused.code.as_str()) {
                say(text::chat::undo_messages());
            }
            return Err(refused);
        }
    };
    say(text::chat::undone());
    let effects = effects(&undone);
    if !effects.is_empty() {
        say(&visible(effects.trim_end()));
    }
    lines.offer(&undone.content);
    Ok(())
}

async fn cost(talk: &mut Talk) -> Result<(), Failure> {
    let params = json!({ "sessionId": talk.session.id });
    let session: SessionInfo = talk.ask("getSession", &params).await?;
    let tokens = session.tokens;
    say(&text::chat::cost(tokens.total, tokens.input, tokens.output));
    Ok(())
}

/// The answer to a proposal, typed.
fn proposal(typed: &str) -> Option<(ProposalAnswer, String)> {
    let (word, id) = typed.split_once(char::is_whitespace)?;
    Some((ProposalAnswer::from_word(word)?, id.trim().to_owned()))
}

async fn answer(talk: &mut Talk, decision: ProposalAnswer, id: &str) -> Result<(), Failure> {
    let (path, body) = crate::memory::answer(id, decision, None);
    let kept: Option<RememberedInfo> = talk.post(&path, &body).await?;
    match kept {
        Some(kept) => say(&visible(&text::memory::accepted(&kept.text))),
        None => say(&text::memory::refused(id)),
    }
    Ok(())
}

/// Lists what agents remember, and what they propose.
async fn memory(talk: &mut Talk) -> Result<(), Failure> {
    let list: RememberedList = talk.get("/api/memory").await?;
    list.problems.iter().for_each(|why| say(&visible(why)));
    if list.items.is_empty() {
        say(text::memory::none());
    }
    put(&visible(&crate::memory::shown(&list.items)))?;
    if list.proposals > 0 {
        let proposed: ProposalList = talk.get(crate::memory::PROPOSALS).await?;
        say(text::memory::chat_waiting());
        put(&visible(&crate::memory::proposed(&proposed.items)))?;
    }
    Ok(())
}

/// Shows what the model was told last.
async fn context(talk: &mut Talk) -> Result<(), Failure> {
    let path = context::path(talk.session.id.as_str(), None);
    let told: ContextInfo = talk.get(&path).await?;
    put(&visible(&context::shown(&told))).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves FC-1
    #[test]
    fn the_help_keeps_its_two_columns_at_any_width() {
        for width in [39, 79, 199] {
            let help = help_of(Some(width));
            for line in help.lines() {
                let (typed, does) = line.split_at(line.char_indices().nth(15).unwrap().0);
                assert!(does.starts_with("  ") && !does.starts_with("   "), "{line}");
                assert!(line.chars().count() <= width, "{line}");
                assert!(!typed.starts_with(' ') || typed.trim().is_empty(), "{line}");
            }
        }
    }

    #[test]
    fn a_line_with_a_slash_is_a_command_and_a_wrong_one_is_said_to_be() {
        let read = |line| Slash::read(line).map_err(|failure| failure.code);
        assert_eq!(read("hello / there"), Ok(None));
        assert_eq!(read(" /undo "), Ok(Some(Slash::Undo(UndoReach::Files))));
        let messages = Slash::Undo(UndoReach::Messages);
        assert_eq!(read("/undo messages"), Ok(Some(messages)));
        for line in ["/image a b.png", "/image 'a b.png'", "/image \"a b.png\""] {
            assert_eq!(read(line), Ok(Some(Slash::Image(Some("a b.png".into())))));
        }
        assert_eq!(read("/model"), Ok(Some(Slash::Model(None))));
        let named = Slash::Model(Some("openai/gpt-5".to_owned()));
        assert_eq!(read("/model   openai/gpt-5"), Ok(Some(named)));
        let refused = Slash::Proposal(ProposalAnswer::Refuse, "m0123456789".to_owned());
        assert_eq!(read("/memory refuse  m0123456789"), Ok(Some(refused)));
        assert_eq!(read("/approval"), Ok(Some(Slash::Approval(None))));
        let level = Slash::Approval(Some(Approval::ReadOnly));
        assert_eq!(read("/approval read-only"), Ok(Some(level)));
        let why = |line| Slash::read(line).unwrap_err().message;
        for (line, takes) in [
            ("/fork x", "/fork"),
            ("/help x", "/help"),
            ("/agents x", "/agents"),
            (
                "/memory accept",
                "/memory, /memory accept ID, /memory refuse ID",
            ),
            ("/undo now", "/undo, /undo messages"),
        ] {
            let said = text::chat::wrong_argument(text::quoted(line), takes);
            assert_eq!(why(line), said);
        }
        for wrong in [
            "/",
            "/nothing",
            "/undo now",
            "/approval none",
            "/etc is a folder",
        ] {
            assert_eq!(read(wrong), Err("invalid_params".to_owned()), "{wrong}");
        }
    }
}
