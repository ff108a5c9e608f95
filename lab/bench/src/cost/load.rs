//! The servers that are compared, the turns that they are asked for, and what those cost.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::children::CpuUse;
use crate::client::{Client, STREAM, ServerAccess, share_out};
use crate::floor::{Floor, LOOP, PROXY};
use crate::model::{Model, Talk, event};
use crate::program::{Program, Serving};
use crate::sample::percentiles;

/// The deltas of a text turn. The model sends each alone, as model servers do.
pub(super) const DELTAS: u32 = 200;

/// The pause between two deltas that are paced.
const PACE: Duration = Duration::from_millis(5);

/// The rounds with a call, and the file that each reads.
const ROUNDS: usize = 5;
const FILE: &str = "notes.txt";
const CONTENT: &str = "as it was written";

/// The end of a short answer, and of one whose calls had other results.
const DONE: &str = "done";
const WRONG: &str = "wrong";

/// Turns of each client before the first that counts.
const WARM: u32 = 5;

/// What a server does so soon after its answers counts as their cost.
const AFTER: Duration = Duration::from_millis(200);

/// What a turn's model does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Sends all deltas as fast as they are taken.
    Words,
    /// Sends one each five milliseconds.
    Paced,
    /// Calls a tool that reads, five times, one after another.
    Rounds,
    /// Calls a tool that writes.
    Writes,
    /// Says a word.
    Short,
}

/// Which server is asked, and in which protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Samovar's agent service.
    Service,
    /// Samovar's UI message stream.
    Ui,
    Loop,
    Proxy,
}

/// So many turns by so many clients, each turn in another session.
#[derive(Clone, Copy)]
pub(super) struct Load {
    kind: Kind,
    clients: u32,
    turns: u32,
}

/// What a turn of a load cost.
pub(super) struct Cost {
    /// User and system time of the server, in microseconds.
    pub(super) cpu: f64,
    /// The time of all turns, divided by their number, in microseconds.
    pub(super) wall: f64,
    /// From the request to the first delta, the median, in milliseconds.
    pub(super) first: f64,
}

/// Samovar and both floors, before one model.
pub(super) struct Arena {
    pub(super) serving: Serving,
    bare: Floor,
    proxy: Floor,
    _model: Model,
}

impl Load {
    pub(super) const fn new(kind: Kind, clients: u32, turns: u32) -> Load {
        Load {
            kind,
            clients,
            turns,
        }
    }
}

impl Arena {
    pub(super) async fn start(program: &Program<'_>) -> Result<Arena> {
        let model = model().await?;
        let program = program.asking(&model)?;
        fs::write(program.work().join(FILE), CONTENT)?;
        Ok(Arena {
            bare: Floor::start(LOOP, &model, &program.work()).await?,
            proxy: Floor::start(PROXY, &model, &program.work()).await?,
            serving: program.serve().await?,
            _model: model,
        })
    }

    pub(super) async fn stop(self) -> Result<()> {
        self.serving.stop().await
    }

    pub(super) async fn warm(&self, way: Way, load: Load) -> Result<()> {
        let most = load.clients * WARM;
        let turns = load.turns.min(most);
        self.cost(way, Load { turns, ..load }, "warm").await?;
        Ok(())
    }

    /// What a turn costs; another batch has other sessions.
    pub(super) async fn cost(&self, way: Way, load: Load, batch: &str) -> Result<Cost> {
        let (way_in, process) = match way {
            Way::Service | Way::Ui => (&self.serving.way_in, self.serving.process()?),
            Way::Loop => (&self.bare.way_in, self.bare.process()?),
            Way::Proxy => (&self.proxy.way_in, self.proxy.process()?),
        };
        let batch = format!("{batch}-{way:?}");
        if matches!(way, Way::Service | Way::Ui) {
            make_sessions(way_in, load.turns, &batch).await?;
        }
        cost(way_in, process, (way, load), &batch).await
    }
}

/// Makes the sessions of a batch.
pub(super) async fn make_sessions(way_in: &ServerAccess, turns: u32, batch: &str) -> Result<()> {
    let mut client = Client::connect(way_in).await?;
    for number in 0..turns {
        client.make_session(&format!("{batch}-{number}")).await?;
    }
    // The history learns of them now, and not during a turn.
    sleep(AFTER).await;
    Ok(())
}

pub(super) async fn cost(
    way_in: &ServerAccess,
    process: u32,
    (way, load): (Way, Load),
    batch: &str,
) -> Result<Cost> {
    let cpu = CpuUse::by(process)?;
    let began = Instant::now();
    let firsts = speak(way_in, way, load, batch).await?;
    let wall = began.elapsed();
    sleep(AFTER).await;
    let [first] = percentiles(firsts, [50.0])?;
    Ok(Cost {
        cpu: cpu.microseconds_each(load.turns)?,
        wall: wall.as_secs_f64() * 1e6 / f64::from(load.turns),
        first,
    })
}

/// Runs the turns and checks each answer; how long each first delta took.
pub(super) async fn speak(
    way_in: &ServerAccess,
    way: Way,
    load: Load,
    batch: &str,
) -> Result<Vec<Duration>> {
    let firsts = share_out(way_in, load.clients, load.turns, |mut client, numbers| {
        let batch = batch.to_owned();
        async move {
            let mut firsts = Vec::new();
            for number in numbers {
                let session = format!("{batch}-{number}");
                let (path, params) = request(way, load.kind, &session);
                let (text, first) = client.hear(path, &params).await?;
                ensure!(text == load.kind.text(), "{way:?} answered {text:?}");
                firsts.extend(first);
            }
            Ok(firsts)
        }
    });
    Ok(firsts.await?.concat())
}

fn request(way: Way, kind: Kind, session: &str) -> (&'static str, Value) {
    let content = format!("{kind:?}");
    match way {
        Way::Service | Way::Loop => {
            let params = json!({"sessionId": session, "content": content});
            (STREAM, params)
        }
        Way::Ui => {
            let parts = json!([{"type": "text", "text": content}]);
            let message = json!({"id": session, "role": "user", "parts": parts});
            ("/api/chat", json!({"id": session, "messages": [message]}))
        }
        Way::Proxy => {
            let messages = json!([{"role": "user", "content": content}]);
            ("/", json!({"stream": true, "messages": messages}))
        }
    }
}

impl Kind {
    /// The text of its turn.
    fn text(self) -> String {
        match self {
            Kind::Words | Kind::Paced => (0..DELTAS).map(word).collect(),
            Kind::Rounds | Kind::Writes | Kind::Short => DONE.to_owned(),
        }
    }
}

fn word(number: u32) -> String {
    format!("word {number} ")
}

/// The model of every load: the last word of the user says what it does.
pub(super) async fn model() -> Result<Model> {
    let words = (0..DELTAS).map(|number| event(&json!({"content": word(number)}), None));
    let words: Arc<[Bytes]> = words.collect::<Result<_>>()?;
    Model::start(move |talk| converse(talk, words.clone())).await
}

async fn converse(talk: Talk, words: Arc<[Bytes]>) -> Result<()> {
    let said = talk.last_user().to_owned();
    let is = |kind: Kind| said.ends_with(&format!("{kind:?}"));
    if is(Kind::Words) {
        for word in words.iter() {
            talk.send(word.clone()).await?;
        }
    } else if is(Kind::Paced) {
        let mut pace = interval(PACE);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for word in words.iter() {
            pace.tick().await;
            talk.send(word.clone()).await?;
        }
    } else if is(Kind::Rounds) && talk.tool_results() < ROUNDS {
        let arguments = json!({"path": FILE}).to_string();
        return talk.call("read_file", &arguments).await;
    } else if is(Kind::Writes) && talk.tool_results() == 0 {
        // Each turn has its own file: an agent may not replace one that it has not read.
        let file = said.split(' ').next();
        let arguments = json!({"path": file, "content": CONTENT}).to_string();
        return talk.call("write_file", &arguments).await;
    } else {
        let mut results = talk.results().into_iter();
        let is_right = is(Kind::Writes) || results.all(|result| result.contains(CONTENT));
        talk.say(if is_right { DONE } else { WRONG }, 1).await?;
    }
    talk.end().await
}

#[cfg(test)]
mod tests;
