//! What is chosen so far, and the items that follow from it.

use serde_json::{Value, json};

use crate::catalogue::{
    Cents, Day, MOVIES, Movie, Seat, Showing, THEATERS, TICKET_TYPES, Theater, Week, showings,
    shows,
};
use crate::item::Item;
use crate::stage::Stage;

/// A booking while it is made. What a choice rests on stands before it; without that it is not there.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Choices {
    /// The days that there are to choose from.
    week: Week,
    movie: Option<&'static Movie>,
    theater: Option<&'static Theater>,
    day: Option<Day>,
    showing: Option<Showing>,
    /// In the order of their rows.
    seats: Vec<Seat>,
    tickets: [u32; TICKET_TYPES.len()],
}

impl Choices {
    /// Nothing chosen, in this week.
    pub(crate) fn of(week: Week) -> Self {
        Self {
            week,
            ..Self::default()
        }
    }

    /// The items of a stage.
    pub(crate) fn items(&self, stage: Stage) -> Vec<Item> {
        match stage {
            Stage::Movie => MOVIES.iter().map(movie_item).collect(),
            Stage::Theater => THEATERS.iter().map(|of| self.theater_item(of)).collect(),
            Stage::Date => self.week.days().map(|day| self.day_item(day)).collect(),
            Stage::Time => self.showings().iter().map(showing_item).collect(),
            Stage::Seat => Seat::all().map(|seat| self.seat_item(seat)).collect(),
            Stage::Ticket => self.ticket_items(),
            Stage::Confirm => self.lines(),
        }
    }

    /// Chooses an item of a stage, or takes a seat back. What rests on another choice is chosen no
    /// longer.
    pub(crate) fn choose(&mut self, stage: Stage, item_id: &str) {
        let before = self.clone();
        match stage {
            Stage::Movie => {
                let movie = MOVIES.iter().find(|movie| movie.id == item_id);
                *self = Self {
                    movie,
                    ..Self::of(self.week)
                };
            }
            Stage::Theater => {
                self.theater = THEATERS.iter().find(|theater| theater.id == item_id);
                self.day = None;
                self.leave_showing();
            }
            Stage::Date => {
                self.day = self.week.days().find(|day| day.id() == item_id);
                self.leave_showing();
            }
            Stage::Time => {
                let mut showings = self.showings().into_iter();
                self.leave_showing();
                self.showing = showings.find(|showing| showing.id() == item_id);
            }
            Stage::Seat => self.toggle(item_id),
            Stage::Ticket | Stage::Confirm => {}
        }
        // The same once more is no other choice, and what rests on it stays.
        if stage != Stage::Seat && self.selected(stage) == before.selected(stage) {
            *self = before;
        }
    }

    /// Sets how many tickets of a kind there are, by its place in [`TICKET_TYPES`].
    pub(crate) fn set_quantity(&mut self, of: usize, count: u32) {
        if let Some(tickets) = self.tickets.get_mut(of) {
            *tickets = count;
        }
    }

    /// Whether a stage has what it is there for.
    pub(crate) fn is_complete(&self, stage: Stage) -> bool {
        match stage {
            Stage::Movie | Stage::Theater | Stage::Date | Stage::Time => {
                self.selected(stage).is_some()
            }
            Stage::Seat => !self.seats.is_empty(),
            Stage::Ticket => {
                usize::try_from(self.ticket_count()).is_ok_and(|count| count == self.seats.len())
            }
            Stage::Confirm => true,
        }
    }

    /// The item that is chosen at a stage where that is one.
    pub(crate) fn selected(&self, stage: Stage) -> Option<String> {
        match stage {
            Stage::Movie => self.movie.map(|movie| movie.id.to_owned()),
            Stage::Theater => self.theater.map(|theater| theater.id.to_owned()),
            Stage::Date => self.day.map(Day::id),
            Stage::Time => self.showing.as_ref().map(Showing::id),
            Stage::Seat | Stage::Ticket | Stage::Confirm => None,
        }
    }

    /// The seats that are chosen.
    pub(crate) fn seat_ids(&self) -> Vec<String> {
        self.seats.iter().map(|seat| seat.id()).collect()
    }

    /// How many tickets there are of each kind.
    pub(crate) fn quantities(&self) -> Value {
        let each = TICKET_TYPES.iter().zip(self.tickets);
        each.map(|(of, count)| (of.id.to_owned(), Value::from(count)))
            .collect()
    }

    /// How many tickets there are.
    pub(crate) fn ticket_count(&self) -> u32 {
        self.tickets.iter().sum()
    }

    /// What the tickets cost together.
    pub(crate) fn total(&self) -> Cents {
        let Some(showing) = &self.showing else {
            return Cents::default();
        };
        let each = TICKET_TYPES.iter().zip(self.tickets);
        Cents(each.map(|(of, count)| showing.price(of).0 * count).sum())
    }

    /// All of it, as it stands in the screen.
    pub(crate) fn to_json(&self) -> Value {
        let showing = self.showing.as_ref().map(|showing| {
            let (hall, format) = (showing.hall(), showing.format());
            json!({"id": showing.id(), "time": showing.time(), "hall": hall, "format": format})
        });
        let tickets: Vec<_> = self
            .tickets()
            .map(|(id, name, count, price)| {
                json!({"typeId": id, "name": name, "quantity": count, "price": price.units()})
            })
            .collect();
        json!({
            "movie": self.movie.map(|movie| json!({"id": movie.id, "title": movie.title})),
            "theater": self.theater.map(|theater| json!({"id": theater.id, "name": theater.name})),
            "date": self.day.map(Day::id),
            "showing": showing,
            "seats": self.seat_ids(),
            "tickets": tickets,
        })
    }

    /// The kinds of which there are tickets: id, name, how many, what one costs.
    fn tickets(&self) -> impl Iterator<Item = (&'static str, &'static str, u32, Cents)> {
        let each = TICKET_TYPES.iter().zip(self.tickets);
        each.filter(|(_, count)| *count > 0)
            .filter_map(|(of, count)| {
                let price = self.showing.as_ref()?.price(of);
                Some((of.id, of.name, count, price))
            })
    }

    fn leave_showing(&mut self) {
        self.showing = None;
        self.seats.clear();
        self.tickets = [0; TICKET_TYPES.len()];
    }

    fn toggle(&mut self, item_id: &str) {
        let Some(seat) = Seat::all().find(|seat| seat.id() == item_id) else {
            return;
        };
        match self.seats.binary_search(&seat) {
            Ok(at) => drop(self.seats.remove(at)),
            Err(at) => self.seats.insert(at, seat),
        }
        self.tickets = [0; TICKET_TYPES.len()];
    }

    fn showings(&self) -> Vec<Showing> {
        match (self.movie, self.theater, self.day) {
            (Some(movie), Some(theater), Some(day)) => showings(movie, theater, day),
            (Some(_) | None, Some(_) | None, Some(_) | None) => Vec::new(),
        }
    }

    fn theater_item(&self, theater: &'static Theater) -> Item {
        let is_shown = self.movie.is_some_and(|movie| shows(theater, movie));
        let fields = vec![
            ("name", theater.name.into()),
            ("district", theater.district.into()),
            ("distance", theater.distance.into()),
        ];
        Item::new(theater.id, fields)
            .disabled((!is_shown).then_some("the movie is not shown there"))
    }

    fn day_item(&self, day: Day) -> Item {
        let of_day = Self {
            day: Some(day),
            ..self.clone()
        };
        let is_closed = of_day.showings().is_empty();
        let fields = vec![("date", day.id().into()), ("weekday", day.weekday().into())];
        Item::new(day.id(), fields).disabled(is_closed.then_some("the movie is not shown then"))
    }

    fn seat_item(&self, seat: Seat) -> Item {
        let is_taken = self.showing.as_ref().is_none_or(|of| of.is_taken(seat));
        let fields = vec![
            ("seat", seat.id().into()),
            ("row", seat.row().to_string().into()),
            ("number", seat.number().into()),
            ("zone", seat.zone().into()),
        ];
        Item::new(seat.id(), fields).disabled(is_taken.then_some("it is taken"))
    }

    fn ticket_items(&self) -> Vec<Item> {
        let Some(showing) = &self.showing else {
            return Vec::new();
        };
        let item = |of: &crate::catalogue::TicketType| {
            let price = showing.price(of).units();
            Item::new(
                of.id,
                vec![("name", of.name.into()), ("price", price.into())],
            )
        };
        TICKET_TYPES.iter().map(item).collect()
    }

    /// What is about to be booked, a line for each thing.
    fn lines(&self) -> Vec<Item> {
        let showing = self.showing.as_ref();
        let tickets = self.tickets();
        let tickets: Vec<_> = tickets
            .map(|(_, name, count, _)| format!("{count} × {name}"))
            .collect();
        let lines = [
            (
                "movie",
                self.movie.map_or("", |movie| movie.title).to_owned(),
            ),
            (
                "theater",
                self.theater.map_or("", |theater| theater.name).to_owned(),
            ),
            ("date", self.day.map_or_else(String::new, Day::id)),
            ("time", showing.map_or("", Showing::time).to_owned()),
            ("seats", self.seat_ids().join(", ")),
            ("tickets", tickets.join(", ")),
            ("total", self.total().say()),
        ];
        let line = |(line, text): (&str, String)| {
            Item::new(line, vec![("line", line.into()), ("text", text.into())])
        };
        lines.map(line).to_vec()
    }
}

fn movie_item(movie: &'static Movie) -> Item {
    let fields = vec![
        ("title", movie.title.into()),
        ("genre", movie.genre.into()),
        ("rating", movie.rating.into()),
        ("duration", movie.duration.into()),
    ];
    Item::new(movie.id, fields)
}

fn showing_item(showing: &Showing) -> Item {
    let fields = vec![
        ("time", showing.time().into()),
        ("hall", showing.hall().into()),
        ("format", showing.format().into()),
    ];
    Item::new(showing.id(), fields).disabled(showing.is_sold_out().then_some("it is sold out"))
}
