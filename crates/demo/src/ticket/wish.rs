//! What somebody wants to book, read off their words in any of the languages.

use std::sync::LazyLock;

use super::super::lexicon::{self, Cell, Meaning, Piece};
use super::super::text::{self, Kind, Token};
use super::super::words::Concept::{Composition, Unable};
use super::super::words::Language;
use super::words::{
    AFTER, AT, BEFORE, BOOKING, COUPLE, Class, EARLIEST, EVENING, FEATURES, FROM, HALF, HOUR,
    HOURS, LATEST, MEASURE, MORNING, SEATS, SMALL, THINGS, TOGETHER, UNTIL,
};

/// Words of a wish, at most: what is longer is no plain one.
const MAX_WORDS: usize = 200;
/// Persons are at most so many: a hall has not many more seats, and each is a call.
const MAX_SEATS: u32 = 20;

/// A bound of the time: minutes of the day, and how a time compares with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) minutes: u32,
    pub(super) relation: Relation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    After,
    From,
    Before,
    Until,
    At,
}

/// What somebody wants to book.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wish {
    /// The rows of [`FEATURES`] that an item must be, where items are of that class.
    features: Vec<usize>,
    /// When it begins.
    pub(super) times: Vec<Bound>,
    /// The last of what fits, not the first.
    pub(super) is_latest: bool,
    pub(super) is_together: bool,
    /// How many seats.
    seats: Option<u32>,
    /// How many tickets of a kind, by its row.
    tickets: Vec<(usize, u32)>,
    /// The words as the tables spell them, to find names of items in them.
    words: Vec<String>,
    /// Words that nothing was made of.
    pub(super) unknown: Vec<String>,
    /// A word for what cannot be done.
    pub(super) unable: Option<String>,
    /// Whether it is about a booking at all.
    pub(super) is_booking: bool,
}

impl Wish {
    /// What a text wishes for, and in which language.
    pub(super) fn of(text: &str) -> (Language, Self) {
        let tokens = text::tokens(text);
        if text.len() > text::MAX_BYTES || tokens.len() > MAX_WORDS {
            return (Language::English, Self::default());
        }
        let (language, pieces) = lexicon::read(&tokens);
        let mut hearing = Hearing {
            language,
            used: vec![false; tokens.len()],
            tokens,
            wish: Self::default(),
        };
        hearing.hear();
        hearing.leave(text, &pieces);
        (language, hearing.wish)
    }

    /// The same with what is said later: of each kind of thing the last counts.
    pub(super) fn then(mut self, later: Self) -> Self {
        let classes: Vec<_> = later.features.iter().map(|row| FEATURES[*row].0).collect();
        self.features
            .retain(|row| !classes.contains(&FEATURES[*row].0));
        self.features.extend(later.features);
        if !later.times.is_empty() {
            self.times = later.times;
            self.is_latest = later.is_latest;
        }
        self.is_latest |= later.is_latest;
        self.is_together |= later.is_together;
        if later.seats.is_some() || !later.tickets.is_empty() {
            (self.seats, self.tickets) = (later.seats, later.tickets);
        }
        self.words.push("\0".to_owned());
        self.words.extend(later.words);
        self.unknown = later.unknown;
        self.unable = later.unable;
        self.is_booking |= later.is_booking;
        self
    }

    /// How many seats; none when nothing was said of it.
    pub(super) fn seats(&self) -> Option<u32> {
        let tickets: u32 = self.tickets.iter().map(|(_, count)| count).sum();
        let seats = self.seats.unwrap_or(0).max(tickets);
        (seats > 0).then(|| seats.min(MAX_SEATS))
    }

    /// How many tickets of a kind that is called so, of so many; what is not spoken of is of the first
    /// kind.
    pub(super) fn tickets(&self, name: &str, is_first: bool, of: u32) -> u32 {
        let rows = rows_of(name);
        let own = self.tickets.iter().filter(|(row, _)| rows.contains(row));
        let own: u32 = own.map(|(_, count)| count).sum();
        let all: u32 = self.tickets.iter().map(|(_, count)| count).sum();
        own + if is_first { of.saturating_sub(all) } else { 0 }
    }

    /// The features that are wanted, each as its class and its first word.
    pub(super) fn wanted(&self) -> impl Iterator<Item = (Class, &'static str, usize)> {
        self.features.iter().map(|row| {
            let (class, cell) = FEATURES[*row];
            (class, cell.split('|').next().unwrap_or(cell), *row)
        })
    }

    /// Whether a text's words stand in the wish, in their order.
    pub(super) fn names(&self, label: &str) -> bool {
        let label: Vec<_> = text::tokens(label)
            .into_iter()
            .map(|token| token.norm)
            .collect();
        let chars: usize = label.iter().map(|word| word.chars().count()).sum();
        let is_number = label
            .iter()
            .all(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        chars > 1 && !is_number && self.words.windows(label.len()).any(|words| words == label)
    }

    /// Whether anything in it may be about a stage that is past.
    pub(super) fn is_wide(&self) -> bool {
        !self.features.is_empty() || !self.times.is_empty() || !self.unknown.is_empty()
    }
}

/// The features' words, ready to be looked for.
static CELLS: LazyLock<Vec<Cell>> =
    LazyLock::new(|| FEATURES.iter().map(|(_, cell)| Cell::new(cell)).collect());

/// The rows of the features that a text has.
pub(super) fn rows_of(text: &str) -> Vec<usize> {
    rows(&text::tokens(text)).map(|(row, _)| row).collect()
}

/// The rows of the features that a text is: it says nothing else, as the name of a place may.
pub(super) fn rows_that_are(text: &str) -> Vec<usize> {
    let tokens = text::tokens(text);
    let found: Vec<_> = rows(&tokens).collect();
    let mut used = vec![false; tokens.len()];
    for (at, len) in found.iter().flat_map(|(_, spots)| spots) {
        used[*at..at + len].fill(true);
    }
    let rows = found.into_iter().map(|(row, _)| row);
    rows.filter(|_| used.iter().all(|used| *used)).collect()
}

fn rows(tokens: &[Token]) -> impl Iterator<Item = (usize, Vec<(usize, usize)>)> {
    let rows = CELLS.iter().enumerate();
    let rows = rows.map(|(row, cell)| (row, cell.spots(tokens)));
    rows.filter(|(_, spots)| !spots.is_empty())
}

/// The class of a row.
pub(super) fn class_of(row: usize) -> Class {
    FEATURES[row].0
}

/// Minutes of the day of a text such as `18:30`.
pub(super) fn minutes_of(text: &str) -> Option<u32> {
    let (hours, minutes) = text.split_once(':')?;
    let is_clock = (1..=2).contains(&hours.len()) && minutes.len() == 2;
    let (hours, minutes): (u32, u32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (is_clock && hours < 24 && minutes < 60).then_some(60 * hours + minutes)
}

/// A wish while it is read: what is used of the words is not read twice.
struct Hearing {
    language: Language,
    tokens: Vec<Token>,
    used: Vec<bool>,
    wish: Wish,
}

impl Hearing {
    fn hear(&mut self) {
        self.wish.words = self.tokens.iter().map(|token| token.norm.clone()).collect();
        let has = |cell: &str| !Cell::new(cell).spots(&self.tokens).is_empty();
        self.wish.is_booking = has(BOOKING) || has(THINGS);
        self.wish.is_together = self.take(TOGETHER);
        self.wish.is_latest = self.take(LATEST);
        self.take(EARLIEST);
        self.times();
        if self.take(COUPLE) {
            self.wish.seats = Some(2);
        }
        self.features();
        self.count();
        for cell in [MORNING, EVENING, BOOKING, THINGS, SEATS, SMALL] {
            self.take(cell);
        }
        let is_told = !self.wish.features.is_empty() || !self.wish.times.is_empty();
        self.wish.is_booking |= is_told || self.wish.seats.is_some();
    }

    /// Uses each place where a cell stands; whether there is any.
    fn take(&mut self, cell: &str) -> bool {
        let spots = self.spots(cell);
        for (at, len) in &spots {
            self.used[*at..at + len].fill(true);
        }
        !spots.is_empty()
    }

    /// Where a cell stands in what is not used yet.
    fn spots(&self, cell: &str) -> Vec<(usize, usize)> {
        let spots = Cell::new(cell).spots(&self.tokens).into_iter();
        let free = spots.filter(|(at, len)| !self.used[*at..at + len].contains(&true));
        free.collect()
    }

    /// How long a cell is that stands here; none when it does not.
    fn len_at(&self, cell: &str, at: usize) -> Option<usize> {
        let spots = self.spots(cell).into_iter();
        spots.filter(|spot| spot.0 == at).map(|spot| spot.1).next()
    }

    /// How long a cell is that ends before here.
    fn len_before(&self, cell: &str, at: usize) -> Option<usize> {
        let spots = self.spots(cell).into_iter();
        spots
            .filter(|spot| spot.0 + spot.1 == at)
            .map(|spot| spot.1)
            .max()
    }

    fn times(&mut self) {
        let (morning, evening) = (
            !self.spots(MORNING).is_empty(),
            !self.spots(EVENING).is_empty(),
        );
        let mut at = 0;
        while at < self.tokens.len() {
            at += self.time(at, (morning, evening)).unwrap_or(1);
        }
        if self.wish.times.is_empty() && morning != evening {
            let (minutes, relation) = if morning {
                (12 * 60, Relation::Before)
            } else {
                (17 * 60, Relation::From)
            };
            self.wish.times.push(Bound { minutes, relation });
        }
    }

    /// A time that stands here, by what is around it, and how many words it takes.
    fn time(&mut self, at: usize, (morning, evening): (bool, bool)) -> Option<usize> {
        let (mut minutes, mut len, is_clock) = self.clock(at)?;
        let mut is_hour = is_clock;
        while let Some(more) = [HOUR, HALF]
            .iter()
            .find_map(|cell| self.len_at(cell, at + len))
        {
            if self.len_at(HALF, at + len).is_some() && is_hour {
                minutes += 30;
            }
            (is_hour, len) = (true, len + more);
        }
        let ends = at + len;
        let relations = [
            (AFTER, Relation::After),
            (FROM, Relation::From),
            (BEFORE, Relation::Before),
            (UNTIL, Relation::Until),
        ];
        let behind = |cell: &str| {
            let is_han = self.language == Language::Chinese;
            self.len_at(cell, ends).filter(|_| is_han)
        };
        let found = relations.iter().find_map(|(cell, relation)| {
            let before = self.len_before(cell, at);
            let behind = before.is_none().then(|| behind(cell)).flatten();
            before.or(behind)?;
            Some((*relation, before.unwrap_or(0), behind.unwrap_or(0)))
        });
        let (relation, before, behind) = match found {
            // A place may stand behind the same word: it is a time when nothing else is counted.
            Some(found) if is_hour || self.len_at(SEATS, ends).is_none() => found,
            Some(_) | None if is_hour => (Relation::At, self.len_before(AT, at).unwrap_or(0), 0),
            Some(_) | None => return None,
        };
        if minutes < 10 * 60 && !morning || (minutes < 12 * 60 && evening) {
            minutes += 12 * 60;
        }
        self.used[at - before..ends + behind].fill(true);
        self.wish.times.push(Bound { minutes, relation });
        Some(len + behind)
    }

    /// Minutes of the day that stand here, how many words they take, and whether they can be
    /// nothing else.
    fn clock(&self, at: usize) -> Option<(u32, usize, bool)> {
        if self.used[at] {
            return None;
        }
        let token = &self.tokens[at];
        let counted = number(&self.tokens[at..], self.language);
        let (hours, mut len, mut is_clock) = if let Some((hours, len)) = counted {
            (hours, len, false)
        } else {
            let digits = digits_of(&token.norm);
            let is_hour = matches!(&token.norm[digits.len()..], "pm" | "am");
            (digits.parse().ok().filter(|_| is_hour)?, 1, true)
        };
        let mut minutes = 0;
        let colon = self
            .tokens
            .get(at + len)
            .filter(|token| token.kind == Kind::Mark(':') && token.glued);
        if let Some(token) = self.tokens.get(at + len + 1).filter(|_| colon.is_some()) {
            let digits = digits_of(&token.norm);
            minutes = digits.parse().ok().filter(|minutes| *minutes < 60)?;
            (len, is_clock) = (len + 2, true);
        }
        (hours < 24).then_some((60 * hours + minutes, len, is_clock))
    }

    fn features(&mut self) {
        for (row, (class, cell)) in FEATURES.iter().enumerate() {
            let spots = self.spots(cell);
            let Some((at, _)) = spots.first() else {
                continue;
            };
            if *class == Class::Ticket {
                let count = self.number_before(*at);
                self.wish
                    .tickets
                    .push((row, count.map_or(1, |(count, _)| count)));
                if let Some((_, from)) = count {
                    self.used[from..*at].fill(true);
                }
            } else {
                self.wish.features.push(row);
            }
            self.take(cell);
        }
    }

    /// The number that ends before here, and where it begins.
    fn number_before(&self, at: usize) -> Option<(u32, usize)> {
        let at = at - self.len_before(MEASURE, at).unwrap_or(0);
        let mut from = (0..at).rev().take_while(|from| !self.used[*from]).take(3);
        from.find_map(|from| {
            let (count, len) = number(&self.tokens[from..], self.language)?;
            (from + len == at).then_some((count, from))
        })
    }

    /// How many: the number before what is counted, else the only one that there is.
    fn count(&mut self) {
        let mut numbers = Vec::new();
        let mut at = 0;
        while at < self.tokens.len() {
            let found = number(&self.tokens[at..], self.language).filter(|_| !self.used[at]);
            if let Some((count, len)) = found.filter(|(count, _)| *count > 0) {
                let is_counted = !self.used[at..at + len].contains(&true)
                    && (self.len_at(SEATS, at + len).is_some()
                        || self.len_at(SEATS, at + len + 1).is_some());
                numbers.push((is_counted, count, at, len));
                at += len;
            } else {
                at += 1;
            }
        }
        let counted = numbers.iter().find(|number| number.0);
        // In Chinese one stands before any thing.
        let only = match &numbers[..] {
            [only] if only.1 > 1 => Some(only),
            _ => None,
        };
        if let Some((_, count, at, len)) = counted.or(only) {
            self.wish.seats = Some(*count);
            self.used[*at..at + len].fill(true);
        }
    }

    /// What nothing was made of.
    fn leave(&mut self, text: &str, pieces: &[Piece]) {
        for piece in pieces {
            let tokens = self.tokens.iter().zip(&self.used);
            let mut own =
                tokens.filter(|(token, _)| token.start < piece.end && piece.start < token.end);
            let is_used = own.all(|(_, used)| *used);
            let word = || text[piece.start..piece.end].to_owned();
            match piece.meaning {
                _ if is_used => {}
                Meaning::Is(Unable | Composition) => {
                    self.wish.unable.get_or_insert_with(word);
                }
                Meaning::Unknown | Meaning::Path | Meaning::Quoted(..) | Meaning::Number(_) => {
                    self.wish.unknown.push(word());
                }
                Meaning::Is(_) | Meaning::Operator(_) | Meaning::Mark(_) => {}
            }
        }
    }
}

/// A whole number that stands first, in words or digits, or as an hour, and how many words it takes.
fn number(tokens: &[Token], language: Language) -> Option<(u32, usize)> {
    if let Some((digits, len)) = lexicon::number(tokens, language) {
        return Some((digits.parse().ok()?, len));
    }
    HOURS.iter().find_map(|(hour, cell)| {
        let spots = Cell::new(cell).spots(&tokens[..1]);
        (!spots.is_empty()).then_some((*hour, 1))
    })
}

fn digits_of(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit());
    &text[..end.unwrap_or(text.len())]
}
