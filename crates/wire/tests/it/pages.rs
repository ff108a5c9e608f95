//! The page for authors of clients says what the types say.

use samovar_core::Code;
use samovar_core::error::FaultCode;
use samovar_core::relay::{MessageKind, RelayCode};
use samovar_wire::agent::AgentStreamEventType;
use serde::de::DeserializeOwned;

/// The first two cells of the table under this heading, row by row.
fn table(heading: &str) -> Vec<(String, String)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocols.md");
    let page = std::fs::read_to_string(path).expect("the page is there");
    let from_heading = page.lines().skip_while(|line| *line != heading).skip(1);
    let section = from_heading.take_while(|line| !line.starts_with('#'));
    let rows = section.filter(|line| line.starts_with('|')).skip(2);
    let cells = rows.map(|row| row.split('|').map(|cell| cell.trim().replace('`', "")));
    cells
        .map(|mut cells| {
            (
                cells.nth(1).expect("a cell"),
                cells.next().expect("a second cell"),
            )
        })
        .collect()
}

// proves AS-3
#[test]
fn the_page_lists_every_code_of_a_refusal_with_its_status() {
    let codes = Code::ALL
        .iter()
        .map(|code| (code.status().to_string(), code.to_string()));
    assert_eq!(table("## Refusals"), codes.collect::<Vec<_>>());
}

// proves RL-9
#[test]
fn the_page_lists_every_code_and_every_message_of_the_relay() {
    let codes = RelayCode::ALL.map(RelayCode::as_str);
    assert_eq!(first_cells("### Codes of the relay"), codes);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocols.md");
    let page = std::fs::read_to_string(path).expect("the page is there");
    for kind in MessageKind::ALL {
        let named = format!("`{}`", kind.as_str());
        assert!(page.contains(&named), "{named}");
    }
}

#[test]
fn the_page_lists_every_code_of_a_failed_turn() {
    assert_eq!(
        first_cells("## Failed turns"),
        variants::<FaultCode>("\"?\"")
    );
}

// proves AS-5
#[test]
fn the_page_lists_exactly_the_six_types_of_a_stream() {
    let types = variants::<AgentStreamEventType<'static>>(r#"{"type":"?"}"#);
    let six = "iteration text_delta tool_call_start tool_call_result completed error";
    assert_eq!(types, six.split(' ').collect::<Vec<_>>());
    assert_eq!(first_cells("### The default profile"), types);
}

fn first_cells(heading: &str) -> Vec<String> {
    table(heading).into_iter().map(|(first, _)| first).collect()
}

/// All variants of an enum, as the refusal of one that it does not have names them.
fn variants<T: DeserializeOwned>(unknown: &str) -> Vec<String> {
    let error = serde_json::from_str::<T>(unknown)
        .err()
        .expect("a refusal")
        .to_string();
    let (_, known) = error.split_once("expected one of ").expect("a list");
    known
        .split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}
