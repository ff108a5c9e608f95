//! What is shown where and when, and what only the box office knows of it (RL-20).
//!
//! It is made of tables and of sums over them, so that it is the same in every run; only the dates
//! follow the day on which a study begins.

use jiff::civil::{Date, Weekday};
use jiff::tz::Offset;
use jiff::{Span, Timestamp};
use samovar_core::Millis;

/// A movie.
#[derive(Debug, PartialEq)]
pub(crate) struct Movie {
    /// Its number, from 0.
    number: u8,
    /// Its id on the screen.
    pub(crate) id: &'static str,
    /// What it is called.
    pub(crate) title: &'static str,
    /// Its kind.
    pub(crate) genre: &'static str,
    /// What critics think of it, of 10.
    pub(crate) rating: f64,
    /// How long it is, in minutes.
    pub(crate) duration: u16,
}

/// A theater.
#[derive(Debug, PartialEq)]
pub(crate) struct Theater {
    number: u8,
    /// Its id on the screen.
    pub(crate) id: &'static str,
    /// What it is called.
    pub(crate) name: &'static str,
    /// Where it lies.
    pub(crate) district: &'static str,
    /// How far away that is, in kilometres.
    pub(crate) distance: f64,
}

/// A day with showings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Day {
    number: u8,
    date: Date,
}

/// The days with showings: seven, from the day after a moment, in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Week {
    before: Date,
}

/// A movie in a theater on a day at a time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Showing {
    movie: &'static Movie,
    theater: &'static Theater,
    day: Day,
    slot: u8,
}

/// A seat of a hall, by its place in rows of [`SEATS_IN_ROW`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seat(u8);

/// A kind of ticket.
#[derive(Debug, PartialEq)]
pub(crate) struct TicketType {
    /// Its id on the screen.
    pub(crate) id: &'static str,
    /// What it is called.
    pub(crate) name: &'static str,
    base: Cents,
}

/// An amount of money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cents(pub(crate) u32);

/// What the box office knows of a showing. It has no form on the wire (RL-12): what follows from it
/// is told, a seat that is taken or what a ticket costs there.
struct BackendData {
    /// A bit for each seat.
    taken: u64,
    /// What a ticket costs more there.
    surcharge: Cents,
}

pub(crate) static MOVIES: [Movie; 8] = [
    movie(0, ["m1", "The Salt Road", "Adventure"], 7.8, 131),
    movie(1, ["m2", "Two Left Umbrellas", "Comedy"], 7.2, 98),
    movie(2, ["m3", "Quiet Orbit", "Science fiction"], 8.1, 142),
    movie(3, ["m4", "Seven Sundays", "Drama"], 8.4, 119),
    movie(4, ["m5", "The Mayor's Other Goat", "Comedy"], 6.9, 104),
    movie(5, ["m6", "Below the Ice", "Thriller"], 7.5, 111),
    movie(6, ["m7", "Paper Lions", "Animation"], 7.9, 88),
    movie(7, ["m8", "What the Cellar Said", "Horror"], 6.4, 95),
];

pub(crate) static THEATERS: [Theater; 4] = [
    theater(0, ["t1", "Lantern", "Old Town"], 0.8),
    theater(1, ["t2", "Harbour Light", "Harbour"], 2.4),
    theater(2, ["t3", "Old Mill", "Riverside"], 3.1),
    theater(3, ["t4", "Meridian", "Station"], 5.6),
];

pub(crate) static TICKET_TYPES: [TicketType; 3] = [
    ticket_type("adult", "Adult", 1_250),
    ticket_type("child", "Child", 800),
    ticket_type("senior", "Senior", 950),
];

/// When showings can begin: those with an even number on one day, the others on the next.
const SLOTS: [&str; 8] = [
    "11:00", "12:40", "14:20", "16:10", "17:50", "18:30", "19:40", "21:15",
];

/// Rows of a hall, the first being the nearest to the screen.
const ROWS: [char; 6] = ['A', 'B', 'C', 'D', 'E', 'F'];
const ROWS_IN_ZONE: u8 = 2;
/// Seats of a row.
const SEATS_IN_ROW: u8 = 10;
/// Seats of a hall.
pub(crate) const SEATS: u8 = 60;

const fn movie(number: u8, names: [&'static str; 3], rating: f64, duration: u16) -> Movie {
    let [id, title, genre] = names;
    Movie {
        number,
        id,
        title,
        genre,
        rating,
        duration,
    }
}

const fn theater(number: u8, names: [&'static str; 3], distance: f64) -> Theater {
    let [id, name, district] = names;
    Theater {
        number,
        id,
        name,
        district,
        distance,
    }
}

const fn ticket_type(id: &'static str, name: &'static str, cents: u32) -> TicketType {
    TicketType {
        id,
        name,
        base: Cents(cents),
    }
}

/// Whether a theater shows a movie at all.
pub(crate) fn shows(theater: &Theater, movie: &Movie) -> bool {
    !(movie.number + theater.number).is_multiple_of(4)
}

/// What a theater shows of a movie on a day, in the order of time.
pub(crate) fn showings(movie: &'static Movie, theater: &'static Theater, day: Day) -> Vec<Showing> {
    let is_closed = (movie.number + 2 * theater.number + day.number).is_multiple_of(7);
    if is_closed || !shows(theater, movie) {
        return Vec::new();
    }
    let rota = movie.number + theater.number + day.number;
    let slots = (0_u8..).take(SLOTS.len());
    slots
        .filter(|slot| (slot + rota).is_multiple_of(2))
        .map(|slot| Showing {
            movie,
            theater,
            day,
            slot,
        })
        .collect()
}

impl Week {
    /// The week after this moment.
    pub(crate) fn after(moment: Millis) -> Self {
        let moment = Timestamp::from_millisecond(moment.0).unwrap_or_default();
        Self {
            before: Offset::UTC.to_datetime(moment).date(),
        }
    }

    /// Its days, in order.
    pub(crate) fn days(self) -> impl Iterator<Item = Day> {
        (0..7_u8).map(move |number| Day {
            number,
            date: self
                .before
                .saturating_add(Span::new().days(1 + i64::from(number))),
        })
    }
}

impl Day {
    /// The date, which is its id on the screen, too.
    pub(crate) fn id(self) -> String {
        self.date.to_string()
    }

    /// Its name.
    pub(crate) fn weekday(self) -> &'static str {
        match self.date.weekday() {
            Weekday::Monday => "Monday",
            Weekday::Tuesday => "Tuesday",
            Weekday::Wednesday => "Wednesday",
            Weekday::Thursday => "Thursday",
            Weekday::Friday => "Friday",
            Weekday::Saturday => "Saturday",
            Weekday::Sunday => "Sunday",
        }
    }
}

impl Showing {
    /// Its id on the screen.
    pub(crate) fn id(&self) -> String {
        let (movie, theater) = (self.movie.id, self.theater.id);
        format!(
            "{movie}-{theater}-d{}-{}",
            self.day.number + 1,
            self.slot + 1
        )
    }

    /// When it begins, as `18:30`.
    pub(crate) fn time(&self) -> &'static str {
        SLOTS[usize::from(self.slot) % SLOTS.len()]
    }

    /// In which hall of its theater.
    pub(crate) fn hall(&self) -> u8 {
        1 + (self.movie.number + self.slot) % 5
    }

    /// How it is shown.
    pub(crate) fn format(&self) -> &'static str {
        match self.hall() {
            1 => "IMAX",
            3 => "3D",
            _ => "2D",
        }
    }

    /// Whether no seat is left.
    pub(crate) fn is_sold_out(&self) -> bool {
        self.backend().taken.count_ones() >= u32::from(SEATS)
    }

    /// Whether somebody has this seat already.
    pub(crate) fn is_taken(&self, seat: Seat) -> bool {
        self.backend().taken & (1 << seat.0) != 0
    }

    /// What a ticket costs here.
    pub(crate) fn price(&self, ticket_type: &TicketType) -> Cents {
        Cents(ticket_type.base.0 + self.backend().surcharge.0)
    }

    fn backend(&self) -> BackendData {
        let (movie, theater) = (u32::from(self.movie.number), u32::from(self.theater.number));
        let (day, slot) = (u32::from(self.day.number), u32::from(self.slot));
        let number = ((movie * 4 + theater) * 7 + day) * 8 + slot;
        let of_ten = 2 + scatter(number) % 6;
        let is_sold_out = (3 * movie + 5 * theater + 2 * day + slot).is_multiple_of(9);
        let taken = (0..SEATS)
            .filter(|seat| {
                is_sold_out || scatter(number * 64 + u32::from(*seat) + 7_919) % 10 < of_ten
            })
            .fold(0, |taken, seat| taken | 1 << seat);
        let surcharge = match self.hall() {
            1 => Cents(300),
            3 => Cents(200),
            _ => Cents(0),
        };
        BackendData { taken, surcharge }
    }
}

impl Seat {
    /// All seats of a hall, row by row.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..SEATS).map(Self)
    }

    /// The letter of its row.
    pub(crate) fn row(self) -> char {
        ROWS[usize::from(self.0 / SEATS_IN_ROW) % ROWS.len()]
    }

    /// Its number in the row, from 1.
    pub(crate) fn number(self) -> u8 {
        1 + self.0 % SEATS_IN_ROW
    }

    /// Its id on the screen.
    pub(crate) fn id(self) -> String {
        format!("{}{}", self.row(), self.number())
    }

    /// How far from the screen it is.
    pub(crate) fn zone(self) -> &'static str {
        match self.0 / SEATS_IN_ROW / ROWS_IN_ZONE {
            0 => "front",
            1 => "middle",
            _ => "back",
        }
    }
}

impl Cents {
    /// The amount in whole units, for a field that numbers are compared with.
    pub(crate) fn units(self) -> f64 {
        f64::from(self.0) / 100.0
    }

    /// The amount as a person reads it.
    pub(crate) fn say(self) -> String {
        format!("{}.{:02} EUR", self.0 / 100, self.0 % 100)
    }
}

/// Spreads a number over all numbers, the same way in every run.
pub(crate) fn scatter(number: u32) -> u32 {
    let number = (number ^ (number >> 16)).wrapping_mul(0x7FEB_352D);
    let number = (number ^ (number >> 15)).wrapping_mul(0x846C_A68B);
    number ^ (number >> 16)
}
