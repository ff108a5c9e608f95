//! The list of all providers and their setup.

use samovar_core::provider::Window;
use serde::Serialize;

use super::{Access, Registry};
use crate::probe::{LocalModel, ServerProbe, shown};
use crate::specs::{ProviderSpec, SPECS};

/// A provider and its setup.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The name in `name/model` and in the configuration.
    pub name: &'static str,
    /// The name for people.
    pub display_name: &'static str,
    /// What it speaks.
    pub dialect: &'static str,
    /// How it can be used.
    pub access: Access,
    /// The variables any of which would make it usable; empty when it is, or nothing would.
    pub set: Vec<String>,
    /// The canonical name of its model for who names none.
    pub default_model: Option<String>,
    /// Where it is asked, without what may be secret in it.
    pub base_url: Option<String>,
    /// What came of asking its server for its models, if it was asked last time.
    pub look: Option<ServerProbe>,
    /// The models that its server has, the best first, if it was asked last time.
    pub models: Vec<LocalModel>,
    /// How many tokens its default model holds, or the best one of its server.
    pub window: Option<Window>,
    /// Whether its model answers who names none.
    pub is_chosen: bool,
}

impl Registry {
    /// Every provider of [`SPECS`] with its setup, and with the last answers of this machine's
    /// servers. They are asked when the choice depends on them; to be sure of an answer, call
    /// [`Registry::probe`] first.
    pub async fn overview(&self) -> Vec<Row> {
        let chosen = self.choice().await;
        let probed = self.last_probed();
        let chosen = chosen.and_then(|choice| self.row_of(&choice.name));
        let chosen = chosen.ok().map(|(spec, _)| spec.name);
        let row = |spec: &'static ProviderSpec| Row {
            name: spec.name,
            display_name: spec.display_name,
            dialect: spec.dialect.map_or(spec.name, |dialect| dialect.name),
            access: self.access(spec),
            set: self.missing(spec),
            default_model: spec.default_model.map(|model| spec.canonical(model)),
            base_url: self.base(spec).ok().map(|url| shown(&url)),
            look: probed.look(spec.name).cloned(),
            models: probed.models_of(spec.name).cloned().collect(),
            window: self.window(spec, probed.models_of(spec.name).next()),
            is_chosen: chosen == Some(spec.name),
        };
        SPECS.iter().map(row).collect()
    }

    /// What would make a row usable.
    fn missing(&self, spec: &ProviderSpec) -> Vec<String> {
        let key = spec.env_vars.first().map(|name| (*name).to_owned());
        match (self.access(spec), self.address(spec)) {
            (Access::Key | Access::Open, _) => Vec::new(),
            (Access::Missing, Some(_)) => key.into_iter().chain([spec.base_url_var()]).collect(),
            (Access::Missing, None) if spec.is_demo() => Vec::new(),
            (Access::Missing, None) => vec![spec.base_url_var()],
        }
    }
}
