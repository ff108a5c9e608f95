//! The byte sequences that a key becomes in other encodings.

use super::Secret;

/// What one key looks like in one encoding.
#[derive(Clone)]
pub(super) struct Pattern {
    pub(super) bytes: Vec<u8>,
    alphabet: Alphabet,
}

/// Which bytes of a text count as a byte of the pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alphabet {
    /// That byte.
    Exact,
    /// Hexadecimal digits, in either case, with a mark between the bytes.
    Hex,
    /// Base64 in its two alphabets.
    Base64,
    /// Numbers, separated by commas or blanks.
    Numbers,
}

impl Pattern {
    /// Everything that is looked for on behalf of a key.
    pub(super) fn of(secret: &Secret) -> Vec<Self> {
        let plain = secret.expose().as_bytes();
        let wide: Vec<u8> = secret
            .expose()
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let reversed: String = secret.expose().chars().rev().collect();
        let list = |number: fn(&u8) -> String| {
            let numbers: Vec<_> = plain.iter().map(number).collect();
            numbers.join(",").into_bytes()
        };
        let new = |alphabet, bytes| Self { bytes, alphabet };
        let mut all = vec![
            new(Alphabet::Exact, plain.to_vec()),
            new(Alphabet::Exact, reversed.into_bytes()),
            new(Alphabet::Hex, hex(plain)),
            new(Alphabet::Hex, hex(&wide)),
            new(Alphabet::Numbers, list(u8::to_string)),
            new(Alphabet::Numbers, list(|byte| format!("0x{byte:02x}"))),
        ];
        for shift in 0..3 {
            all.push(new(Alphabet::Base64, base64(plain, shift)));
            all.push(new(Alphabet::Base64, base64(&wide, shift)));
        }
        all
    }

    /// Whether a byte of the text counts as the pattern's byte at a place.
    pub(super) fn is(&self, place: usize, byte: u8) -> bool {
        let wanted = self.bytes[place];
        wanted == byte
            || match self.alphabet {
                Alphabet::Exact => false,
                Alphabet::Hex => wanted == byte.to_ascii_lowercase(),
                Alphabet::Base64 => {
                    matches!((wanted, byte), (b'+', b'-') | (b'/', b'_'))
                }
                Alphabet::Numbers => {
                    wanted == byte.to_ascii_lowercase()
                        || wanted == b',' && matches!(byte, b' ' | b';' | b'\n')
                }
            }
    }

    /// Whether a mark may stand before the pattern's byte at a place, besides a line's end.
    pub(super) fn may_pause(&self, place: usize, byte: u8) -> bool {
        match self.alphabet {
            Alphabet::Exact | Alphabet::Base64 => false,
            Alphabet::Hex => place.is_multiple_of(2) && matches!(byte, b' ' | b':' | b'-' | b','),
            Alphabet::Numbers => self.bytes[place - 1] == b',' && byte == b' ',
        }
    }
}

fn hex(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| DIGITS[usize::from(digit)]).collect()
}

/// The characters of base64 that depend on these bytes alone, when `shift` bytes stand before them
/// in their group of three.
fn base64(bytes: &[u8], shift: usize) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bit = |at: usize| bytes[at / 8] >> (7 - at % 8) & 1;
    let skipped = (6 - shift * 8 % 6) % 6;
    let whole = (bytes.len() * 8 - skipped) / 6;
    let digit = |at: usize| {
        let bits = (0..6).fold(0, |digit, of| digit << 1 | bit(skipped + at * 6 + of));
        DIGITS[usize::from(bits)]
    };
    (0..whole).map(digit).collect()
}
