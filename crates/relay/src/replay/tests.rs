use samovar_core::relay::{Envelope, HostContext, Payload, PersonDeed, RelayCode};
use samovar_movie_host::MovieHost;
use serde_json::{Value, json};

use super::*;
use recorder::{Recorder, write, write_seed};

mod recorder;

/// A host that says little, so that its log is short.
struct Echo(u64);

impl Host for Echo {
    fn hear(&mut self, said: &Envelope, _: &HostContext) -> Vec<Envelope> {
        self.0 += 1;
        let mut payload = Payload::new();
        payload.insert("ok".to_owned(), true.into());
        payload.insert("said\u{1}".to_owned(), format!("é\n{}", self.0).into());
        payload.insert("cost".to_owned(), json!([1.5, 1e300, -0.0]));
        let kind = match said.kind {
            MessageKind::SessionStart => MessageKind::SessionStarted,
            MessageKind::SessionEnd => MessageKind::SessionEnded,
            _ => MessageKind::ToolResult,
        };
        vec![Envelope::new(kind, payload).replying_to(said.id.clone())]
    }

    fn person(
        &mut self,
        _: &PersonDeed,
        _: &HostContext,
    ) -> Result<Vec<Envelope>, (RelayCode, String)> {
        Ok(Vec::new())
    }
}

fn start() -> Value {
    json!({"studyId": "pilot-01", "participantId": "P07"})
}

fn movie(agents: u64) -> Recorder {
    let mut log = Recorder::new(MovieHost::new(), agents);
    log.agent(1, "session.start", start());
    log
}

fn played(log: &[u8]) -> Report {
    replay(log, || Box::new(MovieHost::new())).unwrap()
}

/// The line, and what of it differs.
fn differs(report: &Report) -> Option<(u64, Mismatch)> {
    let difference = report.difference.as_ref()?;
    assert!(!difference.sentence().is_empty());
    assert!(difference.expected.len() < 300 && difference.found.len() < 300);
    Some((difference.line, difference.what))
}

fn lines(log: &str) -> u64 {
    log.lines().count() as u64
}

// proves RL-17
#[test]
fn the_log_of_a_booking_replays_without_a_difference() {
    for agents in [1, 2, 3] {
        let mut log = movie(agents);
        log.agent(1, "agent.message", json!({"text": "I look for a movie."}));
        log.call("fly", json!({}))
            .call("select", json!({"itemId": "m99"}));
        log.book().agent(1, "snapshot.get", json!({}));
        log.agent(agents, "session.end", json!({"reason": "done"}));
        let log = log.log();

        let report = played(log.as_bytes());
        assert_eq!((&report.difference, report.is_ended), (&None, true));
        assert_eq!((report.rows, report.is_checked), (lines(&log), true));
        // Of each of 15 calls and messages that change something two, and one of the others.
        assert!(report.compared > 30, "{report:?}");
    }
}

// proves RL-17
#[test]
fn one_changed_byte_is_found_at_its_row_wherever_it_is() {
    let mut log = Recorder::new(Echo(0), 1);
    log.agent(1, "session.start", start());
    log.agent(
        1,
        "tool.call",
        json!({"toolName": "é\u{2}", "params": {"x": -0.0}}),
    );
    log.agent(1, "session.end", json!({}));
    let log = log.log().into_bytes();
    let played = |log: &[u8]| replay(log, || Box::new(Echo(0))).unwrap();
    assert_eq!(differs(&played(&log)), None);

    let mut line = 1;
    for at in 0..log.len() {
        for change in [0x20, log[at] ^ b' '] {
            let mut changed = log.clone();
            changed[at] ^= change;
            let expected = (change != 0).then_some(line);
            let found = differs(&played(&changed)).map(|(line, _)| line);
            let row = String::from_utf8_lossy(&changed);
            assert_eq!(found, expected, "byte {at} of {row}");
        }
        line += u64::from(log[at] == b'\n');
    }
}

// proves RL-17
#[test]
fn a_changed_byte_of_a_booking_is_found_at_its_row() {
    let log = movie(2)
        .book()
        .agent(1, "session.end", json!({}))
        .log()
        .into_bytes();
    for at in (0..log.len()).step_by(log.len() / 25) {
        let mut changed = log.clone();
        changed[at] ^= 2;
        let line = log[..at].split(|byte| *byte == b'\n').count() as u64;
        assert_eq!(
            differs(&played(&changed)).map(|(line, _)| line),
            Some(line),
            "byte {at}"
        );
    }
}

// proves RL-17
#[test]
fn rows_that_are_missing_or_moved_or_there_twice_are_found() {
    let mut log = movie(1);
    let log = log
        .call("select", json!({"itemId": "m1"}))
        .call("next", json!({}))
        .log();
    let rows: Vec<_> = log.split_inclusive('\n').collect();
    for at in 0..rows.len() {
        let line = at as u64 + 1;
        let found = |rows: &[&str]| differs(&played(rows.concat().as_bytes()));
        let mut doubled = rows.clone();
        doubled.insert(at, rows[at]);
        assert_eq!(found(&doubled), Some((line + 1, Mismatch::Index)));
        if at + 1 == rows.len() {
            break;
        }
        let mut missing = rows.clone();
        missing.remove(at);
        // A log cannot begin without a check, so the first row is missed by its number too.
        assert_eq!(found(&missing), Some((line, Mismatch::Index)));
        let difference = played(missing.concat().as_bytes()).difference.unwrap();
        let numbers = format!("number {line}, but {at} is next");
        assert!(difference.sentence().contains(&numbers), "{difference:?}");
        let mut swapped = rows.clone();
        swapped.swap(at, at + 1);
        assert_eq!(found(&swapped), Some((line, Mismatch::Index)));
    }
    // Numbers alone help nobody: with them put right the checks differ.
    let rows = movie(1).book().rows();
    let mut text = write(&rows).replace("\"eventIndex\":9,", "\"eventIndex\":8,");
    let ninth = text.lines().nth(8).unwrap().to_owned() + "\n";
    text = text
        .replace(&ninth, "")
        .replace("\"eventIndex\":10,", "\"eventIndex\":9,");
    assert_eq!(
        differs(&played(text.as_bytes())),
        Some((9, Mismatch::Check))
    );
}

// proves RL-17
#[test]
fn an_end_that_is_missing_is_missed_where_the_host_has_not_answered() {
    let rows = movie(1).call("select", json!({"itemId": "m1"})).rows();
    let told = rows
        .iter()
        .rposition(|row| row.kind == "tool.call")
        .unwrap();
    let whole = played(write(&rows).as_bytes());
    assert_eq!((differs(&whole), whole.is_ended), (None, false));
    let cut = write(&rows[..=told]);
    assert_eq!(
        differs(&played(cut.as_bytes())),
        Some((lines(&cut), Mismatch::Host))
    );
    let log = write(&rows);
    let torn = &log.as_bytes()[..log.len() - 20];
    assert_eq!(differs(&played(torn)), Some((lines(&log), Mismatch::Row)));
    let bare = &log.as_bytes()[..log.len() - 1];
    assert_eq!(
        differs(&played(bare)),
        Some((lines(&log), Mismatch::Spelling))
    );
}

// proves RL-17
#[test]
fn a_log_in_which_nobody_is_ever_answered_is_not_read_to_its_end() {
    let mut rows = movie(1).agent(1, "snapshot.get", json!({})).rows();
    rows.retain(|row| row.role == Some(RelayRole::Agent) && row.direction == Direction::In);
    let look = rows[1].clone();
    rows.extend(vec![look; 6000]);
    let report = played(write_seed(&rows).as_bytes());
    assert_eq!(report.difference.unwrap().what, Mismatch::Host);
    assert!(report.rows < 5000, "{}", report.rows);
}

// proves RL-17
#[test]
fn what_the_person_said_and_clicked_replays_too() {
    let mut log = movie(2);
    let says = |text: &str| PersonDeed::Says(text.to_owned());
    log.person(&says("something funny, please"))
        .click("filter", json!({"field": "genre", "operator": "eq", "value": "Comedy"}))
        .click("filter", json!({"field": "rating", "operator": "gt", "value": 5}))
        .click("sort", json!({"field": "rating", "order": "desc"}))
        .call("highlight", json!({"itemIds": ["m2"], "style": "glow"}))
        .click("highlight", json!({"itemIds": ["m5"], "style": "badge"}))
        .click("augment", json!({"items": [{"itemId": "m2", "value": "this"}, {"itemId": "m5", "value": "or this"}]}))
        .click("augment", json!({"items": [{"itemId": "m2", "value": "that"}]}))
        .click("clearModification", json!({"type": "sort"}))
        .click("clearModification", json!({"type": "highlight"}))
        .person(&says("the second one"))
        .click("clearModification", json!({}))
        .click("select", json!({"itemId": "m2"}))
        .click("select", json!({"itemId": "m5"}))
        .click("next", json!({}))
        .click("prev", json!({}))
        .click("postMessage", json!({"text": "this is mine"}))
        .call("next", json!({}));
    for _ in ["theater", "date", "time"] {
        let click = json!({"itemId": log.free()});
        log.click("select", click).click("next", json!({}));
    }
    let seat = json!({"itemId": log.free()});
    log.click("select", seat.clone());
    log.click("select", seat.clone()).click("select", seat);
    log.click("next", json!({}))
        .click("setQuantity", json!({"typeId": "adult", "quantity": 3}))
        .click("setQuantity", json!({"typeId": "adult", "quantity": 0}))
        .click("setQuantity", json!({"typeId": "child", "quantity": 1}))
        .click("next", json!({}))
        .click("next", json!({}))
        .person(&says("thank you"))
        .agent(2, "session.end", json!({}));
    let report = played(log.log().as_bytes());
    assert_eq!(report.difference, None);
    let seed = played(write_seed(&log.rows()).as_bytes());
    assert_eq!(seed.difference, None);
    assert_eq!(seed.compared, report.compared);
}

// proves RL-17
#[test]
fn a_log_goes_on_behind_a_restart_and_with_another_host() {
    let mut log = movie(1);
    log.call("select", json!({"itemId": "m1"}))
        .call("next", json!({}));
    // It still offers the dates of the day on which it began.
    log.a_day_later().restart(MovieHost::new());
    log.agent(1, "snapshot.get", json!({})).book();
    log.restart(MovieHost::new());
    log.agent(1, "snapshot.get", json!({}))
        .call("select", json!({"itemId": "m2"}));
    log.replace(MovieHost::new());
    log.call("select", json!({"itemId": "m3"}))
        .agent(1, "session.end", json!({}));
    assert_eq!(played(log.log().as_bytes()).difference, None);

    // Without the row that says so the host is not a new one.
    let mut rows = log.rows();
    rows.retain(|row| row.kind != row::note::ENTERED && row.kind != row::note::RESTARTED);
    let found = differs(&played(write(&rows).as_bytes())).unwrap();
    assert_eq!(found.1, Mismatch::Host);
}

// proves RL-17
#[test]
fn a_log_that_was_forged_with_its_checks_is_found_by_what_the_host_says() {
    let log = movie(1).book().rows();
    let mut forged = log.clone();
    let at = forged
        .iter()
        .position(|row| row.kind == "tool.result")
        .unwrap();
    forged[at].payload["uiSpec"]["state"]["selected"] = "m2".into();
    let report = played(write(&forged).as_bytes());
    assert_eq!(differs(&report), Some((at as u64 + 1, Mismatch::Host)));
    let difference = report.difference.unwrap();
    assert_eq!(
        difference.expected,
        "payload.uiSpec.state.selected = \"m1\""
    );
    assert_eq!(difference.found, "payload.uiSpec.state.selected = \"m2\"");
    assert_eq!(difference.event_index, Some(at as u64));
    let sentence = difference.sentence();
    let (said, replayed) = sentence.split_once(", but the replay says ").unwrap();
    assert!(said.ends_with("selected = \"m2\""), "{sentence}");
    assert!(replayed.ends_with("selected = \"m1\""), "{sentence}");

    let mut unasked = log.clone();
    unasked.insert(at, log[at].clone());
    assert_eq!(
        differs(&played(write(&unasked).as_bytes())).unwrap().1,
        Mismatch::Host
    );
    let mut elsewhere = log.clone();
    elsewhere[at].reply_to = Some("r9".to_owned());
    let found = differs(&played(write(&elsewhere).as_bytes()));
    assert_eq!(found, Some((at as u64 + 1, Mismatch::Host)));
}

// proves RL-17
#[test]
fn a_log_of_the_agents_alone_replays_without_checks() {
    for agents in [1, 2] {
        let mut log = movie(agents);
        log.book().agent(1, "session.end", json!({}));
        let mut rows = log.rows();
        for row in &mut rows {
            if row.kind == "session.ended" && row.role == Some(RelayRole::Agent) {
                row.payload
                    .insert("logFile".to_owned(), "logs/study/a.jsonl".into());
            }
        }
        let seed = write_seed(&rows);
        let report = played(seed.as_bytes());
        assert_eq!((&report.difference, report.is_ended), (&None, true));
        assert_eq!((report.rows, report.is_checked), (lines(&seed), false));
        assert!(report.compared > 20);

        let forged = seed.replacen("The Salt Road", "The Salt Roads", 1);
        assert_eq!(
            differs(&played(forged.as_bytes())).unwrap().1,
            Mismatch::Host
        );
        // Rows that are taken out of a longer log keep their numbers.
        let sparse = seed.replace("\"eventIndex\":", "\"eventIndex\":1");
        assert_eq!(differs(&played(sparse.as_bytes())), None);
        let back = format!("{seed}{}", seed.lines().next().unwrap());
        assert_eq!(
            differs(&played(back.as_bytes())),
            Some((lines(&seed) + 1, Mismatch::Index))
        );
    }
}

// proves RL-17
#[test]
fn a_log_that_was_formatted_anew_replays() {
    let log = movie(1).book().log();
    let spaced = log.replace("\":", "\": ").replace(",\"", ", \"");
    let spaced = spaced.replace("17:50\": \"", "17:50\":\"");
    let report = played(spaced.as_bytes());
    assert_eq!(report.difference, None);
    assert!(report.is_checked);
}

// proves RL-17
#[test]
fn the_file_of_a_room_is_held_against_its_checks_alone() {
    let mut rows = movie(1).book().rows();
    rows.drain(..3);
    let report = played(write(&rows).as_bytes());
    assert_eq!((report.difference, report.compared), (None, 0));
    let forged = write(&rows).replacen("The Salt Road", "The Salt Roads", 1);
    assert_eq!(
        differs(&played(forged.as_bytes())).unwrap().1,
        Mismatch::Check
    );
}

// proves RL-17
#[test]
fn what_is_no_log_is_told_with_its_line() {
    assert_eq!(played(b"").rows, 0);
    assert_eq!(differs(&played(b"")), None);
    let row = movie(1).log().lines().next().unwrap().to_owned();
    let deep = row.replace(
        "\"pilot-01\"",
        &format!("{}{}", "[".repeat(500), "]".repeat(500)),
    );
    let late = row.replace("2026-12-07T", "2026-13-07T");
    let junk = [
        "\n",
        "{}\n",
        "[]",
        "null",
        "\u{0}\u{0}",
        "{\"sessionId\":1}",
        "%PDF-1.4",
        &deep,
        &late,
        &row.replace("\"in\"", "\"up\""),
        &row[..row.len() - 1],
    ];
    for text in junk {
        assert_eq!(
            differs(&played(text.as_bytes())),
            Some((1, Mismatch::Row)),
            "{text}"
        );
        let second = format!("{row}\n{text}");
        assert_eq!(
            differs(&played(second.as_bytes())),
            Some((2, Mismatch::Row)),
            "{text}"
        );
    }
    let endless = vec![b' '; 9 << 20];
    assert_eq!(differs(&played(&endless)), Some((1, Mismatch::Row)));
    assert_eq!(
        differs(&played(&[0xFF, 0xFE, b'\n'])),
        Some((1, Mismatch::Row))
    );
}
