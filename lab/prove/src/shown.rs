//! Pages: every connection to an answer shows it from its one start, each frame as all others saw it;
//! a feed has every event of its log once, as the stream of its turn has it; a talk is in the end what
//! its person made of it.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::observed::{AnswerReading, FeedReading, Observed, Profile, Spool, Talk};
use crate::scene;
use crate::violation::{Broken, Violation};

/// Numbers of what pages read, and edited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WebCounts {
    /// Connections that read an answer as clients of the AI SDK do.
    pub answers: u64,
    /// Connections that followed the feed of a session.
    pub feeds: u64,
    /// How often a message was edited or answered again.
    pub rewritten: u64,
}

impl WebCounts {
    pub(crate) fn add(&mut self, other: &Self) {
        let Self {
            answers,
            feeds,
            rewritten,
        } = other;
        self.answers += answers;
        self.feeds += feeds;
        self.rewritten += rewritten;
    }
}

/// The numbers of what pages saw, and each promise that it breaks.
#[derive(Debug, Default)]
pub(crate) struct WebVerdict {
    pub(crate) counts: WebCounts,
    pub(crate) violations: Vec<Violation>,
}

impl WebVerdict {
    fn find(&mut self, kind: Broken, place: &str, found: impl Into<String>) {
        self.violations.push(Violation::new(kind, place, found));
    }
}

pub(crate) fn judge(observed: &Observed) -> WebVerdict {
    let (web, mut verdict) = (&observed.web, WebVerdict::default());
    verdict.counts.answers += web.answers.len() as u64;
    verdict.counts.feeds += web.feeds.len() as u64;
    // What a power cut takes of an answer is told in the streams that have ids.
    if observed.spool == Spool::Whole {
        answers(&web.answers, &mut verdict);
        feeds(observed, &mut verdict);
    }
    for talk in &web.talks {
        verdict.counts.rewritten += talk.rewritten;
        talked(talk, &mut verdict);
    }
    verdict
}

/// The frames of a connection that its answer has for good: a stream that pauses, or whose server
/// stops, ends with a frame that the answer lacks. The finish of a turn says why it ended.
fn lasting(frames: &[String]) -> &[String] {
    let passes = |last: &String| {
        let is_pause = last.starts_with("{\"type\":\"finish\"") && !last.contains("\"reason\":");
        let stops = ["{\"type\":\"error\"", "{\"type\":\"abort\""];
        is_pause || stops.iter().any(|stop| last.starts_with(stop))
    };
    match frames.split_last() {
        Some((last, before)) if passes(last) => before,
        _ => frames,
    }
}

fn answers(readings: &[AnswerReading], verdict: &mut WebVerdict) {
    let mut longest: BTreeMap<(&str, bool), &AnswerReading> = BTreeMap::new();
    for reading in readings {
        let Some(start) = reading.frames.first() else {
            continue;
        };
        let starts = |frame: &&String| frame.starts_with("{\"type\":\"start\"");
        if reading.frames.iter().filter(starts).count() != 1 || !starts(&start) {
            verdict.find(Broken::Repeat, &reading.session, start);
        }
        let best = longest.entry((start, reading.is_split)).or_insert(reading);
        if lasting(&reading.frames).len() > lasting(&best.frames).len() {
            *best = reading;
        }
    }
    for reading in readings {
        let Some(start) = reading.frames.first() else {
            continue;
        };
        let Some(whole) = longest.get(&(start.as_str(), reading.is_split)) else {
            continue;
        };
        let mut pairs = lasting(&reading.frames).iter().zip(lasting(&whole.frames));
        if let Some((other, frame)) = pairs.find(|(one, other)| one != other) {
            let found = format!("{other} / {frame}");
            verdict.find(Broken::Changed, &reading.session, found);
        }
    }
}

fn feeds(observed: &Observed, verdict: &mut WebVerdict) {
    let mut shown: HashMap<(&str, &str), &str> = HashMap::new();
    let posts = observed.posts.iter();
    let of: HashMap<_, _> = posts.map(|post| (&*post.message, &*post.session)).collect();
    for reading in observed.readings.iter().chain(&observed.retold) {
        let session = of.get(reading.message.as_str());
        let Some(session) = session.filter(|_| reading.profile == Profile::Full) else {
            continue;
        };
        let frames = reading.frames.iter();
        let frames = frames.filter_map(|frame| Some((frame.id.as_deref()?, &*frame.data)));
        shown.extend(frames.map(|(id, data)| ((*session, id), data)));
    }
    for reading in &observed.web.feeds {
        in_order(reading, verdict);
        for frame in &reading.frames {
            let key = (&*reading.session, frame.id.as_deref().unwrap_or_default());
            let first = shown.get(&key).filter(|_| !frame.is_reset());
            if first.is_some_and(|first| *first != frame.data) {
                let found = format!("{}: {}", key.1, frame.data);
                verdict.find(Broken::ToldApart, &reading.session, found);
            }
        }
    }
}

/// The position that an id names.
fn seq(id: &str) -> Option<u64> {
    id.split_once('.')?.1.parse().ok()
}

/// Every event comes right after the one before it, the first after the one that was named or after
/// how the session stood.
fn in_order(reading: &FeedReading, verdict: &mut WebVerdict) {
    let mut before = reading.after.as_deref().and_then(seq);
    for frame in &reading.frames {
        // A stream that says that its server stops.
        let Some(at) = frame.id.as_deref().and_then(seq) else {
            continue;
        };
        if frame.is_reset() && before.is_some() {
            let after = reading.after.as_deref().unwrap_or_default();
            verdict.find(Broken::TakenBack, &reading.session, after);
        }
        if let Some(before) = before.filter(|_| !frame.is_reset()) {
            let found = format!("{before}, {at}");
            if at <= before {
                verdict.find(Broken::Repeat, &reading.session, found);
            } else if at > before + 1 {
                verdict.find(Broken::Gap, &reading.session, found);
            }
        }
        before = Some(at);
    }
}

fn talked(talk: &Talk, verdict: &mut WebVerdict) {
    let said = talk.shown.iter().filter(|(role, ..)| role == "user");
    let said: Vec<_> = said
        .map(|(_, id, text)| (id.clone(), text.clone()))
        .collect();
    if said != talk.said {
        let found = format!("{said:?} / {:?}", talk.said);
        verdict.find(Broken::KeptWrong, &talk.session, found);
    }
    for pair in talk.shown.windows(2) {
        let [(first, ..), (second, id, text)] = pair else {
            continue;
        };
        if second != "assistant" {
            continue;
        }
        if first == second {
            verdict.find(Broken::KeptTwice, &talk.session, id);
        }
        if !scene::HEARD.starts_with(text.as_str()) {
            verdict.find(Broken::KeptWrong, &talk.session, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observed::{Frame, Web};

    fn answer(frames: &[&str]) -> AnswerReading {
        let frames = frames.iter().map(|kind| format!("{{\"type\":\"{kind}\"}}"));
        AnswerReading {
            session: "s".to_owned(),
            is_split: false,
            frames: frames.collect(),
        }
    }

    fn feed(after: Option<&str>, ids: &[&str]) -> FeedReading {
        let frame = |id: &&str| Frame {
            id: Some((*id).to_owned()),
            data: "{}".to_owned(),
        };
        FeedReading {
            session: "s".to_owned(),
            after: after.map(str::to_owned),
            frames: ids.iter().map(frame).collect(),
        }
    }

    fn found(web: Web) -> Vec<Broken> {
        let observed = Observed {
            web,
            ..Observed::default()
        };
        let verdict = judge(&observed);
        verdict.violations.iter().map(|found| found.kind).collect()
    }

    fn read(readings: &[&[&str]]) -> Vec<Broken> {
        found(Web {
            answers: readings.iter().map(|frames| answer(frames)).collect(),
            ..Web::default()
        })
    }

    fn followed(after: Option<&str>, ids: &[&str]) -> Vec<Broken> {
        found(Web {
            feeds: vec![feed(after, ids)],
            ..Web::default()
        })
    }

    // proves DU-14
    #[test]
    fn an_answer_is_one_however_often_it_is_read() {
        let whole: &[&str] = &["start", "a", "b", "finish"];
        assert_eq!(
            read(&[whole, &["start", "a", "finish"], &["start"], &[], whole]),
            []
        );
        assert_eq!(read(&[whole, &["start", "b"]]), [Broken::Changed]);
        assert_eq!(read(&[&["start", "a", "start", "a"]]), [Broken::Repeat]);
        assert_eq!(read(&[&["a", "start"]]), [Broken::Repeat]);
        // One paused where the other's server was killed.
        let (paused, cut): (&[_], &[_]) = (&["start", "a", "finish"], &["start", "a", "b"]);
        assert_eq!(read(&[paused, cut]), []);
        assert_eq!(read(&[cut, paused]), []);
        // A turn that has ended has no more.
        let ended = "finish\",\"reason\":\"stop";
        let ended: &[_] = &["start", "a", ended];
        assert_eq!(read(&[ended, cut]), [Broken::Changed]);
        assert_eq!(read(&[ended, &["start", "a"], ended]), []);
    }

    // proves DU-14
    #[test]
    fn a_feed_has_every_event_once() {
        assert_eq!(followed(Some("1.4"), &["1.5", "2.6", "2.7"]), []);
        assert_eq!(followed(None, &["1.9", "1.10"]), []);
        assert_eq!(followed(Some("1.4"), &["1.6"]), [Broken::Gap]);
        assert_eq!(followed(Some("1.4"), &["1.4", "1.5"]), [Broken::Repeat]);
        assert_eq!(followed(None, &["1.4", "1.6"]), [Broken::Gap]);
        let mut anew = feed(Some("1.4"), &["1.7"]);
        anew.frames[0].data = "{\"type\":\"reset\"}".to_owned();
        let feeds = vec![anew];
        let web = Web {
            feeds,
            ..Web::default()
        };
        assert_eq!(found(web), [Broken::TakenBack]);
    }

    // proves DU-14, UI-14
    #[test]
    fn a_talk_is_what_its_person_made_of_it() {
        let talk = |shown: &[(&str, &str, &str)]| {
            let words = |one: &(&str, &str, &str)| (one.0.into(), one.1.into(), one.2.into());
            found(Web {
                talks: vec![Talk {
                    session: "s".to_owned(),
                    rewritten: 1,
                    said: vec![("1".to_owned(), "b".to_owned())],
                    shown: shown.iter().map(words).collect(),
                }],
                ..Web::default()
            })
        };
        let said = ("user", "1", "b");
        assert_eq!(talk(&[said, ("assistant", "x", scene::HEARD)]), []);
        assert_eq!(talk(&[said]), []);
        assert_eq!(talk(&[("user", "1", "a")]), [Broken::KeptWrong]);
        assert_eq!(talk(&[said, said]), [Broken::KeptWrong]);
        assert_eq!(
            talk(&[said, ("assistant", "x", "other")]),
            [Broken::KeptWrong]
        );
        let twice = talk(&[said, ("assistant", "x", ""), ("assistant", "y", "")]);
        assert_eq!(twice, [Broken::KeptTwice]);
    }
}
