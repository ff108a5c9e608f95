//! Which models take images: what a server has refused, a person says, a list or the table.

use std::cmp::Reverse;

use super::Registry;
use crate::habits::Sent;
use crate::specs::{ProviderSpec, SPECS};

/// How many models are named to somebody whose model takes no images.
const NAMED: usize = 3;

impl Registry {
    /// Whether the model that an endpoint calls so takes images; `None` if that is not known.
    pub(super) fn takes_images(&self, spec: &'static ProviderSpec, model: &str) -> Option<bool> {
        let made = self.make(spec).ok();
        let endpoint = made.and_then(|made| made.endpoint);
        if endpoint.is_some_and(|endpoint| !endpoint.habits(model).takes(Sent::Images)) {
            return Some(false);
        }
        let set = self.config.images.get(spec.name).copied();
        let listed = || self.listed(spec, &spec.canonical(model))?.images;
        set.or_else(listed).or_else(|| spec.takes_images(model))
    }

    /// Usable models that take images: those of the same provider as `name` first.
    pub(super) fn seeing(&self, name: &str) -> Vec<String> {
        let own = self.row_of(name).map_or("", |(spec, _)| spec.name);
        let mut rows: Vec<_> = SPECS.iter().filter(|spec| self.is_usable(spec)).collect();
        rows.sort_by_key(|spec| Reverse(spec.name == own));
        let probed = self.last_probed();
        let names = rows.into_iter().flat_map(|spec| {
            let default = spec.default_model.map(|model| spec.canonical(model));
            let listed = probed.models_of(spec.name).map(|model| model.name.clone());
            default.into_iter().chain(listed)
        });
        let sees = |name: &String| {
            let row = self.row_of(name);
            row.is_ok_and(|(spec, model)| self.takes_images(spec, &model) == Some(true))
        };
        names.filter(sees).take(NAMED).collect()
    }
}
