//! Writes a log as the relay does, of a host and agents that are played here.

use samovar_core::Millis;
use samovar_core::relay::{
    Envelope, Host, HostContext, MessageKind, Payload, PersonDeed, RelayRole,
};
use serde_json::{Value, json};

use crate::row::{self, Direction, Row, note};

/// Half past seven in the evening of a day.
const BEGIN: i64 = 1_796_671_800_123;

pub(super) struct Recorder {
    host: Box<dyn Host>,
    agents: u64,
    said: u64,
    days: i64,
    rows: Vec<Row>,
}

impl Recorder {
    pub(super) fn new(host: impl Host + 'static, agents: u64) -> Self {
        Self {
            host: Box::new(host),
            agents,
            said: 0,
            days: 0,
            rows: Vec::new(),
        }
    }

    /// An agent says something that the host hears.
    pub(super) fn agent(&mut self, member: u64, kind: &str, payload: Value) -> &mut Self {
        self.said += 1;
        let kind = MessageKind::from_word(kind).unwrap();
        let said = Envelope::new(kind, object(payload)).with_id(format!("r{}", self.said));
        self.row(Direction::In, &said, Some(member));
        let forwarded = said.clone().with_id(format!("relay-{}", self.said));
        self.row(Direction::Out, &forwarded, None);
        for answer in self.host.hear(&forwarded, &self.context()) {
            self.row(Direction::In, &answer, None);
            if answer.reply_to.is_some() {
                let answer = answer.replying_to(said.id.clone());
                self.row(Direction::Out, &answer, Some(member));
            } else {
                self.tell_all(&answer);
            }
        }
        if kind == MessageKind::SessionEnd {
            // What comes behind it stands in the room's own file.
            let last =
                |row: &Row| row.kind == "session.ended" && row.role == Some(RelayRole::Agent);
            let last = self.rows.iter().rposition(last).unwrap();
            self.rows.truncate(last + 1);
            self.note(note::ENDED, None);
        }
        self
    }

    pub(super) fn call(&mut self, tool: &str, params: Value) -> &mut Self {
        let mut call = json!({"toolName": tool, "reason": "why not"});
        call["params"] = params;
        self.agent(1 + self.said % self.agents, "tool.call", call)
    }

    /// The person does something that can be done.
    pub(super) fn person(&mut self, deed: &PersonDeed) -> &mut Self {
        self.said += 1;
        for said in self.host.person(deed, &self.context()).unwrap() {
            self.row(Direction::In, &said, None);
            self.tell_all(&said);
        }
        self
    }

    pub(super) fn click(&mut self, tool: &str, params: Value) -> &mut Self {
        let (tool, params) = (tool.to_owned(), object(params));
        self.person(&PersonDeed::Calls { tool, params })
    }

    /// The next rows are written a day later.
    pub(super) fn a_day_later(&mut self) -> &mut Self {
        self.days += 1;
        self
    }

    /// The server dies and is there again, with a new host.
    pub(super) fn restart(&mut self, host: impl Host + 'static) -> &mut Self {
        self.note(note::RESTARTED, None);
        self.replace(host)
    }

    /// A new host takes the place of the one that is there.
    pub(super) fn replace(&mut self, host: impl Host + 'static) -> &mut Self {
        self.host = Box::new(host);
        self.host.resume(&self.context().study, Millis(BEGIN));
        self.note(note::ENTERED, Some(RelayRole::Host));
        self
    }

    /// All steps of a booking, the stages being completed by whatever is free there.
    pub(super) fn book(&mut self) -> &mut Self {
        for stage in [
            "movie", "theater", "date", "time", "seat", "ticket", "confirm",
        ] {
            let choice = self.free();
            match stage {
                "ticket" => self.call("setQuantity", json!({"typeId": choice, "quantity": 1})),
                "confirm" => self,
                _ => self.call("select", json!({"itemId": choice})),
            };
            self.call("next", json!({}));
        }
        self
    }

    /// The first item that can be had.
    pub(super) fn free(&mut self) -> String {
        let look = Envelope::new(MessageKind::SnapshotGet, Payload::new());
        let seen = self.host.hear(&look, &self.context()).remove(0);
        let items = seen.payload["uiSpec"]["visibleItems"]
            .as_array()
            .unwrap()
            .iter();
        let mut free = items.filter(|item| item["isDisabled"] != true);
        free.next().unwrap()["id"].as_str().unwrap().to_owned()
    }

    pub(super) fn rows(&self) -> Vec<Row> {
        self.rows.clone()
    }

    pub(super) fn log(&self) -> String {
        write(&self.rows)
    }

    fn context(&self) -> HostContext {
        HostContext {
            now: self.now(),
            room: "cinema".to_owned(),
            study: "s-20261207-001".to_owned(),
        }
    }

    fn now(&self) -> Millis {
        let said = i64::try_from(self.said).unwrap();
        Millis(BEGIN + 37 * said + 86_400_000 * self.days)
    }

    fn tell_all(&mut self, said: &Envelope) {
        for member in 1..=self.agents {
            self.row(Direction::Out, said, Some(member));
        }
    }

    fn note(&mut self, kind: &str, role: Option<RelayRole>) {
        let mut row = self.new_row(Direction::Internal, kind, Payload::new());
        row.role = role;
        self.rows.push(row);
    }

    fn row(&mut self, direction: Direction, said: &Envelope, member: Option<u64>) {
        let row = self.new_row(direction, said.kind.as_str(), said.payload.clone());
        let role = match member {
            Some(_) => RelayRole::Agent,
            None => RelayRole::Host,
        };
        self.rows.push(Row {
            role: Some(role),
            member,
            id: said.id.clone(),
            reply_to: said.reply_to.clone(),
            ..row
        });
    }

    fn new_row(&self, direction: Direction, kind: &str, payload: Payload) -> Row {
        Row {
            session_id: "s-20261207-001".to_owned(),
            event_index: 0,
            timestamp: row::timestamp(self.now()),
            direction,
            kind: kind.to_owned(),
            payload,
            relay_session_id: Some("default".to_owned()),
            role: None,
            member: None,
            id: None,
            reply_to: None,
            check: String::new(),
        }
    }
}

/// Rows with their numbers and checks, a line each.
pub(super) fn write(rows: &[Row]) -> String {
    let (mut text, mut check) = (String::new(), String::new());
    for (row, index) in rows.iter().zip(0..) {
        let mut row = Row {
            event_index: index,
            check: String::new(),
            ..row.clone()
        };
        row.check = row::check(&check, &row);
        text += &serde_json::to_string(&row).unwrap();
        text.push('\n');
        check = row.check;
    }
    text
}

/// Rows as somebody else writes them: of the agents alone, without what only this relay has.
pub(super) fn write_seed(rows: &[Row]) -> String {
    let of_agents = rows.iter().filter(|row| row.role == Some(RelayRole::Agent));
    let mut text = String::new();
    for (row, index) in of_agents.zip(0..) {
        let row = Row {
            event_index: index,
            relay_session_id: None,
            role: None,
            ..row.clone()
        };
        text += &serde_json::to_string(&row).unwrap();
        text.push('\n');
    }
    text
}

fn object(json: Value) -> Payload {
    match json {
        Value::Object(payload) => payload,
        _ => unreachable!("payloads are objects"),
    }
}
