//! The rules of the house, each held against the whole tree.
//!
//! A rule is a pure function from text or metadata to the [`Violation`]s in it; its module shows
//! on made-up input that it fails. Here the rules meet the real tree, so a failure names the file
//! and the rule.

mod borders;
mod kinds;
mod manifest;
mod places;
mod requirements;
mod sentences;
mod source;
mod tree;
mod walls;

use std::fmt;

use source::Source;
use tree::Tree;

/// A place in the tree, and what is wrong with it.
#[derive(Debug, PartialEq)]
struct Violation {
    place: String,
    breach: String,
}

impl Violation {
    fn new(place: impl Into<String>, breach: impl Into<String>) -> Violation {
        Violation {
            place: place.into(),
            breach: breach.into(),
        }
    }

    /// A violation on one line of a file.
    fn at(path: &str, line: usize, breach: impl Into<String>) -> Violation {
        Violation::new(format!("{path}:{line}"), breach)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.breach)
    }
}

fn demand(rule: &str, violations: &[Violation]) {
    let list: Vec<String> = violations.iter().map(ToString::to_string).collect();
    assert!(
        violations.is_empty(),
        "the rule is: {rule}\n  {}",
        list.join("\n  ")
    );
}

/// Holds one rule against every Rust file of the tree.
fn demand_of_sources(rule: &str, check: impl Fn(&str, &Source) -> Vec<Violation>) {
    let tree = Tree::read();
    let violations: Vec<Violation> = tree
        .rust_files()
        .flat_map(|(path, text)| match Source::read(text) {
            Ok(source) => check(path, &source),
            Err(cause) => vec![Violation::new(
                path,
                format!("cannot be read as Rust: {cause}"),
            )],
        })
        .collect();
    demand(rule, &violations);
}

#[test]
fn every_crate_is_named_after_its_directory() {
    demand(
        "crates/x, or lab/x, holds the package samovar-x",
        &borders::misnamed(&tree::metadata()),
    );
}

#[test]
fn no_crate_uses_one_that_it_must_not_know() {
    let rule = "crates use each other as ARCHITECTURE.md says (the table is in house/borders.rs)";
    demand(rule, &borders::forbidden_uses(&tree::metadata()));
}

#[test]
fn every_crate_has_at_most_one_integration_test_binary() {
    demand(
        "integration tests are modules of tests/it",
        &borders::stray_tests(&tree::metadata()),
    );
}

#[test]
fn members_take_versions_features_and_lints_from_the_workspace() {
    let tree = Tree::read();
    let workspace = tree.text("Cargo.toml").unwrap_or_default();
    let violations: Vec<Violation> = tree
        .manifests()
        .flat_map(|(path, text)| {
            let mut violations = manifest::own_dependencies(path, text);
            violations.extend(manifest::far_features(path, text));
            violations.extend(manifest::own_lints(path, text, workspace));
            violations
        })
        .collect();
    demand(
        "what must be one for all is in the root Cargo.toml",
        &violations,
    );
}

#[test]
fn no_file_is_above_450_code_lines() {
    demand_of_sources("comments and blank lines are free", walls::long_file);
}

#[test]
fn no_function_is_above_70_code_lines() {
    demand_of_sources("split where the subject changes", walls::long_functions);
}

#[test]
fn unsafe_code_lives_in_sandbox_and_stores_alone() {
    demand_of_sources(
        "what needs `unsafe` is a safe function of sandbox",
        walls::unsafe_code,
    );
}

#[test]
fn no_test_is_ignored_and_nothing_is_left_to_write() {
    demand_of_sources("what is not finished is not here", walls::unfinished);
}

#[test]
fn no_file_names_a_place_on_someones_machine() {
    let tree = Tree::read();
    let violations: Vec<Violation> = tree
        .files()
        .flat_map(|(path, text)| places::named(path, text))
        .collect();
    demand("the project is the same on every machine", &violations);
}

#[test]
fn every_event_kind_is_in_the_protocol_pages() {
    let tree = Tree::read();
    let violations = kinds::unexplained(tree.text(kinds::EVENTS), tree.text(kinds::PAGES));
    demand(
        "whoever adds an event kind explains it in the same commit",
        &violations,
    );
}

#[test]
fn what_people_read_stands_in_the_catalogue() {
    let tree = Tree::read();
    let violations: Vec<Violation> = tree
        .rust_files()
        .flat_map(|(path, text)| sentences::untranslated(path, text))
        .collect();
    let rule = "a sentence for people is a key of locales/en.json and a call of samovar-locale";
    demand(rule, &violations);
}

#[test]
fn every_sentence_of_the_catalogue_is_said() {
    let tree = Tree::read();
    let violations = sentences::unsaid(tree.text(sentences::ENGLISH), tree.rust_files());
    demand("a sentence that nobody says is deleted", &violations);
}

#[test]
fn the_listed_requirements_are_the_proven_ones() {
    let tree = Tree::read();
    let violations =
        requirements::mismatches(tree.text(requirements::LIST), &mut tree.rust_files());
    demand(
        "docs/requirements.md and the `proves` comments of the tests agree",
        &violations,
    );
}
