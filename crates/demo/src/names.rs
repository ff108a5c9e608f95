//! Finds the names of files and folders in a text, with the words around that tell their part.

use super::lexicon::{Meaning, Piece, has_ending};
use super::text::{is_han, normalise};
use super::words::Concept::{
    self, Adding, All, Answer, Append, Article, Ask, AskMe, Called, Chat, Composition, Dividing,
    Empty, File, Files, Filler, First, Folder, Folders, From, Hello, In, Inside, Largest, Last,
    List, Mine, Most, Multiplying, MyName, Names, Numbers, Of, OtherOrder, Post, Read, Repeat,
    Sizes, Smallest, Something, Subtracting, To, Write,
};
use super::words::EXTENSIONS;

/// How a name was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// In quotation marks.
    Quoted,
    /// As a path: it has an ending or a separator.
    Path,
    /// As a plain word; only the words around say that it is a name.
    Bare,
}

/// Something that may be the name of a file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    /// The name as the person wrote it.
    pub(super) text: String,
    /// How it was written.
    pub(super) shape: Shape,
    /// The preposition in front.
    pub(super) before: Option<Concept>,
    /// [`File`] or [`Folder`], when one of them stands beside it.
    pub(super) noun: Option<Concept>,
    /// Whether the word for "in it" stands behind, as in Chinese.
    pub(super) is_place: bool,
    /// The first of its pieces, the words around included.
    pub(super) first: usize,
    /// The last of its pieces, the words around included.
    pub(super) last: usize,
}

impl Mention {
    /// Whether it is spelled as a file is: with an ending, or as the plain `README` is.
    pub(super) fn is_file_like(&self) -> bool {
        let name = self.text.rsplit(['/', '\\']).next().unwrap_or("");
        let capital = name.chars().next().is_some_and(char::is_uppercase);
        has_ending(name) || (capital && self.shape != Shape::Quoted)
    }

    /// Whether the words around make it a place to look in.
    pub(super) fn is_location(&self) -> bool {
        self.noun == Some(Folder)
            || self.is_place
            || matches!(self.before, Some(In | From | Of))
            || self.text.ends_with('/')
    }

    /// Whether two names share a piece.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// Words that can be a part of a name written without quotation marks.
const IN_NAMES: &[Concept] = &[
    Largest,
    Smallest,
    First,
    Last,
    OtherOrder,
    Most,
    Answer,
    Composition,
    Chat,
    Numbers,
    Something,
    Adding,
    Subtracting,
    Multiplying,
    Dividing,
];
/// Those of them that make a name of words that otherwise would be a number or an order.
const IN_COUNTED_NAMES: &[Concept] = &[
    Answer,
    Composition,
    Chat,
    Numbers,
    Something,
    Adding,
    Subtracting,
    Multiplying,
    Dividing,
];
/// Words that can be a part of it behind a word that leads to it.
const IN_LED_NAMES: &[Concept] = &[
    List, Names, Sizes, Files, File, Of, All, Article, Mine, Called, Filler, Empty, Hello, Post,
    Ask, AskMe, Repeat, MyName,
];
/// Words that can stand between a preposition and a name.
const INTRODUCTIONS: &[Concept] = &[Article, Called, File, Folder, Folders, Filler, Mine];
const PREPOSITIONS: &[Concept] = &[To, In, From, Of];

/// All names in a joined text, in order; plain words only where the words around make them names.
pub(super) fn mentions(text: &str, pieces: &[Piece]) -> Vec<Mention> {
    let mut found: Vec<_> = (0..pieces.len())
        .filter_map(|at| written(text, pieces, at))
        .collect();
    for at in 0..pieces.len() {
        let bare = bare(text, pieces, at);
        found.extend(bare.filter(|bare| !found.iter().any(|known| known.overlaps(bare))));
    }
    found.sort_by_key(|mention| mention.first);
    found
}

/// The ending that stands for a kind of files, as in `.md files` or `*.md`.
pub(super) fn kind(word: &str) -> Option<&str> {
    let known = |ending: &&str| EXTENSIONS.contains(&format!("|{ending}|"));
    let any = word
        .strip_prefix("*.")
        .filter(|ending| !ending.contains(['.', '/', '*']));
    any.or_else(|| word.strip_prefix('.').filter(known))
}

/// Makes one piece of each name that is a path of several words, so that the words of the tables in
/// it mean nothing any more.
pub(super) fn join(text: &str, pieces: &[Piece]) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let mut piece = piece.clone();
        let words = match piece.meaning {
            Meaning::Path => at - name_start(pieces, at),
            _ => 0,
        };
        if words > 0 {
            let first = &pieces[at - words];
            (piece.start, piece.glued) = (first.start, first.glued);
            piece.norm = normalise(&text[piece.start..piece.end]);
            joined.truncate(joined.len() - words);
        }
        joined.push(piece);
    }
    joined
}

/// A name in quotation marks, or one that looks like a path.
fn written(text: &str, pieces: &[Piece], at: usize) -> Option<Mention> {
    match pieces[at].meaning {
        Meaning::Quoted(from, to) => Some(around(
            pieces,
            at,
            at,
            Shape::Quoted,
            text[from..to].to_owned(),
        )),
        Meaning::Path if is_kind(pieces, at) => None,
        Meaning::Path => {
            let name = text[pieces[at].start..pieces[at].end].to_owned();
            Some(around(pieces, at, at, Shape::Path, name))
        }
        Meaning::Is(_)
        | Meaning::Number(_)
        | Meaning::Operator(_)
        | Meaning::Unknown
        | Meaning::Mark(_) => None,
    }
}

/// Where a name that ends with this path begins: names may hold spaces, and words of the tables.
fn name_start(pieces: &[Piece], at: usize) -> usize {
    if !has_ending(&pieces[at].norm) {
        return at;
    }
    let stem = pieces[at].norm.starts_with('.') && pieces[at].glued && !is_kind(pieces, at);
    let mut first = at - usize::from(stem);
    let has_folder = pieces[at].norm.contains('/');
    while first > 0 && !has_folder && continues(pieces, first) {
        first -= 1;
    }
    first = first.min(led_start(pieces, at).unwrap_or(first));
    let closed = pieces[first..at]
        .iter()
        .any(|piece| piece.meaning == Meaning::Operator(')'));
    let dangling = |piece: &&Piece| match piece.meaning {
        Meaning::Operator(sign) => sign != '(' || !closed,
        _ => false,
    };
    first + pieces[first..at].iter().take_while(dangling).count()
}

/// Where the name begins when a word in front leads to it, as `to` does in `to my list of files.txt`:
/// then all words between are its own, save those that only introduce it.
fn led_start(pieces: &[Piece], at: usize) -> Option<usize> {
    let own = |piece: &Piece| {
        let sign = matches!(piece.meaning, Meaning::Operator(_));
        sign || may_be_in_name(piece) || piece.is_any(IN_LED_NAMES)
    };
    let lead = (0..at).rev().find(|at| !own(&pieces[*at]))?;
    // A file that is written may well be called `my list.txt`; one that is read may be, too, but
    // then there is one to look at.
    let written = pieces[..lead]
        .iter()
        .any(|piece| piece.is_any(&[Write, Append]));
    let opening: &[Concept] = match pieces[lead].meaning {
        Meaning::Is(To) => &[Article, Called, File, Filler],
        Meaning::Is(In) if written => &[Article, Called, File, Files, Filler],
        Meaning::Is(In | Read) => &[Article, Called, File, Files, Filler, Mine],
        _ => return None,
    };
    let closed = pieces[lead].is(In) && pieces[lead..at].iter().any(|piece| piece.is(Of));
    let first = lead
        + 1
        + pieces[lead + 1..at]
            .iter()
            .take_while(|p| p.is_any(opening))
            .count();
    let in_han = pieces[first..at]
        .iter()
        .any(|piece| piece.norm.starts_with(is_han));
    (!closed && (!in_han || pieces[first + 1..=at].iter().all(|piece| piece.glued)))
        .then_some(first)
}

/// Whether an ending is a word of its own, as in `列出.md文件`.
fn is_kind(pieces: &[Piece], at: usize) -> bool {
    let noun = pieces
        .get(at + 1)
        .is_some_and(|next| next.is_any(&[File, Files]));
    let stem = pieces[at].glued && at > 0 && pieces[at - 1].meaning == Meaning::Unknown;
    kind(&pieces[at].norm).is_some() && (!pieces[at].glued || noun && !stem)
}

/// Whether the piece before this one belongs to the same name.
fn continues(pieces: &[Piece], first: usize) -> bool {
    let (before, piece) = (&pieces[first - 1], &pieces[first]);
    let in_han = before.norm.ends_with(is_han) || piece.norm.starts_with(is_han);
    let sign = matches!(before.meaning, Meaning::Operator(_));
    // `docs/my notes.txt`
    let folder = before.meaning == Meaning::Path
        && before.norm.contains('/')
        && !before.norm.ends_with('/')
        && !has_ending(&before.norm);
    let fits = folder || sign || may_be_in_name(before);
    fits && (piece.glued || !in_han) && !is_kind(pieces, first)
}

fn may_be_in_name(piece: &Piece) -> bool {
    match piece.meaning {
        Meaning::Unknown | Meaning::Number(_) => true,
        Meaning::Is(_) => piece.is_any(IN_NAMES),
        Meaning::Path | Meaning::Operator(_) | Meaning::Quoted(..) | Meaning::Mark(_) => false,
    }
}

/// Looks at the words on both sides of a name.
fn around(pieces: &[Piece], first: usize, last: usize, shape: Shape, text: String) -> Mention {
    let mut mention = Mention {
        text,
        shape,
        before: None,
        noun: None,
        is_place: false,
        first,
        last,
    };
    look_before(pieces, &mut mention);
    look_behind(pieces, &mut mention);
    mention
}

fn look_before(pieces: &[Piece], mention: &mut Mention) {
    while mention.first > 0 && pieces[mention.first - 1].is_any(INTRODUCTIONS) {
        mention.first -= 1;
        let noun = noun(&pieces[mention.first]);
        mention.noun = if noun == Some(Folder) {
            noun
        } else {
            mention.noun.or(noun)
        };
    }
    if mention.first > 0 && pieces[mention.first - 1].is_any(PREPOSITIONS) {
        mention.first -= 1;
        if let Meaning::Is(preposition) = pieces[mention.first].meaning {
            mention.before = Some(preposition);
        }
    }
}

fn look_behind(pieces: &[Piece], mention: &mut Mention) {
    let called = pieces[mention.first..mention.last]
        .iter()
        .any(|piece| piece.is(Called));
    let particle = called
        && pieces
            .get(mention.last + 1)
            .is_some_and(|piece| piece.norm == "的");
    let next = mention.last + 1 + usize::from(particle);
    if let Some(noun) = pieces.get(next).and_then(noun)
        && (noun == Folder || mention.is_file_like())
    {
        mention.last = next;
        mention.noun = mention.noun.or(Some(noun));
    }
    if pieces
        .get(mention.last + 1)
        .is_some_and(|piece| piece.is(Inside))
    {
        mention.last += 1;
        mention.is_place = true;
    }
}

fn noun(piece: &Piece) -> Option<Concept> {
    match piece.meaning {
        Meaning::Is(File | Called) => Some(File),
        Meaning::Is(Folder | Folders) => Some(Folder),
        _ => None,
    }
}

/// A name of plain words, which begins at this piece. Behind `to`, `file`, `folder` or `called` it
/// is all the words that follow; behind another preposition the next one; before `folder`, or the
/// word for "in it", the last one.
fn bare(text: &str, pieces: &[Piece], at: usize) -> Option<Mention> {
    let is_start = at == 0 || !may_be_in_name(&pieces[at - 1]);
    let words = pieces[at..]
        .iter()
        .take_while(|piece| may_be_in_name(piece))
        .count();
    if !is_start || words == 0 {
        return None;
    }
    let end = at + words;
    let whole = around(pieces, at, end - 1, Shape::Bare, String::new());
    let nouns = &[Called, File, Folder, Folders];
    let introduced = pieces[whole.first..at]
        .iter()
        .any(|piece| piece.is_any(nouns));
    let (first, last) = if introduced || whole.before == Some(To) {
        (at, end - 1)
    } else if whole.before.is_some() {
        (at, glued_end(pieces, at))
    } else if whole.last >= end {
        (glued_start(pieces, at, end - 1), end - 1)
    } else {
        return None;
    };
    if is_count(pieces, first, last) {
        return None;
    }
    let name = text[pieces[first].start..pieces[last].end].to_owned();
    Some(around(pieces, first, last, Shape::Bare, name))
}

/// Whether these words say how many or which files are meant, as in `to the three largest files`.
fn is_count(pieces: &[Piece], first: usize, last: usize) -> bool {
    let is_word =
        |piece: &Piece| piece.meaning == Meaning::Unknown || piece.is_any(IN_COUNTED_NAMES);
    let has_word = pieces[first..=last].iter().any(is_word);
    let goes_on = |next: &Piece| next.is_any(&[File, Files, Folders]) || may_be_in_name(next);
    !has_word && pieces.get(last + 1).is_some_and(goes_on)
}

fn glued_start(pieces: &[Piece], floor: usize, last: usize) -> usize {
    (floor..last)
        .rev()
        .take_while(|at| pieces[at + 1].glued)
        .last()
        .unwrap_or(last)
}

fn glued_end(pieces: &[Piece], first: usize) -> usize {
    let glued = |piece: &&Piece| {
        piece.glued && (may_be_in_name(piece) || matches!(piece.meaning, Meaning::Operator('-')))
    };
    first + pieces[first + 1..].iter().take_while(glued).count()
}
