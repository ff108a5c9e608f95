//! A host on a socket of its own. It answers what it is asked, sometimes twice, and answers what nobody
//! has asked; it leaves without a word; and it shows what it should keep for itself.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::client::{Address, ServerGone};
use crate::dice::Dice;
use crate::observed::{Envelope, Incident};
use crate::socket::{Socket, spell};
use crate::stage::Stage;

/// How long it stays away when it was sent away.
const REST: Duration = Duration::from_millis(10);

/// The id of a study that it gives again and again.
const GIVEN_BEFORE: &str = "given-before";

/// Comes for as long as it is let.
pub(crate) struct Host {
    pub(crate) stage: Arc<Stage>,
    pub(crate) room: &'static str,
    /// What its studies are named after.
    pub(crate) name: String,
    /// Studies that it has begun.
    pub(crate) studies: u64,
    /// How often its screen has changed.
    pub(crate) changes: u64,
    pub(crate) dice: Dice,
}

impl Host {
    pub(crate) async fn attend(mut self) {
        loop {
            let at = self.stage.server().await;
            match self.visit(&at).await {
                Ok(()) => tokio::time::sleep(self.dice.millis(0..=40)).await,
                Err(ServerGone) => self.stage.has_lost(&at, REST).await,
            }
        }
    }

    async fn visit(&mut self, at: &Address) -> Result<(), ServerGone> {
        let mut socket = match Socket::open(&self.stage.client, at).await? {
            Ok(socket) => socket,
            Err(refusal) if self.stage.is_put_off(&refusal) => return Err(ServerGone),
            Err(refusal) => {
                let (message, why) = (self.room.to_owned(), refusal.body);
                self.stage.note(Incident::Refused { message, why });
                return Err(ServerGone);
            }
        };
        let served = self.serve(&mut socket).await;
        if served.is_err() {
            self.stage.is_cut_off(at, &self.name).await;
        }
        served
    }

    async fn serve(&mut self, socket: &mut Socket) -> Result<(), ServerGone> {
        let role = if self.dice.percent(50) {
            "host"
        } else {
            "frontend"
        };
        let join = json!({ "role": role, "sessionId": self.room });
        socket
            .say(&spell("relay.join", Some("join"), &join))
            .await?;
        let mut study = Value::Null;
        loop {
            let asked = socket.next().await?;
            if let Some(mark) = asked.payload["mark"].as_str() {
                self.stage.is_asked(mark);
                if self.dice.percent(2) {
                    return Ok(());
                }
                for said in self.answers(&asked, mark, &mut study) {
                    socket.say(&said).await?;
                }
            }
        }
    }

    /// What it says to something that it was asked.
    fn answers(&mut self, asked: &Envelope, mark: &str, study: &mut Value) -> Vec<Value> {
        let (kind, payload) = match asked.kind.as_str() {
            "session.start" => {
                *study = self.begin();
                ("session.started", json!({ "sessionId": study }))
            }
            "snapshot.get" => {
                let mut state = self.state();
                state["sessionId"] = study.clone();
                ("snapshot.state", state)
            }
            "tool.call" => {
                self.changes += 1;
                let tool = &asked.payload["toolName"];
                ("tool.result", json!({ "ok": true, "toolName": tool }))
            }
            "session.end" => {
                let ended = json!({ "sessionId": study.take() });
                ("session.ended", ended)
            }
            // Words of an agent need no answer.
            _ => return Vec::new(),
        };
        let mut answer = self.with_secret(payload);
        answer["echo"] = mark.into();
        let mut answer = spell(kind, None, &answer);
        answer["replyTo"] = asked.id.as_deref().into();
        let mut answers = vec![answer.clone()];
        if kind == "tool.result" {
            let mut state = self.state();
            state["source"] = "host".into();
            answers.push(spell("state.updated", None, &self.with_secret(state)));
        }
        self.too_much(answer, &mut answers);
        answers
    }

    /// Sometimes it says what nobody should hear, and sometimes what everybody should.
    fn too_much(&mut self, answer: Value, answers: &mut Vec<Value>) {
        match self.dice.within(0..=19) {
            0 | 1 => answers.push(answer),
            2 => {
                let mut stray = answer;
                stray["replyTo"] = "nobody".into();
                answers.push(stray);
            }
            3 => {
                let words = json!({ "text": format!("word {}", self.changes), "stage": "keys" });
                answers.push(spell("user.message", None, &words));
            }
            _ => {}
        }
    }

    /// The id of a study: a new one, one that was there, or one that cannot name a file.
    fn begin(&mut self) -> Value {
        self.studies += 1;
        match self.dice.within(0..=9) {
            0 => GIVEN_BEFORE.into(),
            1 => format!("../{}", self.studies).into(),
            _ => format!("{}-{}", self.name, self.studies).into(),
        }
    }

    fn state(&self) -> Value {
        let press = json!({
            "name": "press",
            "description": "Presses a key.",
            "parameters": { "key": { "type": "string", "description": "which" } },
        });
        json!({
            "uiSpec": { "stage": "keys", "visibleItems": [{ "id": "a" }], "changes": self.changes },
            "messageHistory": [],
            "toolSchema": [press],
        })
    }

    /// The same with what is not for agents, at one of several depths.
    fn with_secret(&mut self, mut payload: Value) -> Value {
        let secret = json!({ "rows": [{ "price": 7 }] });
        let depth = self.dice.within(0..=4);
        let at = match depth {
            0 => Some(&mut payload),
            1 => payload.get_mut("uiSpec"),
            2 => payload.pointer_mut("/uiSpec/visibleItems/0"),
            3 => payload.pointer_mut("/toolSchema/0/parameters/key"),
            _ => None,
        };
        if let Some(Value::Object(fields)) = at {
            fields.insert("backendData".to_owned(), secret);
        } else {
            let deep = Map::from_iter([("backendData".to_owned(), secret)]);
            payload["more"] = json!([[{ "deeper": [deep] }]]);
        }
        payload
    }
}
