//! What the relay does with many rooms at once, what it adds to a call, and what a room costs in which
//! nothing happens.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use crate::chat::{number, text};
use crate::children;
use crate::now;
use crate::program::{Program, WayIn};
use crate::sample::Sample;
use crate::socket::Socket;

/// Where agents and hosts meet.
const PATH: &str = "/agent/ws";

const ROOMS: u32 = 100;
const AGENTS: u32 = 2;
/// Calls of each agent.
const CALLS: u32 = 1_000;

/// Calls of which one latency is the median, and how many latencies are taken.
const TIMED: u32 = 2_000;
const VALUES: u32 = 3;

/// Rooms in which nothing happens.
const IDLE_ROOMS: u32 = 500;
/// How long a server is left alone before its memory is read.
const IDLE: Duration = Duration::from_secs(1);

/// How many messages agents got that were not the answer to their call, how many rows their logs lack,
/// and the CPU time of the server for a call in microseconds.
pub(crate) fn crowded(program: &Program) -> Result<Vec<Sample>, String> {
    let serving = program.unheard().serve()?;
    let (way_in, process) = (&serving.way_in, serving.running.id());
    let before = children::cpu_of_process(process)?;
    let rooms = thread::scope(|scope| {
        let rooms = (0..ROOMS).map(|room| scope.spawn(move || crowd(way_in, &room.to_string())));
        let rooms: Vec<_> = rooms.collect();
        let rooms = rooms.into_iter().map(joined);
        rooms.collect::<Result<Vec<_>, String>>()
    })?;
    let spent = children::cpu_of_process(process)?.saturating_sub(before);
    serving.running.stop()?;
    let wrong = rooms.iter().map(|room| room.wrong).sum::<u32>();
    let missing = rooms.iter().map(|room| {
        let log = program.data().join(&room.log);
        missing(&log).map_err(|cause| format!("{}: {cause}", log.display()))
    });
    let missing = missing.sum::<Result<u32, String>>()?;
    let calls = f64::from(ROOMS * AGENTS) * f64::from(CALLS);
    let each = spent.as_secs_f64() * 1_000_000.0 / calls;
    let values = [f64::from(wrong), f64::from(missing), each];
    let samples = values.map(|value| Sample::of(vec![value]));
    samples.into_iter().collect()
}

/// What became of a room.
struct Room {
    /// Messages that were not what their reader waited for.
    wrong: u32,
    /// Where its study's log lies, behind the data directory.
    log: String,
}

/// A room in which agents call at once and under the same ids.
fn crowd(way_in: &WayIn, name: &str) -> Result<Room, String> {
    let mut host = Guest::join(way_in, "host", name)?;
    let agents = (0..AGENTS).map(|_| Guest::join(way_in, "agent", name));
    let mut agents = agents.collect::<Result<Vec<_>, String>>()?;
    let start = Barrier::new(agents.len());
    thread::scope(|scope| {
        let answering = scope.spawn(move || host.answer(2 + AGENTS * CALLS));
        if let Some(first) = agents.first_mut() {
            first.asks("session.start", "session.started")?;
        }
        let calling = agents.into_iter().zip(0..).map(|(mut agent, asker)| {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                let wrong = (0..CALLS).map(|call| agent.call(asker, call));
                let wrong = wrong.sum::<Result<u32, String>>()?;
                Ok((agent, wrong))
            })
        });
        let calling: Vec<_> = calling.collect();
        let called = calling.into_iter().map(joined);
        let called = called.collect::<Result<Vec<(Guest, u32)>, String>>()?;
        let wrong = called.iter().map(|(_, wrong)| wrong).sum();
        let Some((mut first, _)) = called.into_iter().next() else {
            return Err("nobody has called".to_owned());
        };
        let ended = first.asks("session.end", "session.ended")?;
        let log = text(&ended, "logFile").ok_or_else(|| format!("no log: {ended}"))?;
        joined(answering)?;
        let log = log.to_owned();
        Ok(Room { wrong, log })
    })
}

/// How many rows a log lacks: answers that were delivered, and indexes that are not the next.
fn missing(log: &Path) -> io::Result<u32> {
    lacking(BufReader::new(File::open(log)?), AGENTS * CALLS)
}

fn lacking(log: impl BufRead, answers: u32) -> io::Result<u32> {
    let (mut delivered, mut misplaced) = (0, 0);
    for (place, row) in (0..).zip(log.lines()) {
        let row = row?;
        misplaced += u32::from(number(&row, "eventIndex") != Some(place));
        let is_delivered =
            text(&row, "direction") == Some("out") && text(&row, "type") == Some("tool.result");
        delivered += u32::from(is_delivered);
    }
    Ok(misplaced + answers.abs_diff(delivered))
}

/// How much longer a call takes over the relay than over a connection between the same two, in
/// milliseconds: the difference of two medians.
pub(crate) fn added(program: &Program) -> Result<Vec<Sample>, String> {
    let serving = program.unheard().serve()?;
    let mut added = Vec::new();
    for value in 0..VALUES {
        let (client, server) = Socket::pair().map_err(|cause| cause.to_string())?;
        let direct = timed(Guest(client), Guest(server))?;
        let room = format!("timed {value}");
        let host = Guest::join(&serving.way_in, "host", &room)?;
        let agent = Guest::join(&serving.way_in, "agent", &room)?;
        added.push(timed(agent, host)? - direct);
    }
    serving.running.stop()?;
    Ok(vec![Sample::of(added)?])
}

fn timed(mut agent: Guest, mut host: Guest) -> Result<f64, String> {
    thread::scope(|scope| {
        let answering = scope.spawn(move || host.answer(TIMED));
        let took = (0..TIMED).map(|call| {
            let began = now();
            match agent.call(0, call)? {
                0 => Ok(began.elapsed().as_secs_f64() * 1000.0),
                _ => Err("a call was answered otherwise".to_owned()),
            }
        });
        let took = took.collect::<Result<Vec<f64>, String>>()?;
        joined(answering)?;
        Ok(Sample::of(took)?.median())
    })
}

/// What a server holds for a room with a host and an agent that say nothing, in KiB.
pub(crate) fn idle(program: &Program) -> Result<Vec<Sample>, String> {
    let serving = program.unheard().serve()?;
    let process = serving.running.id();
    let _first = pair(&serving.way_in, "first")?;
    let before = held(process)?;
    let rooms = (0..IDLE_ROOMS).map(|room| pair(&serving.way_in, &room.to_string()));
    let rooms = rooms.collect::<Result<Vec<_>, String>>()?;
    let grown = held(process)? - before;
    drop(rooms);
    serving.running.stop()?;
    Ok(vec![Sample::of(vec![grown / f64::from(IDLE_ROOMS)])?])
}

fn pair(way_in: &WayIn, room: &str) -> Result<[Guest; 2], String> {
    let host = Guest::join(way_in, "host", room)?;
    Ok([host, Guest::join(way_in, "agent", room)?])
}

fn held(process: u32) -> Result<f64, String> {
    thread::sleep(IDLE);
    children::anonymous_kib(process).map(f64::from)
}

/// Who is in a room.
struct Guest(Socket);

impl Guest {
    fn join(way_in: &WayIn, role: &str, room: &str) -> Result<Guest, String> {
        let socket = Socket::open(way_in, PATH);
        let mut guest = Guest(socket.map_err(|cause| format!("{PATH}: {cause}"))?);
        let join = format!(r#""payload":{{"role":"{role}","sessionId":"{room}"}}"#);
        guest.say(&format!(r#""type":"relay.join","id":"join",{join}"#))?;
        guest.until("relay.joined").map(|_| guest)
    }

    /// Asks for this, and gives the answer, which is of that kind.
    fn asks(&mut self, kind: &str, answer: &str) -> Result<String, String> {
        self.say(&format!(r#""type":"{kind}","id":"{kind}","payload":{{}}"#))?;
        self.until(answer)
    }

    /// Calls a tool, and counts what comes before the answer to this very call.
    fn call(&mut self, asker: u32, call: u32) -> Result<u32, String> {
        let payload = format!(
            r#"{{"toolName":"press","params":{{"key":"a"}},"reason":"measured","asker":{asker}}}"#
        );
        self.say(&format!(
            r#""type":"tool.call","id":"{call}","payload":{payload}"#
        ))?;
        let mut wrong = 0;
        loop {
            let heard = self.hear()?;
            if is_answer(&heard, asker, call) {
                return Ok(wrong);
            }
            wrong += 1;
        }
    }

    /// Answers so many requests, whatever they are.
    fn answer(&mut self, times: u32) -> Result<(), String> {
        (0..times).try_for_each(|_| {
            let heard = self.hear()?;
            let id = text(&heard, "id").unwrap_or_default();
            let (kind, payload) = match text(&heard, "type") {
                Some("session.start") => ("session.started", "{}".to_owned()),
                Some("session.end") => ("session.ended", "{}".to_owned()),
                Some(_) | None => {
                    let asker = number(&heard, "asker").unwrap_or(u32::MAX);
                    let done = format!(r#"{{"ok":true,"toolName":"press","asker":{asker}}}"#);
                    ("tool.result", done)
                }
            };
            self.say(&format!(
                r#""type":"{kind}","replyTo":"{id}","payload":{payload}"#
            ))
        })
    }

    fn until(&mut self, kind: &str) -> Result<String, String> {
        let heard = self.hear()?;
        match text(&heard, "type") {
            Some(heard_kind) if heard_kind == kind => Ok(heard),
            Some(_) | None => Err(format!("{kind} did not come: {heard}")),
        }
    }

    fn say(&mut self, fields: &str) -> Result<(), String> {
        let said = self.0.say(&format!(r#"{{"v":"mvp-0.2",{fields}}}"#));
        said.map_err(|cause| format!("a room was left: {cause}"))
    }

    fn hear(&mut self) -> Result<String, String> {
        let heard = self.0.hear();
        heard.map_err(|cause| format!("nothing was heard in a room: {cause}"))
    }
}

/// Whether this answers that call of that asker.
fn is_answer(heard: &str, asker: u32, call: u32) -> bool {
    let replied = text(heard, "replyTo").and_then(|id| id.parse().ok());
    text(heard, "type") == Some("tool.result")
        && replied == Some(call)
        && number(heard, "asker") == Some(asker)
}

fn joined<T>(guest: thread::ScopedJoinHandle<'_, Result<T, String>>) -> Result<T, String> {
    let done = guest.join();
    done.unwrap_or_else(|_| Err("a guest of the bench broke".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_answer_to_another_or_under_another_id_is_wrong() {
        let heard = r#"{"v":"mvp-0.2","type":"tool.result","replyTo":"7","payload":{"asker":1}}"#;

        assert!(is_answer(heard, 1, 7));
        assert!(!is_answer(heard, 0, 7) && !is_answer(heard, 1, 8));
        assert!(!is_answer(&heard.replace("tool.result", "error"), 1, 7));
    }

    #[test]
    fn a_row_that_is_not_there_or_not_in_its_place_is_counted() {
        let row = |place: u32, direction: &str| {
            format!(r#"{{"eventIndex":{place},"direction":"{direction}","type":"tool.result"}}"#)
        };
        let whole = [row(0, "in"), row(1, "out"), row(2, "in"), row(3, "out")];
        let lacks = |rows: &[String]| lacking(rows.join("\n").as_bytes(), 2).unwrap();

        assert_eq!(lacks(&whole), 0);
        assert_eq!(lacks(&whole[..3]), 1);
        assert_eq!(lacks(&whole[1..]), 3);
        assert_eq!(lacks(&[]), 2);
    }

    #[test]
    fn who_calls_directly_is_answered_directly() {
        let (client, server) = Socket::pair().unwrap();

        assert!(timed(Guest(client), Guest(server)).unwrap() > 0.0);
    }
}
