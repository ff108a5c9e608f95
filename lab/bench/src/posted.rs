//! What it costs to say something in the chat, and when and how its readers hear of it.

use std::collections::BTreeSet;
use std::sync::{Barrier, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::chat::share_out;
use crate::children;
use crate::global_chat::{Person, Reader};
use crate::now;
use crate::program::{Program, Serving, WayIn};
use crate::sample::Sample;

/// How many people say something at the same instant.
const AT_ONCE: u32 = 1_000;

const READERS: u32 = 500;
/// How many messages each of them reads, said by so many people.
const MESSAGES: u32 = 2_000;
const PEOPLE: usize = 16;

/// How many readers hear of a message that is measured, and how many messages are said so often.
const LISTENERS: usize = 20;
const PACED: u32 = 1_000;
const PACE: Duration = Duration::from_millis(10);
const VALUES: u32 = 3;

/// How many messages the memory is measured behind: as many as are kept have less than the bytes that
/// are kept.
const FIRST: u32 = 100_000;
const ALL: u32 = 1_000_000;
const TEXT_BYTES: usize = 1024;
/// And of these the bytes are filled.
const LONG: u32 = 100_000;
const LONG_BYTES: usize = 4 * 1024;
/// How many short ones come before, so that only what is kept is measured.
const SHORT: u32 = 1_000;

/// How long a server is left alone before its memory is read.
const IDLE: Duration = Duration::from_secs(1);

/// How many ids from 1 on nobody got when many people spoke at once.
pub(crate) fn at_once(program: &Program) -> Result<Vec<Sample>, String> {
    let serving = program.unheard().serve()?;
    let people = (0..AT_ONCE).map(|_| Person::open(&serving.way_in));
    let people = people.collect::<Result<Vec<_>, String>>()?;
    let start = Barrier::new(people.len());
    let ids = thread::scope(|scope| {
        let speak = |mut person: Person| {
            start.wait();
            person.post("hello")
        };
        let posts = people
            .into_iter()
            .map(|person| scope.spawn(move || speak(person)));
        let posts: Vec<_> = posts.collect();
        let ids = posts.into_iter().map(joined);
        ids.collect::<Result<BTreeSet<u32>, String>>()
    })?;
    serving.running.stop()?;
    let missing = (1..=AT_ONCE).filter(|id| !ids.contains(id)).count();
    Ok(vec![one(missing)?])
}

/// How many messages readers missed, saw again or in another order; and the CPU time of the server
/// for each that was delivered, in microseconds.
pub(crate) fn delivered(program: &Program) -> Result<Vec<Sample>, String> {
    let serving = program.unheard().serve()?;
    let way_in = &serving.way_in;
    let readers = (0..READERS).map(|_| Reader::open(way_in, 0));
    let readers = readers.collect::<Result<Vec<_>, String>>()?;
    let process = serving.running.id();
    let before = children::cpu_of_process(process)?;
    let wrong = thread::scope(|scope| {
        let reading = readers
            .into_iter()
            .map(|mut reader| scope.spawn(move || out_of_line(|| reader.next())));
        let reading: Vec<_> = reading.collect();
        say(way_in, MESSAGES, "hello")?;
        let wrong = reading.into_iter().map(joined);
        wrong.sum::<Result<usize, String>>()
    })?;
    let spent = children::cpu_of_process(process)?.saturating_sub(before);
    serving.running.stop()?;
    let each = microseconds(spent) / (f64::from(MESSAGES) * f64::from(READERS));
    Ok(vec![one(wrong)?, Sample::of(vec![each])?])
}

/// Reads to the last message, and counts those that are not the next.
fn out_of_line(mut next: impl FnMut() -> Result<Option<u32>, String>) -> Result<usize, String> {
    let (mut expected, mut wrong) = (1, 0);
    while expected <= MESSAGES {
        let id = next()?;
        wrong += usize::from(id != Some(expected));
        expected = id.map_or(expected, |id| id + 1);
    }
    Ok(wrong)
}

/// From the request that says something until a reader has it, in milliseconds: the median and the
/// 99th percentile over all readers.
pub(crate) fn heard(program: &Program) -> Result<Vec<Sample>, String> {
    let serving = program.unheard().serve()?;
    let (mut medians, mut slowest) = (Vec::new(), Vec::new());
    for round in 0..VALUES {
        let took = paced(&serving.way_in, PACED * round)?;
        medians.push(took.percentile(50));
        slowest.push(took.percentile(99));
    }
    serving.running.stop()?;
    Ok(vec![Sample::of(medians)?, Sample::of(slowest)?])
}

/// Says one message after another at a steady pace, behind so many that were said before.
fn paced(way_in: &WayIn, before: u32) -> Result<Sample, String> {
    let said: Vec<OnceLock<Instant>> = (0..PACED).map(|_| OnceLock::new()).collect();
    let readers = (0..LISTENERS).map(|_| Reader::open(way_in, before));
    let readers = readers.collect::<Result<Vec<_>, String>>()?;
    let took = thread::scope(|scope| {
        let said = &said;
        let reading = readers
            .into_iter()
            .map(|reader| scope.spawn(move || listen(reader, before, said)));
        let reading: Vec<_> = reading.collect();
        let mut person = Person::open(way_in)?;
        let began = now();
        for (number, said) in (0..PACED).zip(said) {
            thread::sleep((PACE * number).saturating_sub(began.elapsed()));
            said.get_or_init(now);
            person.post("hello")?;
        }
        let took = reading.into_iter().map(joined);
        took.collect::<Result<Vec<_>, String>>()
    })?;
    Sample::of(took.concat())
}

fn listen(mut reader: Reader, before: u32, said: &[OnceLock<Instant>]) -> Result<Vec<f64>, String> {
    let hear = |(number, said): (u32, &OnceLock<Instant>)| {
        let id = reader.next()?;
        let heard = now();
        match said.get() {
            Some(said) if id == Some(before + number) => {
                let took = heard.saturating_duration_since(*said);
                Ok(took.as_secs_f64() * 1000.0)
            }
            Some(_) | None => Err(format!("message {} came as {id:?}", before + number)),
        }
    };
    (1..).zip(said).map(hear).collect()
}

/// What a server holds more behind very many messages than behind a few short ones, in megabytes; how
/// much of that came behind the first of them; what another holds more whose chat is full; and the CPU
/// time of a message in microseconds.
pub(crate) fn kept(program: &Program) -> Result<Vec<Sample>, String> {
    let (text, long) = ("x".repeat(TEXT_BYTES), "x".repeat(LONG_BYTES));
    let serving = Posted::to(program)?;
    let before = children::cpu_of_process(serving.process)?;
    let first = serving.grown(FIRST, &text)?;
    let all = first + serving.grown(ALL - FIRST, &text)?;
    let spent = children::cpu_of_process(serving.process)?.saturating_sub(before);
    serving.stop()?;
    let serving = Posted::to(program)?;
    let full = serving.grown(LONG, &long)?;
    serving.stop()?;
    let each = microseconds(spent) / f64::from(ALL);
    let values = [all, all - first, full, each];
    values
        .map(|value| Sample::of(vec![value]))
        .into_iter()
        .collect()
}

/// A server to which a few short messages were posted.
struct Posted {
    serving: Serving,
    process: u32,
}

impl Posted {
    fn to(program: &Program) -> Result<Posted, String> {
        let serving = program.unheard().serve()?;
        let process = serving.running.id();
        say(&serving.way_in, SHORT, "x")?;
        Ok(Posted { serving, process })
    }

    /// How many megabytes it holds more behind so many more messages.
    fn grown(&self, times: u32, text: &str) -> Result<f64, String> {
        let before = self.held()?;
        say(&self.serving.way_in, times, text)?;
        Ok(self.held()? - before)
    }

    fn stop(self) -> Result<(), String> {
        self.serving.running.stop()
    }

    fn held(&self) -> Result<f64, String> {
        thread::sleep(IDLE);
        let kib = children::anonymous_kib(self.process)?;
        Ok(f64::from(kib) * 1024.0 / 1_000_000.0)
    }
}

/// Says the same many times, by several people at once.
fn say(way_in: &WayIn, times: u32, text: &str) -> Result<(), String> {
    let posts = share_out(PEOPLE, times as usize, |mut numbers| {
        let mut person = Person::open(way_in)?;
        numbers.try_for_each(|_| person.post(text).map(drop))
    });
    posts.map(drop)
}

fn joined<T>(client: thread::ScopedJoinHandle<'_, Result<T, String>>) -> Result<T, String> {
    let done = client.join();
    done.unwrap_or_else(|_| Err("a client of the bench broke".to_owned()))
}

fn one(count: usize) -> Result<Sample, String> {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    Sample::of(vec![f64::from(count)])
}

fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_not_the_next_is_counted() {
        let read = |ids: Vec<Option<u32>>| {
            let mut ids = ids.into_iter();
            out_of_line(|| ids.next().ok_or_else(|| "it ended".to_owned()))
        };
        let all = || (1..=MESSAGES).map(Some);

        assert_eq!(read(all().collect()), Ok(0));
        let repeated = [Some(1)].into_iter().chain(all());
        assert_eq!(read(repeated.collect()), Ok(1));
        let missed = all().filter(|id| *id != Some(7));
        assert_eq!(read(missed.collect()), Ok(1));
        let marked = [None].into_iter().chain(all());
        assert_eq!(read(marked.collect()), Ok(1));
        assert_eq!(
            read(all().skip(1).take(5).collect()),
            Err("it ended".to_owned())
        );
    }
}
