//! The world outside the engine: a model that does what its user's message says, and tools of all
//! four classes, which remember what was done. It outlives every server.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use samovar_core::error::FaultCode;
use samovar_core::provider::{Answer, ModelKind};
use samovar_core::tool::{Origin, Sharing};
use samovar_core::{
    Asks, CallContext, CallId, Clock, Closer, Effect, Error, Future, Ids, Millis, Model, Models,
    Outcome, Probed, Prompt, Provider, ProviderEvent, Reply, Role, ToolCall, ToolSpec, Toolset,
    Usage,
};
use serde_json::{Value, json};

use super::mortal::Life;

/// The tools: a name for each class.
pub(super) const TOOLS: [(&str, Effect); 4] = [
    ("look", Effect::Read),
    ("note", Effect::Idempotent),
    ("mark", Effect::Verifiable),
    ("pay", Effect::Unsafe),
];

/// What was done, in all lives.
#[derive(Default)]
pub(super) struct World {
    ticks: AtomicU64,
    /// How often each call was run, by its key.
    pub(super) ran: Mutex<HashMap<CallId, (Effect, u32)>>,
    /// How often the model was asked for the first answer to a text.
    asked: Mutex<HashMap<String, u32>>,
}

impl Clock for World {
    fn now(&self) -> Millis {
        let ticks = self.ticks.fetch_add(1, Ordering::SeqCst);
        Millis(4_000_000_000_000 + i64::try_from(ticks).unwrap())
    }
}

impl Ids for World {
    fn uuid(&self) -> String {
        format!("id-{}", self.ticks.fetch_add(1, Ordering::SeqCst))
    }
}

/// What the model is to do, as its user's message says it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    /// Which tools it calls, a bit for each.
    pub(super) tools: u8,
    /// Whether its first answer breaks off.
    pub(super) fails: bool,
}

impl Wish {
    pub(super) fn text(self, number: usize) -> String {
        format!("{number} {} {}", self.tools, u8::from(self.fails))
    }

    fn read(text: &str) -> Self {
        let mut words = text
            .split(' ')
            .skip(1)
            .map(|word| word.parse::<u8>().unwrap());
        Self {
            tools: words.next().unwrap(),
            fails: words.next().unwrap() == 1,
        }
    }
}

/// The world as one life sees it.
#[derive(Clone)]
pub(super) struct Outside(pub(super) Arc<World>, pub(super) Arc<Life>);

impl Models for Outside {
    fn resolve(&self, name: &str) -> Result<Model, Error> {
        Ok(Model {
            name: name.to_owned(),
            endpoint_name: name.to_owned(),
            kind: ModelKind::Local,
            provider: Arc::new(self.clone()),
        })
    }

    fn claim(&self, _name: &str) -> Result<(), Error> {
        Ok(())
    }

    fn default_name(&self) -> Future<'_, Result<String, Error>> {
        Box::pin(std::future::ready(Ok("scripted".to_owned())))
    }
}

impl Provider for Outside {
    fn stream(&self, prompt: Prompt) -> Answer {
        if self.1.is_dead() {
            return Box::pin(stream::pending());
        }
        let mut behind = prompt.messages.iter().rev();
        let of_user = behind.find(|message| message.role == Role::User).unwrap();
        let text = of_user.text();
        let results = prompt.messages.iter().rev();
        let results = results.take_while(|message| message.role != Role::User);
        let has_results = results
            .into_iter()
            .any(|message| message.role == Role::Tool);
        let reads = self.answer(&text, has_results);
        // Each read of the socket lets others run.
        Box::pin(stream::iter(reads).then(|read| async {
            tokio::task::yield_now().await;
            read
        }))
    }
}

impl Outside {
    fn answer(&self, text: &str, has_results: bool) -> Vec<Vec<ProviderEvent>> {
        let wish = Wish::read(text);
        let say = |piece: &str| vec![ProviderEvent::TextDelta(piece.to_owned())];
        if has_results {
            return vec![say("it is "), say("done"), whole("stop")];
        }
        let attempt = {
            let mut asked = self.0.asked.lock().unwrap();
            let attempt = asked.entry(text.to_owned()).or_default();
            *attempt += 1;
            *attempt
        };
        if wish.fails && attempt == 1 {
            let failed = ProviderEvent::Failed {
                code: FaultCode::StreamCut,
                message: "the answer broke off".to_owned(),
                retry_after: None,
            };
            return vec![say("half an "), vec![failed]];
        }
        let mut reads = vec![say("an "), say("answer")];
        let called = TOOLS.iter().enumerate();
        let called = called.filter(|(bit, _)| wish.tools & (1 << bit) != 0);
        let names: Vec<_> = called.map(|(_, (name, _))| *name).collect();
        for name in &names {
            let id = format!("{attempt}-{name}");
            reads.push(vec![
                ProviderEvent::ToolCallStart {
                    id: id.clone(),
                    name: (*name).to_owned(),
                },
                ProviderEvent::ToolCallEnd {
                    id,
                    name: (*name).to_owned(),
                    args: json!({}),
                    provider_state: None,
                },
            ]);
        }
        reads.push(whole(if names.is_empty() {
            "stop"
        } else {
            "tool_calls"
        }));
        reads
    }
}

fn whole(reason: &str) -> Vec<ProviderEvent> {
    vec![ProviderEvent::MessageComplete {
        finish_reason: reason.to_owned(),
        usage: Usage::default(),
    }]
}

impl Toolset for Outside {
    fn specs(&self) -> Vec<Arc<ToolSpec>> {
        let spec = |(name, effect): (&str, Effect)| {
            Arc::new(ToolSpec {
                name: name.to_owned(),
                description: "A tool of the world.".to_owned(),
                parameters: json!({"type": "object"}),
                effect,
                asks: Some(Asks::FOREIGN),
                origin: Origin::Registered,
                timeout: Duration::from_mins(1),
                sharing: Sharing::Parallel,
                closer: Closer::Tool,
            })
        };
        TOOLS.map(spec).to_vec()
    }

    fn call(&self, call: ToolCall, context: CallContext) -> Future<'static, Reply> {
        let Self(world, life) = self.clone();
        Box::pin(async move {
            if life.is_dead() {
                std::future::pending::<()>().await;
            }
            let (_, effect) = *TOOLS.iter().find(|(name, _)| *name == call.name).unwrap();
            {
                let mut ran = world.ran.lock().unwrap();
                ran.entry(context.key).or_insert((effect, 0)).1 += 1;
            }
            tokio::task::yield_now().await;
            Reply::Closed(Outcome::done("done"))
        })
    }

    fn probe(
        &self,
        _call: ToolCall,
        _foreseen: Option<Value>,
        context: CallContext,
    ) -> Future<'static, Probed> {
        let was_done = self.0.ran.lock().unwrap().contains_key(&context.key);
        let found = if was_done {
            Probed::Done(Outcome::done("it had been done"))
        } else {
            Probed::NotDone
        };
        Box::pin(std::future::ready(found))
    }
}
