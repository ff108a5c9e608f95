//! The files of one crate that name each other in a circle.
//!
//! A file names another by a path, in `use` or in the code, that leads to a module or to an item
//! of it. An item is where it is defined: a `use` on the way is followed. `mod` names nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::{Tokens, without_tests};

/// The files by their path from the crate's `src`, and the files that each one names.
pub(super) type Graph = BTreeMap<String, BTreeSet<String>>;

type Module = Vec<String>;

/// How far a re-export is followed.
const MOST_STEPS: usize = 16;

/// A crate's modules, and what each one imports.
#[derive(Default)]
struct Modules {
    files: BTreeMap<Module, String>,
    imports: BTreeMap<Module, BTreeMap<String, Vec<String>>>,
    paths: Vec<(Module, Vec<String>)>,
    /// Modules of tests that have a file.
    tests: BTreeSet<Module>,
}

/// Which file of a crate names which, from its files by their paths from `src`.
pub(super) fn graph(files: &BTreeMap<String, String>) -> Graph {
    let mut modules = Modules::default();
    for (path, text) in files {
        let module = module(path);
        modules.files.insert(module.clone(), path.clone());
        modules.read(module, text);
    }
    modules.graph()
}

/// The largest ring of a graph, in order; empty if it has none.
pub(super) fn largest(graph: &Graph) -> Vec<&str> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|file| (file.as_str(), reach(graph, file)))
        .collect();
    let rings = reached.iter().map(|(file, ahead)| {
        let comes_back = |other: &&&str| reached[**other].contains(file);
        ahead.iter().filter(comes_back).copied().collect::<Vec<_>>()
    });
    rings.rev().max_by_key(Vec::len).unwrap_or_default()
}

/// The files that can be reached from one.
fn reach<'g>(graph: &'g Graph, from: &str) -> BTreeSet<&'g str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = graph[from].iter().map(String::as_str).collect();
    while let Some(file) = open.pop() {
        if found.insert(file) {
            open.extend(graph[file].iter().map(String::as_str));
        }
    }
    found
}

/// The module of a file: `a/b.rs` and `a/b/mod.rs` are `a::b`, the crate's root is empty.
fn module(path: &str) -> Module {
    let path = path.trim_end_matches(".rs");
    let mut parts: Vec<&str> = path.split('/').collect();
    if matches!(parts[..], ["lib" | "main"]) || parts.last() == Some(&"mod") {
        parts.pop();
    }
    parts.into_iter().map(str::to_owned).collect()
}

impl Modules {
    /// Reads a file: its inline modules, its imports, and the paths in its code.
    fn read(&mut self, mut module: Module, text: &str) {
        let tokens = Tokens::of(text);
        let (code, tests) = without_tests(&tokens.code);
        self.tests
            .extend(tests.into_iter().map(|name| child(&module, name)));
        let name = self.files[&module].clone();
        // The depths of braces at which the inline modules end that are open.
        let mut ends = Vec::new();
        let (mut depth, mut at) = (0_usize, 0);
        while let Some(token) = code.get(at) {
            let previous = at.checked_sub(1).map_or("", |before| code[before]);
            at += 1;
            match (*token, &code[at..]) {
                ("mod", [name_of, "{", ..]) => {
                    module.push((*name_of).to_owned());
                    ends.push(depth + 1);
                    self.files.insert(module.clone(), name.clone());
                }
                ("use", rest) => at += self.imports(&module, rest),
                ("{", _) => depth += 1,
                ("}", _) => {
                    if ends.pop_if(|end| *end == depth).is_some() {
                        module.pop();
                    }
                    depth = depth.saturating_sub(1);
                }
                (first, ["::", ..]) if previous != "::" && is_word(first) => {
                    let mut path = vec![first.to_owned()];
                    while let ["::", next, ..] = code[at..] {
                        if !is_word(next) {
                            break;
                        }
                        path.push(next.to_owned());
                        at += 2;
                    }
                    self.paths.push((module.clone(), path));
                }
                _ => {}
            }
        }
    }

    /// Reads the tree of a `use`, and returns how many tokens it has.
    fn imports(&mut self, module: &Module, code: &[&str]) -> usize {
        let end = code
            .iter()
            .position(|token| *token == ";")
            .unwrap_or(code.len());
        let mut path: Vec<String> = Vec::new();
        // How long the path was at each open brace.
        let mut lengths = vec![0];
        let mut name = None;
        for (at, token) in code[..=end.min(code.len() - 1)].iter().enumerate() {
            match *token {
                "{" => lengths.push(path.len()),
                "," | "}" | ";" => {
                    let length = lengths.last().copied().unwrap_or_default();
                    if path.len() > length {
                        if path.last().is_some_and(|last| last == "self") {
                            path.pop();
                        }
                        let name = name.take().or_else(|| path.last().cloned());
                        self.import(module, name.unwrap_or_default(), path.clone());
                    }
                    if *token == "}" {
                        lengths.pop();
                    }
                    path.truncate(lengths.last().copied().unwrap_or_default());
                }
                "as" => name = code.get(at + 1).map(|name| (*name).to_owned()),
                "::" => {}
                _ if at > 0 && code[at - 1] == "as" => {}
                word => path.push(word.to_owned()),
            }
        }
        end
    }

    fn import(&mut self, module: &Module, name: String, path: Vec<String>) {
        self.paths.push((module.clone(), path.clone()));
        self.imports
            .entry(module.clone())
            .or_default()
            .insert(name, path);
    }

    fn graph(&self) -> Graph {
        let is_test = |module: &Module| {
            module.iter().any(|part| part == "tests")
                || (1..=module.len()).any(|length| self.tests.contains(&module[..length]))
        };
        let mut graph: Graph = BTreeMap::new();
        for (module, file) in &self.files {
            if !is_test(module) {
                graph.entry(file.clone()).or_default();
            }
        }
        for (module, path) in &self.paths {
            let from = &self.files[module];
            if let Some(to) = self.resolve(module, path, MOST_STEPS)
                && to != from
                && !is_test(module)
                && graph.contains_key(to)
                && let Some(named) = graph.get_mut(from)
            {
                named.insert(to.clone());
            }
        }
        graph
    }

    /// The file to which a path leads, seen from a module; `None` if it leads out of the crate.
    fn resolve(&self, from: &Module, path: &[String], steps: usize) -> Option<&String> {
        let steps = steps.checked_sub(1)?;
        let (first, mut rest) = path.split_first()?;
        let mut module = match first.as_str() {
            "crate" => Module::new(),
            "self" => from.clone(),
            "super" => from[..from.len().checked_sub(1)?].to_vec(),
            name if self.files.contains_key(&child(from, name)) => child(from, name),
            name => {
                let import = self.imports.get(from)?.get(name)?;
                // An import of the same name as its first part leads to another crate.
                let is_same = import.first().is_some_and(|start| start == name);
                let whole = [import, rest].concat();
                return if is_same {
                    None
                } else {
                    self.resolve(from, &whole, steps)
                };
            }
        };
        while let Some((name, after)) = rest.split_first() {
            if name == "super" {
                module.pop();
            } else if self.files.contains_key(&child(&module, name)) {
                module.push(name.clone());
            } else if let Some(import) = self.imports.get(&module).and_then(|all| all.get(name)) {
                let whole = [import, after].concat();
                return self.resolve(&module, &whole, steps);
            } else {
                break;
            }
            rest = after;
        }
        self.files.get(&module)
    }
}

fn child(module: &Module, name: &str) -> Module {
    let mut child = module.clone();
    child.push(name.to_owned());
    child
}

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest ring of files that are written as `path: text`, one a line.
    fn ring(files: &str) -> String {
        let files = files.lines().filter_map(|line| line.split_once(": "));
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        largest(&graph(&files.collect())).join(" ")
    }

    #[test]
    fn finds_the_largest_ring() {
        for (files, expected) in [
            (
                "lib.rs: mod a;\na.rs: use crate::b::B;\nb.rs: use super::a::{self, A};",
                "a.rs b.rs",
            ),
            // A path in the code counts, a word of a string, a comment or a test does not.
            (
                "a.rs: fn f() { crate::b::g() }\nb.rs: fn g() { super::a::f() }",
                "a.rs b.rs",
            ),
            (
                "a.rs: use crate::b;\nb.rs: // crate::a\nc.rs: \"super::a\"",
                "",
            ),
            (
                "a.rs: use crate::b;\nb.rs: #[cfg(test)] mod tests { use crate::a; }",
                "",
            ),
            (
                "a.rs: use crate::b;\nb.rs: #[cfg(test)] mod c;\nb/c.rs: use crate::a;",
                "",
            ),
            // `mod` names nothing; what a parent uses of its child does.
            ("a.rs: mod b;\na/b.rs: use super::A;", ""),
            ("a.rs: mod b; b::f();\na/b.rs: use super::A;", "a.rs a/b.rs"),
            // An item is where it is defined, or in another crate.
            (
                "lib.rs: pub use a::A;\na.rs: use crate::b::B;\nb.rs: use crate::A;",
                "a.rs b.rs",
            ),
            ("a.rs: use far::F; use b::B;\na/b.rs: use super::F;", ""),
            // Inline modules are in their file, and nested trees are read.
            (
                "a.rs: mod near { use super::super::b::{c::{D as E}, F}; } fn f() {}\n\
                 b/mod.rs: mod c;\nb/c.rs: use crate::{x, a::near::G};\nb/d.rs: use super::c;",
                "a.rs b/c.rs",
            ),
            (
                "a.rs: use crate::b;\nb.rs: use crate::c;\nc.rs: use crate::a;\nd.rs: use crate::a;",
                "a.rs b.rs c.rs",
            ),
        ] {
            assert_eq!(ring(files), expected, "{files}");
        }
    }
}
