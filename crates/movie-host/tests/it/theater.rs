//! A host to call, and what it answers.

use samovar_core::Millis;
use samovar_core::relay::{Envelope, Host, HostContext, MessageKind, Payload, PersonDeed};
use samovar_movie_host::MovieHost;
use serde_json::{Value, json};

/// The stages in their order, and what leads from each to the next.
pub(crate) const STAGES: [&str; 7] = [
    "movie", "theater", "date", "time", "seat", "ticket", "confirm",
];

/// A host, and an agent that counts its messages.
pub(crate) struct Theater {
    pub(crate) host: MovieHost,
    pub(crate) said: i64,
    /// When it is told something first, in milliseconds.
    pub(crate) now: i64,
}

/// What came of a call.
#[derive(Debug, PartialEq)]
pub(crate) enum Came {
    /// It was done; whether anything is different now.
    Ok { changed: bool },
    /// It was refused with this code.
    Refused(String),
}

impl Theater {
    pub(crate) fn new() -> Self {
        Self {
            host: MovieHost::new(),
            said: 0,
            // The day before 7 December 2026, a Monday.
            now: 1_796_558_400_000,
        }
    }

    /// One with a study session.
    pub(crate) fn started() -> Self {
        let mut theater = Self::new();
        theater.hear(
            "session.start",
            json!({"studyId": "pilot", "participantId": "P1"}),
        );
        theater
    }

    /// One at a stage where nothing is chosen yet.
    pub(crate) fn at(stage: &str) -> Self {
        let mut theater = Self::started();
        theater.reach(stage);
        theater
    }

    /// Chooses whatever is free until it is at a stage.
    pub(crate) fn reach(&mut self, stage: &str) {
        while self.stage() != stage {
            self.complete();
            self.ok("next", json!({}));
        }
    }

    pub(crate) fn context(&self) -> HostContext {
        HostContext {
            now: Millis(self.now + self.said),
            room: "cinema".to_owned(),
            study: "s-20261207-001".to_owned(),
        }
    }

    /// What is answered to a message.
    pub(crate) fn hear(&mut self, kind: &str, payload: Value) -> Vec<Envelope> {
        self.said += 1;
        let kind = MessageKind::from_word(kind).unwrap();
        let Value::Object(payload) = payload else {
            unreachable!("payloads are objects")
        };
        let said = Envelope::new(kind, payload).with_id(format!("r-{}", self.said));
        self.host.hear(&said, &self.context())
    }

    /// What is answered to a call, in the order that the protocol demands.
    pub(crate) fn call(&mut self, tool: &str, params: Value) -> (Came, String) {
        let mut payload = json!({"toolName": tool});
        payload["params"] = params;
        let said = self.hear("tool.call", payload);
        let answer = &said[0];
        assert_eq!(
            answer.reply_to.as_deref(),
            Some(&*format!("r-{}", self.said))
        );
        if answer.kind == MessageKind::Error {
            assert_eq!(said.len(), 1, "{tool}");
            let [code, message] = ["code", "message"].map(|key| text(&answer.payload, key));
            return (Came::Refused(code), message);
        }
        assert_eq!(answer.kind, MessageKind::ToolResult);
        assert_eq!(answer.payload["ok"], true);
        assert_eq!(answer.payload["toolName"], tool);
        if let Some(updated) = said.get(1) {
            assert_eq!(updated.kind, MessageKind::StateUpdated);
            assert_eq!(updated.reply_to, None);
            assert_eq!(updated.payload["source"], "host");
        }
        assert!(said.len() <= 2, "{tool}");
        let changed = said.len() == 2;
        (Came::Ok { changed }, String::new())
    }

    /// A call that changes something.
    pub(crate) fn ok(&mut self, tool: &str, params: Value) {
        let (came, why) = self.call(tool, params);
        assert_eq!(came, Came::Ok { changed: true }, "{tool}: {why}");
    }

    /// What there is to see.
    pub(crate) fn snapshot(&mut self) -> Payload {
        let mut said = self.hear("snapshot.get", json!({}));
        assert_eq!(said.len(), 1);
        assert_eq!(said[0].kind, MessageKind::SnapshotState);
        said.remove(0).payload
    }

    pub(crate) fn spec(&mut self) -> Value {
        self.snapshot()["uiSpec"].clone()
    }

    pub(crate) fn stage(&mut self) -> String {
        self.spec()["stage"].as_str().unwrap().to_owned()
    }

    pub(crate) fn tools(&mut self) -> Vec<String> {
        let snapshot = self.snapshot();
        let tools = snapshot["toolSchema"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The ids of the items that a person sees.
    pub(crate) fn visible(&mut self) -> Vec<String> {
        let spec = self.spec();
        ids(&spec["visibleItems"], |_| true)
    }

    /// The ids of those that can be chosen.
    pub(crate) fn free(&mut self) -> Vec<String> {
        let spec = self.spec();
        ids(&spec["visibleItems"], |item| item["isDisabled"] != true)
    }

    /// Chooses what the stage asks for: the first that can be chosen, two seats, two adults.
    pub(crate) fn complete(&mut self) {
        match self.stage().as_str() {
            "confirm" => {}
            "ticket" => self.ok("setQuantity", json!({"typeId": "adult", "quantity": 2})),
            "seat" => {
                for seat in &self.free()[..2] {
                    self.ok("select", json!({"itemId": seat}));
                }
            }
            _ => {
                let first = self.free().remove(0);
                self.ok("select", json!({"itemId": first}));
            }
        }
    }

    pub(crate) fn person(&mut self, tool: &str, params: Value) -> Result<Vec<Envelope>, String> {
        self.said += 1;
        let Value::Object(params) = params else {
            unreachable!("parameters are objects")
        };
        let tool = tool.to_owned();
        let deed = PersonDeed::Calls { tool, params };
        let answers = self.host.person(&deed, &self.context());
        answers.map_err(|(code, _)| code.as_str().to_owned())
    }
}

/// The ids of items that pass a test.
pub(crate) fn ids(items: &Value, test: impl Fn(&Value) -> bool) -> Vec<String> {
    let items = items.as_array().unwrap().iter().filter(|item| test(item));
    items
        .map(|item| item["id"].as_str().unwrap().to_owned())
        .collect()
}

pub(crate) fn text(payload: &Payload, key: &str) -> String {
    payload[key].as_str().unwrap().to_owned()
}
