//! The pages and the file that are made from the types are as they were made.
//!
//! `SAMOVAR_WRITE=1 cargo nextest run -p samovar-config` rewrites them.

use std::fs;
use std::path::PathBuf;

use samovar_config::{ConfigError, Problem, reference, schema, template};

use crate::desk::Desk;

fn docs(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name)
}

/// Holds a file against what it should be, or makes it that.
#[track_caller]
fn is_up_to_date(name: &str, wanted: &str) {
    if std::env::var_os("SAMOVAR_WRITE").is_some() {
        fs::write(docs(name), wanted).unwrap();
    }
    let is_the_same = fs::read_to_string(docs(name)).is_ok_and(|found| found == wanted);
    assert!(
        is_the_same,
        "docs/{name} is not what the types say; rewrite it with SAMOVAR_WRITE=1"
    );
}

// proves FC-3
#[test]
fn the_schema_that_is_published_is_that_of_the_types() {
    let text = serde_json::to_string_pretty(&schema()).unwrap();
    is_up_to_date("samovar.schema.json", &format!("{text}\n"));
}

// proves FC-3
#[test]
fn the_reference_page_is_that_of_the_types() {
    let page = fs::read_to_string(docs("configuration.md")).unwrap();
    let (before, rest) = page.split_once("<!-- keys -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- /keys -->\n").unwrap();
    let wanted = format!(
        "{before}<!-- keys -->\n{}<!-- /keys -->\n{after}",
        reference()
    );
    is_up_to_date("configuration.md", &wanted);
}

#[test]
fn the_page_names_every_code_with_its_meaning() {
    let page = fs::read_to_string(docs("configuration.md")).unwrap();
    let file = PathBuf::new;
    let (key, found, right) = (String::new, String::new, String::new);
    for problem in [
        Problem::Unreadable {
            file: file(),
            why: String::new(),
        },
        Problem::Syntax {
            said: String::new(),
        },
        Problem::UnknownKey {
            name: key(),
            nearest: None,
        },
        Problem::WrongType {
            key: key(),
            found: found(),
            right: right(),
        },
        Problem::WrongValue {
            key: key(),
            found: found(),
            right: right(),
        },
        Problem::NotText,
        Problem::Untrusted { keys: Vec::new() },
        Problem::Homeless,
        Problem::Unwritable {
            file: file(),
            why: String::new(),
        },
    ] {
        let code = ConfigError::from(problem).code();
        assert!(page.contains(&format!("\n| `{code}` | ")), "{code}");
    }
}

#[test]
fn the_file_that_somebody_begins_with_sets_nothing_and_shows_what_could_be() {
    let text = template();
    let resolved = Desk::new().here_says(&text).resolve();
    assert_eq!(resolved.settings, samovar_config::Settings::default());
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );

    let is_key =
        |line: &&str| line.starts_with("# ") && line.contains(" = ") || line.starts_with("# [");
    let uncommented = text.lines().map(|line| match Some(line).filter(is_key) {
        Some(line) => &line[2..],
        None => line,
    });
    let desk = Desk::new().here_says(uncommented.collect::<Vec<_>>().join("\n"));
    desk.trust();
    let resolved = desk.resolve();
    let keys = resolved
        .keys()
        .iter()
        .filter(|key| !key.name.starts_with("providers."));
    for key in keys {
        let explained = resolved.explain(&key.name).unwrap();
        assert_eq!(
            explained.origin.to_string().split(':').next(),
            Some("./samovar.toml"),
            "{}",
            key.name
        );
    }
    assert!(resolved.settings.providers["openai"].api_key.is_some());
}
