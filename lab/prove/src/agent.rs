//! An external agent: it joins a room, begins a study, looks, calls tools, talks, ends the study, and
//! comes back when its server was killed. All agents of a room use the same ids.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Address, ServerGone};
use crate::dice::Dice;
use crate::observed::{Ending, Envelope, Incident, SentMessage};
use crate::rooms::BUILT_IN;
use crate::socket::{Socket, spell};
use crate::stage::Stage;

/// How long somebody waits who was sent away or put off.
const REST: Duration = Duration::from_millis(20);

/// Talks until the arena closes.
pub(crate) struct Agent {
    pub(crate) stage: Arc<Stage>,
    /// Where its server keeps what it keeps.
    pub(crate) data: PathBuf,
    pub(crate) room: &'static str,
    pub(crate) name: String,
    /// How long a request may be open while the server lives.
    pub(crate) patience: Duration,
    /// How often it has come.
    pub(crate) visits: u64,
    pub(crate) dice: Dice,
}

impl Agent {
    pub(crate) async fn attend(mut self) {
        loop {
            let is_last = self.stage.must_close();
            let at = self.stage.server().await;
            match self.visit(&at, is_last).await {
                Ok(()) if is_last => return,
                Ok(()) => tokio::time::sleep(self.dice.millis(5..=120)).await,
                Err(ServerGone) => self.stage.has_lost(&at, REST).await,
            }
        }
    }

    async fn visit(&mut self, at: &Address, is_last: bool) -> Result<(), ServerGone> {
        let socket = match Socket::open(&self.stage.client, at).await? {
            Ok(socket) => socket,
            Err(refusal) if self.stage.is_put_off(&refusal) => return Err(ServerGone),
            Err(refusal) => {
                self.refused(&refusal.body);
                return Ok(());
            }
        };
        self.visits += 1;
        let place = self.stage.links(at.life, self.room);
        let mut visit = Visit {
            agent: self,
            socket,
            life: at.life,
            place,
            said: 0,
            open: Vec::new(),
            items: Vec::new(),
            study: None,
        };
        let gone = visit.talk(is_last).await;
        if gone.is_err() {
            self.stage.is_cut_off(at, &self.name).await;
            return gone;
        }
        visit.socket.leave().await;
        Ok(())
    }

    fn refused(&self, why: &str) {
        self.stage.note(Incident::Refused {
            message: self.name.clone(),
            why: why.to_owned(),
        });
    }
}

/// One connection of an agent.
struct Visit<'a> {
    agent: &'a mut Agent,
    socket: Socket,
    life: u64,
    /// Where it is noted.
    place: usize,
    said: u64,
    /// What is not answered yet.
    open: Vec<SentMessage>,
    /// What was on the screen last.
    items: Vec<String>,
    /// The study session, as the host told of it last.
    study: Option<String>,
}

impl Visit<'_> {
    async fn talk(&mut self, is_last: bool) -> Result<(), ServerGone> {
        self.come_in().await?;
        match (is_last, &self.study) {
            (false, _) => self.work().await,
            (true, Some(_)) => self.end().await,
            (true, None) => Ok(()),
        }
    }

    async fn come_in(&mut self) -> Result<(), ServerGone> {
        let room = self.agent.room;
        let join = json!({ "role": "agent", "sessionId": room });
        self.ask("relay.join", join).await?;
        self.hear_all().await?;
        self.ask("snapshot.get", json!({})).await?;
        self.hear_all().await
    }

    async fn work(&mut self) -> Result<(), ServerGone> {
        if self.study.is_none() && self.percent(70) {
            let study = json!({ "studyId": "prove", "participantId": self.agent.name });
            self.ask("session.start", study).await?;
            self.hear_all().await?;
        }
        for _ in 0..self.agent.dice.within(1..=4) {
            // Several at once, so that their answers cross.
            for _ in 0..self.agent.dice.within(1..=3) {
                self.do_something().await?;
            }
            self.hear_all().await?;
            tokio::time::sleep(self.agent.dice.millis(10..=80)).await;
        }
        if self.percent(35) {
            self.end().await?;
        }
        Ok(())
    }

    async fn do_something(&mut self) -> Result<(), ServerGone> {
        match self.agent.dice.within(0..=9) {
            0 => self.ask("snapshot.get", json!({})).await,
            1 => self.ask("agent.message", json!({ "text": "a word" })).await,
            _ => {
                let mut call = self.call();
                // Its lack is noted, and nothing else.
                if self.percent(80) {
                    call["reason"] = "to get on".into();
                }
                self.ask("tool.call", call).await
            }
        }
    }

    /// A call that may be right or wrong.
    fn call(&mut self) -> Value {
        if self.agent.room != BUILT_IN {
            return json!({ "toolName": "press", "params": { "key": "a" } });
        }
        let item = self.agent.dice.one_of(&self.items).cloned();
        let (tool, params) = match self.agent.dice.within(0..=9) {
            0..=3 => ("select", json!({ "itemId": item })),
            4..=6 => ("next", json!({})),
            7 => ("prev", json!({})),
            8 => ("postMessage", json!({ "text": "a note" })),
            _ => ("selct", json!({})),
        };
        json!({ "toolName": tool, "params": params })
    }

    async fn end(&mut self) -> Result<(), ServerGone> {
        self.ask("session.end", json!({ "reason": "enough" }))
            .await?;
        self.hear_all().await
    }

    /// Says something under an id that other agents of the room use, too, and with a mark that nobody
    /// else has.
    async fn ask(&mut self, kind: &str, mut payload: Value) -> Result<(), ServerGone> {
        self.said += 1;
        let id = format!("{}.{}.{}", self.life, self.agent.visits, self.said);
        let mark = format!("{}-{id}", self.agent.name);
        payload["mark"] = mark.as_str().into();
        let said = SentMessage {
            mark,
            id,
            kind: kind.to_owned(),
            payload,
        };
        self.agent.stage.will_say(self.place, said.clone());
        let envelope = spell(kind, Some(&said.id), &said.payload);
        if kind != "agent.message" {
            self.open.push(said);
        }
        self.socket.say(&envelope).await
    }

    /// Hears on until all is answered.
    async fn hear_all(&mut self) -> Result<(), ServerGone> {
        while let Some(said) = self.open.first() {
            let heard = tokio::time::timeout(self.agent.patience, self.socket.next());
            let Ok(heard) = heard.await else {
                self.agent.stage.is_unanswered(&said.mark);
                self.open.clear();
                return Ok(());
            };
            let got = heard?;
            self.take(&got);
            self.agent.stage.got(self.place, got);
        }
        Ok(())
    }

    fn take(&mut self, got: &Envelope) {
        match got.kind.as_str() {
            "snapshot.state" => {
                self.study = got.payload["sessionId"].as_str().map(str::to_owned);
                self.look(&got.payload);
            }
            "state.updated" => self.look(&got.payload),
            "session.started" => {
                self.study = got.payload["sessionId"].as_str().map(str::to_owned);
            }
            "error" if self.is_wrong(got) => self.agent.refused(&got.payload.to_string()),
            "" => {
                let found = got.payload.to_string();
                self.agent.stage.note(Incident::Malformed(found));
            }
            _ => {}
        }
        let is_it = |said: &SentMessage| got.reply_to.as_ref() == Some(&said.id);
        if let Some(place) = self.open.iter().position(is_it) {
            let said = self.open.remove(place);
            if got.kind == "session.ended" {
                self.study = None;
                self.look_for_log(said, got);
            }
        }
    }

    fn look(&mut self, state: &Value) {
        let items = state["uiSpec"]["visibleItems"].as_array();
        let items = items.into_iter().flatten();
        let ids = items.filter_map(|item| item["id"].as_str());
        self.items = ids.map(str::to_owned).collect();
    }

    /// Who is told the end of a study may read all of it at once.
    fn look_for_log(&self, said: SentMessage, got: &Envelope) {
        let log_file = got.payload["logFile"].as_str().unwrap_or_default();
        let path = self.agent.data.join(log_file);
        let text = std::fs::read_to_string(path).unwrap_or_default();
        self.agent.stage.is_told_the_end(Ending {
            is_there: text.contains(&said.mark),
            log_file: log_file.to_owned(),
            mark: said.mark,
        });
    }

    fn percent(&mut self, percent: u64) -> bool {
        self.agent.dice.percent(percent)
    }

    /// Whether a refusal says that something is wrong which nothing of the load makes wrong.
    fn is_wrong(&self, got: &Envelope) -> bool {
        match got.payload["code"].as_str() {
            Some("INVALID_MESSAGE") | None => true,
            // The built-in host says so of what cannot be had.
            Some("TOOL_EXECUTION_FAILED") => self.agent.room != BUILT_IN,
            Some(_) => false,
        }
    }
}
