//! Made languages, whose words are as frequent as those of a natural one.

/// A language: how many words it has, and how each is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Language {
    pub(crate) name: &'static str,
    words: u64,
    has_spaces: bool,
}

pub(crate) const LANGUAGES: [Language; 2] = [
    Language {
        name: "words with spaces",
        words: 60_000,
        has_spaces: true,
    },
    Language {
        name: "Chinese characters",
        words: 30_000,
        has_spaces: false,
    },
];

/// Random numbers that are the same in each run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % below
    }
}

impl Language {
    /// The word with a rank, shorter if it is frequent.
    pub(crate) fn word(self, rank: u64) -> String {
        let mut dice = Dice(rank.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
        if self.has_spaces {
            let letters = 2 + u64::from(rank.max(1).ilog2()) / 3 + dice.roll(3);
            let letter = |dice: &mut Dice, of: &[u8]| {
                let count = of.len() as u64;
                char::from(of[usize::try_from(dice.roll(count)).unwrap()])
            };
            let pair = |n| {
                if n % 2 == 0 {
                    &b"bcdfghklmnprstvw"[..]
                } else {
                    &b"aeiou"[..]
                }
            };
            (0..letters).map(|n| letter(&mut dice, pair(n))).collect()
        } else {
            let count = if rank < 300 { 1 } else { 2 };
            let mut sign = || {
                // Few signs are frequent.
                let spread = dice.roll(3000) * dice.roll(3000) / 3000;
                char::from_u32(0x4e00 + u32::try_from(spread).unwrap()).unwrap()
            };
            (0..count).map(|_| sign()).collect()
        }
    }

    /// A text of about so many characters.
    pub(crate) fn text(self, dice: &mut Dice, chars: usize) -> String {
        let (mut text, mut count, mut words) = (String::new(), 0, 0);
        while count < chars {
            #[expect(clippy::cast_precision_loss, reason = "a random number")]
            let part = dice.roll(1 << 30) as f64 / f64::from(1 << 30);
            #[expect(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a rank, by Zipf's law"
            )]
            let rank = (self.words as f64).powf(part) as u64;
            let word = self.word(rank);
            words += 1;
            let border = match (self.has_spaces, words % 9) {
                (true, 0) => ". ",
                (true, _) => " ",
                (false, 0) => "。",
                (false, _) => "",
            };
            count += word.chars().count() + border.chars().count();
            text.push_str(&word);
            text.push_str(border);
        }
        text
    }
}
