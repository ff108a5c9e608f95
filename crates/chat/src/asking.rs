//! Questions of turns. They are a view of the engine's open calls: so a question outlives the chat and
//! its process, is asked again once in the next one, and goes when its call does, whoever closed it
//! (CH-10).

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};

use samovar_core::{CallId, SessionId, planted};
use samovar_engine::{Engine, OpenCall};

use crate::chat::Chat;
use crate::questions::AskingCall;
use crate::tools::{ASK_USER, Name};

/// Asks in the chat what the open calls of an engine's turns ask, and withdraws what they ask no
/// longer, until the engine ends.
pub async fn ask_for_turns(chat: Chat, engine: Arc<Engine>, name: Name) {
    let mut watch = engine.watch_calls();
    let mut asking = Asking::new(chat, &engine, name);
    planted!("question-not-asked-again", {
        for open in engine.open_calls().await.unwrap_or_default() {
            let asked = asking.asked.entry(open.session).or_default();
            asked.insert(open.call.id);
        }
    });
    // It is not kept alive by what it is asked.
    drop(engine);
    while let Some(changed) = watch.next().await {
        for (session, calls) in changed {
            asking.look(session, calls).await;
        }
    }
}

/// What the turns of an engine ask in the chat.
pub(crate) struct Asking {
    chat: Chat,
    engine: Weak<Engine>,
    name: Name,
    asked: HashMap<SessionId, HashSet<CallId>>,
}

impl Asking {
    /// Nothing is asked yet.
    pub(crate) fn new(chat: Chat, engine: &Arc<Engine>, name: Name) -> Self {
        Self {
            chat,
            engine: Arc::downgrade(engine),
            name,
            asked: HashMap::new(),
        }
    }

    /// Asks what is new among the open calls that a session has now, and withdraws what is gone.
    pub(crate) async fn look(&mut self, session: SessionId, calls: Vec<OpenCall>) {
        let questions = calls.into_iter().filter(|open| open.call.name == ASK_USER);
        let questions: Vec<OpenCall> = questions.collect();
        let now: HashSet<_> = questions.iter().map(|open| open.call.id.clone()).collect();
        let before = self.asked.remove(&session).unwrap_or_default();
        for gone in before.difference(&now) {
            planted!("question-not-withdrawn", {
                continue;
            });
            self.chat.withdraw_call(gone);
        }
        for open in questions {
            if !before.contains(&open.call.id) {
                self.ask(open).await;
            }
        }
        if !now.is_empty() {
            self.asked.insert(session, now);
        }
    }

    async fn ask(&self, open: OpenCall) {
        let call = AskingCall {
            engine: self.engine.clone(),
            turn: open.turn,
            call: open.call.id,
        };
        let question = open.call.args["question"].as_str().unwrap_or_default();
        let author = self.name.of(&open.agent);
        if let Err(why) = self.chat.ask_for(&author, question, call.clone()).await {
            call.refuse(&why).await;
        }
    }
}
