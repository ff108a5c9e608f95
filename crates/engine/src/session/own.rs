//! A session begins with its own agent, which is looked up again for each of its turns.

use std::sync::Arc;

use samovar_core::command::{Change, Opening, Post, Text};
use samovar_core::error::FaultCode;
use samovar_core::{
    Action, Agent, AgentName, AgentPath, Author, Beginner, Bounds, Code, Delivery, Error, Event,
    Image, Kind, Message, MessageId, Model, Part, Role, Sender, Situation,
};
use samovar_locale as locale;
use serde_json::json;

use super::{Mailbox, OpenSession};
use crate::keep::Session;
use crate::log::{Draft, MASTER};
use crate::parts::{Parts, refusal};
use crate::posted::Filling;
use crate::state::State;
use crate::told::Told;
use crate::turn::{Place, Turn};

impl Mailbox {
    /// Refuses what only the owner may ask for: a level that is wider than the session's, and an
    /// environment, which says what commands may read.
    pub(super) fn check_level(&self, action: &Action, by: &Sender) -> Result<(), Error> {
        if let Action::Post(Post { posted, .. }) = action
            && posted.environment().is_some()
            && !by.may_widen()
        {
            let why = locale::request::environment_of_another();
            return Err(Error::new(Code::Forbidden, why));
        }
        let asked = match action {
            Action::Open(Opening { approval, .. }) | Action::Change(Change { approval, .. }) => {
                *approval
            }
            Action::Copy(copy) => copy.session.approval,
            Action::Post(Post { bounds, .. }) => bounds.approval,
            _ => None,
        };
        let open = self.open.as_ref();
        let of_session = open.and_then(|open| open.state().approval);
        let level = of_session.unwrap_or(self.parts.settings.approval);
        match asked {
            Some(asked) if asked < level && !by.may_widen() => {
                let why = locale::request::wider_approval(asked.as_str(), level.as_str());
                Err(Error::new(Code::Forbidden, why))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Creates the session, unless it exists.
    pub(super) async fn create(&mut self, opening: Opening, by: Beginner) -> Result<(), Error> {
        let Opening {
            model,
            metadata,
            agent,
            system_prompt,
            approval,
        } = opening;
        if self.open.is_some() {
            return Ok(());
        }
        self.id.check_new("sessionId")?;
        let own = agent.as_ref().map_or(MASTER, AgentName::as_str);
        let of_agent = self.parts.own_agent(own)?.model.clone();
        let model = match model.or(of_agent.map(|model| model.name)) {
            Some(model) => {
                self.parts.models.look_for(&model).await;
                self.parts.models.claim(&model).map(|()| model)?
            }
            None => self.parts.models.default_name().await?,
        };
        let found = self.parts.models.resolve(&model).ok();
        let route = found.and_then(|found| found.route_beside(&model));
        let opened = Kind::SessionOpened {
            model,
            route,
            metadata,
            system_prompt,
            approval,
            begun_by: Some(by),
        };
        let draft = Draft::new(None, Author::User, opened);
        let begun = self.begin(AgentPath::root(own), vec![draft]);
        begun.await.map(drop)
    }

    /// Keeps the first facts of a session with one commit.
    pub(super) async fn begin(
        &mut self,
        own: AgentPath,
        drafts: Vec<Draft>,
    ) -> Result<(&mut OpenSession, Vec<Arc<Event>>), Error> {
        let log = self.new_log(own);
        self.parts.projector.begin(&log, self.last_head);
        let state = State::new(self.parts.settings.max_history_messages);
        let session = Session::new(self.parts.clone(), log, state);
        let kept = session.keep(drafts).await.map_err(|broken| {
            self.parts.projector.forget(session.log.number());
            refusal(broken)
        })?;
        Ok((self.open.insert(OpenSession::new(session)), kept))
    }
}

impl Parts {
    /// The definition of a session's own agent as it is now.
    ///
    /// # Errors
    /// [`Code::UnknownAgent`] when there is none of this name, [`Code::UnusableAgent`] when it is
    /// invalid or switched off.
    pub(super) fn own_agent(&self, name: &str) -> Result<Arc<Agent>, Error> {
        if name == MASTER {
            return Ok(self.master.clone());
        }
        let Some(entry) = self.agents.find(name) else {
            let why = locale::agent::unknown(locale::quoted(name));
            return Err(Error::new(Code::UnknownAgent, why));
        };
        let unusable = match entry.invalid {
            Some(why) => why,
            None if !entry.enabled => locale::agent::switched_off().to_owned(),
            None => return Ok(entry.agent),
        };
        let why = locale::agent::not_usable(name, unusable);
        Err(Error::new(Code::UnusableAgent, why))
    }

    /// What the next turn of a session's own agent works with.
    ///
    /// # Errors
    /// Why it cannot begin, as the refusal of a message and as the fault of a turn.
    pub(super) async fn equip(
        &self,
        open: &OpenSession,
        bounds: Bounds,
    ) -> Result<(Model, Arc<Agent>), (FaultCode, Error)> {
        let agent = self.own_agent(open.session.log.own().name());
        let agent = agent.map_err(|error| (FaultCode::UnusableAgent, error))?;
        let name = open.state().model.clone();
        let model = self.models.find(&name).await;
        let priced = model.and_then(|model| {
            self.check_price(&model, bounds)?;
            Ok(model)
        });
        let model = priced.map_err(|error| (FaultCode::UnusableModel, error))?;
        Ok((model, agent))
    }

    /// The first facts of a turn of the session's own agent, which share the commit of whatever started
    /// it (DU-4), and what its agent is told.
    pub(super) async fn begin(
        &self,
        open: &OpenSession,
        (model, agent): (&Model, &Arc<Agent>),
        asked: Bounds,
        situation: Option<Arc<Situation>>,
        message: &Message,
    ) -> (Vec<Kind>, Told) {
        let bounds = Bounds {
            approval: asked.approval.map(|level| agent.within_ceiling(level)),
            ..asked
        };
        let approval = agent.within_ceiling(self.settings.approval);
        let definition = self.definition_of(agent, situation.as_deref());
        let told_as = definition.clone().unwrap_or_else(|| agent.clone());
        let own = open.session.log.own();
        let gives = open.gives().asked(Some(message));
        let told = self.tell(&told_as, own, gives, situation.as_deref());
        let told = told.await;
        let place = Place {
            definition,
            situation,
            ..Place::default()
        };
        let (mut kinds, turn) = self.begin_as(model, bounds, approval, place, false);
        self.mark(&told_as, &told, &mut kinds, &turn);
        (kinds, told)
    }

    /// The model with which a turn continues: its own, with which a fallback that is lost can be
    /// replaced by the next, else the fallback in use.
    pub(super) async fn model_of(&self, turn: &Turn) -> Result<Model, Error> {
        match self.models.find(turn.route()).await {
            Err(_) if turn.route() != turn.asked_route() => {
                self.models.find(turn.asked_route()).await
            }
            found => found,
        }
    }

    /// The message that a person sends.
    pub(super) fn user_message(
        &self,
        id: Option<MessageId>,
        text: Text,
        images: &[Image],
    ) -> Message {
        let text = Part::text(text.into_string());
        let images = images.iter().map(Part::from);
        let fresh = || MessageId::fresh(self.ids.as_ref());
        Message::new(
            id.unwrap_or_else(fresh),
            Role::User,
            [text].into_iter().chain(images).collect(),
            self.clock.now(),
        )
    }

    /// The definition that is stored with a turn; `None` for the server's own master.
    fn definition_of(
        &self,
        agent: &Arc<Agent>,
        situation: Option<&Situation>,
    ) -> Option<Arc<Agent>> {
        let mode = situation.and_then(|situation| situation.mode.as_ref());
        let denied = mode.map(|mode| mode.denied.clone()).unwrap_or_default();
        if Arc::ptr_eq(agent, &self.master) && denied.is_empty() {
            return None;
        }
        let filling = Filling {
            agent: &agent.name,
            now: self.clock.now(),
            situation,
        };
        Some(Arc::new(Agent {
            system_prompt: filling.fill(&agent.system_prompt),
            denied: &agent.denied | &denied,
            ..Agent::clone(agent)
        }))
    }

    /// The situation that a message brings its turn.
    ///
    /// # Errors
    /// [`Code::InvalidParams`] when its mode is unknown, or when it may join another turn, which has
    /// its own.
    pub(super) fn situation(&self, post: &Post) -> Result<Option<Arc<Situation>>, Error> {
        if post.delivery == Delivery::Steer && !post.posted.is_empty() {
            let details = json!({"parameter": "delivery"});
            let why = locale::request::steers_with_context();
            return Err(Error::new(Code::InvalidParams, why).with_details(details));
        }
        let situation = Situation {
            context: post.posted.context().cloned(),
            mode: self.settings.agent_modes.decide(&post.posted)?,
            environment: post.posted.environment().cloned(),
            is_guests: post.posted.is_guests(),
        };
        Ok(situation.shared())
    }
}
