//! Tools that a test makes up.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use samovar_core::approval::Previewed;
use samovar_core::tool::{DEFAULT_TIMEOUT, Origin, Sharing};
use samovar_core::{
    Asks, CallContext, CallFacts, Closer, Effect, Future, Outcome, Preview, Probed, Reach,
    ToolCall, ToolReply, ToolSpec, Toolset,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::Gate;

type Facts = dyn Fn(&Value, Option<Asks>) -> Option<CallFacts> + Send + Sync;
type Run = dyn Fn(Value, CallContext) -> Future<'static, ToolReply> + Send + Sync;

/// A built-in tool that only reads, asks for no approval and takes any object.
pub fn tool_spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: "A tool for tests.".to_owned(),
        parameters: json!({"type": "object"}),
        effect: Effect::Read,
        asks: None,
        origin: Origin::BuiltIn,
        closed: false,
        timeout: DEFAULT_TIMEOUT,
        sharing: Sharing::Parallel,
        closer: Closer::Tool,
    }
}

/// A tool whose calls run a function of the test.
pub struct TestTool {
    spec: ToolSpec,
    run: Box<Run>,
    found: Probed,
    /// Told when it looks at what it is about to change, for ever.
    looks: Option<Arc<Notify>>,
    /// What a person is shown of its calls.
    seen: Option<Arc<Mutex<Value>>>,
    /// Holds the looks at its calls back, while there is one.
    held: Arc<Mutex<Option<Gate>>>,
    target: Option<String>,
    facts: Box<Facts>,
}

impl TestTool {
    /// A tool that only reads, takes any object, and may run beside others.
    pub fn new<F>(name: &str, run: impl Fn(Value, CallContext) -> F + Send + Sync + 'static) -> Self
    where
        F: std::future::Future<Output = ToolReply> + Send + 'static,
    {
        Self {
            spec: ToolSpec {
                asks: Some(Asks::FOREIGN),
                origin: Origin::Registered,
                ..tool_spec(name)
            },
            run: Box::new(move |args, context| Box::pin(run(args, context))),
            found: Probed::Unknown,
            looks: None,
            seen: None,
            held: Arc::default(),
            target: None,
            facts: Box::new(|_, asks| {
                Some(CallFacts {
                    asks,
                    grants: Some(Vec::new()),
                    ..CallFacts::default()
                })
            }),
        }
    }

    /// Nothing is known of its calls but its description: what they say comes from outside, and unless it
    /// only reads they can send data out.
    #[must_use]
    pub fn foreign(mut self) -> Self {
        self.facts = Box::new(|_, _| None);
        self
    }

    /// What its calls say of themselves.
    #[must_use]
    pub fn knowing(mut self, facts: fn(&Value) -> CallFacts) -> Self {
        self.facts = Box::new(move |args, _| Some(facts(args)));
        self
    }

    /// Counts how often its calls are examined.
    #[must_use]
    pub fn counted(mut self, examined: &Arc<AtomicUsize>) -> Self {
        let (facts, examined) = (self.facts, examined.clone());
        self.facts = Box::new(move |args, asks| {
            examined.fetch_add(1, Ordering::SeqCst);
            facts(args, asks)
        });
        self
    }

    /// A tool that passes its question on and leaves its calls open.
    #[must_use]
    pub fn asks(name: &str) -> Self {
        Self::new(name, |_, _| async { ToolReply::Open }).outside()
    }

    /// Its calls are closed by somebody outside, unless it does that itself.
    #[must_use]
    pub fn outside(mut self) -> Self {
        (self.spec.closer, self.spec.effect) = (Closer::Outside, Effect::Idempotent);
        self
    }

    /// It looks for ever at what it is about to change, and tells when it begins to.
    #[must_use]
    pub fn looks_for_ever(mut self, began: &Arc<Notify>) -> Self {
        self.looks = Some(began.clone());
        self.effect(Effect::Verifiable)
    }

    /// What a look at its calls sees; its effect is verifiable, and its calls change the file of their
    /// argument `path`.
    #[must_use]
    pub fn seeing(mut self, seen: &Arc<Mutex<Value>>) -> Self {
        self.seen = Some(seen.clone());
        self.effect(Effect::Verifiable)
    }

    /// What holds back the looks at its calls, while there is one.
    #[must_use]
    pub fn held_by(mut self, held: &Arc<Mutex<Option<Gate>>>) -> Self {
        self.held = held.clone();
        self
    }

    /// Where its calls are sent.
    #[must_use]
    pub fn target(mut self, target: &str) -> Self {
        self.target = Some(target.to_owned());
        self
    }

    /// It is a part of the server.
    #[must_use]
    pub fn built_in(mut self) -> Self {
        self.spec.origin = Origin::BuiltIn;
        self
    }

    /// The JSON Schema of its arguments.
    #[must_use]
    pub fn takes(mut self, parameters: Value) -> Self {
        self.spec.parameters = parameters;
        self
    }

    /// What it does to the world.
    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.spec.effect = effect;
        self
    }

    /// What its probe finds, whatever was foreseen; its effect is verifiable.
    #[must_use]
    pub fn probed(mut self, found: Probed) -> Self {
        self.found = found;
        self.effect(Effect::Verifiable)
    }

    /// How long one call may run.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.spec.timeout = timeout;
        self
    }

    /// Its calls run alone.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.spec.sharing = Sharing::Exclusive;
        self
    }

    /// Ready to be registered.
    pub fn build(self) -> Arc<dyn Toolset> {
        Arc::new(self)
    }
}

impl Toolset for TestTool {
    fn specs(&self) -> Vec<Arc<ToolSpec>> {
        vec![Arc::new(self.spec.clone())]
    }

    fn call(&self, call: ToolCall, context: CallContext) -> Future<'static, ToolReply> {
        (self.run)(call.args, context)
    }

    fn target(&self) -> Option<String> {
        self.target.clone()
    }

    fn facts(&self, call: &ToolCall) -> Option<CallFacts> {
        (self.facts)(&call.args, self.spec.asks)
    }

    fn reach(&self, call: &ToolCall) -> Option<Reach> {
        self.seen.as_ref()?;
        let path = call.args["path"].as_str()?.to_owned();
        let instructs = path.ends_with("AGENTS.md");
        Some(Reach { path, instructs })
    }

    fn preview(&self, _call: &ToolCall) -> Future<'static, Previewed> {
        let seen = self.seen.as_ref();
        let seen = seen.map(|seen| seen.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let preview = match seen {
            // It cannot succeed.
            Some(Value::Null) => Err(Outcome::failed("there is no such place")),
            foreseen => Ok(Preview {
                text: foreseen.as_ref().map(Value::to_string),
                foreseen,
            }),
        };
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let held = held.clone();
        Box::pin(async move {
            if let Some(gate) = held {
                gate.passed().await;
            }
            preview
        })
    }

    fn foresee(&self, _call: &ToolCall) -> Future<'static, Option<Value>> {
        let looks = self.looks.clone();
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let held = held.clone();
        Box::pin(async move {
            if let Some(looks) = looks {
                looks.notify_one();
                std::future::pending::<()>().await;
            }
            if let Some(gate) = held {
                gate.passed().await;
            }
            None
        })
    }

    fn probe(
        &self,
        _call: ToolCall,
        _foreseen: Option<Value>,
        _context: CallContext,
    ) -> Future<'static, Probed> {
        Box::pin(std::future::ready(self.found.clone()))
    }
}
