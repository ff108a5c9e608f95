//! Requests to ask the person something first: `ask me my name and greet me`.

use super::lexicon::{Meaning, Piece};
use super::reading::Reading;
use super::request::{Asking, Given, Request, Topic, Unclear};
use super::sums;
use super::understand::understand_with;
use super::words::Concept::{
    self, Adding, And, Answer, Append, Article, Ask, AskMe, Calculate, Called, Content, Count,
    Dividing, File, Filler, Find, First, Folder, Folders, For, Hello, In, Last, List, Mine,
    Multiplying, MyName, Names, Numbers, Of, Post, Read, Repeat, Replace, Send, Show, Something,
    Subtracting, Take, TellChat, Text, To, Unable, What, Write,
};
use super::words::{FILE_NAMES, Language, POLITE};

/// Behind so many answers no further question is understood.
const MAX_QUESTIONS: usize = 4;
/// Words that begin what is to be done with an answer.
const DEEDS: &[Concept] = &[
    List,
    Read,
    Show,
    Find,
    Replace,
    Count,
    Calculate,
    Write,
    Append,
    Hello,
    Repeat,
    Post,
    Send,
    TellChat,
    Adding,
    Subtracting,
    Multiplying,
    Dividing,
    AskMe,
    Ask,
    Unable,
];
/// Words that, all alone, ask for an answer to be said back.
const ECHOES: &[Concept] = &[
    Repeat, Show, Filler, Article, Answer, Mine, MyName, Names, Text, To,
];
/// Words that lead from the verb to what is asked, where the verb does not say who is asked.
const LEADS: &[Concept] = &[
    For, What, Mine, Names, MyName, Numbers, Something, Text, Filler,
];
const AROUND: &[Concept] = &[
    Article, Mine, What, Filler, For, Of, To, Called, First, Last,
];

/// A question to the person, if that is what a text begins with, and what is to be done then. The
/// whole is refused before anything is asked when that cannot be done.
pub(super) fn asking(reading: &mut Reading<'_>) -> Option<Result<Asking, Unclear>> {
    let verb = verb(reading)?;
    if reading.given.len() >= MAX_QUESTIONS {
        return Some(Err(Unclear::TooLong));
    }
    let literal = matches!(
        reading.pieces.get(verb + 1).map(|piece| &piece.meaning),
        Some(Meaning::Mark(':' | '：'))
    );
    let passing = |at: &usize| {
        let piece = &reading.pieces[*at];
        is_mark(piece) || is_polite(piece) || piece.is(For)
    };
    let count = reading.pieces.len();
    let from = (verb + 1..count).find(|at| !passing(at)).unwrap_or(count);
    let (to, deed) = deed(reading, from);
    let topic = topic(reading, from, to, literal);
    let deed = deed
        .filter(|at| !(topic.is_open() && is_echo(&reading.pieces[*at..])))
        .map(|at| reading.text[reading.pieces[at].start..].to_owned());
    let asking = Asking { topic, deed };
    let refused = asking
        .trial(reading.language, &reading.given)
        .filter(|trial| trial.lacks().is_none())
        .and_then(|trial| trial.job.err());
    Some(refused.map_or(Ok(asking), Err))
}

impl Asking {
    /// What is to be done, as if the question was answered; none when nothing is.
    pub(super) fn trial(&self, language: Language, given: &[Given]) -> Option<Request> {
        let answer = self.topic.example();
        self.with(language, given, answer)
    }

    /// What is to be done with an answer; none when nothing is.
    pub(super) fn with(
        &self,
        language: Language,
        given: &[Given],
        answer: String,
    ) -> Option<Request> {
        let topic = self.topic.clone();
        let answered = Given { topic, answer };
        let given = given.iter().cloned().chain([answered]).collect();
        let deed = self.deed.as_deref()?;
        Some(understand_with(deed, language, given))
    }
}

/// The verb, when nothing else is asked for before it, and it is the person who is to be asked.
fn verb(reading: &Reading<'_>) -> Option<usize> {
    let verb = reading.first(&[AskMe, Ask])?;
    let deeds = |piece: &Piece| piece.is_any(DEEDS) && !piece.is(Hello);
    if reading.pieces[..verb].iter().any(deeds) {
        return None;
    }
    if reading.pieces[verb].is(AskMe) {
        return Some(verb);
    }
    let plea =
        |piece: &Piece| is_mark(piece) || is_polite(piece) || piece.is_any(&[Hello, First, And]);
    let next = reading.pieces[verb + 1..]
        .iter()
        .find(|piece| !piece.is(Article));
    let leads = |piece: &Piece| {
        let said = matches!(
            piece.meaning,
            Meaning::Quoted(..) | Meaning::Mark(_) | Meaning::Number(_)
        );
        said || piece.is_any(LEADS)
    };
    (reading.pieces[..verb].iter().all(plea) && next.is_none_or(leads)).then_some(verb)
}

/// Where the question ends, and where what is to be done begins.
fn deed(reading: &Reading<'_>, from: usize) -> (usize, Option<usize>) {
    let pieces = &reading.pieces;
    let parts = |at: &usize| {
        let colon = matches!(pieces[*at].meaning, Meaning::Mark(':' | '：'));
        pieces[*at].is(And) || (is_mark(&pieces[*at]) && !colon)
    };
    let begins = |at: usize| {
        let behind = |piece: &Piece| is_mark(piece) || is_polite(piece) || piece.is(And);
        let next = (at..pieces.len()).find(|at| !behind(&pieces[*at]))?;
        let is_deed = |piece: &Piece| piece.is_any(DEEDS);
        // In Chinese the verb may stand behind its object.
        let later = pieces[next].is(Take) && pieces[next..].iter().any(is_deed);
        (later || is_deed(&pieces[next])).then_some((at, Some(next)))
    };
    let found = (from..pieces.len()).filter(parts).find_map(begins);
    found.unwrap_or((pieces.len(), None))
}

fn is_mark(piece: &Piece) -> bool {
    matches!(piece.meaning, Meaning::Mark(_))
}

fn is_polite(piece: &Piece) -> bool {
    piece.is(Filler) && POLITE.contains(&format!("|{}|", piece.norm))
}

fn is_echo(deed: &[Piece]) -> bool {
    let echoes = deed.iter().any(|piece| piece.is_any(&[Repeat, Show]));
    echoes
        && deed
            .iter()
            .all(|piece| is_mark(piece) || piece.is_any(ECHOES))
}

/// What the question is about: a kind that is known when every word fits it, else the words.
fn topic(reading: &Reading<'_>, from: usize, to: usize, literal: bool) -> Topic {
    let pieces = &reading.pieces[from..to];
    let (said, ends) = trimmed(reading, from, to);
    let only = |known: &[Concept]| {
        let fits = |piece: &&Piece| piece.is_any(known) || piece.is_any(AROUND) || is_mark(piece);
        pieces.iter().all(|piece| fits(&piece))
    };
    let has = |concepts: &[Concept]| pieces.iter().any(|piece| piece.is_any(concepts));
    let inside = |piece: &Piece| match piece.meaning {
        Meaning::Quoted(from, to) => Some(reading.text[from..to].trim()),
        _ => None,
    };
    let around = |piece: &Piece| is_mark(piece) || piece.is_any(&[Filler, Article, Something]);
    let quoted = pieces.iter().find_map(inside);
    let quoted = quoted.filter(|_| {
        let fits = |piece: &Piece| around(piece) || inside(piece).is_some();
        pieces.iter().all(fits)
    });
    match quoted {
        Some(question) if !question.is_empty() => return Topic::Question(question.to_owned()),
        Some(_) => return Topic::Anything,
        None if said.is_empty() => return Topic::Anything,
        None if literal => return Topic::Question(format!("{said}{ends}")),
        None => {}
    }
    if let Some(numbers) = sums::spoken_of(reading, from, to) {
        return numbers;
    }
    let of_files = |piece: &Piece| FILE_NAMES.contains(&format!("|{}|", piece.norm));
    let of_files = pieces.iter().any(of_files);
    let names = has(&[Names]) && only(&[Names]);
    if has(&[Something]) && only(&[Something]) {
        Topic::Anything
    } else if names && of_files {
        Topic::File
    } else if names || (has(&[MyName]) && only(&[MyName, Names])) {
        Topic::Name
    } else if has(&[File]) && only(&[File, Names, Read, Show, Content, Find, In]) {
        Topic::File
    } else if has(&[File]) && only(&[File, Names, Write, Append, In]) {
        Topic::Sink
    } else if has(&[Folder, Folders]) && only(&[Folder, Folders, Names, List, Show, Find, In]) {
        Topic::Folder
    } else if has(&[Text]) && only(&[Text, Write, Append, Find, Post, Send]) {
        Topic::Text
    } else {
        Topic::Words(said)
    }
}

/// The words from one piece to another without the marks around, and those behind.
fn trimmed(reading: &Reading<'_>, from: usize, to: usize) -> (String, String) {
    let word = |at: &usize| !is_mark(&reading.pieces[*at]);
    let (Some(first), Some(last)) = ((from..to).find(word), (from..to).rev().find(word)) else {
        return (String::new(), String::new());
    };
    let ends = (last + 1 < to).then(|| reading.slice(last + 1, to - 1));
    (reading.slice(first, last), ends.unwrap_or_default())
}

impl Request {
    /// What the job lacks and a person can be asked for, once.
    pub(super) fn lacks(&self) -> Option<Topic> {
        use super::request::{Goal, Job};
        let topic = match &self.job {
            Err(Unclear::NoFile) => Topic::File,
            Err(Unclear::NoSink)
            | Ok(Job::Report {
                goal: Goal::Unnamed,
                ..
            }) => Topic::Sink,
            Err(Unclear::NoPost) => Topic::Text,
            Err(Unclear::NoNumbers(count)) => Topic::Numbers(*count),
            Err(
                Unclear::Unknown
                | Unclear::Unable(_)
                | Unclear::Order(_)
                | Unclear::NoText
                | Unclear::TooLong,
            )
            | Ok(_) => return None,
        };
        let asked = self.given.iter().any(|given| given.topic == topic);
        (!asked).then_some(topic)
    }
}
