use proptest::prelude::*;
use samovar_core::error::FaultCode;

use super::transcript::{AnswerEnd, code, read, told};
use super::*;
use crate::specs::spec;

/// The shapes, each as a server sends it, and what it says: its name after `===`, its bodies after
/// `---` and a dialect, and the events as `told` writes them after `--- gives`, last the failure if it
/// ends in one. `«ff»` is a byte that is no text, and `⏎` at the end of a body a line that no line
/// break ends.
const SHAPES: [&str; 3] = [
    include_str!("../../shapes/chat_completions.txt"),
    include_str!("../../shapes/anthropic.txt"),
    include_str!("../../shapes/servers.txt"),
];

struct Shape {
    name: &'static str,
    /// The row of the provider whose dialect it is.
    provider: &'static str,
    body: Vec<u8>,
    wanted: &'static str,
}

impl Shape {
    fn decoder(&self) -> Decoder {
        let spec = spec(self.provider).unwrap();
        Decoder::new((spec.dialect.unwrap().reader)(spec))
    }

    fn read(&self, pieces: &[&[u8]]) -> AnswerEnd {
        read(self.decoder(), pieces)
    }
}

fn shapes() -> Vec<Shape> {
    let rows = SHAPES.iter().flat_map(|file| file.split("=== ").skip(1));
    rows.flat_map(shapes_of).collect()
}

fn shapes_of(row: &'static str) -> Vec<Shape> {
    let mut sections = row.split("--- ");
    let name = sections.next().unwrap().trim();
    let sections: Vec<_> = sections
        .map(|part| part.split_once('\n').unwrap())
        .collect();
    let (gives, bodies) = sections.split_last().unwrap();
    assert_eq!(gives.0, "gives", "{name}");
    let shape = |(dialect, body): &(&str, &str)| Shape {
        name,
        provider: if *dialect == "anthropic" {
            "anthropic"
        } else {
            "openai"
        },
        body: bytes(body),
        wanted: gives.1.trim(),
    };
    bodies.iter().map(shape).collect()
}

fn bytes(body: &str) -> Vec<u8> {
    let body = body.strip_suffix("⏎\n").unwrap_or(body);
    let mut bytes = Vec::new();
    for (at, part) in body.split("«ff»").enumerate() {
        if at > 0 {
            bytes.push(0xff);
        }
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes
}

/// What was told, with the failure.
fn shown(whole: &AnswerEnd) -> String {
    let (events, _) = whole;
    let failed = code(whole).map(|code| format!("failed {}", code.as_str()));
    let events = Some(told(events)).filter(|events| !events.is_empty());
    let lines: Vec<_> = events.into_iter().chain(failed).collect();
    lines.join("\n")
}

/// The same body with each line ending that there is, and with a BOM.
fn spellings(body: &[u8]) -> [Vec<u8>; 4] {
    let ended = |end: &[u8]| {
        let lines: Vec<_> = body.split(|byte| *byte == b'\n').collect();
        lines.join(end)
    };
    let bom = ["\u{feff}".as_bytes(), body].concat();
    [body.to_vec(), ended(b"\r\n"), ended(b"\r"), bom]
}

// proves MD-3, MD-4, MD-5
#[test]
fn every_shape_gives_its_events_with_any_line_ending() {
    for shape in shapes() {
        for body in spellings(&shape.body) {
            let whole = shape.read(&[&body]);
            assert_eq!(shown(&whole), shape.wanted, "{}", shape.name);
        }
    }
}

// proves MD-4
#[test]
fn a_body_that_is_split_anywhere_gives_the_same_events() {
    for shape in shapes() {
        let wanted = shown(&shape.read(&[&shape.body]));
        for at in 0..=shape.body.len() {
            let (one, other) = shape.body.split_at(at);
            let split = shown(&shape.read(&[one, other]));
            assert_eq!(split, wanted, "{} split at {at}", shape.name);
        }
        let bytes: Vec<_> = shape.body.chunks(1).collect();
        let single = shown(&shape.read(&bytes));
        assert_eq!(single, wanted, "{} byte by byte", shape.name);
    }
}

// proves MD-3
#[test]
fn a_body_that_is_cut_anywhere_is_a_beginning_and_a_cut_and_never_a_finish() {
    for shape in shapes() {
        let whole = shape.read(&[&shape.body]);
        for at in 0..shape.body.len() {
            let came = &shape.body[..at];
            let cut = shape.read(&[came]);
            let place = format!("{} cut at {at}", shape.name);
            match code(&cut) {
                Some(FaultCode::StreamCut) => {
                    assert!(before(&whole).starts_with(&cut.0), "{place}");
                }
                // A page or an error is one however much of it came.
                Some(_) => assert!(code(&whole).is_some(), "{place}"),
                None => {
                    assert_eq!(before(&cut), before(&whole), "{place}");
                    assert_eq!(reason(&cut), reason(&whole), "{place}");
                    assert!(has_end(&String::from_utf8_lossy(came)), "{place}");
                }
            }
        }
    }
}

/// What comes before the end of an answer.
fn before((events, _): &AnswerEnd) -> &[ProviderEvent] {
    match events.split_last() {
        Some((ProviderEvent::MessageComplete { .. }, before)) => before,
        Some(_) | None => events,
    }
}

fn reason((events, _): &AnswerEnd) -> Option<&str> {
    match events.last()? {
        ProviderEvent::MessageComplete { finish_reason, .. } => Some(finish_reason),
        _ => None,
    }
}

/// Whether one of the marks came that say that the model has stopped.
fn has_end(came: &str) -> bool {
    let marks = [
        "finish_reason\":\"",
        "finishReason\":\"",
        "stop_reason\":\"",
        "done_reason\":\"",
        "message_stop",
        "[DONE",
        "[done",
        "event: done",
    ];
    let came = came.replace("\\\"", "\"").replace("\": ", "\":");
    marks.iter().any(|mark| came.contains(mark))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // proves MD-4
    #[test]
    fn a_stream_in_any_pieces_gives_the_same_events(
        which in any::<prop::sample::Index>(),
        lengths in prop::collection::vec(1..40_usize, 1..60),
    ) {
        let shapes = shapes();
        let shape = which.get(&shapes);
        let body = shape.body.as_slice();
        let mut rest = body;
        let mut pieces = Vec::new();
        for length in lengths {
            let (piece, others) = rest.split_at(length.min(rest.len()));
            pieces.push(piece);
            rest = others;
        }
        pieces.push(rest);
        prop_assert_eq!(shown(&shape.read(&pieces)), shape.wanted);
    }

    #[test]
    fn no_bytes_at_all_break_the_decoder(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for provider in ["openai", "anthropic"] {
            let spec = spec(provider).unwrap();
            let decoder = Decoder::new((spec.dialect.unwrap().reader)(spec));
            let (events, fault) = read(decoder, &[&bytes]);
            prop_assert!(events.is_empty());
            prop_assert!(fault.is_some());
        }
    }
}
