//! Requests to post something in the chat: `tell the chat that the build is done`.

use super::dictated::POINTERS;
use super::lexicon::{Meaning, Piece};
use super::names::Shape;
use super::reading::Reading;
use super::request::{Given, Goal, Job, Topic, Unclear};
use super::understand::source;
use super::words::Concept::{
    self, Append, Article, Calculate, Chat, Composition, Content, Count, Filler, Find, In, Inside,
    Largest, List, Mine, Names, Post, Read, Send, Show, Smallest, Take, TellChat, Text, To, What,
    Write,
};
use super::words::THAT;

/// Words for what is found out before it is posted.
const REPORTS: &[Concept] = &[
    List, Read, Find, Count, Calculate, What, Content, Names, Largest, Smallest, Show,
];
/// What is to be posted, if the text names the chat as the place for it.
pub(super) fn post(reading: &mut Reading<'_>) -> Option<Result<Job, Unclear>> {
    let (first, last) = place(reading)?;
    let verb = verb(reading, first)?;
    reading.take(first, last);
    reading.take(verb, verb);
    Some(posted(reading, verb, (first, last)))
}

fn posted(reading: &mut Reading<'_>, verb: usize, place: (usize, usize)) -> Result<Job, Unclear> {
    let quoted = reading
        .mentions()
        .into_iter()
        .find(|mention| mention.shape == Shape::Quoted);
    if let Some(quoted) = quoted {
        return Ok(Job::Post(reading.take_mention(&quoted)));
    }
    if let Some(said) = announced(reading, place.1) {
        return Ok(Job::Post(said));
    }
    let numbers = |given: &Given| matches!(given.topic, Topic::Numbers(_));
    if reading.has(REPORTS) || reading.given.iter().any(numbers) {
        let mut attempt = reading.clone();
        if let Some(found) = source(&mut attempt, None) {
            let source = found?;
            *reading = attempt;
            let goal = Goal::Chat;
            return Ok(Job::Report { source, goal });
        }
    }
    plain(reading, verb, place)
}

/// The pieces that say that something goes into the chat.
fn place(reading: &Reading<'_>) -> Option<(usize, usize)> {
    if let Some(at) = reading.first(&[TellChat]) {
        return Some((at, at + usize::from(is(reading, at + 1, &[Inside]))));
    }
    let chat = reading.last(&[Chat])?;
    let last = chat + usize::from(is(reading, chat + 1, &[Inside]));
    let introduced = (0..chat)
        .rev()
        .find(|at| !reading.is(*at, &[Article, Mine]))?;
    let leads = reading.is(introduced, &[To, In, Post, Send]);
    leads.then_some((
        introduced + usize::from(reading.is(introduced, &[Post, Send])),
        last,
    ))
}

fn is(reading: &Reading<'_>, at: usize, concepts: &[Concept]) -> bool {
    at < reading.pieces.len() && reading.is(at, concepts)
}

fn verb(reading: &Reading<'_>, place: usize) -> Option<usize> {
    let tells = reading.is(place, &[TellChat]).then_some(place);
    tells
        .or_else(|| reading.last(&[Post, Send]))
        .or_else(|| reading.last(&[Write, Append]))
}

/// The words behind the place, up to the end, when a mark or a word says that they are somebody's.
fn announced(reading: &mut Reading<'_>, place: usize) -> Option<String> {
    let says = |piece: &Piece| THAT.contains(&format!("|{}|", piece.norm));
    let marks = |piece: &Piece| matches!(piece.meaning, Meaning::Mark(':' | '：' | ',' | '，'));
    let from = (place + 1..reading.pieces.len()).find(|at| {
        let piece = &reading.pieces[*at];
        reading.is_free(*at) && !marks(piece) && !says(piece)
    })?;
    let leading = &reading.pieces[place + 1..from];
    if !leading.iter().any(|piece| marks(piece) || says(piece)) {
        return None;
    }
    let comma = |piece: &Piece| matches!(piece.meaning, Meaning::Mark(',' | '，'));
    let asks = reading.pieces[from].is_any(REPORTS);
    if asks && leading.iter().all(comma) {
        return None;
    }
    let last = reading.pieces.len() - 1;
    let said = reading.text[reading.pieces[from].start..].trim().to_owned();
    reading.take(from, last);
    Some(said)
}

/// The words behind the place, else those before it, exactly; what the person has answered where
/// they only point to a text.
fn plain(
    reading: &mut Reading<'_>,
    verb: usize,
    (first, last): (usize, usize),
) -> Result<Job, Unclear> {
    let count = reading.pieces.len();
    let before = if verb < first {
        (verb + 1, first)
    } else {
        (verb, verb)
    };
    let taken = (0..verb.min(first))
        .rev()
        .find(|at| reading.is(*at, &[Take]));
    let held = taken.map(|take| (take + 1, verb.min(first)));
    let runs = [Some((last + 1, count)), Some(before), held];
    let words = |(from, to): &(usize, usize)| {
        (*from..*to).any(|at| {
            let mark = matches!(reading.pieces[at].meaning, Meaning::Mark(_));
            !mark && reading.is_free(at) && !reading.is(at, POINTERS)
        })
    };
    let Some((from, to)) = runs.into_iter().flatten().find(words) else {
        let given = reading.take_given(Topic::is_open);
        return given.map(Job::Post).ok_or(Unclear::NoPost);
    };
    let from = from + introduction(reading, from, to);
    let to = (from..to)
        .rev()
        .find(|at| reading.is_free(*at))
        .map_or(to, |last| last + 1);
    let composed = |piece: &Piece| piece.is(Composition);
    if reading.pieces[from..to].iter().any(composed) {
        return Err(Unclear::Unable(reading.slice(from, to - 1)));
    }
    reading.take(from, to - 1);
    Ok(Job::Post(reading.slice(from, to - 1)))
}

/// How many of the words announce the text: `the message`, `that`.
fn introduction(reading: &Reading<'_>, from: usize, to: usize) -> usize {
    let leading = (from..to)
        .take_while(|at| reading.is(*at, &[Article, Filler, Text, In, To]))
        .count();
    let text = (from..from + leading)
        .rev()
        .find(|at| reading.is(*at, &[Text]));
    let that = THAT.contains(&format!("|{}|", reading.pieces[from].norm));
    text.map_or(usize::from(that), |at| at + 1 - from)
}
