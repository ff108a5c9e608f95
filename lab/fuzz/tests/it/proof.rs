//! A short run without instrumentation: changed inputs of the corpus, others in each run.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use samovar_fuzz::{TARGETS, Target};
use tokio::time::Instant;

use super::{MAX_BYTES, corpus, names};

/// How long each target is given changed inputs.
const EACH: Duration = Duration::from_secs(5);
/// Changes of one input, at most.
const CHANGES: u64 = 6;

/// A sequence of numbers that a seed repeats (xorshift64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let below = below.max(1) as u64;
        usize::try_from(self.0 % below).unwrap_or_default()
    }
}

/// Changes an input: bytes and pieces that are replaced, doubled, moved or taken from another one.
fn change(data: &mut Vec<u8>, other: &[u8], numbers: &mut Numbers) {
    let at = numbers.next(data.len() + 1);
    let end = (at + numbers.next(16)).min(data.len());
    match numbers.next(6) {
        0 if at < data.len() => data[at] ^= 1 << numbers.next(8),
        1 => {
            let byte = u8::try_from(numbers.next(256)).unwrap_or_default();
            data.insert(at, byte);
        }
        2 => drop(data.drain(at..end)),
        3 => {
            let piece = data[at..end].to_vec();
            data.splice(at..at, piece);
        }
        4 => {
            let from = numbers.next(other.len() + 1);
            let piece = &other[from..(from + numbers.next(64)).min(other.len())];
            data.splice(at..end, piece.iter().copied());
        }
        _ => data.truncate(at),
    }
    data.truncate(MAX_BYTES);
}

/// Runs a target on changed inputs for a while; the one that fails, in a form to repeat it.
fn attack(name: &str, target: Target, numbers: &mut Numbers) -> Result<u64, String> {
    let folder = corpus().join(name);
    let files = names(&folder).into_iter();
    let inputs: Vec<Vec<u8>> = files
        .map(|file| fs::read(folder.join(file)).expect("a file of the corpus"))
        .collect();
    let begun = Instant::now();
    let mut runs = 0;
    while begun.elapsed() < EACH {
        let mut data = inputs[numbers.next(inputs.len())].clone();
        let other = &inputs[numbers.next(inputs.len())];
        for _ in 0..=numbers.next(usize::try_from(CHANGES).unwrap_or(1)) {
            change(&mut data, other, numbers);
        }
        if catch_unwind(AssertUnwindSafe(|| target(&data))).is_err() {
            return Err(format!("{name}: b\"{}\"", data.escape_ascii()));
        }
        runs += 1;
    }
    Ok(runs)
}

// proves TL-16
#[test]
fn every_parser_of_foreign_bytes_keeps_its_promises_on_changed_inputs() {
    let seed = std::time::SystemTime::UNIX_EPOCH.elapsed();
    let seed = seed.map_or(1, |since| since.as_secs() | 1);
    let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut failed = Vec::new();
    for (name, target) in TARGETS {
        match attack(name, *target, &mut numbers) {
            Ok(runs) => assert!(runs > 0, "{name}"),
            Err(input) => failed.push(input),
        }
    }
    assert!(failed.is_empty(), "seed {seed}: {failed:#?}");
}
