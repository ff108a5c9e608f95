//! A message and its turn: kept with one commit, then begun; and the turn that continues.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use samovar_core::command::Post;
use samovar_core::error::FaultCode;
use samovar_core::event::Fault;
use samovar_core::provider::ModelKind;
use samovar_core::{
    Accepted, AgentPath, Approval, Author, Bounds, Code, Delivery, Entry, Error, FinishReason,
    Kind, Limits, Message, Model, Reminders, Role, SessionChange, TurnId,
};
use samovar_locale as locale;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::resent::posted;
use super::turns::{EndReason, Live, LiveState};
use super::unremembered::{TakenBack, Unremembered};
use super::{Mailbox, OpenSession};
use crate::blobs::Naming;
use crate::log::{Draft, Keeping};
use crate::parts::{Parts, refusal};
use crate::runner::{Continuation, FinishedRun, RetryTime, Runner, unbudgeted};
use crate::state::Queued;
use crate::state::recent::Content;
use crate::told::Told;
use crate::turn::{Place, Step, Turn};

impl OpenSession {
    /// What bounds a turn whose message asks for these bounds.
    fn bounded(&self, asked: Bounds) -> Bounds {
        Bounds {
            approval: asked.approval.or(self.state().approval),
            ..asked
        }
    }

    /// The way to the model, if no provider could be used when the session was opened.
    fn routed(&self, model: &Model) -> Option<Draft> {
        let own = self.state().model.clone();
        let change = SessionChange {
            route: Some(model.route_beside(&own)?),
            model: Some(own),
            ..SessionChange::default()
        };
        let changed = Kind::SessionChanged(change);
        Some(Draft::new(None, Author::System, changed))
    }

    /// What bounds a turn that waited. One that a background agent's result begins has the level of the
    /// turn that started the agent, or the stricter one that the session has by now.
    fn bounded_late(&self, queued: &Queued) -> Bounds {
        let is_result = queued.message.role == Role::System;
        let own = self.state().approval;
        let stricter = |level: Approval| own.map_or(level, |own| level.max(own));
        let asked = queued.bounds.approval;
        Bounds {
            approval: asked.map(|level| if is_result { stricter(level) } else { level }),
            ..queued.bounds
        }
    }
}

impl Mailbox {
    /// Keeps a message and its turn with one commit, then lets the turn run or wait (AS-10, AS-11).
    /// One that was kept before joins its turn.
    pub(super) async fn post(&mut self, post: Post) -> Result<Accepted, Error> {
        // What a session in memory is told also comes from others, such as the writers of a chat.
        if let Some(open) = self
            .open
            .as_ref()
            .filter(|open| open.session.log.keeping() == Keeping::Durable)
        {
            open.session.taint.hear(post.text.as_str());
        }
        let Some(id) = post.message.clone() else {
            return self.accept(post, None).await;
        };
        if let Some(again) = self.known(&id, &Content::of_post(&post)).await? {
            return Ok(again);
        }
        let accepted = self.accept(post, None).await;
        if accepted.is_err() {
            self.parts.projector.claims().give_back(&id, &self.id);
        }
        accepted
    }

    /// Keeps a message with what it takes back: turns, by a sender, whose memories go first.
    pub(super) async fn accept(
        &mut self,
        post: Post,
        undone: Option<(Vec<Draft>, TakenBack<'_>)>,
    ) -> Result<Accepted, Error> {
        let (undone, taken_back) = undone.unzip();
        let is_anew = undone.is_some();
        let missing = self.missing();
        let max_queue = self.parts.settings.max_queue;
        let open = self.open.as_ref().ok_or(missing)?;
        // What cannot be used is refused before anything is kept (AS-18).
        let equipped = self.parts.equip(open, post.bounds).await;
        let (model, agent) = equipped.map_err(|(_, error)| error)?;
        open.check(post.delivery, max_queue)?;
        let situation = self.parts.situation(&post)?;
        let (bounds, entry) = (post.bounds, open.entry(&post));
        let turn = TurnId::fresh(self.parts.ids.as_ref());
        // They are removed again unless their message is kept.
        let naming = self.parts.keep_images(&model, &post.images).await?;
        let gone = Unremembered::of(self.parts.toolbox.changes(), taken_back).await?;
        let message = self
            .parts
            .user_message(post.message, post.text, &post.images);
        let finished = Kind::MessageFinished {
            message: message.clone(),
            bounds,
            entry,
            situation: situation.clone(),
        };
        let draft = |kind, author| Draft::new(Some(turn.clone()), author, kind);
        let said = draft(finished, Author::User);
        let undone = undone.into_iter().flatten();
        let drafts = undone.chain(open.routed(&model)).chain([said]);
        let mut drafts: Vec<_> = drafts.collect();
        let bounded = open.bounded(bounds);
        let begun = if open.is_free() {
            let begun = self
                .parts
                .begin(open, (&model, &agent), bounded, situation, &message);
            Some(begun.await)
        } else {
            None
        };
        if let Some((kinds, ..)) = &begun {
            drafts.extend(kinds.iter().map(|kind| draft(kind.clone(), Author::System)));
        }
        let kept = open.session.keep(drafts).await.map_err(refusal);
        let kept = gone.unless(kept).await?;
        naming.map(Naming::named).unwrap_or_default();
        let posted = posted(&message, &turn, &kept);
        if let Some((_, told)) = begun {
            if is_anew {
                self.forget_what_was_said(&kept, Some(&turn)).await;
            }
            self.spawn(turn, model, told);
        }
        Ok(posted)
    }

    /// Starts the turn of the oldest message that waits. Whether one runs now.
    pub(super) async fn start_next(&mut self) -> bool {
        if self.parts.stopping.is_cancelled() || !self.parts.settings.recovery.runs_turns() {
            return false; // The next start begins them.
        }
        while let Some(queued) = self.to_begin() {
            match self.start(&queued).await {
                Ok(true) => return true,
                Ok(false) => {}
                Err(broken) if broken.may_pass() => {
                    tracing::debug!(session = %self.id, %broken, "a message waits for room");
                    if let Some(open) = &mut self.open {
                        open.waits_for_room = true;
                    }
                    return false;
                }
                Err(broken) => {
                    tracing::error!(session = %self.id, %broken, "a turn could not be started");
                    if let Some(open) = &mut self.open {
                        let fault = EndReason::Fault(FaultCode::StoreFailed);
                        let own = open.session.log.own().clone();
                        open.live
                            .put(queued.turn, Live::root(&own, LiveState::Ending(fault)));
                    }
                    return false;
                }
            }
        }
        false
    }

    fn to_begin(&self) -> Option<Queued> {
        self.open.as_ref()?.state().to_begin().cloned()
    }

    /// Whether the turn runs now; one whose model or agent is gone has ended instead.
    async fn start(&mut self, queued: &Queued) -> Result<bool, samovar_core::Broken> {
        let Some(open) = &self.open else {
            return Ok(false);
        };
        let own = open.session.log.own().clone();
        let (model, agent) = match self.parts.equip(open, queued.bounds).await {
            Ok(equipped) => equipped,
            Err((code, error)) => {
                let message = error.message.into_owned();
                let fault = Fault { code, message };
                self.end_unstarted(&queued.turn, FinishReason::Error, Some(fault))
                    .await?;
                return Ok(false);
            }
        };
        let situation = queued.situation.clone();
        let bounds = open.bounded(open.bounded_late(queued));
        let message = &queued.message;
        let begun = self
            .parts
            .begin(open, (&model, &agent), bounds, situation, message);
        let (kinds, told) = begun.await;
        let facts = kinds.into_iter().map(|kind| (Author::System, kind));
        self.record(&queued.turn, &own, facts, None).await?;
        self.spawn(queued.turn.clone(), model, told);
        Ok(true)
    }

    /// Runs a turn that has just begun.
    pub(super) fn spawn(&mut self, turn_id: TurnId, model: Model, told: Told) {
        let Some(open) = &self.open else { return };
        let mut live = Live::root(open.session.log.own(), LiveState::Left);
        live.told = told;
        self.spawn_runner(turn_id, live, model, None);
    }

    /// Runs a turn, which a stop of the server may have cut.
    pub(super) fn spawn_runner(
        &mut self,
        turn_id: TurnId,
        mut live: Live,
        model: Model,
        continuation: Option<Continuation>,
    ) {
        let Some(open) = &mut self.open else { return };
        let news = Arc::new(Notify::new());
        let (turn, parent) = {
            let state = open.state();
            if state.ended().any(|end| end.parent == turn_id) {
                news.notify_one();
            }
            let Some(known) = state.turn(&turn_id) else {
                return;
            };
            (known.turn.clone(), known.called_by().cloned())
        };
        let definition = turn.place().definition.clone();
        let runner = Runner {
            parts: self.parts.clone(),
            session: open.session.clone(),
            turn_id: turn_id.clone(),
            of_session: open.gives().for_agent(&live.agent),
            told: std::mem::take(&mut live.told),
            hashed: None,
            agent: live.agent.clone(),
            definition: definition.unwrap_or_else(|| self.parts.master.clone()),
            parent,
            born: Vec::new(),
            newborns: self.newborns.sender(),
            turn,
            model,
            news: news.clone(),
            continuation,
            patience: RetryTime::default(),
            asked: None,
            pending: Vec::new(),
            commit: None,
            folding: None,
            is_waiting: false,
        };
        let stop = CancellationToken::new();
        live.state = LiveState::Running(news, stop.clone());
        open.live.put(turn_id.clone(), live);
        let running = self.parts.running.enter();
        self.turns.spawn(async move {
            let _running = running;
            let run = AssertUnwindSafe(runner.run(stop)).catch_unwind().await;
            Box::new(run.unwrap_or_else(|_| FinishedRun::panicked(turn_id)))
        });
    }

    /// What a turn that does not run leaves at its end.
    pub(super) fn result_of(
        &self,
        turn_id: &TurnId,
        agent: &AgentPath,
        end: (&Turn, Option<&Message>),
    ) -> Option<Draft> {
        let account = self.open.as_ref()?.session.state.account(turn_id);
        let left = account.map(|account| account.left(self.parts.clock.now()));
        self.parts.result_of(turn_id, agent, end, left)
    }

    /// Continues the turns that waited and have something to do again.
    pub(super) async fn resume_all(&mut self) {
        while let Some((turn_id, turn)) = self.to_resume() {
            match self.parts.model_of(&turn).await {
                Ok(model) => {
                    let live = self.open.as_mut().and_then(|open| open.live.take(&turn_id));
                    if let Some(live) = live {
                        self.spawn_runner(turn_id, live, model, None);
                    }
                }
                Err(error) => {
                    tracing::error!(session = %self.id, %error, "a parked turn lost its model");
                    self.lose_model(&turn_id).await;
                }
            }
        }
    }

    fn to_resume(&self) -> Option<(TurnId, Turn)> {
        let open = self.open.as_ref()?;
        let state = open.state();
        let mut waited = state.begun().filter(|(id, _)| open.live.is_parked(id));
        let found = waited.find(|(_, known)| known.turn.next() != Step::Wait);
        found.map(|(id, known)| (id.clone(), known.turn.clone()))
    }

    /// Ends a turn whose model can no longer be used.
    pub(super) async fn lose_model(&mut self, turn_id: &TurnId) {
        let live = self
            .open
            .as_mut()
            .and_then(|open| open.live.get_mut(turn_id));
        if let Some(live) = live {
            live.state = LiveState::Ending(EndReason::Fault(FaultCode::UnusableModel));
        }
        self.end_due().await;
        self.tell_ends().await;
    }
}

impl OpenSession {
    /// Whether a message begins its turn at once.
    pub(super) fn is_free(&self) -> bool {
        self.live.root().is_none() && self.state().next().is_none()
    }

    fn check(&self, delivery: Delivery, max_queue: usize) -> Result<(), Error> {
        if delivery == Delivery::Reject && !self.is_free() {
            let why = locale::session::busy(self.session.log.session());
            return Err(Error::new(Code::SessionBusy, why));
        }
        // What children have left waits without a place of its own: they are bounded.
        let waiting = {
            let state = self.state();
            state.waiting().len() - state.results()
        };
        if waiting >= max_queue {
            let why = locale::session::messages_wait(waiting as u64);
            return Err(Error::new(Code::Busy, why));
        }
        Ok(())
    }

    /// How a message comes into the conversation. Without a turn that has begun there is none to join
    /// or to end.
    /// Another's message does not join the owner's turn, which has the owner's memory (MD-11).
    fn entry(&self, post: &Post) -> Entry {
        match post.delivery {
            Delivery::Steer if post.posted.is_guests() => Entry::Own,
            Delivery::Steer if self.live.root().is_some() => Entry::Steers,
            Delivery::Interrupt if self.live.root().is_some() => Entry::Interrupts,
            Delivery::Queue | Delivery::Reject | Delivery::Steer | Delivery::Interrupt => {
                Entry::Own
            }
        }
    }
}

impl Parts {
    /// The first facts of a turn at a place, and the turn that knows them. With a budget, or where it
    /// `draws` from its caller's, its first step begins where the size of the prompt is known.
    pub(crate) fn begin_as(
        &self,
        model: &Model,
        bounds: Bounds,
        approval: Approval,
        place: Place,
        draws: bool,
    ) -> (Vec<Kind>, Turn) {
        let mut limits = bounds.limit(self.settings.limits);
        if place.parent_call.is_some() {
            // It draws from its caller's, or was given a part of that.
            limits.budget = bounds.budget;
        }
        let is_budgeted = draws || !limits.budget.is_empty();
        if let Some(of_agent) = place.definition.as_ref().and_then(|it| it.model.as_ref()) {
            limits.max_output_tokens = of_agent.max_tokens.unwrap_or(limits.max_output_tokens);
            limits.temperature = of_agent.temperature.unwrap_or(limits.temperature);
        }
        if let Some(most) = place.definition.as_ref().and_then(|it| it.max_steps) {
            limits.max_iterations = bounds.max_iterations.map_or(most, |asked| asked.min(most));
        }
        // A limit that was set is not exceeded by asking for the rest.
        limits.reminders.cut_answer &=
            limits.max_output_tokens == Limits::default().max_output_tokens;
        if model.kind == ModelKind::Demo {
            // Rules give the same answer again.
            limits.reminders = Reminders::default();
        }
        let started = Kind::TurnStarted {
            model: model.name.clone(),
            route: model.route_beside(&model.name),
            limits,
            approval: bounds.approval.unwrap_or(approval),
            bounds,
            parent_call: place.parent_call,
            background: place.is_background,
            definition: place.definition,
        };
        let mut turn = Turn::new();
        turn.situate(place.situation);
        turn.apply(&started);
        let mut kinds = vec![started];
        if let Step::Record(mut kind) = turn.next()
            && !is_budgeted
        {
            if let Kind::StepStarted { quote, .. } = &mut kind {
                *quote = unbudgeted(self.models.price(&model.route));
            }
            turn.apply(&kind);
            kinds.push(kind);
        }
        (kinds, turn)
    }
}
