//! What servers' own lists say of a model that is asked: its window, and whether it calls tools and takes
//! images.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use samovar_core::LimitSource;
use samovar_core::provider::Window;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Registry;
use crate::endpoint::Endpoint;
use crate::habits::{Change, Sent};
use crate::probe::{LocalModel, models_at};
use crate::specs::{ProviderSpec, SPECS};

/// How many models with images a refusal names.
const NAMED: usize = 3;

/// How long a list counts, or that there is none.
const COUNTS: Duration = Duration::from_mins(10);

/// How long a server elsewhere may take for its list. The first message waits for it.
const BUDGET: Duration = Duration::from_secs(2);

/// The lists of servers that are not on this machine, by the names of their rows.
#[derive(Default)]
pub(super) struct Lists {
    asked: Mutex<HashMap<&'static str, Instant>>,
    known: std::sync::RwLock<HashMap<&'static str, Arc<[LocalModel]>>>,
}

impl Registry {
    /// Reads the list in which a model may stand, if it was not read lately: that of a local server, of
    /// one whose address was set by hand, or of a gateway. Takes two seconds at most. Returns whether
    /// there is such a list.
    pub(super) async fn list_for(&self, name: &str) -> bool {
        let Ok((spec, _)) = self.row_of(name.trim()) else {
            return false;
        };
        let is_off = self.config.probing == crate::Probing::Off;
        if is_off || spec.is_demo() || !self.is_usable(spec) {
            return false;
        }
        if self.is_asked(spec) {
            self.probe().await;
        } else if self.is_by_hand(spec) || spec.is_gateway {
            self.list(spec).await;
        } else {
            return false;
        }
        true
    }

    async fn list(&self, spec: &'static ProviderSpec) {
        // Held while it is asked, so that others wait for the same list.
        let mut asked = self.lists.asked.lock().await;
        let is_fresh = |at: &Instant| at.elapsed() < COUNTS;
        if asked.get(spec.name).is_some_and(is_fresh) {
            return;
        }
        if let Ok(made) = self.make(spec)
            && let Some(endpoint) = made.endpoint
        {
            let models = models_at(&endpoint, Instant::now() + BUDGET).await;
            let known = self.lists.known.write();
            let mut known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
            known.insert(spec.name, models.into());
        }
        asked.insert(spec.name, Instant::now());
    }

    /// A model as its server lists it. llama.cpp serves its one model under every name.
    pub(super) fn listed(&self, spec: &ProviderSpec, name: &str) -> Option<LocalModel> {
        let probed = self.last_probed();
        let mut local: Vec<&LocalModel> = probed.models_of(spec.name).collect();
        let known = self.lists.known.read();
        let known = known.unwrap_or_else(std::sync::PoisonError::into_inner);
        let elsewhere = known.get(spec.name);
        local.extend(elsewhere.into_iter().flat_map(|models| models.iter()));
        let found = local.iter().find(|model| model.name == name);
        let only = || match local.as_slice() {
            [only] if only.is_llama_cpp => Some(only),
            _ => None,
        };
        found.or_else(only).map(|model| (*model).clone())
    }

    /// How much a model's window holds: what a person set, else what the list says.
    pub(super) fn window(
        &self,
        spec: &ProviderSpec,
        listed: Option<&LocalModel>,
    ) -> Option<Window> {
        let set = self.config.windows.get(spec.name).map(|tokens| Window {
            tokens: *tokens,
            source: LimitSource::Setting,
        });
        set.or_else(|| {
            Some(Window {
                tokens: listed?.window?,
                source: LimitSource::List,
            })
        })
    }

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

/// Prepares an endpoint for what its list says of a model.
pub(super) fn expect(endpoint: &Endpoint, model: &str, listed: &LocalModel) {
    if listed.tools == Some(false) || listed.is_llama_cpp {
        endpoint.note(model, |habits| {
            if listed.tools == Some(false) {
                habits.learn(Change::Without(Sent::Tools));
            }
            if listed.is_llama_cpp {
                habits.expect_progress();
            }
        });
    }
}
