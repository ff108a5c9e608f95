//! Turns that call other agents, which may call others, and turns that let agents work in the
//! background. An agent's first message names its place, so that the model knows whose turn it is.

use samovar_model_server::Rule;
use serde_json::json;

use super::{Call, NOTE, all_classes, content, fault, own_step, turn};
use crate::dice::Dice;

/// The tool that waits for another agent.
pub(crate) const DELEGATE: &str = "subAgent";
/// The tool that lets one work in the background.
pub(crate) const SPAWN: &str = "spawn";

/// An agent that may call the other one.
const HELPER: &str = "helper";
const DEEPER: &str = "deeper";

/// The files that define the agents, by name.
pub(crate) fn definitions() -> [(String, &'static str); 2] {
    let file = |name: &str| format!("{name}.md");
    [
        (
            file(HELPER),
            "---\ntoolKeys: [\"*\"]\nallowedSubAgents: [deeper]\n---\n\nYou help.\n",
        ),
        (
            file(DEEPER),
            "---\ntoolKeys: [\"*\"]\n---\n\nYou help helpers.\n",
        ),
    ]
}

/// Who is called by a turn, and by those in their turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Two beside each other, and another call between them.
    Pair,
    /// One that calls two.
    Nested,
    /// Three, of which the first calls another one.
    Wide,
    /// One or two in the background.
    Spawned(usize),
}

/// An agent that a turn calls.
struct Called {
    /// `None` for a copy of its caller, in the background.
    agent: Option<&'static str>,
    /// Its place: that of its caller, and its own.
    tag: String,
    has_tools: bool,
    below: Vec<Called>,
}

impl Shape {
    pub(super) fn tree(dice: &mut Dice) -> Self {
        match dice.within(0..=2) {
            0 => Self::Pair,
            1 => Self::Nested,
            _ => Self::Wide,
        }
    }

    pub(super) fn background(dice: &mut Dice) -> Self {
        Self::Spawned(if dice.percent(40) { 2 } else { 1 })
    }

    /// What the message's own turn calls.
    pub(super) fn calls(self, message: &str, attempt: u32) -> Vec<Call> {
        let mut calls: Vec<_> = self.called(message).iter().map(Called::call).collect();
        if self == Self::Pair {
            let of = json!({"message": message, "attempt": attempt});
            calls.insert(1, (NOTE, of));
        }
        calls
    }

    /// What the model says in the turns of those who are called.
    pub(super) fn rules(self, message: &str, dice: &mut Dice) -> Vec<Rule> {
        let called = self.called(message);
        called.iter().flat_map(|one| one.rules(dice)).collect()
    }

    /// The places whose turns edit a file.
    pub(super) fn editing(message: &str) -> Vec<String> {
        let places = ["c1", "c2", "c1-c1", "b1"];
        places.map(|place| format!("{message}-{place}")).into()
    }

    fn called(self, message: &str) -> Vec<Called> {
        let leaf = |agent, place: &str, has_tools| Called {
            agent,
            tag: format!("{message}-{place}"),
            has_tools,
            below: Vec::new(),
        };
        let deep = |place, has_tools| leaf(Some(DEEPER), place, has_tools);
        let caller = |below| Called {
            below,
            ..leaf(Some(HELPER), "c1", false)
        };
        match self {
            Self::Pair => vec![leaf(Some(HELPER), "c1", true), deep("c2", false)],
            Self::Nested => vec![caller(vec![deep("c1-c1", true), deep("c1-c2", false)])],
            Self::Wide => vec![
                caller(vec![deep("c1-c1", true)]),
                deep("c2", true),
                deep("c3", false),
            ],
            Self::Spawned(count) => {
                let all = [leaf(None, "b1", true), leaf(Some(HELPER), "b2", false)];
                all.into_iter().take(count).collect()
            }
        }
    }
}

impl Called {
    fn is_in_background(tag: &str) -> bool {
        tag.rsplit('-')
            .next()
            .is_some_and(|own| own.starts_with('b'))
    }

    fn call(&self) -> Call {
        let task = content(&self.tag);
        match self.agent {
            None => (SPAWN, json!({"task": task, "label": self.tag})),
            Some(agent) if Self::is_in_background(&self.tag) => {
                (SPAWN, json!({"task": task, "agent": agent}))
            }
            Some(agent) => (DELEGATE, json!({"name": agent, "task": task})),
        }
    }

    /// What the model says in its turn, and in those below.
    fn rules(&self, dice: &mut Dice) -> Vec<Rule> {
        let mut rules = Vec::new();
        if dice.percent(15) {
            rules.push(fault(&self.tag, dice).when(own_step(&self.tag, 0)).times(1));
        }
        let calls = |attempt| {
            let tools = self.has_tools.then(|| all_classes(&self.tag, attempt));
            let tools = tools.unwrap_or_default().into_iter();
            tools.chain(self.below.iter().map(Self::call)).collect()
        };
        rules.extend(turn(&self.tag, calls, dice));
        rules.extend(self.below.iter().flat_map(|one| one.rules(dice)));
        rules
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn tags(called: &[Called]) -> Vec<String> {
        let own = called.iter().map(|one| one.tag.clone());
        own.chain(called.iter().flat_map(|one| tags(&one.below)))
            .collect()
    }

    #[test]
    fn each_called_agent_of_a_tree_has_a_place_of_its_own_and_its_file_is_there() {
        let shapes = [Shape::Pair, Shape::Nested, Shape::Wide, Shape::Spawned(2)];
        for shape in shapes {
            let called = shape.called("m1");
            let all = tags(&called);
            let places: BTreeSet<_> = all.iter().collect();
            assert_eq!(places.len(), all.len(), "{shape:?}");
            let with_tools = |one: &Called| one.has_tools.then(|| one.tag.clone());
            let below = called.iter().flat_map(|one| &one.below);
            for tag in called.iter().chain(below).filter_map(with_tools) {
                assert!(Shape::editing("m1").contains(&tag), "{tag}");
            }
        }
    }
}
