use proptest::prelude::*;
use samovar_core::error::FaultCode;

use super::transcript::{AnswerEnd, code, read, told};
use super::*;
use crate::fingerprint::Fingerprint;
use crate::specs::spec;
use crate::{anthropic, chat_completions};

mod anthropic_faults;
mod anthropic_messages;
mod chat;

/// A stream as a server sends it, and what it says: the events as `told` writes them, and last the
/// failure if it ends in one.
struct Golden {
    name: &'static str,
    body: &'static str,
    wanted: &'static str,
}

/// A dialect with its streams.
struct Dialect {
    decoder: fn() -> Decoder,
    golden: &'static [Golden],
    /// What stands in the event without which no answer is complete; none where the model's last
    /// word is enough, and only the bill may be missing.
    end: Option<&'static str>,
}

const DIALECTS: &[Dialect] = &[
    Dialect {
        decoder: || {
            let spec = spec("openai").unwrap();
            Decoder::new(chat_completions::reader(spec))
        },
        golden: chat::GOLDEN,
        end: None,
    },
    Dialect {
        decoder: messages,
        golden: anthropic_messages::GOLDEN,
        end: Some("\"message_stop\""),
    },
    Dialect {
        decoder: messages,
        golden: anthropic_faults::GOLDEN,
        end: Some("\"message_stop\""),
    },
];

fn messages() -> Decoder {
    let spec = spec("anthropic").unwrap();
    Decoder::new(anthropic::reader(spec, Fingerprint::new()))
}

/// A stream with each line ending that there is, and with a BOM.
fn spellings(body: &str) -> [Vec<u8>; 4] {
    let spellings = [
        body.to_owned(),
        body.replace('\n', "\r\n"),
        body.replace('\n', "\r"),
        format!("\u{feff}{body}"),
    ];
    spellings.map(String::into_bytes)
}

/// Does something with every stream, and with the first of a dialect in every spelling: what breaks
/// lines is read before any dialect is.
fn every(check: impl Fn(&Dialect, &Golden, &[u8])) {
    for dialect in DIALECTS {
        for (at, golden) in dialect.golden.iter().enumerate() {
            let spellings = spellings(golden.body);
            let count = if at == 0 { spellings.len() } else { 1 };
            for body in &spellings[..count] {
                check(dialect, golden, body);
            }
        }
    }
}

/// What was told, with the failure.
fn shown(whole: &AnswerEnd) -> String {
    let (events, _) = whole;
    let failed = code(whole).map(|code| format!("failed {}", code.as_str()));
    let events = Some(told(events)).filter(|events| !events.is_empty());
    let lines: Vec<_> = events.into_iter().chain(failed).collect();
    lines.join("\n")
}

// proves MD-3, MD-4, MD-5
#[test]
fn every_golden_stream_gives_its_events_with_any_line_ending() {
    for dialect in DIALECTS {
        for Golden { name, body, wanted } in dialect.golden {
            for body in spellings(body) {
                let whole = read((dialect.decoder)(), &[&body]);
                assert_eq!(shown(&whole), wanted.trim(), "{name}");
            }
        }
    }
}

// proves MD-4
#[test]
fn a_stream_that_is_split_anywhere_gives_the_same_events() {
    every(|dialect, golden, body| {
        let wanted = read((dialect.decoder)(), &[body]);
        for at in 0..=body.len() {
            let (one, other) = body.split_at(at);
            let split = read((dialect.decoder)(), &[one, other]);
            assert_eq!(split, wanted, "{} split at {at}", golden.name);
        }
        let bytes: Vec<_> = body.chunks(1).collect();
        let single = read((dialect.decoder)(), &bytes);
        assert_eq!(single, wanted, "{} byte by byte", golden.name);
    });
}

// proves MD-3
#[test]
fn a_stream_that_is_cut_anywhere_is_a_beginning_and_a_cut_and_never_a_finish() {
    every(|dialect, golden, body| {
        let whole = read((dialect.decoder)(), &[body]);
        for at in 0..body.len() {
            let cut = read((dialect.decoder)(), &[&body[..at]]);
            let place = format!("{} cut at {at}", golden.name);
            if code(&cut) == Some(FaultCode::StreamCut) {
                assert!(before(&whole).starts_with(&cut.0), "{place}");
            } else {
                check_end(&whole, &cut, dialect, &place);
                assert!(is_behind_the_end(dialect, body, at), "{place}");
            }
        }
    });
}

/// What comes before the end of an answer.
fn before((events, _): &AnswerEnd) -> &[ProviderEvent] {
    match events.split_last() {
        Some((ProviderEvent::MessageComplete { .. }, before)) => before,
        Some(_) | None => events,
    }
}

/// An end that is not a cut is the one that the whole stream has, but for the bill, which some
/// dialects send behind it.
fn check_end(whole: &AnswerEnd, cut: &AnswerEnd, dialect: &Dialect, place: &str) {
    if dialect.end.is_some() || whole.1.is_some() {
        assert_eq!(cut, whole, "{place}");
        return;
    }
    assert_eq!(cut.1, None, "{place}");
    assert_eq!(before(cut), before(whole), "{place}");
    assert_eq!(reason(cut), reason(whole), "{place}");
}

fn reason((events, _): &AnswerEnd) -> Option<&str> {
    match events.last()? {
        ProviderEvent::MessageComplete { finish_reason, .. } => Some(finish_reason),
        _ => None,
    }
}

/// Whether so many bytes hold the event that ends an answer; an error ends it too.
fn is_behind_the_end(dialect: &Dialect, body: &[u8], at: usize) -> bool {
    let came = String::from_utf8_lossy(&body[..at]);
    dialect
        .end
        .is_none_or(|end| came.contains(end) || came.contains("error"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // proves MD-4
    #[test]
    fn a_stream_in_any_pieces_gives_the_same_events(
        dialect in 0..DIALECTS.len(),
        which in any::<prop::sample::Index>(),
        lengths in prop::collection::vec(1..40_usize, 1..60),
    ) {
        let dialect = &DIALECTS[dialect];
        let body = which.get(dialect.golden).body.as_bytes();
        let mut rest = body;
        let mut pieces = Vec::new();
        for length in lengths {
            let (piece, others) = rest.split_at(length.min(rest.len()));
            pieces.push(piece);
            rest = others;
        }
        pieces.push(rest);
        let whole = read((dialect.decoder)(), &[body]);
        prop_assert_eq!(read((dialect.decoder)(), &pieces), whole);
    }

    #[test]
    fn no_bytes_at_all_break_the_decoder(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for dialect in DIALECTS {
            let (events, fault) = read((dialect.decoder)(), &[&bytes]);
            prop_assert!(events.is_empty());
            prop_assert!(fault.is_some());
        }
    }
}
