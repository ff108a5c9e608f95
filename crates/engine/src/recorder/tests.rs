use samovar_core::event::{Author, FinishReason};
use samovar_core::{
    AgentPath, ApprovalId, Bounds, Closer, Effect, Epoch, Ids, Limits, Message, MessageId, Millis,
    Outcome, Role, Seq, ToolCall, Usage,
};
use serde_json::json;

use super::*;

struct Counting(std::sync::atomic::AtomicU64);

impl Ids for Counting {
    fn uuid(&self) -> String {
        let number = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        format!("00000000-0000-7000-8000-{number:012}")
    }
}

/// A turn's events with the calls of one message.
struct Script {
    ids: Counting,
    turn: TurnId,
    events: Vec<Arc<Event>>,
}

impl Script {
    fn new() -> Self {
        let ids = Counting(0.into());
        let (turn, events) = (TurnId::fresh(&ids), Vec::new());
        Self { ids, turn, events }
    }

    fn add(&mut self, kind: Kind) -> &mut Self {
        let seq = Seq(self.events.len() as u64 + 1);
        self.events.push(Arc::new(Event {
            seq,
            epoch: Epoch(1),
            at: Millis(seq.0.cast_signed()),
            turn: Some(self.turn.clone()),
            agent: AgentPath::root("master").child("writer"),
            author: Author::System,
            kind,
        }));
        self
    }

    fn start(&mut self, approval: Approval) -> &mut Self {
        self.add(Kind::TurnStarted {
            model: "demo".to_owned(),
            route: None,
            limits: Limits::default(),
            approval,
            bounds: Bounds::default(),
            parent_call: None,
            background: false,
            definition: None,
        })
    }

    fn asks(&mut self, name: &str) -> CallId {
        let call = CallId::fresh(&self.ids);
        let args = json!({"b": 1, "a": name});
        let part = Part::Call(ToolCall::new(call.clone(), name, args));
        let message = Message {
            id: MessageId::fresh(&self.ids),
            role: Role::Assistant,
            parts: vec![part],
            parent: None,
            model: None,
            finish_reason: None,
            usage: None,
            metadata: serde_json::Map::new(),
            created_at: Millis(1),
        };
        self.add(Kind::finished(message));
        call
    }

    fn starts(&mut self, call: &CallId) -> &mut Self {
        self.starts_on(call, None)
    }

    fn starts_on(&mut self, call: &CallId, grounds: Option<Grounds>) -> &mut Self {
        self.add(Kind::CallStarted {
            call: call.clone(),
            name: "write_file".to_owned(),
            effect: Effect::Verifiable,
            args_hash: "ab".repeat(32),
            closer: Closer::Tool,
            deadline: None,
            probe: None,
            grounds,
            tainted: false,
        })
    }

    fn approved(&mut self, call: &CallId, allowed: bool) -> &mut Self {
        self.add(Kind::CallApproved {
            call: call.clone(),
            approval: ApprovalId::new("ask_1").unwrap(),
            args_hash: "cd".repeat(32),
            answer: Answer::read(if allowed { "yes" } else { "no" }, "phone"),
        })
    }

    fn closes(&mut self, call: &CallId, status: Status) -> &mut Self {
        self.add(Kind::CallClosed {
            call: call.clone(),
            name: "write_file".to_owned(),
            outcome: Outcome::new(status, "secret text"),
        })
    }

    fn finishes(&mut self) -> &mut Self {
        self.add(Kind::TurnFinished {
            reason: FinishReason::Cancelled,
            iterations: 1,
            usage: Usage::default(),
            fault: None,
            bill: samovar_core::Bill::default(),
        })
    }
}

fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

/// The event, who decided, by which rule, and the result.
fn told(decisions: &[Decision]) -> Vec<String> {
    let rows = decisions.iter().map(|one| {
        let rule = one.rule.as_deref().unwrap_or("-");
        let result = one
            .result
            .map_or("-".to_owned(), |result| format!("{result:?}"));
        format!("{} {} {rule} {result}", one.what.as_str(), one.who)
    });
    rows.collect()
}

// proves TL-15
#[test]
fn what_has_an_effect_is_recorded_from_its_start_to_its_result_and_reading_is_not() {
    let mut script = Script::new();
    script.start(Approval::Auto);
    let (reads, writes) = (script.asks("read_file"), script.asks("write_file"));
    script.starts(&writes).closes(&reads, Status::Done);
    script.closes(&writes, Status::Unknown).finishes();

    let mut recorder = Recorder::new(Approval::Auto);
    let decisions = recorder.decisions(&session(), &script.events);

    assert_eq!(
        told(&decisions),
        [
            "call_started policy level:auto -",
            "call_closed system - Unknown"
        ]
    );
    let call = decisions[0].call.as_ref().unwrap();
    assert_eq!((&call.call, &call.session), (&writes, &Some(session())));
    assert_eq!(call.turn, Some(script.turn));
    assert_eq!(call.agent.as_deref(), Some("master/writer"));
    assert_eq!(decisions[0].args, Some("ab".repeat(32)));
    assert_eq!(decisions[0].at, Millis(4));
    assert!(recorder.turns.is_empty(), "nothing grows");
    let text = format!("{decisions:?}");
    assert!(!text.contains("secret"), "{text}");
}

// proves TL-15, TL-18
#[test]
fn what_a_command_had_under_a_trusted_name_is_recorded_and_no_other_tool_can_say_so() {
    for (name, started, about) in [
        ("exec", true, Some("put aside: AGENTS.md, .git/config")),
        // One that only reads had nothing to record.
        ("exec", false, Some("put aside: AGENTS.md, .git/config")),
        ("webhook", true, None),
    ] {
        let mut script = Script::new();
        script.start(Approval::Auto);
        let call = script.asks(name);
        if started {
            script.starts(&call);
        }
        let data = json!({"putAside": ["AGENTS.md", ".git/config"]});
        script.add(Kind::CallClosed {
            call,
            name: name.to_owned(),
            outcome: Outcome::new(Status::Done, "").with_data(data),
        });
        let decisions = Recorder::new(Approval::Auto).decisions(&session(), &script.events);
        let closed = decisions.last().unwrap();
        assert_eq!(
            (closed.what, closed.about.as_deref()),
            (What::CallClosed, about)
        );
    }
}

// proves TL-15
#[test]
fn a_call_that_is_denied_is_recorded_with_the_hash_of_what_it_asked_for() {
    let mut script = Script::new();
    script.start(Approval::Auto);
    let call = script.asks("write_file");
    script.closes(&call, Status::Denied);

    let mut recorder = Recorder::new(Approval::ReadOnly);
    let decisions = recorder.decisions(&session(), &script.events);

    assert_eq!(
        told(&decisions),
        ["call_closed policy level:read-only Denied"]
    );
    let hash = gate::args_hash(&json!({"a": "write_file", "b": 1}));
    assert_eq!(decisions[0].args, Some(hash));
}

// proves TL-15
#[test]
fn an_approval_is_recorded_with_who_gave_it_and_so_is_its_refusal() {
    let mut script = Script::new();
    script.start(Approval::Supervised);
    let (yes, no) = (script.asks("write_file"), script.asks("write_file"));
    let grounds = Grounds::Approval(ApprovalId::new("ask_1").unwrap());
    script.approved(&yes, true).starts_on(&yes, Some(grounds));
    script.approved(&no, false).closes(&no, Status::Denied);
    script.closes(&yes, Status::Done);

    let mut recorder = Recorder::new(Approval::Supervised);
    let decisions = recorder.decisions(&session(), &script.events);

    assert_eq!(
        told(&decisions),
        [
            "call_approved phone decision:once -",
            "call_started approval approval:ask_1 -",
            "call_refused phone decision:deny -",
            "call_closed system - Denied",
            "call_closed system - Done"
        ]
    );
    assert_eq!(decisions[2].args, Some("cd".repeat(32)));
}

// proves TL-15
#[test]
fn a_result_in_a_turn_of_an_earlier_run_is_recorded_even_if_it_only_read() {
    let mut script = Script::new();
    script.start(Approval::Auto);
    let call = script.asks("write_file");
    script.starts(&call).closes(&call, Status::Done);

    // Each cut is a run that ended there.
    for cut in 0..=script.events.len() {
        let (before, after) = script.events.split_at(cut);
        let mut all = Recorder::new(Approval::Auto).decisions(&session(), before);
        all.extend(Recorder::new(Approval::Auto).decisions(&session(), after));
        let events: Vec<_> = all.iter().map(|one| one.what).collect();
        assert_eq!(
            events,
            [What::CallStarted, What::CallClosed],
            "cut at {cut}"
        );
    }
}

// proves TL-15
#[test]
fn a_rule_of_the_configuration_is_recorded_by_its_name() {
    let denied = "denied: write_file is denied by the configuration (tools.policy.keep-docs)";
    for (reason, rule) in [
        (denied, Some("tools.policy.keep-docs")),
        ("write_file changes files", None),
        ("(tools.policy.", None),
    ] {
        assert_eq!(configured(reason).as_deref(), rule);
    }
}
