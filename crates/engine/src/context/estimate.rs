//! How many tokens a text has, about: a guess from its bytes alone, the same for every model.
//!
//! Measured with a tokenizer of today, a token is one digit of a number, a fifth of an English word
//! more or less, or half a word of Cyrillic. What is left of the error the usage of each answer
//! corrects.

use serde_json::Value;

/// What each byte counts, in hundredths of a token. The bytes of a character after its first count
/// nothing.
const WEIGHTS: [u8; 256] = weights();

const fn weights() -> [u8; 256] {
    let mut weights = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        weights[byte] = weight(byte);
        byte += 1;
    }
    weights
}

const fn weight(byte: usize) -> u8 {
    match byte {
        0x09..=0x0d => 30,
        0x20 => 5,
        0x30..=0x39 => 95,
        0x41..=0x5a => 70,
        0x61..=0x7a => 23,
        // Other signs of ASCII.
        0x00..=0x7f => 60,
        0x80..=0xbf => 0,
        // Greek.
        0xce | 0xcf => 96,
        // Cyrillic.
        0xd0..=0xd3 => 50,
        0xc0..=0xdf => 70,
        // Scripts of India and its neighbours.
        0xe0..=0xe1 => 85,
        0xe2..=0xef => 65,
        _ => 200,
    }
}

/// A text, in hundredths of a token.
pub(super) fn of_text(text: &str) -> u64 {
    text.bytes()
        .map(|byte| u64::from(WEIGHTS[usize::from(byte)]))
        .sum()
}

/// The longest beginning of a text, in whole characters, that has no more hundredths of a token.
pub(super) fn beginning(text: &str, most: u64) -> &str {
    let mut sum = 0;
    let end = text.bytes().position(|byte| {
        sum += u64::from(WEIGHTS[usize::from(byte)]);
        sum > most
    });
    &text[..text.floor_char_boundary(end.unwrap_or(text.len()))]
}

/// A value as JSON text, in hundredths of a token.
pub(super) fn of_value(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 100,
        Value::String(text) => of_text(text) + 100,
        Value::Array(items) => items.iter().map(|item| of_value(item) + 50).sum::<u64>() + 100,
        Value::Object(map) => {
            let fields = map
                .iter()
                .map(|(key, value)| of_text(key) + 150 + of_value(value));
            fields.sum::<u64>() + 100
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts with their bytes for each token of a tokenizer of today, measured with Qwen2.5's.
    const DENSITIES: &[(&str, f64)] = &[
        ("4821,39,77120,5,60233,918,4417,20\n", 1.0),
        ("0.4821,12.07,-3.5,100.25,0.003,77.1\n", 1.01),
        ("9f86d081884c7d659a2feaa0c55ad015", 1.13),
        ("{\"id\":\"3e4666bf-d5e5-4aa7-b8ce-cefe41c7568a\"}", 1.4),
        ("2026-11-27T10:31:07.225Z INFO worker-7 took 231 ms\n", 1.5),
        ("-rw-r--r-- 1 root root  4096 Nov 27 10:31 main.rs\n", 1.64),
        ("Η γλώσσα είναι ένα από τα πιο παλιά εργαλεία. ", 2.08),
        (
            "    let words = text.split_whitespace().collect::<Vec<_>>();\n",
            4.14,
        ),
        ("Мова є одним з найдавніших знарядь людини. ", 4.16),
        ("语言是人类最古老的工具之一，也是思想的载体。", 5.24),
        (
            "Language is one of the oldest tools that people have. ",
            4.6,
        ),
    ];

    // proves AS-15
    #[test]
    fn the_estimate_of_any_text_is_near_its_tokens() {
        for (text, bytes_per_token) in DENSITIES {
            let text = text.repeat(50);
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let (guess, length) = (of_text(&text) as f64 / 100.0, text.len() as f64);
            let ratio = length / bytes_per_token / guess;
            assert!((0.7..1.45).contains(&ratio), "{ratio:.2}: {}", &text[..24]);
        }
    }
}
