//! The ways in which a text can spell one byte: as it is, or escaped for a URL, JSON, HTML, a shell.

/// A byte and where the text continues after it.
pub(super) type Spelled = (u8, usize);

/// What stands at one place of a text.
#[derive(Default)]
pub(super) struct Spellings {
    found: [Spelled; 4],
    count: usize,
    /// Whether the text ends in the middle of an escape.
    pub(super) is_cut: bool,
}

/// Backslashes before an escape, at most: JSON in JSON in JSON has seven.
const MAX_BACKSLASHES: usize = 8;
/// How often a `%` may be escaped again.
const MAX_PERCENTS: usize = 3;

/// Names of characters that occur in keys.
const ENTITIES: &[(&str, u8)] = &[
    ("amp;", b'&'),
    ("apos;", b'\''),
    ("ast;", b'*'),
    ("bsol;", b'\\'),
    ("colon;", b':'),
    ("comma;", b','),
    ("commat;", b'@'),
    ("dollar;", b'$'),
    ("equals;", b'='),
    ("excl;", b'!'),
    ("gt;", b'>'),
    ("lowbar;", b'_'),
    ("lt;", b'<'),
    ("num;", b'#'),
    ("percnt;", b'%'),
    ("period;", b'.'),
    ("plus;", b'+'),
    ("quest;", b'?'),
    ("quot;", b'"'),
    ("semi;", b';'),
    ("sol;", b'/'),
];

/// Whether an escape can begin with this byte.
pub(super) fn is_escape(byte: u8) -> bool {
    matches!(byte, b'%' | b'\\' | b'&' | b'=')
}

impl Spellings {
    /// What the text can mean at a place before its end.
    pub(super) fn at(text: &[u8], at: usize) -> Self {
        let mut spellings = Self::default();
        spellings.add(text[at], at + 1);
        match text[at] {
            b'%' => spellings.percent(text, at + 1),
            b'\\' => spellings.backslash(text, at + 1),
            b'&' => spellings.entity(text, at + 1),
            b'=' => spellings.quoted_printable(text, at + 1),
            _ => {}
        }
        spellings
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Spelled> {
        self.found[..self.count].iter().copied()
    }

    fn add(&mut self, byte: u8, next: usize) {
        if let Some(place) = self.found.get_mut(self.count) {
            *place = (byte, next);
            self.count += 1;
        }
    }

    /// `%2D`, `%252D`, `%u002D`.
    fn percent(&mut self, text: &[u8], mut at: usize) {
        for _ in 0..MAX_PERCENTS {
            if !text[at..].starts_with(b"25") {
                break;
            }
            at += 2;
        }
        if matches!(text.get(at), Some(b'u' | b'U')) {
            self.digits(text, at + 1, (16, 4, 4));
        } else {
            self.digits(text, at, (16, 2, 2));
        }
    }

    /// `\x2d`, `\u002d`, `\u{2d}`, `\055`, `\-`, and a line's end as `\n` or after a backslash.
    fn backslash(&mut self, text: &[u8], mut at: usize) {
        let run = text[at..].iter().take_while(|byte| **byte == b'\\').count();
        at += run.min(MAX_BACKSLASHES);
        let Some(&byte) = text.get(at) else {
            self.is_cut = true;
            return;
        };
        self.add(byte, at + 1);
        match byte {
            b'x' => {
                self.digits(text, at + 1, (16, 2, 2));
            }
            b'u' if text.get(at + 1) == Some(&b'{') => {
                let end = self.digits(text, at + 2, (16, 1, 6));
                self.close(text, end, b'}');
            }
            b'u' => {
                self.digits(text, at + 1, (16, 4, 4));
            }
            b'U' => {
                self.digits(text, at + 1, (16, 8, 8));
            }
            b'0'..=b'7' => {
                self.digits(text, at, (8, 1, 3));
            }
            b'n' => self.add(b'\n', at + 1),
            b'r' => self.add(b'\r', at + 1),
            _ => {}
        }
    }

    /// `&#45;`, `&#x2d;`, `&sol;`.
    fn entity(&mut self, text: &[u8], at: usize) {
        let rest = &text[at..];
        if let Some(number) = rest.strip_prefix(b"#") {
            let is_hex = matches!(number.first(), Some(b'x' | b'X'));
            let (from, radix) = if is_hex { (at + 2, 16) } else { (at + 1, 10) };
            let end = self.digits(text, from, (radix, 1, 7));
            self.close(text, end, b';');
            return;
        }
        for (name, byte) in ENTITIES {
            if rest.starts_with(name.as_bytes()) {
                self.add(*byte, at + name.len());
            } else if name.as_bytes().starts_with(rest) {
                self.is_cut = true;
            }
        }
    }

    /// `=2D`, and a soft end of a line.
    fn quoted_printable(&mut self, text: &[u8], at: usize) {
        match text.get(at) {
            None => self.is_cut = true,
            Some(b'\n' | b'\r') => self.add(b'\n', at + 1),
            Some(_) => {
                self.digits(text, at, (16, 2, 2));
            }
        }
    }

    /// Reads a number of so many digits; where it ends, if it is a byte.
    fn digits(
        &mut self,
        text: &[u8],
        from: usize,
        (radix, least, most): (u32, usize, usize),
    ) -> Option<usize> {
        let rest = text.get(from..).unwrap_or_default();
        let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
        let count = rest.iter().take(most).take_while(is_digit).count();
        if count == rest.len() && count < most {
            self.is_cut = true;
        }
        let digits = str::from_utf8(&rest[..count])
            .ok()
            .filter(|_| count >= least)?;
        let byte = u8::try_from(u32::from_str_radix(digits, radix).ok()?).ok()?;
        self.add(byte, from + count);
        Some(from + count)
    }

    /// Moves the end of the last spelling after the mark that closes it.
    fn close(&mut self, text: &[u8], end: Option<usize>, mark: u8) {
        let Some(end) = end else { return };
        match text.get(end) {
            Some(byte) if *byte == mark => self.found[self.count - 1].1 = end + 1,
            // HTML takes a number without it, too.
            Some(_) if mark == b';' => {}
            Some(_) => self.count -= 1,
            None => self.is_cut = true,
        }
    }
}
