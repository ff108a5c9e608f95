use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::*;
use crate::MAX_TOKENS;

const GOLDEN: &str = include_str!("../../model/golden.json");

#[expect(clippy::unwrap_used, reason = "it is a test's")]
fn file() -> &'static [u8] {
    crate::embedded::FILE.unwrap()
}

#[expect(clippy::unwrap_used, reason = "it is a test's")]
fn means() -> Means {
    crate::means().unwrap()
}

#[expect(clippy::unwrap_used, reason = "it is a test's")]
fn model() -> Model<'static> {
    Model::read(file(), means()).unwrap()
}

#[derive(serde::Deserialize)]
struct Golden {
    texts: Vec<String>,
    query: Vec<Vec<f32>>,
    passage: Vec<Vec<f32>>,
}

// proves MD-15
#[test]
fn the_file_is_the_one_whose_notice_is_with_it() {
    let mut sum = String::new();
    for byte in Sha256::digest(file()) {
        write!(sum, "{byte:02x}").unwrap();
    }
    assert!(
        include_str!("../../model/NOTICE.md").contains(&sum),
        "{sum}"
    );
}

// proves MD-15
#[test]
fn the_vectors_are_those_of_another_program_that_reads_the_same_file() {
    let golden: Golden = serde_json::from_str(GOLDEN).unwrap();
    let model = model();
    for (side, vectors) in [(Side::Query, golden.query), (Side::Passage, golden.passage)] {
        for (text, expected) in golden.texts.iter().zip(vectors) {
            let found = model.raw(side, text, MAX_TOKENS);
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            let cosine = dot(&found, &expected) / dot(&expected, &expected).sqrt();
            // Both round numbers to eight bits; a text without words has fewer to even that out.
            let least = if text.is_empty() { 0.9998 } else { 0.9999 };
            assert!(cosine >= least, "{side:?} {text}: {cosine}");
        }
    }
}

// proves MD-15
#[test]
fn a_model_file_that_is_cut_or_another_is_a_fault() {
    let read = |file: &[u8]| Model::read(file, means()).err();
    assert_eq!(read(b""), Some(Fault::Format));
    assert_eq!(read(b"GGUF\x01\0\0\0"), Some(Fault::Format));
    for length in [
        8,
        40,
        60,
        70,
        100_000,
        400_000,
        1_000_000,
        2_000_000,
        file().len() - 1,
    ] {
        assert!(
            matches!(read(&file()[..length]), Some(Fault::Cut { .. })),
            "{length}"
        );
    }
    let mut wide = file().to_vec();
    wide[8] = 0;
    assert!(matches!(read(&wide), Some(Fault::Wrong { .. })));
    assert!(Means::read("{}").is_err());
}

// proves MD-15
#[test]
fn a_long_text_counts_with_its_first_tokens() {
    let model = model();
    let long = "deploy the server ".repeat(20_000);
    let tokens = model.tokenizer.split(&long, 64);
    assert_eq!(tokens.len(), 64);
    assert_eq!(tokens.last(), Some(&model.tokenizer.split("", 8)[2]));
    let (one, other) = (
        model.embed(Side::Query, &long, 64),
        model.embed(Side::Query, &long, 32),
    );
    assert!(one.unwrap().cosine(&other.unwrap()) > 0.9);
}

// proves MD-11, MD-15
#[test]
fn a_question_finds_its_note_in_another_language() {
    let model = model();
    let notes = [
        "The staging database listens on port 5433.",
        "Пользователь не ест мясо и рыбу.",
        "用户喜欢晚上的场次。",
    ];
    let notes = notes.map(|note| model.embed(Side::Passage, note, 64).unwrap());
    for (question, expected) in [
        ("на каком порту тестовая база?", 0),
        ("is there anything the person will not eat?", 1),
        ("when does the user like to see films", 2),
    ] {
        let question_vector = model.embed(Side::Query, question, 64).unwrap();
        let near = (0..notes.len()).max_by(|a, b| {
            notes[*a]
                .cosine(&question_vector)
                .total_cmp(&notes[*b].cosine(&question_vector))
        });
        assert_eq!(near, Some(expected), "{question}");
    }
}
