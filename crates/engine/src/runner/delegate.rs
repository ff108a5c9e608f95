//! A call that another agent answers: checked, and kept with the start of that agent's turn in one
//! commit, so that no restart begins a second one (SA-7).

use std::sync::Arc;

use samovar_core::{
    Agent, AgentPath, Approval, Author, Bounds, Kind, Message, MessageId, Model, Outcome, Part,
    Role, Situation, ToolCall, ToolSpec, TurnId,
};
use serde_json::json;

use super::Runner;
use crate::delegation::{self, Caller, Order, Refusal};
use crate::gate;
use crate::log::Draft;
use crate::posted::Filling;
use crate::session::Slot;
use crate::turn::{Place, Turn};

/// A child whose start is kept and which is to run.
pub(crate) struct Newborn {
    pub(crate) turn_id: TurnId,
    pub(crate) agent: AgentPath,
    /// The turn that called it.
    pub(crate) parent: TurnId,
    pub(crate) turn: Turn,
    pub(crate) model: Model,
    /// The message that it begins with.
    pub(crate) said: Arc<Message>,
    pub(crate) slot: Slot,
}

impl Runner {
    /// Admits a call that another agent is to answer, and notes its start and that of the child.
    pub(super) async fn delegate(
        &mut self,
        call: &ToolCall,
        spec: &ToolSpec,
    ) -> Result<Newborn, Outcome> {
        let newborn = self.conceive(call, spec).await;
        newborn.map_err(|refusal| refusal.outcome())
    }

    async fn conceive(&mut self, call: &ToolCall, spec: &ToolSpec) -> Result<Newborn, Refusal> {
        let order = Order::read(call)?;
        let is_background = spec.name == delegation::SPAWN;
        let (slot, in_tree) = self.slots.take();
        let caller = Caller {
            agent: &self.definition,
            path: &self.agent,
            children: self.turn.delegated_calls().count(),
            in_tree,
            posted: self.turn.posted().map(AsRef::as_ref),
        };
        let agents = self.parts.agents.as_ref();
        let mut definition = delegation::admit(&caller, &order, is_background, agents)?;
        let situation = self.situation_below(&order)?;
        self.settle_in(&mut definition, &order, situation.as_deref());
        let model = self.model_for(&definition, &order).await?;
        let agent = self.agent.child(definition.name.as_str());
        let turn_id = TurnId::fresh(self.parts.ids.as_ref());
        let said = Arc::new(self.task(call, &definition, &order));
        let bounds = self.bounds_below(&definition);
        let approval = definition.approval.unwrap_or(Approval::Auto);
        let approval = approval.max(self.turn.approval(self.parts.settings.approval));
        let place = Place {
            parent_call: Some(call.id.clone()),
            is_background,
            definition: Some(Arc::new(definition)),
            situation: situation.clone(),
        };
        let (kinds, turn) = self.parts.begin_as(&model, bounds, approval, place);
        self.note(Kind::CallStarted {
            call: call.id.clone(),
            name: call.name.clone(),
            effect: spec.effect,
            args_hash: gate::args_hash(&call.args),
            closer: spec.closer,
            deadline: None,
            probe: Some(json!({"turn": turn_id.as_str()})),
        });
        let finished = Kind::begun_by(Message::clone(&said), situation);
        let first = (Author::Agent, finished);
        let start = kinds.into_iter().map(|kind| (Author::System, kind));
        for (author, kind) in [first].into_iter().chain(start) {
            self.pending.push(Draft {
                turn: Some(turn_id.clone()),
                agent: Some(agent.clone()),
                author,
                kind,
            });
        }
        if is_background {
            let said = json!({"ok": true, "turnId": turn_id.as_str()});
            self.note(Kind::CallClosed {
                call: call.id.clone(),
                name: call.name.clone(),
                outcome: Outcome::done(said.to_string()).with_data(said),
            });
        }
        Ok(Newborn {
            turn_id,
            agent,
            parent: self.turn_id.clone(),
            turn,
            model,
            said,
            slot,
        })
    }

    /// The child's model: the one that the caller wants, else its own, else the caller's.
    async fn model_for(&self, definition: &Agent, order: &Order) -> Result<Model, Refusal> {
        let of_agent = definition.model.as_ref().map(|model| model.name.as_str());
        let name = order.model().or(of_agent);
        let found = self.parts.models.find(name.unwrap_or(self.turn.route()));
        found.await.map_err(|error| Refusal {
            code: "SUBAGENT_MODEL",
            why: error.message.into_owned(),
        })
    }

    fn task(&self, call: &ToolCall, definition: &Agent, order: &Order) -> Message {
        let id = MessageId::fresh(self.parts.ids.as_ref());
        let parts = vec![Part::text(order.words())];
        let mut message = Message::new(id, Role::User, parts, self.now());
        message.parent = self.turn.answer().cloned();
        delegation::describe(&mut message, &definition.display_name, &call.id);
        message
    }

    /// Fits a definition to the situation in which its agent works. The prompt of a copy is filled
    /// already.
    fn settle_in(&self, definition: &mut Agent, order: &Order, situation: Option<&Situation>) {
        if let Some(mode) = situation.and_then(|situation| situation.mode.as_ref()) {
            definition.denied.extend(mode.denied.iter().cloned());
        }
        if order.name.is_none() {
            return;
        }
        let filling = Filling {
            agent: &definition.name,
            now: self.now(),
            situation,
        };
        definition.system_prompt = filling.fill(&definition.system_prompt);
    }

    /// The child's situation: its caller's, in a mode that may take more away.
    fn situation_below(&self, order: &Order) -> Result<Option<Arc<Situation>>, Refusal> {
        let place = self.turn.place();
        let Some(wanted) = order.mode() else {
            return Ok(place.situation.clone());
        };
        let modes = &self.parts.settings.agent_modes;
        let mode = modes
            .narrow(place.mode(), wanted)
            .map_err(|widening| delegation::bad_mode(wanted, widening))?;
        let context = self.turn.posted().cloned();
        Ok(Situation { context, mode }.shared())
    }

    /// What the caller's own message set holds below it too, within the child's ceiling.
    fn bounds_below(&self, definition: &Agent) -> Bounds {
        let bounds = self.turn.bounds();
        let level = bounds.approval;
        let level = level.map(|level| definition.within_ceiling(level));
        Bounds {
            max_iterations: definition.max_steps,
            budget_tokens: None,
            approval: level,
            no_input: bounds.no_input,
        }
    }
}
