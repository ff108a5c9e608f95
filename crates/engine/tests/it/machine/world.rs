//! The world outside the engine: a model that does what its user's message says, and tools of all
//! four classes, which remember what was done. It outlives every server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use samovar_core::agent::{AgentEntry, AgentOrigin, SubAgents};
use samovar_core::error::FaultCode;
use samovar_core::tool::Origin;
use samovar_core::{
    Agent, AgentName, Agents, Asks, CallContext, CallFacts, CallId, Closer, Effect, Future,
    Outcome, Probed, ToolCall, ToolReply, ToolSpec, Toolset,
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
    /// Which agents it calls: [`CALLS_A`], [`CALLS_B`], and what they do.
    pub(super) tree: u8,
}

/// The session's agent calls the agent `a`.
const CALLS_A: u8 = 1;
/// It calls `b`, too.
const CALLS_B: u8 = 2;
/// Those call `c`.
const CALLS_C: u8 = 4;
/// `c`, or else those, ask a person.
const ASKS: u8 = 8;
/// `c` works in the background, too.
const SPAWNS: u8 = 16;
/// A task of those that the session's agent calls panics, once it has results.
const PANICS: u8 = 32;

impl ModelScript {
    pub(super) fn text(self, number: usize) -> String {
        format!(
            "{number} {} {} {}",
            self.tools,
            u8::from(self.fails),
            self.tree
        )
    }

    fn read(text: &str) -> Self {
        let mut words = text
            .split(' ')
            .skip(1)
            .take(3)
            .map(|word| word.parse::<u8>().unwrap());
        Self {
            tools: words.next().unwrap(),
            fails: words.next().unwrap() == 1,
            tree: words.next().unwrap(),
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
            let own = prompt.layers.iter().find(|layer| layer.name == "agent");
            let who = own.map_or("master", |own| own.text.as_ref());
            outside.answer(who, &user(prompt), results(prompt) > 0)
        })
    }

    fn answer(&self, who: &str, text: &str, has_results: bool) -> samovar_doubles::Reply {
        // What a child in the background has left begins a turn that has nothing to do.
        if !text.starts_with(|first: char| first.is_ascii_digit()) {
            return say("noted");
        }
        let wish = ModelScript::read(text);
        if has_results {
            let panics = wish.tree & PANICS != 0 && matches!(who, "a" | "b");
            assert!(!panics, "as the model was told");
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
        let reply = called.fold(say("an answer"), |reply, (_, (name, _))| {
            reply.and_call(name, json!({}))
        });
        let agents = wish.calls(who).into_iter();
        let reply = agents.fold(reply, |reply, name| {
            let task = format!("{text} {who}-{name}");
            reply.and_call("subAgent", json!({"name": name, "task": task}))
        });
        let spawns = who == "master" && wish.tree & SPAWNS != 0;
        let reply = if spawns {
            let task = format!("{text} spawned");
            reply.and_call("spawn", json!({"agent": "c", "task": task}))
        } else {
            reply
        };
        let is_deepest = wish.tree & CALLS_C == 0 || who == "c";
        if who != "master" && wish.tree & ASKS != 0 && is_deepest {
            return reply.and_call("ask", json!({}));
        }
        reply
    }
}

impl ModelScript {
    fn calls(self, who: &str) -> Vec<&'static str> {
        let has = |bit| self.tree & bit != 0;
        match who {
            "master" => {
                let all = [("a", has(CALLS_A)), ("b", has(CALLS_B))].into_iter();
                all.filter(|(_, calls)| *calls)
                    .map(|(name, _)| name)
                    .collect()
            }
            "a" | "b" if has(CALLS_C) => vec!["c"],
            _ => Vec::new(),
        }
    }
}

/// The agents: each has all tools, and the first two may call the third.
pub(super) struct Definitions;

impl Agents for Definitions {
    fn find(&self, name: &str) -> Option<AgentEntry> {
        let mut all = self.list().into_iter();
        all.find(|entry| entry.agent.name.as_str() == name)
    }

    fn list(&self) -> Vec<AgentEntry> {
        let entry = |name: &str, calls: &str| AgentEntry {
            agent: Arc::new(Agent {
                name: AgentName::new(name).unwrap(),
                display_name: name.to_owned(),
                system_prompt: name.to_owned(),
                sub_agents: SubAgents::Only(AgentName::new(calls).into_iter().collect()),
                ..Agent::master()
            }),
            origin: AgentOrigin::Code,
            enabled: true,
            invalid: None,
            missing: Vec::new(),
        };
        vec![entry("a", "c"), entry("b", "c"), entry("c", "")]
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
        let ask = ToolSpec {
            effect: Effect::Idempotent,
            closer: Closer::Person,
            ..tool_spec("ask")
        };
        let mut specs = TOOLS.map(spec).to_vec();
        specs.push(Arc::new(ask));
        specs
    }

    fn call(&self, call: ToolCall, context: CallContext) -> Future<'static, ToolReply> {
        let Self(world, life) = self.clone();
        if call.name == "ask" {
            return Box::pin(std::future::ready(ToolReply::Open));
        }
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

    fn facts(&self, call: &ToolCall) -> Option<CallFacts> {
        Some(CallFacts {
            asks: (call.name != "ask").then_some(Asks::FOREIGN),
            grants: Some(Vec::new()),
            ..CallFacts::default()
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
