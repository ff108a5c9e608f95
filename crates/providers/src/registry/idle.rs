//! Keys that are set and that nothing uses.

use super::Registry;
use crate::specs::SPECS;
use crate::unbuilt::{Idle, IdleKey};

impl Registry {
    /// The keys that are set and that nothing uses, because their provider has no row, or their row
    /// no address. None is passed over in silence.
    pub fn idle_keys(&self) -> Vec<IdleKey> {
        let unbuilt = self.config.unbuilt.iter().map(|provider| IdleKey {
            variable: provider.variable.to_owned(),
            display_name: provider.display_name,
            reason: Idle::Unbuilt { way: provider.way },
        });
        let keyed = SPECS.iter().filter(|spec| {
            self.config.keys.contains_key(spec.name) && self.address(spec).is_none()
        });
        let homeless = keyed.map(|spec| {
            let origin = self.config.key_origins.get(spec.name).cloned();
            let variable = origin.or_else(|| spec.env_vars.first().map(|name| (*name).to_owned()));
            IdleKey {
                variable: variable.unwrap_or_else(|| spec.name.to_owned()),
                display_name: spec.display_name,
                reason: Idle::NoAddress {
                    set: spec.base_url_var(),
                },
            }
        });
        homeless.chain(unbuilt).collect()
    }
}
