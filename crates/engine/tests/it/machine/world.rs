//! The world outside the engine: a model that does what its user's message says, and tools of all
//! four classes, which remember what was done. It outlives every server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use samovar_core::error::FaultCode;
use samovar_core::tool::Origin;
use samovar_core::{
    Asks, CallContext, CallId, Effect, Future, Outcome, Probed, ToolCall, ToolReply, ToolSpec,
    Toolset,
};
use samovar_doubles::{Gate, ScriptedModel, results, say, tool_spec, user};
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
    /// How often each call was run, by its key.
    pub(super) ran: Mutex<HashMap<CallId, (Effect, u32)>>,
    /// How often the model was asked for the first answer to a text.
    asked: Mutex<HashMap<String, u32>>,
}

/// What the model is to do, as its user's message says it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModelScript {
    /// Which tools it calls, a bit for each.
    pub(super) tools: u8,
    /// Whether its first answer breaks off.
    pub(super) fails: bool,
}

impl ModelScript {
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

impl Outside {
    pub(super) fn model(&self) -> ScriptedModel {
        let outside = self.clone();
        ScriptedModel::by(move |prompt| {
            if outside.1.is_dead() {
                return say("").hold(&Gate::default());
            }
            outside.answer(&user(prompt), results(prompt) > 0)
        })
    }

    fn answer(&self, text: &str, has_results: bool) -> samovar_doubles::Reply {
        let wish = ModelScript::read(text);
        if has_results {
            return say("it is done");
        }
        let attempt = {
            let mut asked = self.0.asked.lock().unwrap();
            let attempt = asked.entry(text.to_owned()).or_default();
            *attempt += 1;
            *attempt
        };
        if wish.fails && attempt == 1 {
            return say("half an ").and_fail(FaultCode::StreamCut, "the answer broke off");
        }
        let called = TOOLS.iter().enumerate();
        let called = called.filter(|(bit, _)| wish.tools & (1 << bit) != 0);
        called.fold(say("an answer"), |reply, (_, (name, _))| {
            reply.and_call(name, json!({}))
        })
    }
}

impl Toolset for Outside {
    fn specs(&self) -> Vec<Arc<ToolSpec>> {
        let spec = |(name, effect): (&str, Effect)| {
            Arc::new(ToolSpec {
                effect,
                asks: Some(Asks::FOREIGN),
                origin: Origin::Registered,
                ..tool_spec(name)
            })
        };
        TOOLS.map(spec).to_vec()
    }

    fn call(&self, call: ToolCall, context: CallContext) -> Future<'static, ToolReply> {
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
            ToolReply::Closed(Outcome::done("done"))
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
