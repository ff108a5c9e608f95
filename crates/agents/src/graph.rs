//! Who may call which agent, as a tree for people. Pure.

use std::collections::BTreeMap;

/// Branches of a tree, at most; a graph in which all may call all has many more.
const MAX_BRANCHES: usize = 500;

/// The deepest level of an agent, unless a definition says otherwise (SA-19).
const DEFAULT_DEPTH: u32 = 3;

/// An agent and those that it may call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Whether others may call it: it is valid, switched on, and no agent of a session's or of the
    /// chat's own.
    pub can_be_called: bool,
    /// The agents that it may call; `None` for every one.
    pub calls: Option<Vec<String>>,
    /// The deepest level that it allows below it.
    pub max_depth: Option<u32>,
}

/// An agent in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The number of agents above it.
    pub depth: usize,
    /// Its name.
    pub name: String,
    /// Whether it is among those above it: the call would be refused as a cycle.
    pub is_cycle: bool,
}

/// The tree below each root, in the order of the roots; an agent that no other reaches is a root of
/// its own at the end. Also whether the tree was cut because it is too large.
pub fn graph(nodes: &[Node], roots: &[&str]) -> (Vec<Branch>, bool) {
    let by_name = nodes.iter().map(|node| (node.name.as_str(), node));
    let mut tree = Tree {
        nodes: by_name.collect(),
        branches: Vec::new(),
    };
    for root in roots {
        tree.grow(&mut Vec::new(), root, u32::MAX);
    }
    for node in nodes {
        if !tree.branches.iter().any(|branch| branch.name == node.name) {
            tree.grow(&mut Vec::new(), &node.name, u32::MAX);
        }
    }
    let is_cut = tree.branches.len() > MAX_BRANCHES;
    tree.branches.truncate(MAX_BRANCHES);
    (tree.branches, is_cut)
}

struct Tree<'a> {
    nodes: BTreeMap<&'a str, &'a Node>,
    branches: Vec<Branch>,
}

impl<'a> Tree<'a> {
    /// Adds an agent and all below it, unless it would be deeper than the agents above it allow.
    fn grow(&mut self, above: &mut Vec<&'a str>, name: &str, max_depth: u32) {
        let Some(&node) = self.nodes.get(name) else {
            return;
        };
        let allowed = node.max_depth.unwrap_or(DEFAULT_DEPTH).min(max_depth);
        let depth = above.len();
        if depth > allowed as usize || self.branches.len() > MAX_BRANCHES {
            return;
        }
        let is_cycle = above.contains(&node.name.as_str());
        self.branches.push(Branch {
            depth,
            name: node.name.clone(),
            is_cycle,
        });
        if is_cycle {
            return;
        }
        above.push(&node.name);
        for called in self.called(node) {
            self.grow(above, called, allowed);
        }
        above.pop();
    }

    /// The agents that one may call, without itself.
    fn called(&self, node: &'a Node) -> Vec<&'a str> {
        let all = self.nodes.values().filter(|other| other.can_be_called);
        let names = all.map(|other| other.name.as_str());
        let names = names.filter(|name| *name != node.name);
        match &node.calls {
            None => names.collect(),
            Some(calls) => names
                .filter(|name| calls.iter().any(|call| call == name))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, calls: Option<&[&str]>) -> Node {
        Node {
            name: name.to_owned(),
            can_be_called: name != "master",
            calls: calls.map(|calls| calls.iter().map(ToString::to_string).collect()),
            max_depth: None,
        }
    }

    fn drawn(nodes: &[Node]) -> Vec<String> {
        let (branches, is_cut) = graph(nodes, &["master"]);
        assert!(!is_cut);
        let lines = branches.iter().map(|branch| {
            let mark = if branch.is_cycle { "!" } else { "" };
            format!("{}{}{mark}", ".".repeat(branch.depth), branch.name)
        });
        lines.collect()
    }

    // proves SA-4, SA-19
    #[test]
    fn the_graph_shows_who_may_call_which_agent_and_how_deep() {
        let nodes = [
            node("a", Some(&["b"])),
            node("b", Some(&["c"])),
            node("c", Some(&["a"])),
            node("lonely", Some(&[])),
            node("master", Some(&["a", "gone", "off"])),
            Node {
                can_be_called: false,
                ..node("off", Some(&[]))
            },
        ];
        let lines = ["master", ".a", "..b", "...c", "lonely", "off"];
        assert_eq!(drawn(&nodes), lines);

        let mut deeper = nodes.clone();
        for node in &mut deeper {
            node.max_depth = Some(8);
        }
        assert_eq!(
            drawn(&deeper)[..5],
            ["master", ".a", "..b", "...c", "....a!"]
        );
        deeper[0].max_depth = Some(2);
        assert_eq!(
            drawn(&deeper)[..4],
            ["master", ".a", "..b", "c"],
            "the smallest counts"
        );
        deeper[1].max_depth = Some(1);
        assert_eq!(
            drawn(&deeper)[..3],
            ["master", ".a", "b"],
            "b only right below the master"
        );
    }

    #[test]
    fn a_graph_of_all_to_all_is_cut() {
        let nodes: Vec<_> = (0..40).map(|n| node(&format!("n{n}"), None)).collect();
        let (branches, is_cut) = graph(&nodes, &["n0"]);
        assert!(is_cut);
        assert_eq!(branches.len(), MAX_BRANCHES);
    }
}
