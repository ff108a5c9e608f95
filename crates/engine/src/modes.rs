//! What the person is doing takes tools away from agents (SA-16). Pure.

use std::collections::{BTreeMap, BTreeSet};

use samovar_core::situation::{DEFAULT_MODE, Posted};
use samovar_core::{AgentMode, Code, Error};
use samovar_locale as locale;
use serde_json::json;

/// The mode of a person who changes settings.
const SETTINGS_MODE: &str = "settings";
/// What no agent may do then.
const NOT_IN_SETTINGS: &str = "open_url";

/// The modes that there are: the two that are part of the program, and more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentModes(BTreeMap<String, BTreeSet<String>>);

impl Default for AgentModes {
    fn default() -> Self {
        Self::new([])
    }
}

impl AgentModes {
    /// Those modes, each with the tools that it takes away, besides what the program's own take.
    pub fn new(more: impl IntoIterator<Item = (String, BTreeSet<String>)>) -> Self {
        let mut modes: BTreeMap<_, BTreeSet<_>> = more.into_iter().collect();
        modes.entry(DEFAULT_MODE.to_owned()).or_default();
        let settings = modes.entry(SETTINGS_MODE.to_owned()).or_default();
        settings.insert(NOT_IN_SETTINGS.to_owned());
        Self(modes)
    }

    /// The mode of a turn: what its client asks for, else the kind of the tab that the person looks at,
    /// if a mode has that name.
    ///
    /// # Errors
    /// [`Code::InvalidParams`] when the client asks for a mode that there is not.
    pub(crate) fn decide(&self, posted: &Posted) -> Result<Option<AgentMode>, Error> {
        if let Some(asked) = posted.mode() {
            return match self.find(asked) {
                Some(mode) => Ok(self.unless_plain(mode)),
                None => Err(self.unknown(asked)),
            };
        }
        let tab = posted
            .context()
            .and_then(|context| context.active_tab.as_ref());
        let kind = tab.and_then(|tab| tab.kind.as_deref());
        let mode = kind.and_then(|kind| self.find(kind));
        let mode = mode.or_else(|| self.find(DEFAULT_MODE));
        Ok(mode.and_then(|mode| self.unless_plain(mode)))
    }

    /// The mode of a child whose caller is in `current` and wants `wanted` for it.
    ///
    /// # Errors
    /// Why that is no mode, or one that takes less away.
    pub(crate) fn narrow(
        &self,
        current: Option<&AgentMode>,
        wanted: &str,
    ) -> Result<Option<AgentMode>, Widening> {
        let Some(mode) = self.find(wanted) else {
            return Err(Widening::Unknown(self.names()));
        };
        let is_narrower = current.is_none_or(|current| mode.denied.is_superset(&current.denied));
        if !is_narrower {
            return Err(Widening::Wider);
        }
        Ok(self.unless_plain(mode))
    }

    fn find(&self, name: &str) -> Option<AgentMode> {
        let (name, denied) = self.0.get_key_value(name)?;
        Some(AgentMode {
            name: name.clone(),
            denied: denied.clone(),
        })
    }

    /// Nothing has to be stored of a turn in the default mode that takes nothing away.
    #[expect(clippy::unused_self, reason = "it reads as a rule of the modes")]
    fn unless_plain(&self, mode: AgentMode) -> Option<AgentMode> {
        let is_plain = mode.name == DEFAULT_MODE && mode.denied.is_empty();
        (!is_plain).then_some(mode)
    }

    /// Whether there is a mode of this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The names of all modes, for a person.
    pub fn names(&self) -> String {
        let names: Vec<_> = self.0.keys().map(String::as_str).collect();
        names.join(", ")
    }

    fn unknown(&self, asked: &str) -> Error {
        let why = locale::request::unknown_mode(locale::quoted(asked), self.names());
        let details = json!({"parameter": "agentMode"});
        Error::new(Code::InvalidParams, why).with_details(details)
    }
}

/// Why a child cannot have a mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Widening {
    /// There are only these.
    Unknown(String),
    /// It takes less away than the caller's.
    Wider,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use samovar_core::situation::{PostedContext, Tab};

    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(ToString::to_string).collect()
    }

    fn posted(kind: Option<&str>, mode: Option<&str>) -> Posted {
        let context = kind.map(|kind| PostedContext {
            active_tab: Some(Tab {
                kind: Some(kind.to_owned()),
                ..Tab::default()
            }),
            ..PostedContext::default()
        });
        Posted::new(context, mode.map(str::to_owned)).unwrap()
    }

    // proves SA-16
    #[test]
    fn a_mode_is_asked_for_or_decided_from_the_tab_that_the_person_looks_at() {
        let modes = AgentModes::new([
            ("checkout".to_owned(), set(&["write_file"])),
            ("settings".to_owned(), set(&["write_file"])),
        ]);
        let both = set(&["open_url", "write_file"]);
        for (kind, asked, decided) in [
            (None, None, None),
            (Some("page"), None, None),
            (Some("settings"), None, Some(("settings", both.clone()))),
            (None, Some("settings"), Some(("settings", both))),
            (
                Some("checkout"),
                None,
                Some(("checkout", set(&["write_file"]))),
            ),
            (Some("checkout"), Some("default"), None),
        ] {
            let mode = modes.decide(&posted(kind, asked)).unwrap();
            let decided = decided.map(|(name, denied)| AgentMode {
                name: name.to_owned(),
                denied,
            });
            assert_eq!(mode, decided, "{kind:?} {asked:?}");
        }
        let refused = modes.decide(&posted(None, Some("gone"))).unwrap_err();
        assert_eq!(refused.code, Code::InvalidParams);
        assert!(refused.message.contains("checkout, default, settings"));
    }

    proptest! {
        // proves SA-3, SA-16
        #[test]
        fn no_chain_of_modes_gives_a_tool_back(
            denied in prop::collection::vec(prop::collection::btree_set(0_u8..4, 0..4), 4),
            chain in prop::collection::vec(0_usize..5, 0..6),
        ) {
            let name = |number: usize| format!("m{number}");
            let named = |tools: &BTreeSet<u8>| tools.iter().map(u8::to_string).collect();
            let modes = denied.iter().enumerate().map(|(at, tools)| (name(at), named(tools)));
            let modes = AgentModes::new(modes);
            let mut current = None;
            for wanted in chain {
                let before: BTreeSet<_> =
                    current.iter().flat_map(|mode: &AgentMode| mode.denied.clone()).collect();
                match modes.narrow(current.as_ref(), &name(wanted)) {
                    Ok(next) => current = next,
                    Err(Widening::Unknown(_)) => prop_assert_eq!(wanted, 4),
                    Err(Widening::Wider) => {
                        prop_assert!(!named(&denied[wanted]).is_superset(&before));
                    }
                }
                let now: BTreeSet<_> =
                    current.iter().flat_map(|mode| mode.denied.clone()).collect();
                prop_assert!(now.is_superset(&before));
            }
        }
    }
}
