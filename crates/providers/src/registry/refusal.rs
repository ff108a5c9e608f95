//! The refusals: which model cannot be used, and what would make it usable.

use samovar_core::{Code, Error};
use samovar_locale as locale;
use serde_json::json;

use super::Registry;
use crate::probe::{ProbeOutcome, ProbeReport};
use crate::specs::{ProviderSpec, SPECS};
use crate::unbuilt::IdleKey;
use crate::words::distance;

/// The server whose models have names that no provider claims.
const OLLAMA: &str = "ollama";

/// How many known names a refusal proposes.
const PROPOSED: usize = 3;

/// How much of a name that somebody asked for a refusal repeats, in characters.
const SHOWN: usize = 100;

impl Registry {
    /// A row claims the name, but cannot be used.
    pub(super) fn unusable(&self, spec: &ProviderSpec, name: &str) -> Error {
        let (asked, base) = (shown(name), spec.base_url_var());
        let model = locale::quoted(&asked);
        let mut why = match (spec.default_api_base, spec.env_vars.first()) {
            (Some(_), Some(key)) => locale::models::no_key(model, spec.display_name, key, base),
            _ => locale::models::no_server(model, base),
        };
        if let [other] = self.set_by_hand().as_slice() {
            let (people, row) = (other.display_name, other.name);
            why = locale::models::for_by_hand(why, people, row, &asked);
        }
        let details = json!({ "model": asked, "provider": spec.name, "set": spec.env_vars });
        Error::new(Code::UnusableModel, why).with_details(details)
    }

    /// No row claims the name.
    pub(super) fn unclaimed(&self, name: &str) -> Error {
        let nearest = nearest(name);
        let (asked, names) = (shown(name), nearest.join(", "));
        let model = locale::quoted(&asked);
        let ollama = self.last_probed().look(OLLAMA).cloned();
        let why = match (self.set_by_hand().as_slice(), ollama) {
            // Most names without a provider are its models.
            ([], Some(look)) if look.seen == ProbeOutcome::Nobody && !name.contains('/') => {
                locale::models::unclaimed_offline(model, look.address)
            }
            ([], _) => locale::models::unclaimed(model, names),
            (several, _) => {
                let providers: Vec<_> = several.iter().map(|spec| spec.name).collect();
                locale::models::unclaimed_by_several(model, providers.join(", "), names)
            }
        };
        let details = json!({ "model": asked, "nearest": nearest });
        Error::new(Code::UnusableModel, why).with_details(details)
    }
}

pub(super) fn refuse(why: String, name: &str) -> Error {
    Error::new(Code::UnusableModel, why).with_details(json!({ "model": shown(name) }))
}

/// Addresses were set by hand, but no model, and none was found there.
pub(super) fn nameless(by_hand: &[&ProviderSpec], probed: &ProbeReport) -> Error {
    let why = |spec: &&ProviderSpec| match probed.look(spec.name) {
        Some(look) => locale::models::none_at_address(look, spec.name),
        None => locale::models::address_without_model(spec.display_name, spec.name),
    };
    let whys: Vec<_> = by_hand.iter().map(why).collect();
    Error::new(Code::UnusableModel, whys.join("; "))
}

/// Nothing is set or found, and demo is forbidden.
pub(super) fn no_model(probed: &ProbeReport, idle: &[IdleKey]) -> Error {
    let vars: Vec<_> = SPECS
        .iter()
        .filter(|spec| spec.default_api_base.is_some() && !spec.is_local)
        .filter_map(|spec| spec.env_vars.first())
        .copied()
        .collect();
    let mut whys = vec![locale::models::none_and_no_demo(vars.join(", "))];
    whys.extend(idle.iter().map(ToString::to_string));
    whys.extend(probed.looked_at.iter().map(ToString::to_string));
    Error::new(Code::UnusableModel, whys.join("; "))
}

/// The known names that are spelled most like this one, the nearest first.
fn nearest(name: &str) -> Vec<String> {
    let name = shown(name).to_lowercase();
    let start = name.split(['-', '/', ':', ' ']).next().unwrap_or(&name);
    let known = SPECS.iter().filter_map(|spec| {
        let model = spec.default_model?;
        let words = spec.keywords.iter().copied().chain([spec.name]);
        let by_word = words.map(|word| distance(start, word)).min()?;
        Some((by_word.min(distance(&name, model)), spec.canonical(model)))
    });
    let mut known: Vec<_> = known.collect();
    known.sort_by_key(|(far, _)| *far);
    known
        .into_iter()
        .take(PROPOSED)
        .map(|(_, name)| name)
        .collect()
}

/// As much of a name as is worth repeating.
pub(super) fn shown(name: &str) -> String {
    name.chars().take(SHOWN).collect()
}
