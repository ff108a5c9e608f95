//! A model that answers by a script, without a socket.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use samovar_core::error::FaultCode;
use samovar_core::provider::{Answer, ContextNumbers, ModelKind};
use samovar_core::{
    Code, Error, Future, Model, Models, Price, Prompt, Provider, ProviderEvent, Role, Usage,
};
use serde_json::Value;
use tokio::sync::watch;

/// Holds answers back until the test opens it; it stays open.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<watch::Sender<bool>>);

impl Gate {
    /// Lets everything through from now on.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    /// Waits until it is open.
    pub async fn passed(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        self.0.subscribe().wait_for(|open| *open).await.ok();
    }
}

/// One answer, read by read.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    reads: Vec<Vec<ProviderEvent>>,
    /// Each holds back the read with this number and all after it.
    gates: Vec<(usize, Gate)>,
    usage: Usage,
    finish: Option<&'static str>,
}

/// Says a text, one word a read.
pub fn say(text: &str) -> Reply {
    let delta = |word: &str| vec![ProviderEvent::TextDelta(word.to_owned())];
    Reply {
        reads: text.split_inclusive(' ').map(delta).collect(),
        ..Reply::default()
    }
}

/// Thinks, and says nothing.
pub fn think(text: &str) -> Reply {
    Reply {
        reads: vec![vec![ProviderEvent::ReasoningDelta(text.to_owned())]],
        ..Reply::default()
    }
}

/// Calls a tool.
pub fn call(name: &str, args: Value) -> Reply {
    Reply::default().and_call(name, args)
}

/// Fails.
pub fn fail(code: FaultCode, message: &str) -> Reply {
    Reply::default().and_fail(code, message)
}

impl Reply {
    /// Calls a tool as well.
    #[must_use]
    pub fn and_call(mut self, name: &str, args: Value) -> Self {
        let (id, name) = (self.reads.len().to_string(), name.to_owned());
        let start = ProviderEvent::ToolCallStart {
            id: id.clone(),
            name: name.clone(),
        };
        let end = ProviderEvent::ToolCallEnd {
            id,
            name,
            args,
            provider_state: None,
        };
        self.reads.push(vec![start, end]);
        self
    }

    /// Says this as well, in a read of its own.
    #[must_use]
    pub fn and_read(mut self, event: ProviderEvent) -> Self {
        self.reads.push(vec![event]);
        self
    }

    /// Breaks off.
    #[must_use]
    pub fn and_fail(mut self, code: FaultCode, message: &str) -> Self {
        self.reads.push(vec![ProviderEvent::Failed {
            code,
            message: message.to_owned(),
            retry_after: None,
            context: ContextNumbers::default(),
            is_final: false,
        }]);
        self
    }

    /// The numbers of a prompt that is too long.
    #[must_use]
    pub fn context(mut self, used: u64, limit: u64) -> Self {
        for event in self.reads.iter_mut().flatten() {
            if let ProviderEvent::Failed { context, .. } = event {
                (context.used, context.limit) = (Some(used), Some(limit));
            }
        }
        self
    }

    /// How long its failure asks to wait.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        for event in self.reads.iter_mut().flatten() {
            if let ProviderEvent::Failed { retry_after, .. } = event {
                *retry_after = Some(wait);
            }
        }
        self
    }

    /// Ends in this word of the provider.
    #[must_use]
    pub fn finish(mut self, word: &'static str) -> Self {
        self.finish = Some(word);
        self
    }

    /// Says nothing until the gate is open.
    #[must_use]
    pub fn hold(self, gate: &Gate) -> Self {
        self.hold_after(0, gate)
    }

    /// Waits for the gate after so many reads.
    #[must_use]
    pub fn hold_after(mut self, reads: usize, gate: &Gate) -> Self {
        self.gates.push((reads, gate.clone()));
        self
    }

    /// What it costs.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        (self.usage.input, self.usage.output) = (input, output);
        self
    }

    fn stream(self) -> Answer {
        let Self {
            mut reads,
            gates,
            usage,
            finish,
        } = self;
        let is = |wanted: fn(&ProviderEvent) -> bool| reads.iter().flatten().any(wanted);
        if !is(|event| matches!(event, ProviderEvent::Failed { .. })) {
            let calls = is(|event| matches!(event, ProviderEvent::ToolCallEnd { .. }));
            let own = if calls { "tool_calls" } else { "stop" };
            reads.push(vec![ProviderEvent::MessageComplete {
                finish_reason: finish.unwrap_or(own).to_owned(),
                usage,
            }]);
        }
        let reads = stream::iter(reads).enumerate();
        Box::pin(reads.then(move |(number, read)| {
            let held = gates.iter().filter(|(at, _)| *at == number);
            let held: Vec<_> = held.map(|(_, gate)| gate.clone()).collect();
            async move {
                for gate in held {
                    gate.passed().await;
                }
                // Each read of a socket lets others run.
                tokio::task::yield_now().await;
                read
            }
        }))
    }
}

/// The text that the user said last.
pub fn user(prompt: &Prompt) -> String {
    let mut from_last = prompt.messages.iter().rev();
    let of_user = from_last.find(|message| message.role == Role::User);
    of_user.map(|message| message.text()).unwrap_or_default()
}

/// How many messages have results of tools since the user spoke.
pub fn results(prompt: &Prompt) -> usize {
    let from_last = prompt.messages.iter().rev();
    let since = from_last.take_while(|message| message.role != Role::User);
    since.filter(|message| message.role == Role::Tool).count()
}

/// A model under whatever name, and the table that has it.
#[derive(Clone, Default)]
pub struct ScriptedModel(Arc<Script>);

type Answers = dyn Fn(&Prompt) -> Reply + Send + Sync;

#[derive(Default)]
struct Script {
    replies: Mutex<VecDeque<Reply>>,
    /// Answers in place of the replies.
    by: Option<Box<Answers>>,
    asked: watch::Sender<Vec<Prompt>>,
    lost: Mutex<Vec<String>>,
    /// Names that are known only once they were looked for.
    hidden: Mutex<Vec<String>>,
    /// Where names lead that are not their own, the newest last.
    led: Mutex<Vec<(String, String)>>,
    price: Mutex<Option<Price>>,
    /// Whether it takes no images.
    is_blind: AtomicBool,
}

impl ScriptedModel {
    /// Gives these answers, one after the other, and fails after the last.
    pub fn answering(replies: impl IntoIterator<Item = Reply>) -> Self {
        let model = Self::default();
        model.will(replies);
        model
    }

    /// Gives these answers after those that it was to give.
    pub fn will(&self, replies: impl IntoIterator<Item = Reply>) {
        self.replies().extend(replies);
    }

    /// Forgets the answers that it was to give.
    pub fn forget(&self) {
        self.replies().clear();
    }

    /// Answers what a function of the test says.
    pub fn by(answer: impl Fn(&Prompt) -> Reply + Send + Sync + 'static) -> Self {
        Self(Arc::new(Script {
            by: Some(Box::new(answer)),
            ..Script::default()
        }))
    }

    fn replies(&self) -> MutexGuard<'_, VecDeque<Reply>> {
        let replies = self.0.replies.lock();
        replies.unwrap_or_else(PoisonError::into_inner)
    }

    /// What it was asked, oldest first.
    pub fn prompts(&self) -> Vec<Prompt> {
        self.0.asked.borrow().clone()
    }

    /// Waits until it was asked so often.
    pub async fn seen(&self, count: usize) {
        let mut asked = self.0.asked.subscribe();
        // The sender lives in `self`, so waiting cannot fail.
        asked.wait_for(|prompts| prompts.len() >= count).await.ok();
    }

    /// Takes a name out of the table.
    pub fn lose(&self, name: &str) {
        self.lost().push(name.to_owned());
    }

    /// Lets a name be known only to who looks for it.
    pub fn hide(&self, name: &str) {
        let hidden = self.0.hidden.lock();
        let mut hidden = hidden.unwrap_or_else(PoisonError::into_inner);
        hidden.push(name.to_owned());
    }

    /// Lets a name lead to another model from now on.
    pub fn lead(&self, name: &str, to: &str) {
        let led = self.0.led.lock();
        let mut led = led.unwrap_or_else(PoisonError::into_inner);
        led.push((name.to_owned(), to.to_owned()));
    }

    /// Takes no images from now on.
    pub fn is_blind(&self) {
        self.0.is_blind.store(true, Ordering::Relaxed);
    }

    /// What all names cost from now on.
    pub fn costs(&self, price: Price) {
        let own = self.0.price.lock();
        *own.unwrap_or_else(PoisonError::into_inner) = Some(price);
    }

    fn lost(&self) -> MutexGuard<'_, Vec<String>> {
        let lost = self.0.lost.lock();
        lost.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Models for ScriptedModel {
    fn resolve(&self, name: &str) -> Result<Model, Error> {
        self.claim(name)?;
        let hidden = self.0.hidden.lock();
        let hidden = hidden.unwrap_or_else(PoisonError::into_inner);
        if hidden.iter().any(|hidden| hidden == name) {
            return Err(Error::new(
                Code::UnusableModel,
                "the model is not known yet",
            ));
        }
        let led = self.0.led.lock();
        let led = led.unwrap_or_else(PoisonError::into_inner);
        let found = led.iter().rfind(|(from, _)| from == name);
        let route = found.map_or(name, |(_, to)| to);
        // `near/named` is the model `named` of the server `near`.
        let name = route.rsplit_once('/').map_or(route, |(_, name)| name);
        Ok(Model {
            window: None,
            is_blind: self.0.is_blind.load(Ordering::Relaxed),
            name: name.to_owned(),
            endpoint_name: route.to_owned(),
            route: route.to_owned(),
            kind: ModelKind::Local,
            provider: Arc::new(self.clone()),
        })
    }

    fn claim(&self, name: &str) -> Result<(), Error> {
        if self.lost().iter().any(|lost| lost == name) {
            return Err(Error::new(Code::UnusableModel, "the model is gone"));
        }
        Ok(())
    }

    fn price(&self, _name: &str) -> Option<Price> {
        *self.0.price.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_for<'a>(&'a self, name: &'a str) -> Future<'a, ()> {
        let hidden = self.0.hidden.lock();
        let mut hidden = hidden.unwrap_or_else(PoisonError::into_inner);
        hidden.retain(|hidden| hidden != name);
        Box::pin(std::future::ready(()))
    }

    fn find<'a>(&'a self, name: &'a str) -> Future<'a, Result<Model, Error>> {
        Box::pin(async move {
            self.look_for(name).await;
            self.resolve(name)
        })
    }

    fn default_name(&self) -> Future<'_, Result<String, Error>> {
        Box::pin(std::future::ready(Ok("scripted".to_owned())))
    }
}

impl Provider for ScriptedModel {
    fn stream(&self, prompt: Prompt) -> Answer {
        let next = || self.replies().pop_front();
        let none_left = || fail(FaultCode::ProviderRejected, "the script is over");
        let reply = match &self.0.by {
            Some(by) => by(&prompt),
            None => next().unwrap_or_else(none_left),
        };
        self.0.asked.send_modify(|asked| asked.push(prompt));
        reply.stream()
    }
}
