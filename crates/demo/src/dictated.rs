//! Requests with a text that is meant literally: write it, look for it, replace it.

use super::lexicon::{Meaning, Piece};
use super::names::{Mention, Shape};
use super::reading::Reading;
use super::request::{Job, Mode, Places, Sink, Source, Topic, Unclear, Understood, Wording};
use super::understand::ASIDES;
use super::words::Concept::{
    self, All, And, Answer, Append, Article, Calculate, Composition, Content, Count, Empty, File,
    Files, Filler, Find, First, Folder, Folders, For, From, Here, Holding, In, Inside, Largest,
    Last, Lines, List, Mine, MyName, Names, Of, Read, Replace, Show, Smallest, Something, Take,
    Text, To, Using, With, Write,
};

/// Beginnings that more likely point to a text than are one.
const VAGUE: &[Concept] = &[Article, Mine, Filler, All, Content, Names];
/// Words that point to what somebody has said and are no text, where somebody has said something.
pub(super) const POINTERS: &[Concept] = &[
    Filler, Article, Mine, Text, Answer, Names, MyName, Something, Content,
];
/// Words that more likely ask for something else than are a part of a text.
const COMMANDS: &[Concept] = &[Read, Show, List, Find, Replace, Count, Calculate, Content];
/// Where a text that is looked for ends.
const SEARCH_STOPS: &[Concept] = &[In, From, Inside, Write, Append, Here, Find, Holding];
/// What is no text to look for: then files are looked for.
const THINGS: &[Concept] = &[File, Files, Folder, Folders, Largest, Smallest, First, Last];

/// A text to write that is marked as such: in quotation marks, behind `text` or a colon, or empty.
pub(super) fn marked(reading: &mut Reading<'_>, sink: Option<&Sink>) -> Understood {
    reading.first(&[Write, Append])?;
    let anchor = sink.and_then(|_| anchor(reading));
    let is_list =
        reading.has(&[Largest, Smallest]) || (reading.has(&[Names]) && reading.has(&[Files]));
    let is_search = reading.has(&[Find]) || (reading.has(&[Holding]) && anchor.is_none());
    if is_list || is_search {
        return None;
    }
    let quoted = reading.mentions().into_iter().find(|mention| {
        mention.shape == Shape::Quoted && mention.before.is_none() && mention.noun.is_none()
    });
    if let Some(mention) = quoted {
        return Some(Ok(marked_text(reading.take_mention(&mention))));
    }
    if sink.is_some() && reading.has(&[Empty]) && !reading.has(&[Files, Folders]) {
        return Some(Ok(marked_text(String::new())));
    }
    let anchor = anchor?;
    let last = reading.pieces.len() - 1;
    reading.take(anchor, last);
    let text = reading.text[reading.pieces[anchor].end..].trim();
    (!text.is_empty()).then(|| Ok(marked_text(text.to_owned())))
}

fn marked_text(text: String) -> Source {
    Source::Dictated {
        text,
        wording: Wording::Marked,
    }
}

/// The last of the words right behind the name of the file that say that a text follows.
fn anchor(reading: &Reading<'_>) -> Option<usize> {
    let behind = (1..reading.pieces.len())
        .rev()
        .find(|at| !reading.is_free(at - 1))?;
    let passing = |at: &usize| reading.is(*at, &[With, Article, Filler, And, Inside]);
    let marks = |at: &usize| {
        let colon = matches!(reading.pieces[*at].meaning, Meaning::Mark(':' | '：'));
        reading.is(*at, &[Text, Content, Holding]) || colon
    };
    let run = (behind..reading.pieces.len()).take_while(|at| passing(at) || marks(at));
    run.filter(marks).last()
}

/// A text to write that is the words behind the verb, or before it where the verb comes last.
pub(super) fn plain(reading: &mut Reading<'_>, sink: Option<&Sink>) -> Understood {
    let verb = reading.last(&[Write, Append])?;
    let Some(sink) = sink else {
        return reading.has(&[File, Text]).then_some(Err(Unclear::NoSink));
    };
    let with = reading.first(&[With]).filter(|with| *with > verb);
    let mut run = reading.run(with.unwrap_or(verb) + 1, &[]);
    if run.0 == run.1 {
        // `write to a.txt hello`: the name stands between.
        let next = (run.0..reading.pieces.len()).find(|at| reading.is_free(*at));
        run = next.map_or(run, |next| reading.run(next, &[]));
    }
    if reading.core(run).is_none() && reading.has(&[Take]) {
        run = reading.run_before(verb, &[Take]);
    }
    Some(literal(reading, run, sink.mode))
}

/// Words to write, unless they more likely tell what the text should be than are it.
fn literal(reading: &mut Reading<'_>, run: (usize, usize), mode: Mode) -> Result<Source, Unclear> {
    let Some((first, last)) = reading.core(run) else {
        return given(reading);
    };
    let words = &reading.pieces[first..=last];
    if words.iter().any(|piece| piece.is(Composition)) {
        return Err(Unclear::Unable(reading.slice(first, last)));
    }
    let introduction = &reading.pieces[run.0..first];
    let is_announced = introduction
        .iter()
        .any(|piece| piece.is_any(&[Text, Lines]));
    let is_vague = reading.pieces[run.0].is_any(VAGUE);
    let is_command = words.iter().any(|piece| piece.is_any(COMMANDS));
    // Plain words are put into new files only, which the plan sees to.
    let points = words.iter().all(|piece| piece.is_any(POINTERS));
    if points && let Ok(source) = given(reading) {
        return Ok(source);
    }
    if !is_announced && (is_vague || is_command || mode == Mode::Append) {
        return given(reading);
    }
    let wording = if is_announced {
        Wording::Marked
    } else {
        Wording::Plain
    };
    let text = reading.take_phrase(run).ok_or(Unclear::NoText)?;
    Ok(Source::Dictated { text, wording })
}

/// What the person has said when asked, where no words say what the text is.
fn given(reading: &mut Reading<'_>) -> Result<Source, Unclear> {
    let text = reading.take_given(Topic::is_open);
    text.map(marked_text).ok_or(Unclear::NoText)
}

/// `find TODO in src`, `search docs for "a b"`, `найди в src слово TODO`, `哪些文件包含 TODO`.
pub(super) fn search(reading: &mut Reading<'_>, _: Option<&Sink>) -> Understood {
    let verb = reading.last(&[Find, Holding])?;
    let place = take_place(reading, verb);
    let behind_for = reading.last(&[For]).filter(|at| *at > verb);
    let direct = searched(
        reading,
        reading.run(behind_for.unwrap_or(verb) + 1, SEARCH_STOPS),
    );
    let Some((from, to)) = direct.or_else(|| elsewhere(reading)) else {
        let text = reading.take_given(Topic::is_open)?;
        return Some(Ok(Source::Search { text, path: place }));
    };
    // `grep foo src/a.rs`
    let path_last = to - from > 1 && reading.pieces[to - 1].meaning == Meaning::Path;
    let (to, last) = if path_last && place.is_none() {
        (to - 1, Some(to - 1))
    } else {
        (to, None)
    };
    let text = reading.take_phrase((from, to))?;
    let between = behind_for.and_then(|_| searched(reading, reading.run(verb + 1, &[For])));
    let named = last.map(|at| (at, at + 1)).or(between);
    let path = place.or_else(|| named.and_then(|run| reading.take_phrase(run)));
    Some(Ok(Source::Search { text, path }))
}

/// The text to look for where the verb comes last, or the place stands between.
fn elsewhere(reading: &Reading<'_>) -> Option<(usize, usize)> {
    let things = reading.has(THINGS);
    let mut starts =
        (0..reading.pieces.len()).filter(|at| !things || reading.is(*at, &[With, Text]));
    starts.find_map(|at| {
        let (from, to) = searched(reading, reading.run(at, SEARCH_STOPS))?;
        let plain =
            |piece: &Piece| !matches!(piece.meaning, Meaning::Is(_)) || piece.is_any(ASIDES);
        let meant = reading.is(at, &[Text]) || reading.pieces[from..to].iter().any(plain);
        meant.then_some((from, to))
    })
}

/// A run, if it is a text to look for; what is to be done next does not belong to it.
fn searched(reading: &Reading<'_>, (from, to): (usize, usize)) -> Option<(usize, usize)> {
    let goes_on = |at: &usize| reading.is(*at, &[And]) && reading.is(at + 1, COMMANDS);
    let to = (from..to.saturating_sub(1)).find(goes_on).unwrap_or(to);
    let (first, last) = reading.core((from, to))?;
    let words = &reading.pieces[first..=last];
    (!words.iter().any(|piece| piece.is_any(THINGS))).then_some((first, last + 1))
}

/// The place to look in: where a preposition stands, or the file that is asked about, as in `does
/// a.txt contain foo`.
fn take_place(reading: &mut Reading<'_>, verb: usize) -> Option<String> {
    let mentions = reading.mentions();
    let place = |mention: &&Mention| mention.is_location() && mention.before != Some(Of);
    let subject = |mention: &&Mention| mention.shape == Shape::Path && mention.last < verb;
    let mention = mentions
        .iter()
        .rev()
        .find(place)
        .or_else(|| mentions.iter().find(subject))?;
    Some(reading.take_mention(mention))
}

/// `replace foo with bar in a.txt`, `把 a.txt 里的 foo 换成 bar`, `用 bar 替换 a.txt 里的 foo`.
pub(super) fn replace(reading: &mut Reading<'_>) -> Result<Job, Unclear> {
    let verb = reading.first(&[Replace]).ok_or(Unclear::Unknown)?;
    let path = edited_file(reading)
        .or_else(|| reading.take_given(|topic| *topic == Topic::File || topic.is_open()))
        .ok_or(Unclear::NoFile)?;
    let places = if reading.has(&[All]) {
        Places::All
    } else {
        Places::Only
    };
    let stops = &[With, To, Replace, Take, Using, And];
    let (old, new) = if let Some(using) = reading.first(&[Using]).filter(|using| *using < verb) {
        (behind(reading, verb, stops), behind(reading, using, stops))
    } else {
        let with = (verb..reading.pieces.len()).find(|at| reading.is(*at, &[With]));
        let to = || (verb..reading.pieces.len()).find(|at| reading.is(*at, &[To]));
        let with = with.or_else(to).ok_or(Unclear::NoText)?;
        let between = behind(reading, verb, stops);
        let before = || reading.core(reading.run_before(verb, stops));
        (between.or_else(before), behind(reading, with, &[]))
    };
    let (Some(old), Some(new)) = (old, new) else {
        return Err(Unclear::NoText);
    };
    let old = reading
        .take_phrase((old.0, old.1 + 1))
        .filter(|old| !old.is_empty());
    let new = reading.take_phrase((new.0, new.1 + 1));
    let (Some(old), Some(new)) = (old, new) else {
        return Err(Unclear::NoText);
    };
    Ok(Job::Replace {
        path,
        old,
        new,
        places,
    })
}

/// The words behind a piece, over names that are used up.
fn behind(reading: &Reading<'_>, at: usize, stops: &[Concept]) -> Option<(usize, usize)> {
    let from = (at + 1..reading.pieces.len()).find(|at| reading.is_free(*at))?;
    reading.core(reading.run(from, stops))
}

/// The file in which something is replaced: the name that is most of all a place.
fn edited_file(reading: &mut Reading<'_>) -> Option<String> {
    let fitness = |mention: &Mention| {
        let file = if mention.noun == Some(File) { 2 } else { 0 };
        let place = if mention.is_location() { 2 } else { 0 };
        let like = if mention.is_file_like() { 3 } else { 0 };
        if file + place == 0 {
            0
        } else {
            file + place + like
        }
    };
    let mentions = reading.mentions();
    let best = mentions
        .iter()
        .filter(|mention| fitness(mention) > 0)
        .max_by_key(|mention| fitness(mention))?;
    Some(reading.take_mention(best))
}
