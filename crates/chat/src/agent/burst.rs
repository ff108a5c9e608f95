//! The agent's work for one reason to run, and for the reasons that come meanwhile: one session
//! whose turns are copied into the chat until none is left.

use std::collections::HashMap;
use std::sync::Arc;

use samovar_core::event::{Fault, Group};
use samovar_core::provider::{is_cut, is_refusal};
use samovar_core::{
    ChatMessage, ChatMeta, ChatRole, Delivery, Error, Event, FinishReason, Kind, Role, TurnId,
};
use samovar_engine::{CallWatch, FollowError, Follower, MemorySession};
use samovar_locale as locale;

use super::words::{is_own, pieces, spoken};
use super::{Known, Worker};
use crate::asking::Asking;
use crate::chat::{ADAPTIVE_AGENT, MAX_TEXT_BYTES, Wake};
use crate::questions::AskingTurns;
use crate::tools::Name;

/// Turns that run or wait, about: with as many, further reasons wait in the chat.
pub(super) const MAX_TURNS: usize = 8;

/// A session while its turns are not over.
pub(super) struct Burst<'a> {
    worker: &'a Worker,
    known: &'a mut Known,
    session: Arc<MemorySession>,
    follower: Follower,
    watch: CallWatch,
    asking: Asking,
    /// The turns that are not over, each with the message of the chat that it is for.
    turns: HashMap<TurnId, u64>,
    /// The message that is answered now.
    answers: u64,
}

impl<'a> Burst<'a> {
    /// Says the first thing to a session.
    ///
    /// # Errors
    /// The engine's refusal; nothing runs then.
    pub(super) async fn begin(
        worker: &'a Worker,
        known: &'a mut Known,
        session: MemorySession,
        message: &ChatMessage,
    ) -> Result<Self, Error> {
        let session = Arc::new(session);
        let (_, text) = spoken(message);
        let (turn, after) = session.post(text, Delivery::Steer).await?;
        known.told = message.id;
        let turns = AskingTurns::Session(Arc::downgrade(&session));
        Ok(Self {
            worker,
            known,
            follower: session.follow(after),
            watch: session.watch_calls(),
            asking: Asking::new(worker.chat.clone(), turns, Name::Adaptive),
            session,
            turns: HashMap::from([(turn, message.id)]),
            answers: message.id,
        })
    }

    /// Follows it to its end; what comes meanwhile joins it.
    pub(super) async fn run(mut self) {
        let Worker {
            chat,
            stopping,
            cut,
            ..
        } = self.worker;
        while !self.turns.is_empty() {
            let is_stopping = stopping.is_cancelled();
            if is_stopping && self.asking.is_waiting() {
                return;
            }
            let has_room = self.turns.len() < MAX_TURNS && !is_stopping;
            // All are safe to drop halfway: each takes nothing before it has it.
            tokio::select! {
                events = self.follower.next() => match events {
                    Ok(events) => self.take(&events).await,
                    Err(lost) => return self.lost(&lost),
                },
                Some(changed) = self.watch.next() => {
                    self.catch_up().await;
                    for (session, calls) in changed {
                        self.asking.look(session, calls).await;
                    }
                }
                wake = chat.next_wake(), if has_room => self.steer(&wake).await,
                () = stopping.cancelled(), if !is_stopping => {}
                () = cut.cancelled() => {
                    self.catch_up().await;
                    return;
                }
            }
        }
        self.asking.withdraw();
    }

    /// Brings into the chat what was said before a question was open.
    async fn catch_up(&mut self) {
        loop {
            tokio::select! {
                biased;
                events = self.follower.next() => match events {
                    Ok(events) => self.take(&events).await,
                    // It is found again by who reads next.
                    Err(_) => return,
                },
                () = std::future::ready(()) => return,
            }
        }
    }

    async fn take(&mut self, events: &[Arc<Event>]) {
        for event in events {
            let turn = event.turn.as_ref();
            if let Some((turn, message)) = turn.and_then(|turn| self.turns.get_key_value(turn)) {
                let (turn, message) = (turn.clone(), *message);
                self.take_in(&turn, message, &event.kind).await;
            }
        }
    }

    async fn take_in(&mut self, turn: &TurnId, message: u64, kind: &Kind) {
        match kind {
            Kind::TurnStarted { .. } => self.answers = message,
            Kind::StepReset {
                context: Some(limit),
                ..
            } => self.known.limit = Some(limit.clone()),
            Kind::MessageFinished { message: said, .. } if said.role == Role::Assistant => {
                self.tell(turn, &said.text()).await;
            }
            Kind::TurnFinished { reason, fault, .. } => {
                self.turns.remove(turn);
                self.over(message, reason, fault.as_ref());
            }
            other => match other.group() {
                Group::Session | Group::Turn | Group::Live(_) | Group::Message | Group::Call => {}
            },
        }
    }

    /// Says in the chat what the model has said.
    async fn tell(&self, turn: &TurnId, text: &str) {
        for piece in pieces(text, MAX_TEXT_BYTES) {
            let meta = ChatMeta::reply_to(self.answers);
            let said = (ADAPTIVE_AGENT, piece, meta);
            let posted = self.worker.chat.post_for(turn, None, said).await;
            if let Err(error) = posted {
                // A call has no words of its own.
                tracing::debug!(%turn, %error, "nothing to say in the chat");
            }
        }
    }

    /// Says in the chat why no answer comes, where none does.
    fn over(&mut self, message: u64, reason: &FinishReason, fault: Option<&Fault>) {
        let note = match (reason, fault) {
            (FinishReason::Steered, _) => {
                // Its words are the last that the turn which runs was told.
                self.answers = message;
                return;
            }
            (FinishReason::Model(word), _) if is_refusal(word) => {
                locale::global_chat::agent_refused().to_owned()
            }
            (FinishReason::Model(word), _) if is_cut(word) => {
                locale::global_chat::agent_cut_off().to_owned()
            }
            (FinishReason::Model(_), _) => return,
            (FinishReason::FailedCall, _) => locale::global_chat::agent_call_failed().to_owned(),
            (FinishReason::RepeatedCall, _) => {
                locale::global_chat::agent_call_repeated().to_owned()
            }
            (FinishReason::MaxIterations, _) => locale::global_chat::agent_iterations().to_owned(),
            (FinishReason::Budget, _) => locale::global_chat::agent_budget().to_owned(),
            (FinishReason::Cancelled, _) => locale::global_chat::agent_cancelled().to_owned(),
            (FinishReason::Error, Some(fault)) => {
                locale::global_chat::agent_broke_off(&fault.message)
            }
            (FinishReason::Error, None) => {
                locale::global_chat::agent_broke_off(locale::turn::broken())
            }
        };
        self.worker.note(message, &note);
    }

    /// Tells the turn that runs what was said since, and what it is woken for now.
    async fn steer(&mut self, wake: &Wake) {
        let chat = &self.worker.chat;
        let most = self.worker.settings.max_history_messages;
        let oldest = wake.message.saturating_sub(most as u64 + 1);
        let page = chat.read(self.known.told.max(oldest), most + 1);
        self.known.told = self.known.told.max(wake.message);
        let (mut meanwhile, mut said) = (Vec::new(), None);
        for message in &page.messages {
            if message.id == wake.message {
                said = Some(spoken(message).1);
            } else if message.id < wake.message && self.is_news(message) {
                meanwhile.push(spoken(message).1);
            }
        }
        let meanwhile = (!meanwhile.is_empty()).then(|| meanwhile.join("\n"));
        for text in meanwhile.into_iter().chain(said) {
            match self.session.post(text, Delivery::Steer).await {
                Ok((turn, _)) => {
                    self.turns.insert(turn, wake.message);
                }
                Err(error) => return self.worker.refused(wake.message, &error),
            }
        }
    }

    /// Whether the turn cannot know it: it has not said it, nor got it as the answer to its question.
    fn is_news(&self, message: &ChatMessage) -> bool {
        let chat = &self.worker.chat;
        let answered = message
            .meta
            .reply_to
            .filter(|_| message.role == ChatRole::User);
        let question = answered.and_then(|question| chat.message(question));
        !is_own(message) && question.is_none_or(|question| !is_own(&question))
    }

    /// The session cannot be read to its end.
    fn lost(mut self, lost: &FollowError) {
        match lost {
            FollowError::Stopping => return,
            FollowError::Gone(_) | FollowError::Broken(_) => {
                tracing::error!(%lost, "the chat's agent lost its own session");
                let note = locale::global_chat::agent_broke_off(locale::turn::broken());
                self.worker.note(self.answers, &note);
            }
        }
        self.asking.withdraw();
    }
}
