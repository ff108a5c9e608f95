//! From a text to a request: rules over the words that are in it, in any order and any language.

use super::asking;
use super::dictated;
use super::lexicon::Meaning;
use super::listing;
use super::names::{Mention, Shape};
use super::posting;
use super::reading::Reading;
use super::request::{Given, Goal, Job, Mode, Request, Sink, Source, Topic, Unclear, Understood};
use super::sums;
use super::words::Concept::{
    self, Adding, Append, Ask, AskMe, Calculate, Chat, Content, Count, Dividing, File, Files,
    Filler, Find, First, Folder, From, Hello, Help, In, Lines, List, Multiplying, MyName, Numbers,
    Of, Post, Read, Repeat, Replace, Send, Show, Something, Subtracting, TellChat, To, Unable,
    What, Who, With, Write,
};
use super::words::Language;

/// The language of a text that is too long is read off so many characters.
const HEAD_CHARACTERS: usize = 500;
/// Words that ask for something to be done, save those that only ask to be told.
const DEEDS: &[Concept] = &[List, Read, Find, Replace, Count, Calculate];
/// Words about persons, the chat and numbers, which mean something to few jobs alone.
pub(super) const ASIDES: &[Concept] = &[
    AskMe,
    Ask,
    Repeat,
    Post,
    TellChat,
    Chat,
    Something,
    MyName,
    Numbers,
    Adding,
    Subtracting,
    Multiplying,
    Dividing,
];
/// A request reads or counts at most so many files.
const MAX_FILES: usize = 8;

/// A kind of source: finds the words that announce it and reads the rest, else leaves it alone.
type Rule = fn(&mut Reading<'_>, Option<&Sink>) -> Understood;

/// What a report can be made of; the first rule that finds all it needs is the one.
const RULES: &[Rule] = &[
    lines,
    dictated::marked,
    dictated::search,
    listing::count,
    sums::sum,
    sums::of_numbers,
    listing::list,
    files,
    dictated::plain,
];

/// What is said when nothing is asked for.
const TALK: &[(Concept, Job)] = &[
    (Who, Job::Introduce),
    (Help, Job::Help),
    (Hello, Job::Greet),
];

/// Understands a text as well as the rules can.
pub(super) fn understand(text: &str) -> Request {
    if let Some(reading) = Reading::new(text) {
        return request(reading, Vec::new());
    }
    let head: String = text.chars().take(HEAD_CHARACTERS).collect();
    let language = Reading::new(&head).map_or(Language::English, |head| head.language);
    too_long(language, Vec::new())
}

/// Understands a text in a language that is known, with what the person has answered so far.
pub(super) fn understand_with(text: &str, language: Language, given: Vec<Given>) -> Request {
    match Reading::new_in(text, language) {
        Some(reading) => request(reading, given),
        None => too_long(language, given),
    }
}

fn too_long(language: Language, given: Vec<Given>) -> Request {
    Request {
        language,
        text: String::new(),
        left: given.clone(),
        given,
        job: Err(Unclear::TooLong),
        unused: Vec::new(),
        doubts: Vec::new(),
    }
}

fn request(mut reading: Reading<'_>, given: Vec<Given>) -> Request {
    reading.given.clone_from(&given);
    let job = job(&mut reading);
    let unused = match &job {
        Ok(job @ (Job::Report { .. } | Job::Replace { .. } | Job::Post(_))) => {
            reading.unused(&deeds_beside(job))
        }
        Ok(Job::Ask(_) | Job::Greet | Job::Introduce | Job::Help) | Err(_) => Vec::new(),
    };
    Request {
        language: reading.language,
        text: reading.text.to_owned(),
        given,
        left: reading.given,
        job,
        unused,
        doubts: reading.doubts,
    }
}

/// Words for deeds that a job does not do: when they are there, a part of the request was passed over.
fn deeds_beside(job: &Job) -> Vec<Concept> {
    let own: &[Concept] = match job {
        Job::Report { source, .. } => match source {
            Source::List(_) | Source::Search { .. } => &[Find, List],
            Source::Count(_) => &[Count, Find, List],
            Source::Read { .. } => &[Read],
            Source::Lines(_) => &[Count, Read],
            Source::Sum(_) => &[Calculate, Count, Find, Numbers, Adding],
            Source::Dictated { .. } => &[],
        },
        Job::Replace { .. } => &[Replace],
        Job::Post(_) => &[Write, Append],
        Job::Ask(_) | Job::Greet | Job::Introduce | Job::Help => DEEDS,
    };
    DEEDS
        .iter()
        .chain(ASIDES)
        .filter(|deed| !own.contains(deed))
        .copied()
        .collect()
}

fn job(reading: &mut Reading<'_>) -> Result<Job, Unclear> {
    if let Some(asking) = asking::asking(reading) {
        return asking.map(Job::Ask);
    }
    let job = if let Some(posted) = posting::post(reading) {
        posted
    } else if replaces(reading) {
        dictated::replace(reading)
    } else {
        let sink = sink(reading);
        report(reading, sink)
    };
    // Whatever else was understood: half of a request is not what was asked for.
    if let Some(at) = reading.first(&[Unable, Send]) {
        return Err(Unclear::Unable(reading.slice(at, at)));
    }
    job
}

/// Whether text is to be replaced, not looked for under one of the words for that.
fn replaces(reading: &Reading<'_>) -> bool {
    let with = reading.last(&[With, To]);
    let other = reading.first(&[Find, Write, Append]);
    reading.first(&[Replace]).is_some_and(|verb| {
        with.is_some_and(|with| with > verb) || other.is_none_or(|other| verb < other)
    })
}

/// What the first rule makes of a text that has all that the rule needs.
pub(super) fn source(reading: &mut Reading<'_>, sink: Option<&Sink>) -> Understood {
    RULES.iter().find_map(|rule| {
        let mut attempt = reading.clone();
        let source = rule(&mut attempt, sink)?;
        if source.is_ok() {
            *reading = attempt;
        }
        Some(source)
    })
}

fn report(reading: &mut Reading<'_>, sink: Option<Sink>) -> Result<Job, Unclear> {
    if let Some(source) = source(reading, sink.as_ref()) {
        let source = source?;
        let goal = match sink {
            Some(sink) => Goal::File(sink),
            None if matches!(source, Source::Read { .. }) => Goal::Answer,
            None if reading.has(&[Write, Append]) => Goal::Unnamed,
            None => Goal::Answer,
        };
        return Ok(Job::Report { source, goal });
    }
    let asks =
        reading.has(DEEDS) || reading.has(&[Write, Append]) || !reading.mentions().is_empty();
    let talk = TALK
        .iter()
        .find(|(concept, _)| !asks && reading.has(&[*concept]));
    talk.map(|(_, job)| job.clone()).ok_or(Unclear::Unknown)
}

/// The file that something is to be written to: of all names the one that the words around it fit
/// best.
fn sink(reading: &mut Reading<'_>) -> Option<Sink> {
    let verb = reading.last(&[Write, Append])?;
    let mentions = reading.mentions();
    let written = |mention: &&Mention| mention.shape != Shape::Bare;
    let quoted_or_path: Vec<_> = mentions.iter().filter(written).collect();
    let mention = fittest(reading, verb, quoted_or_path)
        .or_else(|| fittest(reading, verb, mentions.iter().collect()));
    let path = match mention {
        Some(mention) => reading.take_mention(mention),
        None => reading.take_given(|topic| *topic == Topic::Sink)?,
    };
    let mode = if reading.has(&[Append]) {
        Mode::Append
    } else {
        Mode::Write
    };
    Some(Sink { path, mode })
}

/// The name that fits best, of several the last.
fn fittest<'a>(
    reading: &Reading<'_>,
    verb: usize,
    mentions: Vec<&'a Mention>,
) -> Option<&'a Mention> {
    let scored = mentions
        .into_iter()
        .map(|mention| (fitness(reading, verb, mention), mention));
    let fitting = scored
        .filter(|(score, _)| *score > 0)
        .max_by_key(|(score, _)| *score);
    fitting.map(|(_, mention)| mention)
}

/// How well a name fits as the file that is written to; 0 when it does not.
fn fitness(reading: &Reading<'_>, verb: usize, mention: &Mention) -> u32 {
    if mention.noun == Some(Folder)
        || matches!(mention.before, Some(Of | From))
        || is_read(reading, mention)
    {
        return 0;
    }
    let is_bare = mention.shape == Shape::Bare;
    let preposition = match mention.before {
        Some(To) => 4,
        Some(In) if !is_bare || follows_verb(reading, verb, mention) => 1,
        _ => 0,
    };
    let noun = if mention.noun == Some(File) { 2 } else { 0 };
    let led = preposition + noun > 0 || stands_free(reading, mention);
    let spelling = if mention.is_file_like() && !is_bare && led {
        3
    } else {
        0
    };
    preposition + noun + spelling
}

/// Whether it is the content of a file that is spoken of, as in `a.txt 的内容`.
fn is_read(reading: &Reading<'_>, mention: &Mention) -> bool {
    let is = |at: usize, concept| {
        reading
            .pieces
            .get(at)
            .is_some_and(|piece| piece.is(concept))
    };
    let next = mention.last + 1;
    is(next, Content) || (is(next, Filler) && is(next + 1, Content))
}

/// Whether nothing leads to a name but the verb: `create a.txt`, `write "x" a.txt`, `: a.txt`.
fn stands_free(reading: &Reading<'_>, mention: &Mention) -> bool {
    let before = mention.first.checked_sub(1).map(|at| &reading.pieces[at]);
    before.is_none_or(|piece| {
        piece.is_any(&[Write, Append])
            || matches!(piece.meaning, Meaning::Mark(_) | Meaning::Quoted(..))
    })
}

/// Whether a name stands behind the verb, and not as the place of the files that are asked for.
fn follows_verb(reading: &Reading<'_>, verb: usize, mention: &Mention) -> bool {
    let files = |at: usize| reading.pieces[at].is_any(&[File, Files]);
    mention.first > verb && !(verb..mention.first).any(files)
}

/// `how many lines are in a.txt`.
fn lines(reading: &mut Reading<'_>, _: Option<&Sink>) -> Understood {
    reading.first(&[Count])?;
    reading.first(&[Lines])?;
    let mut paths = take_files(reading);
    if paths.is_empty() {
        paths.extend(reading.take_given(|topic| *topic == Topic::File || topic.is_open()));
    }
    Some(if paths.is_empty() {
        Err(Unclear::NoFile)
    } else {
        Ok(Source::Lines(paths))
    })
}

/// `show a.txt`, `what is in "my notes"`, `the first 5 lines of README`.
fn files(reading: &mut Reading<'_>, sink: Option<&Sink>) -> Understood {
    if sink.is_some() || !reading.has(&[Read, Show, What, Content]) {
        return None;
    }
    let mut paths = take_files(reading);
    if paths.is_empty() {
        let reads = reading.has(&[Read]);
        let fits = |topic: &Topic| *topic == Topic::File || (reads && topic.is_open());
        paths.extend(reading.take_given(fits));
    }
    if paths.is_empty() {
        return reading.has(&[File]).then_some(Err(Unclear::NoFile));
    }
    let lines = (reading.has(&[First]) && reading.has(&[Lines])).then(|| take_number(reading));
    Some(Ok(Source::Read {
        paths,
        lines: lines.flatten(),
    }))
}

/// Uses up all names of files; a capital word such as `README` is one when there is no other.
fn take_files(reading: &mut Reading<'_>) -> Vec<String> {
    let mentions = reading.mentions();
    let files = mentions
        .iter()
        .filter(|mention| mention.noun != Some(Folder))
        .take(MAX_FILES);
    let paths: Vec<_> = files.map(|mention| reading.take_mention(mention)).collect();
    if !paths.is_empty() {
        return paths;
    }
    let verb = reading
        .last(&[Read, Show, Content, Count, What, Lines])
        .unwrap_or(0);
    let named = (verb + 1..reading.pieces.len()).find(|at| {
        let free = reading.is_free(*at) && reading.pieces[*at].meaning == Meaning::Unknown;
        free && reading.slice(*at, *at).starts_with(char::is_uppercase)
    });
    let Some(at) = named else { return Vec::new() };
    reading.take(at, at);
    vec![reading.slice(at, at)]
}

/// Uses up the first number that is left.
pub(super) fn take_number(reading: &mut Reading<'_>) -> Option<u64> {
    let at = (0..reading.pieces.len()).find(|at| {
        reading.is_free(*at) && matches!(reading.pieces[*at].meaning, Meaning::Number(_))
    })?;
    reading.take(at, at);
    match &reading.pieces[at].meaning {
        Meaning::Number(digits) if !digits.contains('.') => {
            Some(digits.parse().unwrap_or(u64::MAX))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
