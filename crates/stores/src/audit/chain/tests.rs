use samovar_core::audit::{AuditedCall, What};
use samovar_core::{Millis, SessionId, Status, audit::Decision};

use super::*;

const RECORDS: usize = 240;

/// A chain with records of every shape: its lines, and its head.
fn chain() -> (Vec<String>, Head) {
    let (mut lines, mut head) = (Vec::new(), Head::default());
    for number in 0..RECORDS {
        let at = Millis(1_700_000_000_000 + i64::try_from(number).unwrap());
        let decision = match number % 4 {
            0 => Decision::new(What::TokenMade, "owner", at).about("phone \u{202e}\n\"x\""),
            1 => Decision::new(What::RuleMade, "owner", at).by_rule("write_file notes/*"),
            2 => call(What::CallStarted, number, at),
            _ => Decision {
                result: Some(Status::Done),
                ..call(What::CallClosed, number - 1, at)
            },
        };
        let record = Record::after(&head, decision);
        let (line, hash) = line(&record).unwrap();
        (head.count, head.hash) = (record.n, hash);
        lines.push(line);
    }
    (lines, head)
}

fn call(what: What, number: usize, at: Millis) -> Decision {
    let id = format!("call-{number:08}");
    Decision {
        call: Some(AuditedCall {
            call: serde_json::from_value(id.into()).unwrap(),
            session: SessionId::new("s-1").ok(),
            turn: None,
            agent: Some("master/writer".to_owned()),
        }),
        args: Some("ab".repeat(32)),
        ..Decision::new(what, "policy", at).of_tool("write_file")
    }
}

/// The head after so many lines.
fn head_after(lines: &[String], count: usize) -> Head {
    let Some(last) = count.checked_sub(1).map(|last| &lines[last]) else {
        return Head::default();
    };
    let (sealed, _) = read(last.trim_end().as_bytes()).unwrap();
    Head {
        count: sealed.record.n,
        hash: sealed.hash,
    }
}

/// Where the first problem is when a stretch of the chain around a line is changed; the rest is as it
/// was. The change is given the place of the line in the stretch.
fn found(
    lines: &[String],
    at: usize,
    change: impl FnOnce(&mut Vec<Vec<u8>>, usize),
) -> Option<u64> {
    let (from, to) = (at.saturating_sub(1), (at + 3).min(lines.len()));
    let stretch = lines[from..to].iter();
    let mut stretch: Vec<_> = stretch.map(|line| line.clone().into_bytes()).collect();
    change(&mut stretch, at - from);
    let (start, end) = (head_after(lines, from), head_after(lines, to));
    let text = stretch.concat();
    let verdict = verify_after(&start, text.as_slice(), Some(&end), None).unwrap();
    verdict.problems.first().map(|problem| problem.record)
}

// proves TL-15
#[test]
fn a_whole_chain_has_no_problem() {
    let (lines, head) = chain();
    let verdict = verify(lines.concat().as_bytes(), Some(&head), None).unwrap();

    assert!(verdict.is_whole(), "{verdict:?}");
    assert_eq!((verdict.head, verdict.records), (head, RECORDS as u64));
    for at in 0..lines.len() {
        assert_eq!(found(&lines, at, |_, _| ()), None);
    }
}

// proves TL-15
#[test]
fn a_bit_that_is_flipped_in_any_field_of_any_record_is_found_there() {
    let (lines, _) = chain();
    for (at, line) in lines.iter().enumerate() {
        let fields: serde_json::Map<_, _> = serde_json::from_str(line).unwrap();
        for name in fields.keys() {
            let value = line.find(&format!("\"{name}\":")).unwrap() + name.len() + 3;
            for byte in [value - name.len() - 2, value, value + 1] {
                let flipped = found(&lines, at, |lines, at| lines[at][byte] ^= 2);
                assert_eq!(flipped, Some(at as u64 + 1), "{name} of {}", at + 1);
            }
        }
    }
    // Every byte of a record of each shape; the flip of a line's end is found at it or at the next.
    for at in 100..104 {
        for byte in 0..lines[at].len() {
            let bit = 1 << (byte % 8);
            let flipped = found(&lines, at, |lines, at| lines[at][byte] ^= bit);
            assert!(
                flipped.is_some_and(|found| found == at as u64 + 1),
                "byte {byte}"
            );
        }
    }
}

// proves TL-15
#[test]
fn a_record_that_is_edited_dropped_swapped_repeated_or_rewritten_is_found() {
    let (lines, _) = chain();
    for at in 0..lines.len() {
        let number = at + 1;
        let dropped = found(&lines, at, |lines, at| drop(lines.remove(at)));
        assert!(dropped.is_some(), "dropped {number}");

        let repeated = found(&lines, at, |lines, at| lines.insert(at, lines[at].clone()));
        assert!(repeated.is_some(), "repeated {number}");

        if at + 1 < lines.len() {
            let swapped = found(&lines, at, |lines, at| lines.swap(at, at + 1));
            assert!(swapped.is_some(), "swapped {number}");
        }

        // The same JSON in other bytes.
        let spaced = found(&lines, at, |lines, at| lines[at].insert(1, b' '));
        assert_eq!(spaced, Some(number as u64));

        // Edited with a hash that fits, by one who knows how: the next record, or the head, tells.
        let (sealed, _) = read(lines[at].trim_end().as_bytes()).unwrap();
        let forged = Record {
            who: "another".to_owned(),
            ..sealed.record
        };
        let forged = line(&forged).unwrap().0.into_bytes();
        let rewritten = found(&lines, at, |lines, at| lines[at] = forged);
        assert!(rewritten.is_some(), "rewritten {number}");
    }
}

// proves TL-15
#[test]
fn an_end_that_is_cut_at_any_byte_is_found() {
    let (lines, head) = chain();
    let check = |from: usize, text: &[u8]| {
        let start = head_after(&lines, from);
        let verdict = verify_after(&start, text, Some(&head), None).unwrap();
        let kept = from + text.split(|byte| *byte == b'\n').count() - 1;
        let problem = verdict.problems.last().unwrap();
        assert_eq!(problem.record, kept as u64 + 1);
        assert_eq!(problem.kind, ProblemKind::Cut(head.count));
    };
    for (kept, line) in lines.iter().enumerate() {
        // What comes before the line is as it was.
        check(kept, b"");
        check(kept, &line.as_bytes()[..line.len() / 2]);
    }
    for kept in [1, 17, RECORDS / 2, RECORDS - 1] {
        check(0, lines[..kept].concat().as_bytes());
    }
    let from = RECORDS - 3;
    let end = lines[from..].concat();
    for cut in 0..end.len() {
        check(from, &end.as_bytes()[..cut]);
    }
}

// proves TL-15
#[test]
fn a_chain_that_is_rewritten_from_some_record_on_contradicts_the_head_and_the_anchor() {
    let (lines, head) = chain();
    for from in [0, 100, RECORDS - 1] {
        let mut forged = lines[..from].to_vec();
        let mut end = head_after(&lines, from);
        // One record more than there was, so that nothing is missing.
        for number in from..=RECORDS {
            let decision = Decision::new(
                What::TokenMade,
                "another",
                Millis(i64::try_from(number).unwrap()),
            );
            let record = Record::after(&end, decision);
            let (line, hash) = line(&record).unwrap();
            (end.count, end.hash) = (record.n, hash);
            forged.push(line);
        }
        let text = forged.concat();
        let known = verify(text.as_bytes(), Some(&head), None).unwrap();
        assert_eq!(known.problems.len(), 1);
        assert_eq!(known.problems[0].kind, ProblemKind::Head);
        let anchored = verify(text.as_bytes(), None, Some(&head.hash)).unwrap();
        assert_eq!(anchored.problems[0].kind, ProblemKind::Anchor);
        // Who can write the head too, and is asked for no anchor, is not found.
        assert!(
            verify(text.as_bytes(), Some(&end), None)
                .unwrap()
                .is_whole()
        );
    }
}

// proves TL-15
#[test]
fn the_beginning_of_a_line_that_a_power_cut_leaves_is_no_problem() {
    let (lines, head) = chain();
    let text = lines.concat() + &lines[0][..40];
    let verdict = verify(text.as_bytes(), Some(&head), None).unwrap();

    assert!(verdict.is_whole() && verdict.is_torn, "{verdict:?}");
}

#[test]
fn what_is_no_record_at_all_is_counted_and_named_up_to_a_bound() {
    let text = "{}\n".repeat(1000) + &"x".repeat(3 * MAX_LINE_BYTES);
    let verdict = verify(text.as_bytes(), None, None).unwrap();

    assert_eq!(verdict.problems.len(), MAX_PROBLEMS);
    assert!(verdict.problem_count >= 1000);
    assert_eq!(verdict.records, 0);
}
