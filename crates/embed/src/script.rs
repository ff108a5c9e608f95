//! The language of a text, as far as its script tells it: enough to take away what all texts of a
//! language have in common.

/// A language that the model's means are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Chinese,
    Russian,
    Ukrainian,
    /// Any that is written otherwise.
    English,
}

impl Language {
    pub(crate) const ALL: [Self; 4] =
        [Self::Chinese, Self::Russian, Self::Ukrainian, Self::English];

    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Chinese => "zh",
            Self::Russian => "ru",
            Self::Ukrainian => "uk",
            Self::English => "en",
        }
    }

    /// That of most letters of a text. A sign of Chinese is about as much as two letters.
    pub(crate) fn of(text: &str) -> Self {
        let (mut han, mut cyrillic, mut other, mut is_ukrainian) = (0, 0, 0, false);
        for c in text.chars() {
            match c {
                '\u{3400}'..='\u{9fff}' => han += 2,
                '\u{400}'..='\u{4ff}' => {
                    cyrillic += 1;
                    is_ukrainian |= "іїєґІЇЄҐ".contains(c);
                }
                c if c.is_alphabetic() => other += 1,
                _ => {}
            }
        }
        match () {
            () if han > cyrillic.max(other) => Self::Chinese,
            () if cyrillic <= other => Self::English,
            () if is_ukrainian => Self::Ukrainian,
            () => Self::Russian,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves MD-11
    #[test]
    fn a_script_tells_the_language() {
        for (text, language) in [
            ("The port is 5433.", Language::English),
            ("Порт сервера — 5433, PostgreSQL.", Language::Russian),
            ("Порт сервера бази, це її новий порт.", Language::Ukrainian),
            ("端口是 5433 PG", Language::Chinese),
            ("5433", Language::English),
            ("", Language::English),
        ] {
            assert_eq!(Language::of(text), language, "{text}");
        }
    }
}
