//! The model servers of this machine: the models they have, and the best one (FC-4).

use std::collections::BTreeMap;

use futures_util::future::join_all;
use serde::Serialize;
use tokio::time::{Duration, Instant};

use crate::endpoint::Endpoint;
use crate::specs::{ProviderSpec, SPECS};

mod ask;
mod listing;
mod outcome;
mod server;

pub use outcome::{ProbeOutcome, ServerProbe};

pub(crate) use outcome::shown;

/// Which servers are asked for their models when no model is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Probing {
    /// None.
    #[default]
    Off,
    /// The local ones of [`SPECS`], where they usually are.
    On,
    /// The local ones that are named here, which then are at these addresses unless another was set
    /// by hand.
    At(BTreeMap<String, String>),
}

impl Probing {
    /// The address that stands for a row's usual one.
    pub(crate) fn address(&self, spec: &ProviderSpec) -> Option<&str> {
        match self {
            Self::At(addresses) if spec.is_local => addresses.get(spec.name).map(String::as_str),
            Self::Off | Self::On | Self::At(_) => None,
        }
    }

    /// Whether a row's server is asked though nobody set its address by hand.
    pub(crate) fn asks(&self, spec: &ProviderSpec) -> bool {
        match self {
            Self::Off => false,
            Self::On => spec.is_local,
            Self::At(_) => self.address(spec).is_some(),
        }
    }
}

/// A model that a server of this machine has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LocalModel {
    /// Its canonical name (MD-21).
    pub name: String,
    /// The name of its row in [`SPECS`].
    pub provider: &'static str,
    /// Whether it can call tools; `None` if its server does not say.
    pub tools: Option<bool>,
    /// Whether it takes images; `None` if its server does not say.
    pub images: Option<bool>,
    /// Whether it is in memory already, so that it answers soon.
    pub is_loaded: bool,
    /// How many tokens its window holds; `None` if its server does not say.
    pub window: Option<u64>,
    /// Whether its server is llama.cpp, which tells how far it is with a prompt.
    #[serde(skip)]
    pub is_llama_cpp: bool,
}

/// The answers of this machine's servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProbeReport {
    /// Every model that can hold a conversation, the best first: one that can call tools before one
    /// of which that is not known, and that before one that cannot; then in the order of [`SPECS`],
    /// loaded ones first, as their server lists them.
    pub models: Vec<LocalModel>,
    /// Who was asked, and what came of it, in the order of [`SPECS`].
    pub looked_at: Vec<ServerProbe>,
}

impl ProbeReport {
    /// The best model.
    pub fn chosen(&self) -> Option<&LocalModel> {
        self.models.first()
    }

    /// What was seen of a row's server, if it was asked.
    pub fn look(&self, provider: &str) -> Option<&ServerProbe> {
        self.looked_at.iter().find(|look| look.provider == provider)
    }

    /// The models of a row's server, the best first.
    pub fn models_of(&self, provider: &str) -> impl Iterator<Item = &LocalModel> {
        let models = self.models.iter();
        models.filter(move |model| model.provider == provider)
    }

    /// Why the best model is the best, in a sentence.
    pub fn why(&self) -> Option<String> {
        let model = self.chosen()?;
        let look = self.look(model.provider)?;
        Some(look.why(model))
    }
}

/// A server to probe, or why it cannot be probed.
pub(crate) struct ProbeTarget {
    pub(crate) spec: &'static ProviderSpec,
    pub(crate) endpoint: Result<Endpoint, String>,
}

/// Asks all of them at once, for as long as `budget` at most. Who has said a part by then counts
/// with that part.
pub(crate) async fn probe(places: Vec<ProbeTarget>, budget: Duration) -> ProbeReport {
    let deadline = Instant::now() + budget;
    let probes = join_all(places.into_iter().map(|place| look_at(place, deadline))).await;
    let (looked_at, models): (Vec<_>, Vec<_>) = probes.into_iter().unzip();
    let mut models = models.concat();
    // Stable, so that equals keep the order of the rows and of the servers' own lists.
    models.sort_by_key(|model| {
        (
            rank(model.tools),
            place_of(model.provider),
            !model.is_loaded,
        )
    });
    ProbeReport { models, looked_at }
}

/// The models that a server lists; none if it does not say.
pub(crate) async fn models_at(endpoint: &Endpoint, deadline: Instant) -> Vec<LocalModel> {
    server::models(endpoint, deadline).await.unwrap_or_default()
}

fn rank(tools: Option<bool>) -> u8 {
    match tools {
        Some(true) => 0,
        None => 1,
        Some(false) => 2,
    }
}

fn place_of(provider: &str) -> Option<usize> {
    SPECS.iter().position(|spec| spec.name == provider)
}

async fn look_at(place: ProbeTarget, deadline: Instant) -> (ServerProbe, Vec<LocalModel>) {
    let spec = place.spec;
    let look = |address, seen| ServerProbe {
        provider: spec.name,
        display_name: spec.display_name,
        address,
        seen,
    };
    let endpoint = match place.endpoint {
        Ok(endpoint) => endpoint,
        Err(why) => {
            return (
                look(String::new(), ProbeOutcome::Unaskable(why)),
                Vec::new(),
            );
        }
    };
    let address = shown(&endpoint.base);
    match server::models(&endpoint, deadline).await {
        Ok(models) => (look(address, ProbeOutcome::Models(models.len())), models),
        Err(seen) => (look(address, seen), Vec::new()),
    }
}
