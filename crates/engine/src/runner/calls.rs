//! A batch of calls: through the gate, intents kept before any effect, beside each other, each with
//! its timeout; every result is kept before the model is asked again.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;

use futures_util::future::join_all;
use samovar_core::tool::{Sharing, UiEvent};
use samovar_core::{
    Broken, CallContext, CallId, Closer, Effect, Grounds, Kind, Millis, Outcome, OutsideText,
    ToolCall, ToolReply, planted,
};
use serde_json::Value;
use tokio::task::{Id, JoinError, JoinSet};

use super::state::Runner;
use crate::edges;
use crate::gate;
use crate::state::Claim;
use crate::taint::mark_search;
use crate::toolbox::{CurrentTools, Examined, Tool, outcome_of};

use self::approve::{Admission, Look, LookFor, look};
use self::progress::Reports;
use self::waiting::{Asking, Batch, Delegated, Start, Waiting};

mod approve;
mod progress;
mod waiting;

/// The calls of one step while they run.
pub(super) struct Calls<'a> {
    runner: &'a mut Runner,
    shelf: Arc<CurrentTools>,
    waiting: VecDeque<Waiting>,
    /// Whether something came for the turn: other calls can start than those that wait here.
    has_news: bool,
    running: JoinSet<ToolReply>,
    known: HashMap<Id, Running>,
    /// Calls that their tools gave up while clients were about to close them.
    given_up: Vec<(Running, Closing)>,
    reports: Reports,
}

struct Running {
    call: CallId,
    name: String,
    outside: Option<OutsideText>,
    /// Whether text from outside was there before it, and a person allowed it all the same.
    after_outside: Option<bool>,
    sharing: Sharing,
    closer: Closer,
}

type PendingLook = Pin<Box<dyn Future<Output = Look> + Send>>;

/// The outcome of a call, and what its tool shows.
type Closing = (Outcome, Option<UiEvent>);

type TaskResult = Result<(Id, ToolReply), JoinError>;

impl<'a> Calls<'a> {
    pub(super) fn new(runner: &'a mut Runner, calls: Vec<ToolCall>) -> Self {
        let shelf = runner.parts.toolbox.shelf();
        let waiting = calls.into_iter().map(Waiting::Called).collect();
        let (running, known) = (JoinSet::new(), HashMap::new());
        Self {
            runner,
            shelf,
            waiting,
            has_news: false,
            running,
            known,
            given_up: Vec::new(),
            reports: Reports::new(),
        }
    }

    /// Runs all of them. The caller keeps the last result, so that it shares its commit with the next
    /// step.
    pub(super) async fn run(mut self) -> Result<(), Broken> {
        loop {
            if self.runner.hears_news() {
                self.has_news = true;
                self.close_given_up();
            }
            self.look_again();
            self.start_some().await?;
            if self.running.is_empty() && self.given_up.is_empty() {
                return Ok(());
            }
            // All are safe to drop halfway: a task's result and a channel's items wait.
            tokio::select! {
                Some(joined) = self.running.join_next_with_id() => self.close(joined),
                Some((call, progress)) = self.reports.next() => {
                    self.show_progress(call, progress).await?;
                }
                () = self.runner.news.notified() => {
                    self.runner.catch_up();
                    self.has_news = true;
                    self.close_given_up();
                }
            }
            // What is ready together shares a commit.
            self.close_ready();
            if !self.running.is_empty() {
                self.runner.keep().await?;
            }
        }
    }

    fn close_given_up(&mut self) {
        for (running, closing) in std::mem::take(&mut self.given_up) {
            self.close_as(running, closing);
        }
    }

    fn close_ready(&mut self) {
        while let Some(joined) = self.running.try_join_next_with_id() {
            self.close(joined);
        }
    }

    /// Starts what there is room for, and asks about what a person decides. Intents and questions are
    /// kept before any effect, those of calls that start together with one commit.
    async fn start_some(&mut self) -> Result<(), Broken> {
        // The call is found again when the person has answered.
        if self.runner.turn.asks_a_person() {
            return Ok(());
        }
        let Batch {
            admitted,
            delegated,
            asking,
        } = self.admit_some();
        if admitted.is_empty() && delegated.is_empty() && asking.is_empty() {
            return Ok(());
        }
        let looks = self.look_at(&admitted, &asking);
        let mut looks = join_all(looks).await;
        // Looked at again only later: what is about to start is in no queue, and would get into one again.
        self.has_news |= self.runner.hears_news();
        let of_asking = looks.split_off(admitted.len());
        self.delegate_all(delegated).await?;
        let admitted = self.intend_all(admitted, looks);
        for ((examined, why), look) in asking.into_iter().zip(of_asking) {
            self.ask_about(&examined, why, look);
        }
        planted!("intent-after-effect", {
            for start in admitted {
                self.spawn(start);
            }
            tokio::time::sleep(std::time::Duration::from_millis(30)).await;
            return self.runner.keep().await;
        });
        self.runner.keep().await?;
        for start in admitted {
            self.spawn(start);
        }
        Ok(())
    }

    /// Passes what waits through the gate, as far as there is room. A call that is asked about holds
    /// back those after it, but others that are asked about may run with it.
    fn admit_some(&mut self) -> Batch {
        let mut batch = Batch::default();
        while let Some(waiting) = self.waiting.pop_front() {
            let examined = self.examine(&waiting);
            let admitted = examined.and_then(|it| Ok((self.admit(&it)?, it)));
            let (admission, examined) = match admitted {
                Err(outcome) => {
                    self.refuse(waiting.call(), outcome);
                    continue;
                }
                Ok(admitted) => admitted,
            };
            let (turn, spec) = (&self.runner.turn, &examined.tool.spec);
            // One before it may have been asked about since it began to wait.
            let is_free = turn.can_start(&examined.call.id);
            let is_held = !batch.asking.is_empty() && turn.allowed(&examined.call.id).is_none();
            match admission {
                Admission::Runs(grounds) if is_free && !is_held => {
                    if spec.closer == Closer::Child {
                        batch.delegated.push((examined, grounds));
                        continue;
                    }
                    if self.has_room(&examined.tool, &batch.admitted) {
                        let taint = &self.runner.session.taint;
                        if let (None, Some(address)) = (&grounds, examined.address()) {
                            taint.follow(address);
                        }
                        batch.admitted.push(Start {
                            examined,
                            grounds,
                            approved: None,
                            tainted: taint.is_tainted(),
                        });
                        continue;
                    }
                }
                Admission::Asks(why) => {
                    let with_others = spec.sharing == Sharing::Parallel;
                    let may_ask = is_free && (!is_held || with_others);
                    if self.has_room(&examined.tool, &batch.admitted) && may_ask {
                        batch.asking.push((examined, why));
                        continue;
                    }
                }
                Admission::Runs(_) => {}
            }
            self.waiting.push_front(Waiting::Examined(examined));
            break;
        }
        batch
    }

    /// Looks at what is about to run or to be asked about; the looks change nothing.
    fn look_at(&self, admitted: &[Start], asking: &[Asking]) -> Vec<PendingLook> {
        let starts = admitted.iter().map(|start| {
            let why = match start.grounds {
                _ if self.runner.turn.has_begun(&start.examined.call.id) => LookFor::Nothing,
                Some(Grounds::Approval(_)) => LookFor::Person,
                _ => LookFor::Probe,
            };
            (start.examined.clone(), why)
        });
        let asks = asking.iter();
        let asks = asks.map(|(examined, _)| (examined.clone(), LookFor::Person));
        let all = starts.chain(asks).map(|(examined, why)| {
            let look: PendingLook = Box::pin(async move { look(&examined, why).await });
            look
        });
        all.collect()
    }

    /// Notes the intents of what may run now; what is to be asked about again is.
    fn intend_all(&mut self, admitted: Vec<Start>, looks: Vec<Look>) -> Vec<Start> {
        let mut starts = Vec::with_capacity(admitted.len());
        let (mut asks_again, mut held) = (false, Vec::new());
        for (mut start, look) in admitted.into_iter().zip(looks) {
            let examined = &start.examined;
            if asks_again && self.runner.turn.allowed(&examined.call.id).is_none() {
                held.push(Waiting::Examined(start.examined));
                continue;
            }
            match look {
                Look::Begun => {}
                Look::Foreseen(foreseen) => self.intend(&start, foreseen),
                Look::Previewed(Ok(seen)) => {
                    if let Some(why) = self.has_changed(&examined.call, &seen) {
                        self.ask(&start.examined, why, seen);
                        asks_again = true;
                        continue;
                    }
                    start.approved.clone_from(&seen.foreseen);
                    self.intend(&start, seen.foreseen);
                }
                Look::Previewed(Err(outcome)) => {
                    self.refuse(&start.examined.call, outcome);
                    continue;
                }
            }
            starts.push(start);
        }
        for waiting in held.into_iter().rev() {
            self.waiting.push_front(waiting);
        }
        starts
    }

    fn ask_about(&mut self, examined: &Examined, why: String, look: Look) {
        match look {
            Look::Previewed(Ok(preview)) => self.ask(examined, why, preview),
            Look::Previewed(Err(outcome)) => self.refuse(&examined.call, outcome),
            Look::Begun | Look::Foreseen(_) => {}
        }
    }

    /// Notes the starts of children.
    async fn delegate_all(&mut self, calls: Vec<Delegated>) -> Result<(), Broken> {
        if !calls.is_empty() && self.runner.is_budgeted() {
            // What the last call used is kept before children may use what it has left over.
            self.runner.keep().await?;
        }
        for (examined, grounds) in calls {
            let (call, spec) = (&examined.call, &examined.tool.spec);
            if let Err(outcome) = self.runner.delegate(call, spec, grounds).await {
                self.refuse(call, outcome);
            }
        }
        Ok(())
    }

    fn has_room(&self, tool: &Tool, admitted: &[Start]) -> bool {
        let count = self.running.len() + admitted.len();
        let alone = |sharing| sharing == Sharing::Exclusive;
        let someone_alone = self.known.values().any(|running| alone(running.sharing))
            || admitted
                .iter()
                .any(|other| alone(other.examined.tool.spec.sharing));
        count == 0
            || !someone_alone
                && !alone(tool.spec.sharing)
                && count < self.runner.parts.settings.max_parallel_calls.max(1)
    }

    fn intend(&mut self, start: &Start, foreseen: Option<Value>) {
        let examined = &start.examined;
        let (call, spec) = (&examined.call, &examined.tool.spec);
        if !matches!(examined.outside(), None | Some(OutsideText::Marked)) {
            self.runner.taint();
        }
        // Who allows an address gives it.
        if let (Some(Grounds::Approval(_)), Some(address)) = (&start.grounds, examined.address()) {
            self.runner.session.taint.give(address);
        }
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
            grounds: start.grounds.clone(),
            tainted: start.tainted,
        });
    }

    fn spawn(&mut self, start: Start) {
        let Start {
            examined,
            grounds,
            approved,
            tainted,
        } = start;
        let after_outside = tainted.then_some(grounds.is_some());
        let by_rule = grounds.is_some_and(|it| !matches!(it, Grounds::Approval(_)));
        let context = CallContext {
            approved,
            tainted,
            by_rule,
            progress: self.reports.sink(&examined.call.id),
            ..self.runner.context_of(&examined.call)
        };
        let running = Running {
            call: examined.call.id.clone(),
            name: examined.call.name.clone(),
            outside: examined.outside(),
            after_outside,
            sharing: examined.tool.spec.sharing,
            closer: examined.tool.spec.closer,
        };
        let task = async move {
            edges::tool_before(examined.tool.spec.effect);
            let said = examined.run(context).await;
            edges::tool_after(examined.tool.spec.effect);
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
        if let Some(closing) = outcome_of(&running.name, running.closer, ran) {
            self.close_as(running, closing);
        }
    }

    fn close_as(&mut self, running: Running, (outcome, shown): Closing) {
        if running.closer != Closer::Tool {
            let state = &self.runner.session.state;
            match state.claim(&self.runner.turn_id, &running.call) {
                Claim::Granted => {}
                Claim::Taken => return self.given_up.push((running, (outcome, shown))),
                Claim::Closed => return,
            }
        }
        let (call, name, mut outcome) = (running.call, running.name, outcome.readable());
        if let Some(text) = running.outside {
            if text.is_in(&outcome) {
                self.runner.taint();
            }
            mark_search(&mut outcome, text, running.after_outside);
            self.runner.session.taint.read(text, &outcome);
        }
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

    fn refuse(&mut self, call: &ToolCall, outcome: Outcome) {
        // One that had begun before a stop of the server may have happened, whatever holds it now.
        let outcome = if self.runner.turn.has_begun(&call.id) {
            Outcome::unknown(format_args!(
                "it had begun before the server stopped, and {}",
                outcome.text
            ))
        } else {
            self.of_effect(&call.name, outcome)
        };
        self.runner.note(Kind::CallClosed {
            call: call.id.clone(),
            name: call.name.clone(),
            outcome,
        });
    }
}
