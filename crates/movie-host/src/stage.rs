//! The stages of a booking, in their order (RL-18).

use samovar_locale as locale;

/// Where in the booking the person is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Which movie.
    Movie,
    /// Where it is shown.
    Theater,
    /// On which day.
    Date,
    /// At which time.
    Time,
    /// On which seats.
    Seat,
    /// With which kinds of ticket.
    Ticket,
    /// All of it once more.
    Confirm,
}

impl Stage {
    /// All of them, in order.
    pub(crate) const ALL: [Self; 7] = [
        Self::Movie,
        Self::Theater,
        Self::Date,
        Self::Time,
        Self::Seat,
        Self::Ticket,
        Self::Confirm,
    ];

    /// The stage as it stands in the screen.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Movie => "movie",
            Self::Theater => "theater",
            Self::Date => "date",
            Self::Time => "time",
            Self::Seat => "seat",
            Self::Ticket => "ticket",
            Self::Confirm => "confirm",
        }
    }

    /// What the person is asked.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Movie => locale::movie::which_movie(),
            Self::Theater => locale::movie::which_theater(),
            Self::Date => locale::movie::which_date(),
            Self::Time => locale::movie::which_time(),
            Self::Seat => locale::movie::which_seats(),
            Self::Ticket => locale::movie::which_tickets(),
            Self::Confirm => locale::movie::which_booking(),
        }
    }

    /// How the items are shown.
    pub(crate) fn component(self) -> &'static str {
        match self {
            Self::Movie | Self::Theater | Self::Time => "buttonGroup",
            Self::Date => "calendar",
            Self::Seat => "seatMap",
            Self::Ticket => "quantityPicker",
            Self::Confirm => "summary",
        }
    }

    /// The field whose value a person sees of an item.
    pub(crate) fn value_field(self) -> &'static str {
        match self {
            Self::Movie => "title",
            Self::Theater | Self::Ticket => "name",
            Self::Date => "date",
            Self::Time => "time",
            Self::Seat => "seat",
            Self::Confirm => "text",
        }
    }

    /// The fields of an item here.
    pub(crate) fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Movie => &["title", "genre", "rating", "duration"],
            Self::Theater => &["name", "district", "distance"],
            Self::Date => &["date", "weekday"],
            Self::Time => &["time", "hall", "format"],
            Self::Seat => &["seat", "row", "number", "zone"],
            Self::Ticket => &["name", "price"],
            Self::Confirm => &["line", "text"],
        }
    }

    /// The one behind it.
    pub(crate) fn following(self) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| *stage > self)
    }

    /// The one before it.
    pub(crate) fn preceding(self) -> Option<Self> {
        Self::ALL.into_iter().rfind(|stage| *stage < self)
    }
}
