//! Questions of turns. They are a view of the engine's open calls: so a question outlives the chat and
//! its process, is asked again once in the next one, and goes when its call does, whoever closed it
//! (CH-10).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use samovar_core::approval::{Asked, visible_line};
use samovar_core::{ApprovalId, CallId, SessionId, planted};
use samovar_engine::{Engine, OpenCall, Recovery};
use samovar_locale as locale;
use serde_json::Value;

use crate::chat::Chat;
use crate::questions::{AskingCall, AskingTurns};
use crate::tools::{ASK_USER, Name, question_text};

/// How long the person's words wait, at most, for the sessions that an earlier run left.
const PATIENCE: Duration = Duration::from_secs(4);

/// Characters of a call's arguments, and of what it would change, that a question shows.
const MAX_ARGS_CHARS: usize = 300;
const MAX_PREVIEW_CHARS: usize = 2_000;

/// Asks in the chat what the open calls of an engine's turns ask, and withdraws what they ask no
/// longer, until the engine ends. What an earlier run has left comes first, the oldest first, and what
/// the person says meanwhile waits for that: it may be the answer.
pub fn ask_for_turns(
    chat: Chat,
    engine: Arc<Engine>,
    name: Name,
) -> impl Future<Output = ()> + Send + use<> {
    let early = chat.early();
    let mut watch = engine.watch_calls();
    let turns = AskingTurns::Engine(Arc::downgrade(&engine));
    let mut asking = Asking::new(chat, turns, name);
    async move {
        let left = left(&engine).await;
        // It is not kept alive by what it is asked.
        drop(engine);
        planted!("question-not-asked-again", {
            for open in &left {
                let asked = asking.asked.entry(open.session.clone()).or_default();
                asked.insert(question(open));
            }
        });
        for calls in left.chunk_by(|one, next| one.session == next.session) {
            let session = calls[0].session.clone();
            asking.look(session, calls.to_vec()).await;
        }
        drop(early);
        while let Some(changed) = watch.next().await {
            for (session, calls) in changed {
                asking.look(session, calls).await;
            }
        }
    }
}

/// The open calls that an earlier run left, oldest first. What cannot be told now is asked when its
/// session comes into memory.
async fn left(engine: &Engine) -> Vec<OpenCall> {
    match engine.settings().recovery {
        Recovery::EverySession => {}
        Recovery::UsedSessions | Recovery::NoTurns => return Vec::new(),
    }
    match tokio::time::timeout(PATIENCE, engine.open_calls()).await {
        Ok(Ok(open)) => open,
        Ok(Err(error)) => {
            tracing::warn!(%error, "what earlier turns ask is asked later");
            Vec::new()
        }
        Err(_) => {
            tracing::warn!("what earlier turns ask is not all known yet");
            Vec::new()
        }
    }
}

/// What turns ask in the chat.
pub(crate) struct Asking {
    chat: Chat,
    turns: AskingTurns,
    name: Name,
    asked: HashMap<SessionId, HashSet<Question>>,
}

/// A call, and the id of what is asked about it: a call that is asked about again has another one.
type Question = (CallId, Option<ApprovalId>);

fn question(open: &OpenCall) -> Question {
    let approval = open.asked.as_ref().map(|asked| asked.id.clone());
    (open.call.id.clone(), approval)
}

impl Asking {
    /// Nothing is asked yet.
    pub(crate) fn new(chat: Chat, turns: AskingTurns, name: Name) -> Self {
        Self {
            chat,
            turns,
            name,
            asked: HashMap::new(),
        }
    }

    /// Whether a question is open.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Withdraws all.
    pub(crate) fn withdraw(&mut self) {
        for (call, _) in self.asked.drain().flat_map(|(_, questions)| questions) {
            self.chat.withdraw_call(&call);
        }
    }

    /// Asks what is new among the open calls that a session has now, and withdraws what is gone.
    pub(crate) async fn look(&mut self, session: SessionId, calls: Vec<OpenCall>) {
        let asks = |open: &OpenCall| open.asked.is_some() || open.call.name == ASK_USER;
        let questions: Vec<OpenCall> = calls.into_iter().filter(asks).collect();
        let now: HashSet<_> = questions.iter().map(question).collect();
        let before = self.asked.remove(&session).unwrap_or_default();
        for (gone, _) in before.difference(&now) {
            planted!("question-not-withdrawn", {
                continue;
            });
            self.chat.withdraw_call(gone);
        }
        for open in questions {
            if !before.contains(&question(&open)) {
                self.ask(open).await;
            }
        }
        if !now.is_empty() {
            self.asked.insert(session, now);
        }
    }

    async fn ask(&self, open: OpenCall) {
        let call = AskingCall {
            turns: self.turns.clone(),
            turn: open.turn,
            approval: open.asked.as_ref().map(|asked| asked.id.clone()),
            call: open.call.id,
        };
        let question = match &open.asked {
            Some(asked) => about(&open.call.name, &open.call.args, asked),
            None => question_text(&open.call.args).unwrap_or_default(),
        };
        let author = self.name.of(&open.agent);
        if let Err(why) = self.chat.ask_for(&author, &question, call.clone()).await {
            call.refuse(&why).await;
        }
    }
}

/// What the person is asked about a call, and what they can answer.
fn about(tool: &str, args: &Value, asked: &Asked) -> String {
    let args = beginning(&visible_line(&args.to_string()), MAX_ARGS_CHARS);
    let preview = beginning(
        asked.preview.as_deref().unwrap_or_default(),
        MAX_PREVIEW_CHARS,
    );
    let what = locale::global_chat::asks_to_call(tool, args, &asked.reason);
    let how = match &asked.grant {
        Some(grant) => locale::global_chat::how_to_decide(grant),
        None => locale::global_chat::how_to_decide_once().to_owned(),
    };
    let parts = [what, preview, how];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

fn beginning(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
