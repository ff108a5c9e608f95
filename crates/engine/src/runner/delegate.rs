//! A call that another agent answers: checked, and kept with the start of that agent's turn in one
//! commit, so that no restart begins a second one (SA-7).

use std::sync::Arc;

use samovar_core::{
    Agent, AgentPath, Approval, Author, Bounds, Budget, Grounds, Kind, Message, MessageId, Model,
    Outcome, Part, Role, Situation, ToolCall, ToolSpec, TurnId, planted,
};
use serde_json::json;

use super::inbox::Newborn;
use super::state::Runner;
use crate::delegation::{self, Caller, Order, Refusal};
use crate::gate;
use crate::log::Draft;
use crate::posted::Filling;
use crate::told::Told;
use crate::turn::Place;

impl Runner {
    /// Admits a call that another agent is to answer, and notes its start and that of the child.
    pub(super) async fn delegate(
        &mut self,
        call: &ToolCall,
        spec: &ToolSpec,
        grounds: Option<Grounds>,
    ) -> Result<(), Outcome> {
        let newborn = self.conceive(call, spec, grounds).await;
        planted!("child-starts-twice", {
            let born = newborn.as_ref().ok().map(|newborn| &newborn.turn_id);
            let drafts = self.pending.iter();
            let of_child = drafts.filter(|draft| born.is_some() && draft.turn.as_ref() == born);
            let mut drafts: Vec<_> = of_child.cloned().collect();
            let again = TurnId::fresh(self.parts.ids.as_ref());
            for draft in &mut drafts {
                draft.turn = Some(again.clone());
                if let Kind::MessageFinished { message, .. } = &mut draft.kind {
                    message.id = MessageId::fresh(self.parts.ids.as_ref());
                }
            }
            self.pending.extend(drafts);
        });
        self.born
            .push(newborn.map_err(|refusal| refusal.outcome())?);
        Ok(())
    }

    async fn conceive(
        &mut self,
        call: &ToolCall,
        spec: &ToolSpec,
        grounds: Option<Grounds>,
    ) -> Result<Newborn, Refusal> {
        let order = Order::read(call)?;
        let is_background = spec.name == delegation::SPAWN;
        if is_background && self.turn.bounds().spawned >= delegation::MAX_SPAWNED {
            return Err(delegation::too_long_a_chain());
        }
        let (slot, taken) = self.session.slots.take(Some(self.turn_id.clone()));
        let results = self.session.state.lock().results();
        let caller = Caller {
            agent: &self.definition,
            path: &self.agent,
            children: taken.of_turn,
            // What a child in the background has left takes its place until it begins a turn.
            in_tree: taken.in_tree + results,
            posted: self.turn.posted().map(AsRef::as_ref),
        };
        let agents = self.parts.agents.as_ref();
        let mut definition = delegation::admit(&caller, &order, is_background, agents)?;
        let situation = self.situation_below(&order)?;
        self.settle_in(&mut definition, &order, situation.as_deref());
        let model = self.model_for(&definition, &order).await?;
        let agent = self.agent.child(definition.name.as_str());
        let turn_id = TurnId::fresh(self.parts.ids.as_ref());
        let said = self.task(call, &definition, &order);
        let budget = self.allot(&model, is_background.then_some(&turn_id))?;
        let mut bounds = self.bounds_below(&definition, budget);
        bounds.spawned += u32::from(is_background);
        let draws = !is_background && self.is_budgeted();
        let approval = definition.approval.unwrap_or(Approval::Auto);
        let approval = approval.max(self.turn.approval(self.parts.settings.approval));
        let told = self.tell_child(&definition, &agent, situation.as_deref());
        let told = told.await;
        let definition = Arc::new(definition);
        let place = Place {
            parent_call: Some(call.id.clone()),
            is_background,
            definition: Some(definition.clone()),
            situation: situation.clone(),
        };
        let (mut kinds, turn) = self.parts.begin_as(&model, bounds, approval, place, draws);
        self.parts.mark(&definition, &told, &mut kinds, &turn);
        let tainted = self.session.taint.is_tainted();
        self.note(begun(call, spec, (grounds, tainted), &turn_id));
        let first = Kind::begun_by(said, situation);
        self.note_first(&turn_id, &agent, first, kinds);
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
            model,
            slot,
            told,
        })
    }

    /// Reads what a child is told.
    fn tell_child(
        &self,
        definition: &Agent,
        agent: &AgentPath,
        situation: Option<&Situation>,
    ) -> impl Future<Output = Told> {
        let session = self.of_session.for_agent(agent);
        self.parts.tell(definition, agent, session, situation)
    }

    /// Notes the first facts of a child: its message, then its start.
    fn note_first(&mut self, turn: &TurnId, agent: &AgentPath, first: Kind, kinds: Vec<Kind>) {
        let first = (Author::Agent, first);
        let start = kinds.into_iter().map(|kind| (Author::System, kind));
        for (author, kind) in [first].into_iter().chain(start) {
            let draft = Draft::new(Some(turn.clone()), author, kind);
            self.pending.push(draft.of(agent));
        }
    }

    /// The child's model: the one that the caller wants, else its own, else the caller's.
    async fn model_for(&mut self, definition: &Agent, order: &Order) -> Result<Model, Refusal> {
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
        delegation::describe(&mut message, &definition.display_name, Some(&call.id));
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
        let own = place.situation.as_ref();
        let environment = own.and_then(|situation| situation.environment.clone());
        let below = Situation {
            context,
            mode,
            environment,
            is_guests: own.is_some_and(|situation| situation.is_guests),
        };
        Ok(below.shared())
    }

    /// What the caller's own message set holds below it too, within the child's ceiling.
    fn bounds_below(&self, definition: &Agent, budget: Budget) -> Bounds {
        let bounds = self.turn.bounds();
        let level = bounds.approval;
        let level = level.map(|level| definition.within_ceiling(level));
        let steps = [bounds.max_iterations, definition.max_steps];
        Bounds {
            max_iterations: steps.into_iter().flatten().min(),
            budget,
            approval: level,
            no_input: bounds.no_input,
            spawned: bounds.spawned,
        }
    }
}

/// The start of a call that a child answers.
fn begun(
    call: &ToolCall,
    spec: &ToolSpec,
    (grounds, tainted): (Option<Grounds>, bool),
    child: &TurnId,
) -> Kind {
    Kind::CallStarted {
        call: call.id.clone(),
        name: call.name.clone(),
        effect: spec.effect,
        args_hash: gate::args_hash(&call.args),
        closer: spec.closer,
        deadline: None,
        probe: Some(json!({"turn": child.as_str()})),
        grounds,
        tainted,
    }
}
