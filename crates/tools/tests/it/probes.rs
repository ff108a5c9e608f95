//! What becomes of a write that was cut: told by what the file was, was to be, and is.

use samovar_core::Probed;
use serde_json::{Value, json};

use crate::yard::Yard;

const FILE: &str = "notes/tea.txt";
const BEFORE: &str = "black tea\r\ngreen tea\r\nwhite tea\r\n";

fn write(content: &str) -> (&'static str, Value) {
    ("write_file", json!({"path": FILE, "content": content}))
}

fn edit(old: &str, new: &str, all: bool) -> (&'static str, Value) {
    (
        "edit_file",
        json!({"path": FILE, "old": old, "new": new, "all": all}),
    )
}

// proves DU-5
#[tokio::test]
async fn a_write_is_found_done_not_done_or_somebody_elses() {
    for (name, args) in [
        write("coffee\n"),
        write(""),
        edit("green", "red", false),
        edit("green tea\nwhite", "red", false),
        edit("tea", "ココア\nwith milk", true),
        edit(" tea", "t", true),
        edit("     2\tgreen tea", "     2\tred", false),
        edit("  green tea\n  white tea", "  red", false),
    ] {
        let yard = Yard::with(&[(FILE, BEFORE)]);
        let foreseen = yard.foresee(name, &args).await;
        assert!(foreseen.is_some(), "{args}");

        let found = yard.probe(name, &args, foreseen.clone()).await;
        assert_eq!(found, Probed::NotDone, "{args}");
        assert_eq!(yard.content(FILE), BEFORE);

        yard.done("read_file", json!({"path": FILE})).await;
        let told = yard.done(name, args.clone()).await;
        let after = yard.content(FILE);
        let found = yard.probe(name, &args, foreseen.clone()).await;
        assert_eq!(found, Probed::Done(told), "{args}");
        assert_eq!(yard.content(FILE), after);

        for edited in [format!("{after}!"), "a person was here".to_owned()] {
            yard.put(FILE, &edited);
            let found = yard.probe(name, &args, foreseen.clone()).await;
            assert_eq!(found, Probed::Unknown, "{args}");
        }
        std::fs::remove_file(yard.ws(FILE)).unwrap();
        let found = yard.probe(name, &args, foreseen).await;
        assert_eq!(found, Probed::Unknown, "{args}");
    }
}

// proves DU-5
#[tokio::test]
async fn a_file_that_was_to_be_made_is_found_made_or_not() {
    let yard = Yard::new();
    let (name, args) = write("coffee\n");
    let foreseen = yard.foresee(name, &args).await;
    assert_eq!(
        yard.probe(name, &args, foreseen.clone()).await,
        Probed::NotDone
    );
    let told = yard.done(name, args.clone()).await;
    assert_eq!(
        yard.probe(name, &args, foreseen.clone()).await,
        Probed::Done(told)
    );
    yard.put(FILE, "a person was here");
    assert_eq!(yard.probe(name, &args, foreseen).await, Probed::Unknown);
}

// proves DU-5
#[tokio::test]
async fn a_write_that_changes_nothing_is_as_good_as_done() {
    let yard = Yard::with(&[(FILE, BEFORE)]);
    let (name, args) = write(BEFORE);
    let foreseen = yard.foresee(name, &args).await;
    assert!(matches!(
        yard.probe(name, &args, foreseen).await,
        Probed::Done(_)
    ));
}

// proves DU-5
#[tokio::test]
async fn what_could_not_be_foreseen_is_unknown() {
    let yard = Yard::with(&[(FILE, BEFORE), ("samovar.toml", "x")]);
    std::os::unix::fs::symlink(yard.ws(FILE), yard.ws("link")).unwrap();
    for (name, args) in [
        edit("nowhere", "x", false),
        edit("tea", "x", false),
        edit("tea", "tea", false),
        (
            "write_file",
            json!({"path": "../outside/secret.txt", "content": "x"}),
        ),
        ("write_file", json!({"path": "link", "content": "x"})),
        ("write_file", json!({"path": "notes", "content": "x"})),
        ("write_file", json!({"path": 3})),
        ("read_file", json!({"path": FILE})),
    ] {
        assert_eq!(yard.foresee(name, &args).await, None, "{args}");
        for foreseen in [None, Some(json!({"before": 3})), Some(json!(null))] {
            let found = yard.probe(name, &args, foreseen).await;
            assert_eq!(found, Probed::Unknown, "{args}");
        }
    }
}

// proves DU-5
#[tokio::test]
async fn places_that_are_not_there_are_no_difference_and_no_panic() {
    let yard = Yard::with(&[(FILE, BEFORE)]);
    let (name, args) = edit("green", "red", false);
    let mut foreseen = yard.foresee(name, &args).await.unwrap();
    yard.done(name, args.clone()).await;
    for places in [json!([0]), json!([usize::MAX]), json!([1, 2, 3])] {
        foreseen["places"] = places;
        let Probed::Done(told) = yard.probe(name, &args, Some(foreseen.clone())).await else {
            panic!("{foreseen}");
        };
        assert!(
            told.text
                .starts_with("edited notes/tea.txt: 1 replacement\n"),
            "{}",
            told.text
        );
        assert_eq!(told.data.unwrap()["diff"], Value::Null);
    }
}

// proves DU-5
#[tokio::test]
async fn an_edit_that_took_line_ends_away_is_found_done_without_its_difference() {
    let yard = Yard::with(&[(FILE, BEFORE)]);
    let (name, args) = edit("tea\n", "", true);
    let foreseen = yard.foresee(name, &args).await;
    yard.done(name, args.clone()).await;
    let Probed::Done(told) = yard.probe(name, &args, foreseen).await else {
        panic!("it was done");
    };
    assert!(
        told.text
            .starts_with("edited notes/tea.txt: 3 replacements\n"),
        "{}",
        told.text
    );
    assert_eq!(told.data.unwrap()["diff"], Value::Null);
}
