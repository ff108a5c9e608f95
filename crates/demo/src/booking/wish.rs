//! What somebody wants to book, read off their words in any of the languages.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::language::Language;
use crate::pattern::{build, cell};
use crate::table::TABLE;

/// A longer text is no plain wish.
const MAX_CHARACTERS: usize = 1_000;
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

/// What of one thing is wanted: a row of the table's words.
pub(super) struct Feature {
    /// Of each class, an item is at most one.
    pub(super) class: &'static str,
    /// The word that is said of it.
    pub(super) word: &'static str,
    regex: Regex,
}

/// What somebody wants to book.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wish {
    /// The rows of the features that an item must be, where items are of that class.
    features: Vec<usize>,
    /// When it begins.
    pub(super) times: Vec<Bound>,
    /// The last of what fits, not the first.
    pub(super) is_latest: bool,
    pub(super) is_together: bool,
    seats: Option<u32>,
    /// How many tickets of a kind, by its row.
    tickets: Vec<(usize, u32)>,
    /// All words, to find names of items in them.
    text: String,
    /// Words that nothing was made of.
    pub(super) unknown: Vec<String>,
    /// A word for what cannot be done.
    pub(super) unable: Option<String>,
    pub(super) is_booking: bool,
}

impl Wish {
    /// What a text wishes for, and in which language.
    pub(super) fn of(text: &str) -> (Language, Self) {
        let language = Language::candidates(text)[0];
        if text.chars().count() > MAX_CHARACTERS {
            return (language, Self::default());
        }
        let mut hearing = Hearing {
            rest: text.to_owned(),
            wish: Self {
                text: text.to_lowercase(),
                ..Self::default()
            },
        };
        hearing.hear();
        (language, hearing.wish)
    }

    /// The same with what is said later: of each kind of thing the last counts.
    pub(super) fn then(mut self, later: Self) -> Self {
        let class = |row: &usize| FEATURES[*row].class;
        let classes: Vec<_> = later.features.iter().map(class).collect();
        self.features.retain(|row| !classes.contains(&class(row)));
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
        self.text = format!("{}\n{}", self.text, later.text);
        self.unknown = later.unknown;
        self.unable = later.unable;
        self.is_booking |= later.is_booking;
        self
    }

    /// How many seats; `None` when nothing was said of it.
    pub(super) fn seats(&self) -> Option<u32> {
        let tickets: u32 = self.tickets.iter().map(|(_, count)| count).sum();
        let seats = self.seats.unwrap_or(0).max(tickets);
        (seats > 0).then(|| seats.min(MAX_SEATS))
    }

    /// How many tickets of a kind that is called so, of so many; what was not spoken of is of the
    /// first kind.
    pub(super) fn tickets(&self, name: &str, is_first: bool, of: u32) -> u32 {
        let is_own = |row: &usize| FEATURES[*row].regex.is_match(name);
        let own = self.tickets.iter().filter(|(row, _)| is_own(row));
        let own: u32 = own.map(|(_, count)| count).sum();
        let all: u32 = self.tickets.iter().map(|(_, count)| count).sum();
        own + if is_first { of.saturating_sub(all) } else { 0 }
    }

    /// The rows of the features that are wanted.
    pub(super) fn wanted(&self) -> impl Iterator<Item = (usize, &'static Feature)> {
        self.features.iter().map(|row| (*row, &FEATURES[*row]))
    }

    /// Whether a name stands in the wish.
    pub(super) fn names(&self, label: &str) -> bool {
        let label = label.to_lowercase();
        let is_number = label.bytes().all(|byte| byte.is_ascii_digit());
        let is_name = label.chars().count() > 1 && !is_number;
        let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let mut places = self.text.match_indices(&label);
        is_name
            && places.any(|(at, _)| {
                let after = self.text[at + label.len()..].chars().next();
                !is_letter(self.text[..at].chars().next_back()) && !is_letter(after)
            })
    }

    /// Whether anything in it may be about a stage that is past.
    pub(super) fn is_wide(&self) -> bool {
        !self.features.is_empty() || !self.times.is_empty() || !self.unknown.is_empty()
    }
}

/// The features, as the table has them.
pub(super) static FEATURES: LazyLock<Vec<Feature>> = LazyLock::new(|| {
    let rows = CLASSES.iter().flat_map(|class| {
        let rows = TABLE.words.wish(class);
        rows.map(|(word, spellings)| Feature {
            class,
            word,
            regex: regex(&cell(spellings)),
        })
    });
    rows.collect()
});

const CLASSES: [&str; 5] = ["genre", "zone", "format", "day", TICKET];
const TICKET: &str = "ticket";

/// The rows of the features that a text is: it says nothing else, as the name of a place may.
pub(super) fn rows_that_are(text: &str) -> Vec<usize> {
    let mut rest = text.to_owned();
    let mut rows = Vec::new();
    for (row, feature) in FEATURES.iter().enumerate() {
        if feature.regex.is_match(text) {
            rest = feature.regex.replace_all(&rest, " ").into_owned();
            rows.push(row);
        }
    }
    if rest.contains(char::is_alphanumeric) {
        rows.clear();
    }
    rows
}

/// Minutes of the day of a text such as `18:30`.
pub(super) fn minutes_of(text: &str) -> Option<u32> {
    let (hours, minutes) = text.split_once(':')?;
    let is_clock = (1..=2).contains(&hours.len()) && minutes.len() == 2;
    let (hours, minutes): (u32, u32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (is_clock && hours < 24 && minutes < 60).then_some(60 * hours + minutes)
}

fn regex(regex: &str) -> Regex {
    build(regex).expect("the words are part of the program, and its tests read them")
}

/// The words of the table's list `said`.
fn said(name: &str) -> String {
    let mut rows = TABLE.words.wish("said");
    let row = rows.find(|(row, _)| *row == name);
    cell(row.map_or("", |(_, spellings)| spellings))
}

/// The expressions that read a wish, made once.
struct Words {
    time: Regex,
    seats: Regex,
    number: Regex,
    /// A ticket of each kind, with a number before it.
    tickets: Vec<(usize, Regex)>,
    cells: Vec<(&'static str, Regex)>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let numbers: Vec<_> = TABLE.words.values("n").collect();
    let spelled = numbers
        .iter()
        .rev()
        .map(|(value, spellings)| format!("(?P<n{value}>{})", cell(spellings)));
    let number = format!(
        r"(?:\b(?P<digits>\d{{1,2}})|{})",
        spelled.collect::<Vec<_>>().join("|")
    );
    let plain = number
        .replace("(?P<digits>", "(?P<count>")
        .replace("(?P<n", "(?P<m");
    let before = ["from", "until", "after", "before", "at"]
        .map(|name| format!("(?P<{name}>{})", said(name)));
    let after = ["then_after", "then_before"].map(|name| format!("(?P<{name}>{})", said(name)));
    let (hour, half, measure) = (said("hour"), said("half"), said("measure"));
    let time = format!(
        r"(?:(?:{})\s*)?{number}(?::(?P<minutes>[0-5]\d))?(?P<hour>\s*{hour})?(?P<half>{half})?(?:{})?(?P<seats>\s*(?:{measure}\s*)?{})?",
        before.join("|"),
        after.join("|"),
        said("seats"),
    );
    let seats = format!(
        r"{plain}\s*(?:{measure}\s*)?(?:\p{{L}}+\s+)?{}",
        said("seats")
    );
    let tickets = FEATURES
        .iter()
        .enumerate()
        .filter(|(_, feature)| feature.class == TICKET);
    let tickets = tickets.map(|(row, feature)| {
        (
            row,
            regex(&format!(
                r"(?:{plain}\s*(?:{measure}\s*)?)?{}",
                feature.regex
            )),
        )
    });
    let cells = TABLE
        .words
        .wish("said")
        .map(|(name, spellings)| (name, regex(&cell(spellings))));
    Words {
        time: regex(&time),
        seats: regex(&seats),
        number: regex(&plain),
        tickets: tickets.collect(),
        cells: cells.collect(),
    }
});

/// The number that an expression found.
fn number(found: &Captures<'_>) -> Option<u32> {
    let digits = found.name("digits").or_else(|| found.name("count"));
    if let Some(digits) = digits {
        return digits.as_str().parse().ok();
    }
    let named = |at: &u32| {
        found
            .name(&format!("n{at}"))
            .or_else(|| found.name(&format!("m{at}")))
            .is_some()
    };
    (1..=12).find(named)
}

/// A wish while it is read: what was used of the words is not read twice.
struct Hearing {
    rest: String,
    wish: Wish,
}

impl Hearing {
    fn hear(&mut self) {
        self.wish.is_booking = self.has("booking") || self.has("things");
        self.wish.is_together = self.take("together");
        self.wish.is_latest = self.take("latest");
        self.take("earliest");
        let (morning, evening) = (self.has("morning"), self.has("evening"));
        self.times(morning, evening);
        self.take("morning");
        self.take("evening");
        if self.take("couple") {
            self.wish.seats = Some(2);
        }
        self.features();
        self.count();
        let is_told = !self.wish.features.is_empty() || !self.wish.times.is_empty();
        self.wish.is_booking |= is_told || self.wish.seats.is_some();
        self.wish.unable = cell_of("unable")
            .find(&self.rest)
            .map(|word| word.as_str().to_owned());
        for name in ["booking", "things", "seats", "small", "measure"] {
            self.take(name);
        }
        let words = self.rest.split(|c: char| !c.is_alphanumeric() && c != '\'');
        self.wish.unknown = words
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
    }

    fn has(&self, name: &str) -> bool {
        cell_of(name).is_match(&self.rest)
    }

    /// Uses the places where words stand; whether there is any.
    fn take(&mut self, name: &str) -> bool {
        let is_there = self.has(name);
        self.rest = cell_of(name).replace_all(&self.rest, " ").into_owned();
        is_there
    }

    fn times(&mut self, morning: bool, evening: bool) {
        let times = &mut self.wish.times;
        let rest = WORDS.time.replace_all(&self.rest, |found: &Captures<'_>| {
            let bound = time(found, morning, evening);
            times.extend(bound);
            if bound.is_some() {
                " ".to_owned()
            } else {
                found[0].to_owned()
            }
        });
        self.rest = rest.into_owned();
        if self.wish.times.is_empty() && morning != evening {
            let (minutes, relation) = if morning {
                (12 * 60, Relation::Before)
            } else {
                (17 * 60, Relation::From)
            };
            self.wish.times.push(Bound { minutes, relation });
        }
    }

    fn features(&mut self) {
        for (row, regex) in &WORDS.tickets {
            if let Some(found) = regex.captures(&self.rest) {
                self.wish.tickets.push((*row, number(&found).unwrap_or(1)));
                self.rest = regex.replace_all(&self.rest, " ").into_owned();
            }
        }
        for (row, feature) in FEATURES.iter().enumerate() {
            if feature.class != TICKET && feature.regex.is_match(&self.rest) {
                self.wish.features.push(row);
                self.rest = feature.regex.replace_all(&self.rest, " ").into_owned();
            }
        }
    }

    /// How many: the number before what is counted, else the only one above one.
    fn count(&mut self) {
        let found = WORDS.seats.captures(&self.rest).or_else(|| {
            let mut all = WORDS
                .number
                .captures_iter(&self.rest)
                .filter(|found| number(found) > Some(1));
            all.next().filter(|_| all.next().is_none())
        });
        if let Some((count, whole)) =
            found.and_then(|found| Some((number(&found)?, found.get(0)?.range())))
        {
            self.wish.seats = Some(count).filter(|count| *count > 0);
            self.rest.replace_range(whole, " ");
        }
    }
}

fn cell_of(name: &str) -> &'static Regex {
    let mut cells = WORDS.cells.iter();
    let cell = cells.find(|(cell, _)| *cell == name);
    cell.map_or(&WORDS.number, |(_, regex)| regex)
}

/// A time, unless it is a number of seats.
fn time(found: &Captures<'_>, morning: bool, evening: bool) -> Option<Bound> {
    let has = |name: &str| found.name(name).is_some();
    let said = [
        ("after", Relation::After),
        ("then_after", Relation::After),
        ("from", Relation::From),
        ("until", Relation::Until),
        ("before", Relation::Before),
        ("then_before", Relation::Before),
    ];
    let relation = said
        .into_iter()
        .find(|(name, _)| has(name))
        .map(|said| said.1);
    let is_hour = has("minutes") || has("hour");
    // A place may stand after the same word: it is a time when nothing else is counted.
    let relation = match relation {
        Some(relation) if is_hour || !has("seats") => relation,
        _ if is_hour => Relation::At,
        _ => return None,
    };
    let minutes = found
        .name("minutes")
        .and_then(|minutes| minutes.as_str().parse().ok());
    let half = if has("half") { 30 } else { 0 };
    let mut minutes = number(found).filter(|hours| *hours < 24)? * 60 + minutes.unwrap_or(half);
    if minutes < 10 * 60 && !morning || (minutes < 12 * 60 && evening) {
        minutes += 12 * 60;
    }
    Some(Bound { minutes, relation })
}
