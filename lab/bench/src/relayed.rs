//! How the relay handles many rooms at the same time, what it adds to a call, and what an idle room
//! costs.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use futures_util::future::{try_join, try_join_all};
use futures_util::{SinkExt, StreamExt};
use hyper::header::AUTHORIZATION;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::children::{self, CpuUse};
use crate::client::{PATIENCE, ServerAccess, at_once};
use crate::program::Program;
use crate::sample::{Sample, percentiles};

/// The path of the relay's sockets.
const PATH: &str = "/agent/ws";

const ROOMS: u32 = 100;
const AGENTS: u32 = 2;
/// Calls of each agent.
const CALLS: u32 = 1_000;

/// How many calls one value is the median of, and how many values there are.
const TIMED: u32 = 2_000;
const VALUES: u32 = 3;

const IDLE_ROOMS: u32 = 500;
/// How long a server is left alone before its memory is read.
const IDLE: Duration = Duration::from_secs(1);

/// How many messages agents got that were not the answer to their call, how many rows their logs lack,
/// and the CPU time of the server for a call in microseconds.
pub(crate) async fn crowded(program: &Program<'_>) -> Result<Vec<Sample>> {
    let serving = program.without_agent().serve().await?;
    let spent = CpuUse::by(serving.process()?)?;
    let rooms = (0..ROOMS).map(|room| crowd(serving.way_in.clone(), room.to_string()));
    let rooms = at_once(rooms).await?;
    let each = spent.microseconds_each(ROOMS * AGENTS * CALLS)?;
    serving.stop().await?;
    let (mut wrong, mut missing) = (0, 0);
    for room in rooms {
        wrong += room.wrong;
        let log = File::open(program.data().join(&room.log)).context(room.log)?;
        missing += lacking(BufReader::new(log), AGENTS * CALLS)?;
    }
    Sample::each([f64::from(wrong), f64::from(missing), each])
}

/// What became of a room.
struct Room {
    /// Messages that were not what their reader waited for.
    wrong: u32,
    /// The path of its study log, from the data directory.
    log: String,
}

/// A room in which agents call at the same time and under the same ids.
async fn crowd(way_in: ServerAccess, name: String) -> Result<Room> {
    let mut host = Guest::join(&way_in, "host", &name).await?;
    let mut agents = Vec::new();
    for _ in 0..AGENTS {
        agents.push(Guest::join(&way_in, "agent", &name).await?);
    }
    let calling = async {
        agents[0].ask("session.start", "session.started").await?;
        let calls = agents.iter_mut().zip(0..).map(async |(agent, asker)| {
            let mut wrong = 0;
            for call in 0..CALLS {
                wrong += agent.call(asker, call).await?;
            }
            anyhow::Ok(wrong)
        });
        let wrong = try_join_all(calls).await?.iter().sum();
        let ended = agents[0].ask("session.end", "session.ended").await?;
        let log = ended["payload"]["logFile"].as_str();
        let log = log.with_context(|| format!("no log: {ended}"))?.to_owned();
        Ok(Room { wrong, log })
    };
    let (room, ()) = try_join(calling, host.answer(2 + AGENTS * CALLS)).await?;
    Ok(room)
}

/// How many rows a log lacks: delivered answers, and indexes that are not the next.
fn lacking(log: impl BufRead, answers: u32) -> Result<u32> {
    let (mut delivered, mut misplaced) = (0, 0);
    for (place, row) in (0_u32..).zip(log.lines()) {
        let row: Value = serde_json::from_str(&row?)?;
        misplaced += u32::from(row["eventIndex"] != place);
        delivered += u32::from(row["direction"] == "out" && row["type"] == "tool.result");
    }
    Ok(misplaced + answers.abs_diff(delivered))
}

/// How much longer a call takes over the relay than over a connection between the same two, in
/// milliseconds: the difference of two medians.
pub(crate) async fn added(program: &Program<'_>) -> Result<Vec<Sample>> {
    let serving = program.without_agent().serve().await?;
    let mut added = Vec::new();
    for value in 0..VALUES {
        let [client, server] = Guest::pair().await?;
        let direct = median(client, server).await?;
        let room = format!("timed {value}");
        let host = Guest::join(&serving.way_in, "host", &room).await?;
        let agent = Guest::join(&serving.way_in, "agent", &room).await?;
        added.push(median(agent, host).await? - direct);
    }
    serving.stop().await?;
    Ok(vec![Sample::of(added)?])
}

async fn median(mut agent: Guest, mut host: Guest) -> Result<f64> {
    let calling = async {
        let mut took = Vec::new();
        for call in 0..TIMED {
            let began = Instant::now();
            ensure!(agent.call(0, call).await? == 0, "another answer to a call");
            took.push(began.elapsed());
        }
        Ok(took)
    };
    let (took, ()) = try_join(calling, host.answer(TIMED)).await?;
    let [median] = percentiles(took, [50.0])?;
    Ok(median)
}

/// What a server holds for a room with a host and an agent that send nothing, in KiB.
pub(crate) async fn idle(program: &Program<'_>) -> Result<Vec<Sample>> {
    let serving = program.without_agent().serve().await?;
    let pair = async |room: &str| {
        let host = Guest::join(&serving.way_in, "host", room).await?;
        anyhow::Ok([host, Guest::join(&serving.way_in, "agent", room).await?])
    };
    let held = async || {
        sleep(IDLE).await;
        children::anonymous_kib(serving.process()?).map(f64::from)
    };
    let mut rooms = vec![pair("first").await?];
    let before = held().await?;
    for room in 0..IDLE_ROOMS {
        rooms.push(pair(&room.to_string()).await?);
    }
    let grown = held().await? - before;
    drop(rooms);
    serving.stop().await?;
    Sample::each([grown / f64::from(IDLE_ROOMS)])
}

/// An agent or a host.
struct Guest(WebSocketStream<TcpStream>);

impl Guest {
    async fn join(way_in: &ServerAccess, role: &str, room: &str) -> Result<Guest> {
        let stream = way_in.connect().await?;
        let mut request = format!("ws://{}{PATH}", way_in.address).into_client_request()?;
        let authorization = way_in.authorization().parse()?;
        request.headers_mut().insert(AUTHORIZATION, authorization);
        let (socket, _) = timeout(PATIENCE, client_async(request, stream)).await??;
        let mut guest = Guest(socket);
        let payload = json!({"role": role, "sessionId": room});
        let join = json!({"type": "relay.join", "id": "join", "payload": payload});
        guest.send(join).await?;
        guest.expect("relay.joined").await?;
        Ok(guest)
    }

    /// An agent and a host with nothing between them.
    async fn pair() -> Result<[Guest; 2]> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let client = TcpStream::connect(listener.local_addr()?).await?;
        let (server, _) = listener.accept().await?;
        let guest = async |stream: TcpStream, role| {
            stream.set_nodelay(true)?;
            let socket = WebSocketStream::from_raw_socket(stream, role, None);
            anyhow::Ok(Guest(socket.await))
        };
        Ok([
            guest(client, Role::Client).await?,
            guest(server, Role::Server).await?,
        ])
    }

    /// Sends a request and returns its answer, which is of this type.
    async fn ask(&mut self, request: &str, answer: &str) -> Result<Value> {
        self.send(json!({"type": request, "id": request, "payload": {}}))
            .await?;
        self.expect(answer).await
    }

    /// Calls a tool, and counts what comes before the answer to this very call.
    async fn call(&mut self, asker: u32, call: u32) -> Result<u32> {
        let params = json!({"key": "a"});
        let payload =
            json!({"toolName": "press", "params": params, "reason": "measured", "asker": asker});
        let call = call.to_string();
        self.send(json!({"type": "tool.call", "id": call, "payload": payload}))
            .await?;
        let mut wrong = 0;
        while !is_answer(&self.next().await?, asker, &call) {
            wrong += 1;
        }
        Ok(wrong)
    }

    /// Answers so many requests, whatever they are.
    async fn answer(&mut self, times: u32) -> Result<()> {
        for _ in 0..times {
            let request = self.next().await?;
            let (answer, payload) = match request["type"].as_str() {
                Some("session.start") => ("session.started", json!({})),
                Some("session.end") => ("session.ended", json!({})),
                Some(_) | None => {
                    let asker = &request["payload"]["asker"];
                    let payload = json!({"ok": true, "toolName": "press", "asker": asker});
                    ("tool.result", payload)
                }
            };
            self.send(json!({"type": answer, "replyTo": request["id"], "payload": payload}))
                .await?;
        }
        Ok(())
    }

    async fn expect(&mut self, kind: &str) -> Result<Value> {
        let message = self.next().await?;
        ensure!(message["type"] == kind, "{kind} did not come: {message}");
        Ok(message)
    }

    async fn send(&mut self, mut message: Value) -> Result<()> {
        message["v"] = "mvp-0.2".into();
        Ok(self.0.send(Message::text(message.to_string())).await?)
    }

    async fn next(&mut self) -> Result<Value> {
        loop {
            let next = timeout(PATIENCE, self.0.next()).await?;
            match next.context("the socket was closed")?? {
                Message::Text(text) => return Ok(serde_json::from_str(&text)?),
                Message::Ping(_) | Message::Pong(_) => {}
                other => bail!("{other:?} instead of a text"),
            }
        }
    }
}

/// Whether this answers that call of that asker.
fn is_answer(message: &Value, asker: u32, call: &str) -> bool {
    message["type"] == "tool.result"
        && message["replyTo"] == call
        && message["payload"]["asker"] == asker
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_to_this_call_of_this_asker_is_one() {
        let answer = |kind: &str| json!({"type": kind, "replyTo": "7", "payload": {"asker": 1}});
        for (kind, asker, call, wanted) in [
            ("tool.result", 1, "7", true),
            ("tool.result", 0, "7", false),
            ("tool.result", 1, "8", false),
            ("error", 1, "7", false),
        ] {
            assert_eq!(is_answer(&answer(kind), asker, call), wanted);
        }
    }

    #[test]
    fn a_missing_or_misplaced_row_is_counted() {
        let row = |place: u32, direction: &str| {
            json!({"eventIndex": place, "direction": direction, "type": "tool.result"}).to_string()
        };
        let whole = [row(0, "in"), row(1, "out"), row(2, "in"), row(3, "out")];
        for (rows, wanted) in [
            (&whole[..], 0),
            (&whole[..3], 1),
            (&whole[1..], 3),
            (&[], 2),
        ] {
            assert_eq!(lacking(rows.join("\n").as_bytes(), 2).unwrap(), wanted);
        }
    }

    #[tokio::test]
    async fn a_direct_call_is_answered() {
        let [client, server] = Guest::pair().await.unwrap();

        assert!(median(client, server).await.unwrap() > 0.0);
    }
}
