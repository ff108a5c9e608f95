//! The rules of the house, each held against the whole tree.
//!
//! A rule is a pure function from text or metadata to the [`Violation`]s in it; its module shows
//! on made-up input that it fails. Here the rules meet the real tree, which is read once for all of
//! them, so a failure names the rule and the file.

mod borders;
mod dependencies;
mod kinds;
mod manifest;
mod places;
mod ratchet;
mod requirements;
mod sentences;
mod source;
mod tree;
mod walls;

use std::fmt::{self, Write as _};

use tree::{RustFile, Tree};

/// A place in the tree, and what is wrong with it.
#[derive(Clone, Debug, PartialEq)]
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

/// What one rule finds in the tree.
struct Rule {
    sentence: &'static str,
    violations: Vec<Violation>,
}

impl Rule {
    /// A rule that looks at one Rust file at a time.
    fn of_files(
        sentence: &'static str,
        tree: &Tree,
        check: impl Fn(&RustFile) -> Vec<Violation>,
    ) -> Rule {
        let violations = tree.rust.iter().flat_map(check).collect();
        Rule {
            sentence,
            violations,
        }
    }
}

fn rules_of_crates(tree: &Tree) -> Vec<Rule> {
    let metadata = tree::metadata();
    let workspace = tree.text("Cargo.toml").unwrap_or_default();
    let of_manifest = |(path, text): (&str, &str)| {
        let mut violations = manifest::own_dependencies(path, text);
        violations.extend(manifest::far_features(path, text));
        violations.extend(manifest::own_lints(path, text, workspace));
        violations
    };
    vec![
        Rule {
            sentence: "crates/x, or lab/x, holds the package samovar-x",
            violations: borders::misnamed(&metadata),
        },
        Rule {
            sentence: "crates use each other as ARCHITECTURE.md says (see house/borders.rs)",
            violations: borders::forbidden_uses(&metadata),
        },
        Rule {
            sentence: "integration tests are modules of tests/it",
            violations: borders::stray_tests(&metadata),
        },
        Rule {
            sentence: "a dependency is what deny.toml allows",
            violations: forbidden_dependencies(tree),
        },
        Rule {
            sentence: "what must be one for all is in the root Cargo.toml",
            violations: tree.manifests().flat_map(of_manifest).collect(),
        },
    ]
}

/// The dependencies on every platform of the table, each violation once.
fn forbidden_dependencies(tree: &Tree) -> Vec<Violation> {
    let table = match dependencies::Table::read(tree.text(dependencies::TABLE)) {
        Ok(table) => table,
        Err(violation) => return vec![violation],
    };
    let mut violations = Vec::new();
    for platform in table.targets() {
        let found = match tree::metadata_of(platform) {
            Ok(metadata) => dependencies::forbidden(&table, &metadata),
            Err(violation) => vec![violation],
        };
        for violation in found {
            if !violations.contains(&violation) {
                violations.push(violation);
            }
        }
    }
    violations
}

fn rules_of_text(tree: &Tree) -> Vec<Rule> {
    let (events, pages) = (tree.text(kinds::EVENTS), tree.text(kinds::PAGES));
    let (english, list) = (tree.text(sentences::ENGLISH), tree.text(requirements::LIST));
    vec![
        Rule {
            sentence: "every Rust file can be read",
            violations: tree.unread.iter().map(Violation::clone).collect(),
        },
        Rule::of_files("comments and blank lines are free", tree, walls::long_file),
        Rule::of_files(
            "split where the subject changes",
            tree,
            walls::long_functions,
        ),
        Rule::of_files(
            "only sandbox and stores use `unsafe`",
            tree,
            walls::unsafe_code,
        ),
        Rule::of_files("what is not finished is not here", tree, walls::unfinished),
        Rule {
            sentence: "the project is the same on every machine",
            violations: tree
                .files()
                .flat_map(|(path, text)| places::named(path, text))
                .collect(),
        },
        Rule {
            sentence: "a commit that adds an event kind explains it",
            violations: kinds::unexplained(events, pages),
        },
        Rule::of_files(
            "a sentence for people is a key of locales/en.json and a call of samovar-locale",
            tree,
            sentences::untranslated,
        ),
        Rule {
            sentence: "a sentence that no code says is deleted",
            violations: sentences::unsaid(english, &tree.rust),
        },
        Rule {
            sentence: "docs/requirements.md and the `proves` comments of the tests agree",
            violations: requirements::mismatches(list, &tree.rust),
        },
    ]
}

// proves TL-16
#[test]
fn the_tree_keeps_the_rules_of_the_house() {
    let tree = Tree::read();
    let mut broken = String::new();
    for rule in rules_of_crates(&tree)
        .into_iter()
        .chain(rules_of_text(&tree))
    {
        if !rule.violations.is_empty() {
            writeln!(broken, "the rule is: {}", rule.sentence).expect("a string takes every line");
        }
        for violation in rule.violations {
            writeln!(broken, "  {violation}").expect("a string takes every line");
        }
    }
    assert!(broken.is_empty(), "{broken}");
}
