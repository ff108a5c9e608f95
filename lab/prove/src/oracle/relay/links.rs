//! What agents said and got: each request is answered once, to who asked it, and both stand in the
//! logs, once each.

use std::collections::{HashMap, HashSet};

use super::logs::{Log, Row, canonical};
use crate::observed::{Envelope, Link, Relay, SentMessage};
use crate::verdict::Verdict;
use crate::violation::Broken;

/// Where a row is: its log's path, and the row.
type LoggedRow<'l> = (&'l str, &'l Row);

/// What begins a study. Which log its rows go to is known when it is answered.
const START: &str = "session.start";

/// What is answered: the room, the number of who asked, and the id.
type ReplyTo<'l> = (&'l str, u64, &'l str);

/// What an agent got that answers nothing: its room, its number there, and what it was.
type Notification<'l> = (&'l str, u64, &'l str, String);

/// The rows of the logs, by what they are about.
pub(super) struct Links<'l> {
    /// What agents said, by its mark.
    said: HashMap<&'l str, Vec<LoggedRow<'l>>>,
    /// The same as it went to hosts.
    forwarded: HashMap<&'l str, Vec<LoggedRow<'l>>>,
    /// What hosts on sockets of their own answered, by the mark of what they were asked.
    answered: HashMap<&'l str, usize>,
    /// What agents were answered.
    replies: HashMap<ReplyTo<'l>, Vec<LoggedRow<'l>>>,
    told: HashMap<Notification<'l>, usize>,
    /// In which life of the server something was said, by its mark.
    lives: HashMap<&'l str, u64>,
}

impl<'l> Links<'l> {
    pub(super) fn of(relay: &'l Relay, logs: &'l [Log<'_>]) -> Self {
        let lives = relay.links.iter().flat_map(|link| {
            let said = link.said.iter();
            said.map(|said| (said.mark.as_str(), link.life))
        });
        let mut links = Self {
            said: HashMap::new(),
            forwarded: HashMap::new(),
            answered: HashMap::new(),
            replies: HashMap::new(),
            told: HashMap::new(),
            lives: lives.collect(),
        };
        for log in logs {
            for row in &log.rows {
                links.add((log.path, row));
            }
        }
        links
    }

    fn add(&mut self, found: LoggedRow<'l>) {
        let (_, row) = found;
        if let Some(mark) = row.mark().filter(|_| row.is("in", "agent")) {
            self.said.entry(mark).or_default().push(found);
        } else if let Some(mark) = row.mark().filter(|_| row.is("out", "host")) {
            self.forwarded.entry(mark).or_default().push(found);
        } else if row.is("in", "host") {
            if let Some(mark) = row.payload()["echo"].as_str() {
                *self.answered.entry(mark).or_default() += 1;
            }
        } else if let Some(member) = row.member().filter(|_| row.is("out", "agent")) {
            if let Some(id) = row.text("replyTo") {
                let replies = self.replies.entry((row.room(), member, id)).or_default();
                replies.push(found);
            } else {
                let told = (row.room(), member, row.kind(), canonical(row.payload()));
                *self.told.entry(told).or_default() += 1;
            }
        }
    }

    /// In which life of the server a row's words were said; none for what no agent has said.
    pub(super) fn life_of(&self, row: &Row) -> Option<u64> {
        let mark = row.mark().filter(|_| row.is("in", "agent"))?;
        self.lives.get(mark).copied()
    }

    /// The row of what an agent has said.
    pub(super) fn said(&self, mark: &str) -> Option<LoggedRow<'l>> {
        self.said.get(mark)?.first().copied()
    }

    pub(super) fn judge(&self, relay: &'l Relay, verdict: &mut Verdict) {
        for (mark, rows) in &self.said {
            if rows.len() > 1 {
                verdict.find(Broken::LogRowTwice, mark, places(rows));
            }
        }
        for (mark, rows) in &self.forwarded {
            if rows.len() > 1 {
                verdict.find(Broken::RequestTwice, mark, places(rows));
            }
        }
        let times = self.times();
        for (key, rows) in &self.replies {
            if rows.len() > times.get(key).copied().unwrap_or(1) {
                let (room, member, id) = key;
                let place = format!("{id} of {member} in {room}");
                verdict.find(Broken::LogRowTwice, &place, places(rows));
            }
        }
        for link in &relay.links {
            self.link(link, verdict);
        }
        self.asked(relay, verdict);
    }

    /// How often an agent of this number used this id: who comes to an empty room is the first again.
    fn times(&self) -> HashMap<ReplyTo<'l>, usize> {
        let mut times = HashMap::new();
        for (_, row) in self.said.values().filter_map(|rows| rows.first()) {
            if let (Some(member), Some(id)) = (row.member(), row.text("id")) {
                *times.entry((row.room(), member, id)).or_default() += 1;
            }
        }
        times
    }

    /// What a host was asked stands in a log as delivered, and it is asked once.
    fn asked(&self, relay: &Relay, verdict: &mut Verdict) {
        let mut known = HashSet::new();
        for mark in &relay.asked {
            if !known.insert(mark.as_str()) {
                verdict.find(Broken::RequestTwice, mark, "the host was asked twice");
            }
            if !self.forwarded.contains_key(mark.as_str()) && !is_held(relay, mark) {
                verdict.find(Broken::LogRowLost, mark, "as it went to the host");
            }
        }
    }

    fn link(&self, link: &'l Link, verdict: &mut Verdict) {
        let mut answers: HashMap<&str, &Envelope> = HashMap::new();
        for got in &link.got {
            let Some(id) = got.reply_to.as_deref() else {
                continue;
            };
            let said = link.said.iter().find(|said| said.id == id);
            let fits = said.is_some_and(|said| is_answer(said, got));
            if !fits || answers.insert(id, got).is_some() {
                verdict.find(Broken::AnswerAstray, &link.room, format!("{got:?}"));
            }
        }
        verdict.counts.relay.answered += u64::try_from(answers.len()).unwrap_or(u64::MAX);
        self.requests(link, &answers, verdict);
        let Some(member) = self.member(link) else {
            return;
        };
        self.replies(link, member, verdict);
        self.told(link, member, verdict);
    }

    /// The number of a connection in its room.
    fn member(&self, link: &Link) -> Option<u64> {
        let mut rows = link.said.iter().filter_map(|said| self.said(&said.mark));
        rows.find_map(|(_, row)| row.member())
    }

    /// What was answered, and all that was said before it, stands in a log as it was said.
    fn requests(&self, link: &Link, answers: &HashMap<&str, &Envelope>, verdict: &mut Verdict) {
        let is_answered = |said: &SentMessage| answers.contains_key(said.id.as_str());
        let heard = link.said.iter().rposition(is_answered);
        let heard = heard.map_or(0, |last| last + 1);
        for said in &link.said[..heard] {
            let is_held = said.kind == START && !is_answered(said);
            let Some((path, row)) = self.said(&said.mark) else {
                if !is_held {
                    verdict.find(Broken::LogRowLost, &said.mark, &said.kind);
                }
                continue;
            };
            let is_same = row.kind() == said.kind
                && row.text("id") == Some(&said.id)
                && row.payload() == &said.payload;
            if !is_same {
                let found = format!("{said:?} / {}", row.payload());
                verdict.find(Broken::LogChanged, path, found);
            }
        }
    }

    /// Every answer stands in a log as it was delivered, in the order in which it was.
    fn replies(&self, link: &'l Link, member: u64, verdict: &mut Verdict) {
        let mut last: HashMap<&str, usize> = HashMap::new();
        for got in &link.got {
            let Some(id) = got.reply_to.as_deref() else {
                continue;
            };
            let rows = self.replies.get(&(link.room.as_str(), member, id));
            let mut said = link.said.iter();
            let said = said.find(|said| said.id == id);
            let asked = said.and_then(|said| self.said(&said.mark));
            let asked_at = asked.and_then(|(_, row)| row.text("timestamp"));
            // A room that was given up counts its members from the start: what another of this
            // number was told in the same words was before this one asked, or after it had left.
            let same = |(_, row): &&LoggedRow<'_>| {
                row.kind() == got.kind
                    && row.payload() == &got.payload
                    && row.text("timestamp") >= asked_at
            };
            let rows = rows.into_iter().flatten().filter(same);
            let Some((path, row)) = rows.min_by_key(|(_, row)| row.text("timestamp")) else {
                let place = format!("{id} of {member} in {}", link.room);
                verdict.find(Broken::LogRowLost, &place, format!("{got:?}"));
                continue;
            };
            let before = last.insert(path, row.at);
            if before.is_some_and(|before| before > row.at) {
                verdict.find(Broken::Reorder, path, format!("{got:?}"));
            }
            let echo = got.payload["echo"].as_str();
            if let Some(mark) = echo.filter(|mark| !self.answered.contains_key(mark)) {
                verdict.find(Broken::LogRowLost, mark, "as the host answered it");
            }
        }
    }

    /// What else was delivered stands there as often.
    fn told(&self, link: &'l Link, member: u64, verdict: &mut Verdict) {
        let mut times: HashMap<(&str, String), usize> = HashMap::new();
        let others = link.got.iter().filter(|got| got.reply_to.is_none());
        for got in others {
            let what = (got.kind.as_str(), canonical(&got.payload));
            *times.entry(what).or_default() += 1;
        }
        for ((kind, payload), times) in times {
            let key = (link.room.as_str(), member, kind, payload);
            let rows = self.told.get(&key).copied().unwrap_or_default();
            if rows < times {
                let place = format!("{member} in {}", link.room);
                let found = format!("{times} of {rows}: {kind} {}", key.3);
                verdict.find(Broken::LogRowLost, &place, found);
            }
        }
    }
}

/// Whether what was said waits for its answer before it goes to a log.
fn is_held(relay: &Relay, mark: &str) -> bool {
    let links = relay.links.iter();
    let found = links.flat_map(|link| link.said.iter().map(move |said| (link, said)));
    let mut found = found.filter(|(_, said)| said.mark == mark);
    found.any(|(link, said)| {
        let is_reply = |got: &Envelope| got.reply_to.as_ref() == Some(&said.id);
        said.kind == START && !link.got.iter().any(is_reply)
    })
}

/// Whether this answers that: it is of a kind that does, and says nothing of another request.
fn is_answer(said: &SentMessage, got: &Envelope) -> bool {
    let wanted = match said.kind.as_str() {
        "relay.join" => "relay.joined",
        START => "session.started",
        "snapshot.get" => "snapshot.state",
        "tool.call" => "tool.result",
        "session.end" => "session.ended",
        _ => "error",
    };
    let echo = got.payload["echo"].as_str();
    (got.kind == wanted || got.kind == "error") && echo.is_none_or(|mark| mark == said.mark)
}

fn places(rows: &[LoggedRow<'_>]) -> String {
    let places = rows
        .iter()
        .map(|(path, row)| format!("{path}:{}", row.at + 1));
    places.collect::<Vec<_>>().join(" ")
}
