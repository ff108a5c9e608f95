//! A batch of calls: through the gate, intents kept before any effect, beside each other, each with
//! its timeout; every result is kept before the model is asked again.

use std::collections::{HashMap, VecDeque};
use std::future::pending;
use std::sync::Arc;

use futures_util::future::join_all;
use samovar_core::tool::{Sharing, UiEvent};
use samovar_core::{
    Broken, CallId, Closer, Effect, Kind, Millis, Outcome, Status, ToolCall, ToolReply, planted,
};
use serde_json::Value;
use tokio::task::{Id, JoinError, JoinSet};

use super::{FromTurn, Input, Newborn, Runner};
use crate::edges;
use crate::gate::{self, Verdict};
use crate::toolbox::{CurrentTools, Tool, outcome_of};
use crate::turn;

/// The calls of one step while they run.
pub(super) struct Calls<'a> {
    runner: &'a mut Runner,
    shelf: Arc<CurrentTools>,
    waiting: VecDeque<ToolCall>,
    running: JoinSet<ToolReply>,
    known: HashMap<Id, Running>,
}

struct Running {
    call: CallId,
    name: String,
    sharing: Sharing,
    closer: Closer,
}

type TaskResult = Result<(Id, ToolReply), JoinError>;

impl<'a> Calls<'a> {
    pub(super) fn new(runner: &'a mut Runner, calls: Vec<ToolCall>) -> Self {
        let shelf = runner.parts.toolbox.shelf();
        let (waiting, running, known) = (calls.into(), JoinSet::new(), HashMap::new());
        Self {
            runner,
            shelf,
            waiting,
            running,
            known,
        }
    }

    /// Runs all of them, or until the turn is stopped. What was noted last is kept by whoever goes
    /// on, so that the last result shares its commit with the next step.
    pub(super) async fn run(mut self) -> Result<(), Broken> {
        loop {
            while let Ok(input) = self.runner.inbox.try_recv() {
                if self.attend(input).await? {
                    return Ok(());
                }
            }
            // Somebody may have stopped the turn while an answer to a call waited for room.
            if self.runner.turn.is_over() {
                return Ok(());
            }
            self.start_some().await?;
            let waits = self.runner.is_stopping;
            if self.running.is_empty() && !waits || self.runner.turn.is_over() {
                return Ok(());
            }
            // All are safe to drop halfway: a task's result and a channel's items wait.
            tokio::select! {
                Some(joined) = self.running.join_next_with_id() => self.close(joined),
                Some(input) = self.runner.inbox.recv() => {
                    if self.attend(input).await? {
                        return Ok(());
                    }
                }
                // Its session is gone, and ends the task.
                else => pending().await,
            }
            // What is ready together shares a commit.
            self.close_ready();
            if !self.running.is_empty() {
                self.runner.keep().await?;
            }
            if self.runner.turn.is_over() {
                return Ok(());
            }
        }
    }

    fn close_ready(&mut self) {
        while let Some(joined) = self.running.try_join_next_with_id() {
            self.close(joined);
        }
    }

    /// Does what somebody sent to the turn; whether it is stopped. Its tasks end with the set, and
    /// results that are there already stay.
    async fn attend(&mut self, input: Input) -> Result<bool, Broken> {
        match input {
            Input::Settle(call, outcome, reply) => {
                self.runner.settle(call, outcome, reply).await?;
                Ok(false)
            }
            Input::Cancel(cancel) => {
                self.close_ready();
                Ok(self.runner.cancel(cancel))
            }
        }
    }

    /// Starts what there is room for. Intents are kept before any effect, those of calls that start
    /// together with one commit.
    async fn start_some(&mut self) -> Result<(), Broken> {
        let (mut admitted, mut delegated) = (Vec::new(), Vec::new());
        // What waits is found by whoever goes on when the person has answered.
        if self.runner.turn.asks_a_person() || self.runner.is_stopping {
            return Ok(());
        }
        while let Some(call) = self.waiting.pop_front() {
            match self.admit(&call) {
                Err(outcome) => self.refuse(call, outcome),
                Ok(tool) if tool.spec.closer == Closer::Child => delegated.push((call, tool)),
                Ok(tool) if self.has_room(&tool, &admitted) => admitted.push((call, tool)),
                Ok(_) => {
                    self.waiting.push_front(call);
                    break;
                }
            }
        }
        if admitted.is_empty() && delegated.is_empty() {
            return Ok(());
        }
        let Some(foreseen) = self.foresee(&admitted).await? else {
            return Ok(());
        };
        // It is to be stopped: nothing of it begins any more.
        if self.runner.is_stopping {
            return Ok(());
        }
        let Some(mut born) = self.delegate_all(delegated).await? else {
            return Ok(());
        };
        for ((call, tool), foreseen) in admitted.iter().zip(foreseen) {
            if !self.runner.turn.has_begun(&call.id) {
                self.intend(call, tool, foreseen);
            }
        }
        planted!("intent-after-effect", {
            for (call, tool) in admitted {
                self.spawn(call, tool);
            }
            tokio::time::sleep(std::time::Duration::from_millis(30)).await;
            return self.runner.keep().await;
        });
        self.runner.keep().await?;
        // Somebody may have stopped the turn while the intents waited for room.
        if self.runner.turn.is_over() {
            return Ok(());
        }
        let turn = &self.runner.turn;
        // What was to begin may have been taken back while it waited for room.
        born.retain(|(call, _)| turn.has_begun(call));
        for (call, tool) in admitted {
            let has_intent = self.runner.turn.has_begun(&call.id);
            if has_intent || !self.runner.is_stopping {
                self.spawn(call, tool);
            }
        }
        for (_, newborn) in born {
            // A session that ends meanwhile finds it in the log again.
            drop(
                self.runner
                    .session
                    .try_send(FromTurn::Born(Box::new(newborn))),
            );
        }
        Ok(())
    }

    /// Notes the starts of children; `None` if the turn is stopped meanwhile.
    async fn delegate_all(
        &mut self,
        calls: Vec<(ToolCall, Arc<Tool>)>,
    ) -> Result<Option<Vec<(CallId, Newborn)>>, Broken> {
        if !calls.is_empty() && self.runner.purse.is_some() {
            // What the last call used is kept before children may use what it has left over.
            self.runner.keep().await?;
            if self.runner.turn.is_over() || self.runner.is_stopping {
                return Ok(None);
            }
        }
        let mut born = Vec::new();
        for (call, tool) in calls {
            match self.runner.delegate(&call, &tool.spec).await {
                Ok(newborn) => born.push((call.id, newborn)),
                Err(outcome) => self.refuse(call, outcome),
            }
        }
        Ok(Some(born))
    }

    /// The gate: schema, policy (TL-4).
    fn admit(&self, call: &ToolCall) -> Result<Arc<Tool>, Outcome> {
        let has = |name: &str| self.runner.has_tool(name);
        let tool = self.shelf.find_of(call, has).map_err(Outcome::failed)?;
        let level = self
            .runner
            .turn
            .approval(self.runner.parts.settings.approval);
        match gate::judge(level, &tool.spec) {
            Verdict::Allow => Ok(tool),
            Verdict::Deny(why) => Err(Outcome::new(Status::Denied, format!("denied: {why}"))),
            Verdict::Ask(why) => {
                let why = format!(
                    "denied: {why}, which needs a person's approval at the level \"supervised\", \
                     and nobody can be asked here; start the server with --approval auto to allow it"
                );
                Err(Outcome::new(Status::Denied, why))
            }
        }
    }

    fn has_room(&self, tool: &Tool, admitted: &[(ToolCall, Arc<Tool>)]) -> bool {
        let count = self.running.len() + admitted.len();
        let alone = |sharing| sharing == Sharing::Exclusive;
        let someone_alone = self.known.values().any(|running| alone(running.sharing))
            || admitted.iter().any(|(_, other)| alone(other.spec.sharing));
        count == 0
            || !someone_alone
                && !alone(tool.spec.sharing)
                && count < self.runner.parts.settings.max_parallel_calls.max(1)
    }

    /// What the probes will need, should the server stop while the calls run; none when the turn is
    /// stopped meanwhile.
    async fn foresee(
        &mut self,
        admitted: &[(ToolCall, Arc<Tool>)],
    ) -> Result<Option<Vec<Option<Value>>>, Broken> {
        let looks = admitted.iter().map(|(call, tool)| {
            // What began before a stop of the server has its intent.
            let has_begun = self.runner.turn.has_begun(&call.id);
            async move {
                if has_begun {
                    None
                } else {
                    foresee(tool, call).await
                }
            }
        });
        let looks = join_all(looks);
        tokio::pin!(looks);
        loop {
            // Both are safe to drop halfway: a look changes nothing, a channel keeps its items.
            tokio::select! {
                foreseen = &mut looks => return Ok(Some(foreseen)),
                Some(input) = self.runner.inbox.recv() => {
                    if self.attend(input).await? || self.runner.turn.is_over() {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn intend(&mut self, call: &ToolCall, tool: &Tool, foreseen: Option<Value>) {
        let spec = &tool.spec;
        if spec.effect == Effect::Read && spec.closer == Closer::Tool {
            return;
        }
        let timeout = i64::try_from(spec.timeout.as_millis()).unwrap_or(i64::MAX);
        let deadline = match spec.closer {
            Closer::Tool => Some(Millis(self.runner.now().0.saturating_add(timeout))),
            Closer::Outside | Closer::Child | Closer::Person => None,
        };
        self.runner.note(Kind::CallStarted {
            call: call.id.clone(),
            name: call.name.clone(),
            effect: spec.effect,
            args_hash: gate::args_hash(&call.args),
            closer: spec.closer,
            deadline,
            probe: foreseen,
        });
    }

    fn spawn(&mut self, call: ToolCall, tool: Arc<Tool>) {
        let context = self.runner.context_of(&call);
        let running = Running {
            call: call.id.clone(),
            name: call.name.clone(),
            sharing: tool.spec.sharing,
            closer: tool.spec.closer,
        };
        let task = async move {
            edges::tool_before(tool.spec.effect);
            let said = tool.run(call, context).await;
            edges::tool_after(tool.spec.effect);
            said
        };
        let id = self.running.spawn(task).id();
        self.known.insert(id, running);
    }

    fn close(&mut self, joined: TaskResult) {
        let id = match &joined {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        let Some(running) = self.known.remove(&id) else {
            return;
        };
        let ran = joined.map(|(_, said)| said);
        let Some((outcome, shown)) = outcome_of(&running.name, running.closer, ran) else {
            return;
        };
        let turn = &self.runner.turn;
        if turn.is_over() || turn.is_closed(&running.call) {
            // Somebody outside was faster; behind the end of a turn there is nothing of it.
            return;
        }
        let (call, name, outcome) = (running.call, running.name, outcome.readable());
        if let Some(UiEvent { kind, payload }) = shown {
            let call = call.clone();
            self.runner.note(Kind::UiEvent {
                call,
                kind,
                payload,
            });
        }
        self.runner.note(Kind::CallClosed {
            call,
            name,
            outcome,
        });
    }

    fn refuse(&mut self, call: ToolCall, outcome: Outcome) {
        // One that had begun before a stop of the server may have happened, whatever holds it now.
        let outcome = if self.runner.turn.has_begun(&call.id) {
            turn::unknown(&format!(
                "it had begun before the server stopped, and {}",
                outcome.text
            ))
        } else {
            outcome
        };
        self.runner.note(Kind::CallClosed {
            call: call.id,
            name: call.name,
            outcome,
        });
    }
}

async fn foresee(tool: &Tool, call: &ToolCall) -> Option<Value> {
    match tool.spec.effect {
        Effect::Verifiable => tool.foresee(call).await,
        Effect::Read | Effect::Idempotent | Effect::Unsafe => None,
    }
}
