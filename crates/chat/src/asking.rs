//! Questions of turns. They are a view of the engine's open calls: so a question outlives the chat and
//! its process, is asked again once in the next one, and goes when its call does, whoever closed it
//! (CH-10).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use samovar_core::{CallId, SessionId, planted};
use samovar_engine::{Engine, OpenCall};

use crate::chat::Chat;
use crate::questions::AskingCall;
use crate::tools::{ASK_USER, Name};

/// Asks in the chat what the open calls of an engine's turns ask, and withdraws what they ask no
/// longer, until the engine ends.
pub async fn ask_for_turns(chat: Chat, engine: Arc<Engine>, name: Name) {
    let mut watch = engine.watch_calls();
    let mut asked: HashMap<SessionId, HashSet<CallId>> = HashMap::new();
    planted!("question-not-asked-again", {
        for open in engine.open_calls().await.unwrap_or_default() {
            asked.entry(open.session).or_default().insert(open.call.id);
        }
    });
    let engine = {
        // It is not kept alive by what it is asked.
        let strong = engine;
        Arc::downgrade(&strong)
    };
    while let Some(changed) = watch.next().await {
        for (session, calls) in changed {
            let questions = calls.into_iter().filter(|open| open.call.name == ASK_USER);
            let questions: Vec<OpenCall> = questions.collect();
            let now: HashSet<_> = questions.iter().map(|open| open.call.id.clone()).collect();
            let before = asked.remove(&session).unwrap_or_default();
            for gone in before.difference(&now) {
                planted!("question-not-withdrawn", {
                    continue;
                });
                chat.withdraw_call(gone);
            }
            for open in questions {
                if before.contains(&open.call.id) {
                    continue;
                }
                let call = AskingCall {
                    engine: engine.clone(),
                    turn: open.turn,
                    call: open.call.id,
                };
                let question = open.call.args["question"].as_str().unwrap_or_default();
                let author = name.of(&open.agent);
                if let Err(why) = chat.ask_for(&author, question, call.clone()).await {
                    call.refuse(&why).await;
                }
            }
            if !now.is_empty() {
                asked.insert(session, now);
            }
        }
    }
}
