use std::future::pending;
use std::sync::Mutex;
use std::time::Duration;

use samovar_core::relay::{Envelope, MessageKind};
use samovar_core::{
    Approval, Asks, CallContext, Closer, Effect, Future, Outcome, ToolCall, ToolReply, ToolSpec,
    Toolset,
};
use samovar_doubles::{MemoryHistory, MemoryJournal, World, call, say, tool_spec};
use samovar_engine::{Ports, Recovery, Settings, Toolbox};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::*;
use crate::test_peer::{Path, TestPeer, asked, object};
use crate::{Pass, RelayConfig};
use samovar_core::relay::HostKind;

/// What is left of a process that was killed: its stores, and what the tools did.
#[derive(Clone, Default)]
struct Machine {
    world: World,
    journal: Arc<MemoryJournal>,
    history: Arc<MemoryHistory>,
    ran: Arc<Mutex<Vec<String>>>,
}

/// `look` reads, `write` changes a file, `hang` never ends, `ask` waits for a person.
#[derive(Clone)]
struct Tools(Machine);

fn spec(name: &str, effect: Effect, asks: Option<Asks>, closer: Closer) -> Arc<ToolSpec> {
    Arc::new(ToolSpec {
        effect,
        asks,
        closer,
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        ..tool_spec(name)
    })
}

impl Toolset for Tools {
    fn specs(&self) -> Vec<Arc<ToolSpec>> {
        let changes = Some(Asks::because("changes files"));
        vec![
            spec("look", Effect::Read, None, Closer::Tool),
            spec("write", Effect::Unsafe, changes, Closer::Tool),
            spec("hang", Effect::Unsafe, None, Closer::Tool),
            spec("ask", Effect::Idempotent, None, Closer::Person),
        ]
    }

    fn call(&self, call: ToolCall, _context: CallContext) -> Future<'static, ToolReply> {
        let ran = self.0.ran.clone();
        Box::pin(async move {
            ran.lock().unwrap().push(call.name.clone());
            if call.name == "hang" {
                pending::<()>().await;
            }
            ToolReply::Closed(Outcome::done(format!("{} {}", call.name, call.args)))
        })
    }
}

struct Run {
    engine: Arc<Engine>,
    host: ToolHost,
    far: TestPeer,
}

impl Machine {
    /// A process with a host of tools that has joined its room.
    async fn start(&self, approval: Approval) -> Run {
        let toolbox = Toolbox::default();
        let tools: Arc<dyn Toolset> = Arc::new(Tools(self.clone()));
        toolbox.add(&tools).unwrap();
        let ports = Ports {
            journal: self.journal.clone(),
            history: self.history.clone(),
            blobs: Arc::new(samovar_core::blob::MemoryBlobs::default()),
            models: Arc::new(self.world.model.clone()),
            toolbox: Arc::new(toolbox),
            agents: Arc::new(()),
            clock: self.world.clock.clone(),
            ids: self.world.ids.clone(),
            damages: Arc::new(()),
            audit: Arc::new(()),
        };
        let settings = Settings {
            approval,
            recovery: Recovery::EverySession,
            ..Settings::default()
        };
        let engine = Engine::start(ports, settings).await.unwrap();
        let (made, mut ways) = mpsc::channel(1);
        let session = SessionId::new("relay-r").unwrap();
        let host = ToolHost::start(Worker {
            room: "r".to_owned(),
            line: Connection::new(Box::new(Path(made))),
            driver: Driver::new(
                engine.clone(),
                session,
                "external".to_owned(),
                Duration::from_secs(30),
            ),
            clock: self.world.clock.clone(),
            studies: Box::new(|| "s-1".to_owned()),
            study: None,
            notes: Notes::default(),
        });
        let mut far = ways.recv().await.unwrap();
        let join = far.hears(MessageKind::RelayJoin).await;
        assert_eq!(
            join.payload,
            object(&json!({"role": "host", "sessionId": "r"}))
        );
        let joined = MessageKind::RelayJoined;
        far.answers(joined, Some(&join), Value::Object(join.payload.clone()))
            .await;
        far.hears(MessageKind::StateUpdated).await;
        Run { engine, host, far }
    }

    /// What the driven session's model will do: one call, and the word for its end.
    fn will_call(&self, tool: &str, params: &Value) {
        let call = call(tool, params.clone());
        self.world.model.will([call, say("over")]);
    }
}

impl Run {
    async fn asks(&self, kind: MessageKind, payload: &Value) {
        let asked = Envelope::new(kind, object(payload)).with_id("a-1");
        self.far.tell.send(Arc::new(asked)).await.unwrap();
    }

    async fn calls(&self, tool: &str, params: &Value) {
        let call = json!({"toolName": tool, "params": params, "reason": "because"});
        self.asks(MessageKind::ToolCall, &call).await;
    }

    async fn hears_answer(&mut self, kind: MessageKind) -> Value {
        let answer = self.far.hears(kind).await;
        assert_eq!(answer.reply_to.as_deref(), Some("a-1"));
        Value::Object(answer.payload)
    }

    async fn is_refused(&mut self, code: &str, why: &str) {
        let error = self.hears_answer(MessageKind::Error).await;
        assert_eq!(error["code"], code, "{error}");
        assert!(error["message"].as_str().unwrap().contains(why), "{error}");
    }

    async fn snapshot(&mut self) -> Value {
        self.asks(MessageKind::SnapshotGet, &json!({})).await;
        self.hears_answer(MessageKind::SnapshotState).await
    }
}

// proves RL-24
#[tokio::test(start_paused = true)]
async fn an_external_agent_has_our_catalogue_and_its_calls_are_turns_of_a_session() {
    let machine = Machine::default();
    let mut run = machine.start(Approval::Auto).await;
    let first = run.snapshot().await;
    assert_eq!(
        (&first["sessionId"], &first["uiSpec"]["stage"]),
        (&Value::Null, &json!("tools"))
    );
    let names = first["toolSchema"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["hang", "look", "write"],
        "nobody waits for a person"
    );
    assert_eq!(first["toolSchema"][1]["parameters"]["type"], "object");

    run.asks(MessageKind::SessionStart, &json!({"studyId": "pilot"}))
        .await;
    let started = run.hears_answer(MessageKind::SessionStarted).await;
    assert_eq!(started, json!({"sessionId": "s-1"}));
    run.far.hears(MessageKind::StateUpdated).await;
    machine.will_call("look", &json!({"path": "a"}));
    run.calls("look", &json!({"path": "a"})).await;
    let result = run.hears_answer(MessageKind::ToolResult).await;
    let wanted = json!({"ok": true, "toolName": "look", "result": r#"look {"path":"a"}"#});
    assert_eq!(result, wanted);
    let shown = run.far.hears(MessageKind::StateUpdated).await.payload;
    let call = &shown["messageHistory"][0];
    assert_eq!(
        (&call["toolName"], &call["status"]),
        (&json!("look"), &json!("done"))
    );
    assert_eq!(shown["source"], "host");
    let said = asked(&machine.world);
    assert_eq!(said[0].1, r#"{"toolName":"look","params":{"path":"a"}}"#);

    run.asks(MessageKind::AgentMessage, &json!({"text": "hello"}))
        .await;
    let shown = run.far.hears(MessageKind::StateUpdated).await.payload;
    assert_eq!(shown["messageHistory"][1]["text"], "hello");
    assert_eq!(asked(&machine.world).len(), 2, "nothing ran for it");
    assert_eq!(run.snapshot().await["sessionId"], "s-1");
    run.asks(MessageKind::SessionEnd, &json!({})).await;
    let ended = run.hears_answer(MessageKind::SessionEnded).await;
    assert_eq!(ended, json!({"sessionId": "s-1", "stateReset": true}));
    // One that it knows nothing of, as behind a restart, is the relay's to name.
    run.asks(MessageKind::SessionEnd, &json!({})).await;
    run.far.hears(MessageKind::StateUpdated).await;
    let ended = run.hears_answer(MessageKind::SessionEnded).await;
    assert_eq!(ended, json!({"stateReset": true}));
    run.host.shutdown().await;
    run.engine.shutdown(Duration::ZERO).await;
}

// proves RL-24, TL-4
#[tokio::test(start_paused = true)]
async fn an_external_agent_is_refused_what_is_unknown_does_not_fit_or_is_not_allowed() {
    for (approval, why) in [
        (Approval::Supervised, "needs a person's approval"),
        (Approval::ReadOnly, "the approval level is read-only"),
    ] {
        let machine = Machine::default();
        let mut run = machine.start(approval).await;
        for unknown in ["wipe", "ask", ""] {
            run.calls(unknown, &json!({})).await;
            run.is_refused("UNKNOWN_TOOL", "there are: hang, look, write")
                .await;
        }
        run.calls("look", &json!({"path": 1})).await;
        run.is_refused("INVALID_PARAMS", "path must be").await;
        assert!(asked(&machine.world).is_empty(), "no turn was made of it");
        machine.will_call("write", &json!({}));
        run.calls("write", &json!({})).await;
        run.is_refused("TOOL_EXECUTION_FAILED", why).await;
        let shown = run.far.hears(MessageKind::StateUpdated).await.payload;
        assert_eq!(shown["messageHistory"][0]["status"], "denied");
        assert!(machine.ran.lock().unwrap().is_empty());
    }
}

// proves RL-24
#[tokio::test(start_paused = true)]
async fn calls_come_one_after_the_other_and_more_than_can_wait_are_refused() {
    let machine = Machine::default();
    let mut run = machine.start(Approval::Auto).await;
    machine.will_call("hang", &json!({}));
    for _ in 0..34 {
        run.calls("hang", &json!({})).await;
    }
    run.is_refused("TOOL_EXECUTION_FAILED", "32 calls are already waiting")
        .await;
    // The one that hangs is stopped by its own timeout; by then the relay has given up the others.
    run.is_refused("TOOL_EXECUTION_FAILED", "outcome unknown")
        .await;
    run.far.hears(MessageKind::StateUpdated).await;
    for _ in 0..32 {
        run.is_refused("TOOL_EXECUTION_FAILED", "did not start")
            .await;
    }
    assert_eq!(*machine.ran.lock().unwrap(), ["hang"]);
    machine.will_call("look", &json!({}));
    run.calls("look", &json!({})).await;
    let result = run.hears_answer(MessageKind::ToolResult).await;
    assert_eq!(result["result"], "look {}");
}

// proves RL-24, DU-5
#[test]
fn a_call_that_a_kill_cut_is_not_run_again_and_the_next_snapshot_says_so() {
    let machine = Machine::default();
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(2).enable_all().build().unwrap()
    };
    machine.will_call("hang", &json!({}));
    let first = runtime();
    first.block_on(async {
        let run = machine.start(Approval::Auto).await;
        run.calls("hang", &json!({})).await;
        while machine.ran.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        // Its tasks end with the runtime, wherever they are.
        std::mem::forget(run.host);
    });
    first.shutdown_background();

    machine.world.model.forget();
    machine.world.model.will([say("over")]);
    runtime().block_on(async {
        let mut run = machine.start(Approval::Auto).await;
        run.engine.settled().await;
        let history = loop {
            let history = run.snapshot().await["messageHistory"].take();
            if history[0]["status"] != "open" {
                break history;
            }
        };
        assert_eq!(history[0]["status"], "unknown", "{history}");
        let text = history[0]["text"].as_str().unwrap();
        assert!(text.contains("outcome unknown"), "{text}");
    });
    assert_eq!(*machine.ran.lock().unwrap(), ["hang"], "never twice");
}

// proves RL-24, RL-4
#[tokio::test]
async fn a_host_of_tools_answers_in_its_room_and_does_not_fight_for_it() {
    let machine = Machine::default();
    let run = machine.start(Approval::Auto).await;
    let folder = tempfile::tempdir().unwrap();
    let clock: Arc<dyn Clock> = machine.world.clock.clone();
    let relay = Relay::open(folder.path(), clock.clone(), RelayConfig::default());
    let parts = |room: &str| ToolHostParts {
        relay: relay.clone(),
        room: room.to_owned(),
        engine: run.engine.clone(),
        model: "external".to_owned(),
        clock: clock.clone(),
    };
    assert!(ToolHost::begin(parts(" ")).is_err());
    let host = ToolHost::begin(parts(" my room ")).unwrap();
    while relay.rooms().is_empty() {
        tokio::task::yield_now().await;
    }
    let mut agent = relay.enter(Pass::Any);
    let join = |role| {
        let join = object(&json!({"role": role, "sessionId": "my room"}));
        Envelope::new(MessageKind::RelayJoin, join)
    };
    agent.say(join("agent")).await;
    let start = Envelope::new(MessageKind::SessionStart, object(&json!({})));
    agent.say(start.with_id("s")).await;
    machine.will_call("look", &json!({}));
    let call = object(&json!({"toolName": "look"}));
    let call = Envelope::new(MessageKind::ToolCall, call).with_id("c");
    agent.say(call).await;
    let mut kinds = Vec::new();
    while kinds.last() != Some(&MessageKind::ToolResult) {
        let said = agent.next().await.unwrap();
        kinds.extend(said.reply_to.is_some().then_some(said.kind));
    }
    let expected = [MessageKind::SessionStarted, MessageKind::ToolResult];
    assert_eq!(kinds, expected);
    assert!(relay.rooms()[0].study.as_ref().unwrap().ends_with("-001"));
    let mut other = relay.enter(Pass::Any);
    other.say(join("host")).await;
    assert_eq!(other.next().await.unwrap().kind, MessageKind::RelayJoined);
    host.tasks.close();
    host.tasks.wait().await;
    assert_eq!(relay.rooms()[0].host, Some(HostKind::Socket));
}
