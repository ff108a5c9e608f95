//! Which plural form a whole number takes in a language, after the rules of CLDR.

/// A plural form by the name that CLDR gives it. A language uses some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// Nothing, where that is said in a way of its own.
    Zero,
    /// One, and what is said like it.
    One,
    /// A pair.
    Two,
    /// A few.
    Few,
    /// Many.
    Many,
    /// All the rest.
    Other,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Zero,
        Self::One,
        Self::Two,
        Self::Few,
        Self::Many,
        Self::Other,
    ];

    /// The name that it has in a catalogue.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zero => "zero",
            Self::One => "one",
            Self::Two => "two",
            Self::Few => "few",
            Self::Many => "many",
            Self::Other => "other",
        }
    }
}

/// English: one session, two sessions.
pub const fn english(count: u64) -> Form {
    match count {
        1 => Form::One,
        _ => Form::Other,
    }
}

/// Russian and Ukrainian, by the last digits: 21 is said like 1 and 22 like 2, but 11 to 14 are not.
pub const fn east_slavic(count: u64) -> Form {
    match (count % 10, count % 100) {
        (_, 11..=14) => Form::Many,
        (1, _) => Form::One,
        (2..=4, _) => Form::Few,
        _ => Form::Many,
    }
}

/// Chinese: the number says it all.
pub const fn chinese(_count: u64) -> Form {
    Form::Other
}
