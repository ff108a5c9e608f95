//! Requests for the entries of a folder: how many, which first, which at all.

use super::lexicon::Meaning;
use super::names::{self, Shape};
use super::reading::Reading;
use super::request::{Detail, Kind, Listing, Order, Sink, Source, Topic, Unclear, Understood};
use super::understand::take_number;
use super::words::Concept::{
    self, All, Append, Article, Ascending, ByName, BySize, Content, Count, Descending, File, Files,
    Filler, Find, First, Folder, Folders, Here, Largest, Last, List, Most, Names, Of, OtherOrder,
    Show, Sizes, Smallest, What, Write,
};
use super::words::{EXTENSIONS, KINDS, Language};

const ORDERS: &[Concept] = &[
    Largest, Smallest, First, Last, ByName, BySize, Ascending, Descending, OtherOrder, Most,
];

/// `list the three largest files here`.
pub(super) fn list(reading: &mut Reading<'_>, sink: Option<&Sink>) -> Understood {
    if !asks_for_entries(reading, sink) {
        return None;
    }
    Some(listing(reading).map(Source::List))
}

/// `how many files are in docs`.
pub(super) fn count(reading: &mut Reading<'_>, _: Option<&Sink>) -> Understood {
    reading.first(&[Count])?;
    reading.first(&[File, Files, Folder, Folders])?;
    Some(listing(reading).map(Source::Count))
}

fn asks_for_entries(reading: &Reading<'_>, sink: Option<&Sink>) -> bool {
    let number = (0..reading.pieces.len())
        .any(|at| reading.is_free(at) && matches!(reading.pieces[at].meaning, Meaning::Number(_)));
    let chosen = number || reading.has(ORDERS) || reading.has(&[All]);
    // Chinese has one word for one file and for many.
    let plural = reading.language == Language::Chinese && reading.has(&[File]);
    let things = plural || reading.has(&[Files, Folders]);
    if sink.is_some() {
        // Otherwise it is a text to write that happens to hold the word `files`.
        let told = reading.has(&[Names, List, Show]) || chosen || reading.unused(&[]).is_empty();
        let place = reading.has(&[Here]) || location(reading).is_some();
        let named = reading.has(&[Names]) && (chosen || place || reading.has(&[List, Show]));
        return named || (told && (things || (chosen && reading.has(&[File]))));
    }
    let asked = reading.has(&[List, Show, What, Find, Names, Write, Append]);
    let place = reading.has(&[Here]) || location(reading).is_some();
    let looks = reading.has(&[List, Show, What, Content]) && (place || reading.has(&[Folder]));
    let one_or_some = chosen && reading.has(&[File, Names]);
    (things && (asked || chosen)) || one_or_some || looks || says_only(reading, &[List, Files])
}

/// Whether a text is nothing but these words.
fn says_only(reading: &Reading<'_>, concepts: &[Concept]) -> bool {
    let plain = |at: usize| reading.is(at, &[Filler, Article, All, Here, Show]);
    let mark = |at: usize| matches!(reading.pieces[at].meaning, Meaning::Mark(_));
    let known = |at: usize| reading.is(at, concepts) || plain(at) || mark(at);
    reading.has(concepts) && (0..reading.pieces.len()).all(known)
}

fn listing(reading: &mut Reading<'_>) -> Result<Listing, Unclear> {
    let folder = location(reading)
        .map(|mention| reading.take_mention(&mention))
        .or_else(|| reading.take_given(|topic| *topic == Topic::Folder));
    let kind = kind(reading)?;
    let order = order(reading)?;
    let by_size = matches!(order, Order::Largest | Order::Smallest);
    if by_size && kind == Kind::Folders {
        return Err(unknown_order(reading, &[Largest, Smallest, BySize]));
    }
    let kind = if by_size && kind == Kind::Any {
        Kind::Files
    } else {
        kind
    };
    let one = reading.has(&[File])
        && !reading.has(&[Files, All])
        && reading.has(&[Largest, Smallest, First, Last]);
    let count = take_number(reading).map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    let count = count.or(one.then_some(1));
    let detail = if reading.has(&[Sizes]) {
        Detail::Sizes
    } else {
        Detail::Names
    };
    Ok(Listing {
        folder,
        count,
        order,
        kind,
        detail,
    })
}

/// The folder that is meant, if one is named.
fn location(reading: &Reading<'_>) -> Option<names::Mention> {
    reading.mentions().into_iter().find(|mention| {
        let of_things = mention.before != Some(Of)
            || (mention.first > 0
                && reading.pieces[mention.first - 1].is_any(&[Content, File, Files, Folders]));
        let file = mention.is_file_like() && mention.shape == Shape::Path;
        of_things && mention.is_location() && (!file || reading.has(&[Files]))
    })
}

/// Which entries: what stands before or behind the word for files, else what the words are.
fn kind(reading: &mut Reading<'_>) -> Result<Kind, Unclear> {
    if let Some((at, ending)) = spelled_ending(reading).or_else(|| named_ending(reading)) {
        reading.take(at, at);
        return Ok(Kind::Ending(ending));
    }
    let noun = reading.first(&[File, Files]);
    let adjective = noun.and_then(|noun| before(reading, noun));
    // An adjective that is not understood must not be passed over.
    if let Some(at) = adjective.filter(|at| reading.pieces[*at].meaning == Meaning::Unknown) {
        let first = at - usize::from(at > 0 && reading.is(at - 1, &[Most]));
        return Err(Unclear::Order(reading.slice(first, at)));
    }
    let has_files = noun.is_some();
    Ok(match (has_files, reading.has(&[Folders])) {
        (true, false) => Kind::Files,
        (false, true) => Kind::Folders,
        (false, false) if reading.has(&[Names]) => Kind::Files,
        (true, true) | (false, false) => Kind::Any,
    })
}

/// An ending as such: `.md`, `*.md`.
fn spelled_ending(reading: &Reading<'_>) -> Option<(usize, String)> {
    let mut paths = (0..reading.pieces.len())
        .filter(|at| reading.is_free(*at) && reading.pieces[*at].meaning == Meaning::Path);
    paths.find_map(|at| Some((at, names::kind(&reading.pieces[at].norm)?.to_owned())))
}

/// An ending by a word beside the word for files: `text files`, `файлы txt`.
fn named_ending(reading: &Reading<'_>) -> Option<(usize, String)> {
    let noun = reading.first(&[File, Files])?;
    let around = [before(reading, noun), Some(noun + 1)];
    around
        .into_iter()
        .flatten()
        .find_map(|at| Some((at, ending(reading, at)?)))
}

/// The piece before a noun, particles aside.
fn before(reading: &Reading<'_>, noun: usize) -> Option<usize> {
    let particle = |at: &usize| reading.is(*at, &[Filler]) && reading.pieces[*at].norm == "的";
    (0..noun)
        .rev()
        .find(|at| !particle(at))
        .filter(|at| reading.is_free(*at))
}

/// The ending of file names that a word stands for.
fn ending(reading: &Reading<'_>, at: usize) -> Option<String> {
    let piece = reading.pieces.get(at).filter(|_| reading.is_free(at))?;
    let word = piece.norm.as_str();
    let fits = |spelling: &str| match spelling.strip_suffix('*') {
        Some(stem) => word.starts_with(stem),
        None => word == spelling,
    };
    if let Some((ending, _)) = KINDS.iter().find(|(_, cell)| cell.split('|').any(fits)) {
        return Some((*ending).to_owned());
    }
    let known = EXTENSIONS.contains(&format!("|{word}|"));
    (piece.meaning == Meaning::Unknown && known).then(|| word.to_owned())
}

fn order(reading: &Reading<'_>) -> Result<Order, Unclear> {
    let has = |concept| reading.has(&[concept]);
    let sized = has(Largest) || has(Smallest);
    if has(OtherOrder) || (has(Largest) && has(Smallest)) || (has(Most) && !sized) {
        return Err(unknown_order(reading, ORDERS));
    }
    let smallest_first = has(Smallest) || (!has(Largest) && has(Ascending));
    let reversed = has(Last) || has(Descending);
    Ok(match (sized || has(BySize), smallest_first, reversed) {
        (true, false, _) => Order::Largest,
        (true, true, _) => Order::Smallest,
        (false, _, true) => Order::NameReversed,
        (false, _, false) => Order::Name,
    })
}

/// The words from the first of these to the last, as an order that cannot be had.
fn unknown_order(reading: &Reading<'_>, concepts: &[Concept]) -> Unclear {
    let (first, last) = (reading.first(concepts), reading.last(concepts));
    let words = first.zip(last).map(|(first, last)| {
        let next = last + 1;
        let adjective = reading.is(last, &[Most])
            && reading.is_free(next)
            && reading.pieces[next].meaning == Meaning::Unknown;
        reading.slice(first, if adjective { next } else { last })
    });
    Unclear::Order(words.unwrap_or_default())
}
